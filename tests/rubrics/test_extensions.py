"""Elicitations and stopping rules that another distribution brings along."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from persona_panel.graphs.deliberation import load_stopping_rule, stopping_rule_names
from persona_panel.rubrics import elicitation_names, load_elicitation
from tests.helpers import forked
from tests.helpers.distributions import installed


def output_of(code: str, folder: Path) -> str:
    path = os.pathsep.join([str(folder), *sys.path])
    done = forked.run([sys.executable, "-c", code], folder, os.environ | {"PYTHONPATH": path})
    assert done.returncode == 0, done.stderr[-800:]
    return done.stdout


def test_a_stopping_rule_of_another_distribution_ends_a_deliberation(tmp_path: Path) -> None:
    """A rule is found by its entry point, named in a panel's deliberation, and asked."""
    source = "def should_stop(judgments, rubric):\n    return len(judgments) > 2\n"
    installed(tmp_path, "stopping_rules", "third = others_third", "others_third", source)
    code = (
        "from persona_panel.graphs import Judge, Judgment\n"
        "from persona_panel.graphs.deliberation import Deliberation, should_continue\n"
        "from persona_panel.files.definitions import load_definition\n"
        "from persona_panel import rubrics\n"
        "rules = Deliberation(rounds=3, stop_when='third')\n"
        "rubric = load_definition(rubrics.shipped()['debate-speech'], rubrics.Rubric)\n"
        "said = [Judgment('p', 'r', 's', Judge(n, 'm', 'dimensions'), 'scored', round=1,\n"
        "                 scores={rubric.dimensions[0].id: 2.0}) for n in 'abc']\n"
        "print([should_continue(said[:n], rules, rubric) for n in (2, 3)])\n"
    )
    assert output_of(code, tmp_path) == "[True, False]\n"


def test_an_elicitation_of_another_distribution_is_listed_and_loaded(tmp_path: Path) -> None:
    """An entry point is an elicitation like ours; it cannot take the place of one of ours."""
    installed(
        tmp_path,
        "elicitations",
        "socratic = others_socratic\njustified = others_socratic",
        "others_socratic",
        "NEEDS_LOGPROBS = False\n",
    )
    code = (
        "from persona_panel.rubrics import elicitation_names, load_elicitation\n"
        "print('socratic' in elicitation_names(), load_elicitation('socratic').__name__,\n"
        "      load_elicitation('justified').__name__)"
    )
    assert (
        output_of(code, tmp_path)
        == "True others_socratic persona_panel.rubrics.elicitations.justified\n"
    )


def test_what_is_not_there_is_a_key_error() -> None:
    """A name that nobody has is a KeyError, and not among the names."""
    assert "nonsense" not in (*elicitation_names(), *stopping_rule_names())
    with pytest.raises(KeyError):
        load_elicitation("nonsense")
    with pytest.raises(KeyError):
        load_stopping_rule("nonsense")


def test_a_file_s_name_is_kept_as_it_is_written(tmp_path: Path) -> None:
    """A file with an underscore is called with it, or where names have hyphens, with one."""
    (tmp_path / "others_kinds").mkdir()
    (tmp_path / "others_kinds" / "__init__.py").write_text("")
    (tmp_path / "others_kinds" / "my_kind.py").write_text("")
    code = (
        "from persona_panel.rubrics.extensions import extension_names, load_extension\n"
        "where = ('others_kinds', 'none')\n"
        "print(extension_names(*where), extension_names(*where, hyphens=True),\n"
        "      load_extension(*where, 'my_kind').__name__,\n"
        "      load_extension(*where, 'my-kind', hyphens=True).__name__)"
    )
    assert output_of(code, tmp_path) == (
        "('my_kind',) ('my-kind',) others_kinds.my_kind others_kinds.my_kind\n"
    )


@pytest.mark.parametrize("name", ["my_models", "my-models"])
def test_a_provider_s_name_may_have_an_underscore_or_a_hyphen(tmp_path: Path, name: str) -> None:
    """A model of it can be named, and is looked for at that provider."""
    source = "def client(config, keep_prefix): return config.provider, config.model_name\n"
    installed(tmp_path, "providers", f"{name} = others_mine", "others_mine", source)
    code = (
        "from persona_panel.models.providers import client_for\n"
        "from persona_panel.planning.definitions import config_of\n"
        f"print(*client_for(config_of('{name}:some')))"
    )
    assert output_of(code, tmp_path) == f"{name} some\n"
