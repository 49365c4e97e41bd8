"""Extensions of another distribution that do not work, as a command meets them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from persona_panel.testing import serving
from tests.helpers.command import Command
from tests.helpers.distributions import installed

SCORE = ("score", "batch.jsonl", "--personas", "disciplinary", "--rubric", "debate-speech")
MODEL = ("--model", "openai:stub")


@pytest.fixture(autouse=True)
def inputs(tmp_path: Path) -> None:
    """A response, and a panel that deliberates by a rule called `odd`."""
    row = {"id": "r", "prompt": "Why?", "response": "Because.", "system": "alder"}
    (tmp_path / "batch.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    (tmp_path / "panel.yaml").write_text(
        "personas: disciplinary\nrubric: debate-speech\nmodels: ['openai:stub']\n"
        "deliberation: {rounds: 2, stop_when: odd}\n"
    )


def surroundings(tmp_path: Path, group: str, source: str) -> dict[str, str]:
    """The environment in which a distribution brings an extension called `odd`."""
    installed(tmp_path / "site", group, "odd = others_odd", "others_odd", source)
    path = [str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(path)}


@pytest.mark.parametrize(
    ("group", "kind", "arguments", "env"),
    [
        ("reply_stores", "reply store", (*SCORE, *MODEL), {"PERSONA_PANEL_CACHE": "odd://x"}),
        ("elicitations", "elicitation", (*SCORE, *MODEL, "--elicitation", "odd"), {}),
        ("renderers", "renderer", (*SCORE, *MODEL, "--format", "odd"), {}),
        ("stopping_rules", "stopping rule", ("score", "batch.jsonl", "--panel", "panel.yaml"), {}),
    ],
)
def test_one_that_cannot_be_imported_is_named_before_any_call(
    command: Command,
    tmp_path: Path,
    group: str,
    kind: str,
    arguments: tuple[str, ...],
    env: Mapping[str, str],
) -> None:
    """Its name, its package, what went wrong and the remedy; exit status 2, no call."""
    others = surroundings(tmp_path, group, "import no_such_module\n")
    with serving() as server:
        done = command(*arguments, OPENAI_BASE_URL=server.base_url, **others, **env)
        assert not server.calls
    assert done.returncode == 2
    assert f"the {kind} 'odd' of the package others cannot be loaded" in done.stderr
    assert "No module named 'no_such_module'" in done.stderr
    assert "repair or uninstall that package" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_elicitation_that_is_not_asked_for_breaks_nothing(
    command: Command, tmp_path: Path
) -> None:
    """Where another elicitation is refused, the ones that would do are listed, without one that
    cannot be imported."""
    others = surroundings(tmp_path, "elicitations", "import no_such_module\n")
    arguments = ("score", "batch.jsonl", *MODEL, "--rubric", "critical-question")
    done = command(
        *arguments, "--elicitation", "yes-no", OPENAI_BASE_URL="http://[::1]:9", **others
    )
    assert done.returncode == 2
    assert "use 'dimensions' or" in done.stderr
    assert "odd" not in done.stderr


def test_a_module_without_the_function_is_no_stopping_rule(
    command: Command, tmp_path: Path
) -> None:
    """It is refused when the panel is made."""
    others = surroundings(tmp_path, "stopping_rules", '"""Stops never."""\n')
    with serving() as server:
        done = command(
            "score", "batch.jsonl", "--panel", "panel.yaml",
            OPENAI_BASE_URL=server.base_url, **others,
        )  # fmt: skip
        assert not server.calls
    assert done.returncode == 2
    assert "'odd' has no function should_stop" in done.stderr


def test_a_stopping_rule_that_raises_stops_the_run_and_is_named(
    command: Command, tmp_path: Path
) -> None:
    """The run ends with exit status 1 and what it has; once the rule is repaired, the same
    command asks for nothing again."""
    others = surroundings(tmp_path, "stopping_rules", "def should_stop(judgments, rubric): 1 / 0\n")
    arguments = ("score", "batch.jsonl", "--panel", "panel.yaml", "--out", "run")
    with serving() as server:
        env = {"OPENAI_BASE_URL": server.base_url, **others}
        done = command(*arguments, **env)
        assert done.returncode == 1
        assert "the stopping rule 'odd' raised ZeroDivisionError" in done.stderr
        assert "Traceback" not in done.stderr
        kept = (tmp_path / "run" / "judgments.jsonl").read_text().splitlines()
        assert len(kept) == len(server.calls) == 5
        # The first round is in the cache, so that the estimate asks the rule, too.
        foreseen = command(*arguments, "--dry-run", **env)
        assert foreseen.returncode == 2
        assert "the stopping rule 'odd' raised ZeroDivisionError" in foreseen.stderr
        (tmp_path / "site" / "others_odd.py").write_text("def should_stop(*given): return True\n")
        assert command(*arguments, **env).returncode == 0
        assert len(server.calls) == 5
