"""The settings of a panel, declared once (`persona_panel.planning.settings`)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import persona_panel
from persona_panel import Panel
from persona_panel.files.errors import ConfigurationError
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.planning.settings import (
    PanelKeywords,
    PanelSettings,
    declared_settings,
    recorded_settings,
    split_variant,
)

PACKAGE = Path(persona_panel.__file__).parent
ROOT = Path(__file__).parents[3]


def test_keywords_are_the_fields() -> None:
    """A type checker knows every field as a keyword, of its type or None."""
    keywords = get_type_hints(PanelKeywords)
    assert keywords.keys() == PanelSettings.model_fields.keys()
    for name, field in PanelSettings.model_fields.items():
        assert keywords[name] == field.annotation | None, name


def test_every_setting_says_what_it_is() -> None:
    """Its words are a sentence, which help and the documentation show."""
    for setting in declared_settings():
        for each in (setting, *setting.parts):
            assert re.match(r"[A-Z].*\.$", each.description), each.path


def test_settings_outside_their_range_are_refused_together() -> None:
    """Each is named with what was found and what is expected; None says nothing."""
    with pytest.raises(ConfigurationError) as refused:
        Panel(replicates=0, seed=-1, layout="sideways")  # type: ignore[arg-type]
    assert str(refused.value).splitlines() == [
        "layout: found 'sideways'; expected 'shared-prefix' or 'persona-first'",
        "replicates: found 0; expected a number of 1 or more",
        "seed: found -1; expected a number of 0 or more",
    ]
    assert PanelSettings.of({"replicates": None, "layout": None}) == PanelSettings()


def test_a_setting_that_there_is_not() -> None:
    """It is a mistake in the code, and the nearest name is said, whatever its case."""
    for name in ("replicate", "REPLICATE"):
        said = rf"no setting '{name}' \(did you mean 'replicates'\?\)"
        with pytest.raises(TypeError, match=said):
            PanelSettings.of({name: 2})


def test_a_run_of_an_earlier_version_has_the_defaults() -> None:
    """What its run.json does not name, also within a deliberation, is as it was by default; what
    cannot be read stays as it is."""
    settings = PanelSettings(deliberation=Deliberation(rounds=2), replicates=3)
    written = settings.model_dump(mode="json")
    older = {"replicates": 3, "deliberation": {"rounds": 2}, "models": []}
    assert recorded_settings(older) == recorded_settings(written) == written
    other = written | {"deliberation": {"rounds": 2, "stop_when": "not-installed"}}
    assert recorded_settings(other)["deliberation"] == other["deliberation"]
    assert recorded_settings(other) != written


FIELD = """    tone: Annotated[Literal["kind", "plain"], CommandOption(metavar="TONE")] = Field(
        default="plain", description="Tone of the questions, kind or plain."
    )

    _elicitation ="""


def test_a_new_setting_is_one_field(tmp_path: Path) -> None:
    """With a field more, in this one file, the panel file, the command, `Panel` and run.json have
    the setting, and an earlier run.json its default."""
    copy = tmp_path / "persona_panel"
    copy.mkdir()
    for entry in PACKAGE.iterdir():
        if entry.name != "planning":
            (copy / entry.name).symlink_to(entry.resolve())
    (copy / "planning").mkdir()
    for entry in (PACKAGE / "planning").glob("*.py"):
        text = entry.read_text("utf-8")
        if entry.name == "settings.py":
            text = text.replace("    _elicitation =", FIELD, 1)
            text = text.replace(" Annotated, Any,", " Annotated, Any, Literal,", 1)
        (copy / "planning" / entry.name).write_text(text, "utf-8")
    script = tmp_path / "new_setting.py"
    script.write_text(SCRIPT, "utf-8")
    done = subprocess.run(
        [sys.executable, script, ROOT / "docs/settings.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found == {
        "keyword": "kind",
        "file": "kind",
        "manifest": "kind",
        "option": "kind",
        "overridden": "plain",
        "earlier": "plain",
        "table": "| `tone` | plain | `--tone` | Tone of the questions, kind or plain. |",
    }


SCRIPT = """
import json
import runpy
import sys
from pathlib import Path
import click
from click.testing import CliRunner
from persona_panel import Panel
from persona_panel.cli.panel_options import panel_options
from persona_panel.planning.panel_plan import manifest_of
from persona_panel.planning.settings import declared_settings, recorded_settings
from persona_panel.models.config import ModelConfig

table = runpy.run_path(sys.argv[1])["table"]
model = ModelConfig(model="openai:m", base_url="http://127.0.0.1:9/v1")
Path("panel.yaml").write_text(
    "tone: kind\\nmodels: [{model: 'openai:m', base_url: 'http://127.0.0.1:9/v1'}]"
)
seen = []


@click.command()
@panel_options()
def command(panel_options):
    seen.append(panel_options)


for arguments in (["--tone", "kind"], ["--panel", "panel.yaml", "--tone", "plain"]):
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
of_file = Panel.from_file("panel.yaml")
print(json.dumps({
    "keyword": Panel(models=model, tone="kind").plan.settings.tone,
    "file": of_file.plan.settings.tone,
    "manifest": manifest_of(of_file.plan)["tone"],
    "option": seen[0].settings["tone"],
    "overridden": seen[1].panel().plan.settings.tone,
    "earlier": recorded_settings({"replicates": 1})["tone"],
    "table": next(row for row in table(declared_settings()).splitlines() if "tone" in row),
}))
"""


def test_a_rubrics_name_may_be_longer_than_that_of_a_file() -> None:
    """It is split at its colon all the same, and refused later, as no rubric has it."""
    assert split_variant(f"{'a' * 300}:novice") == ("a" * 300, "novice")
