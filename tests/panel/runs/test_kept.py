"""A run.json that was damaged is refused, with the field and what to do."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from persona_panel import InputError, compare, load_run
from persona_panel.runs.kept import command_again, command_with
from tests.helpers.marked_texts import marked_model, marked_run

Damage = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run on three texts."""
    folder = tmp_path_factory.mktemp("manifest") / "run"
    marked_run(folder, {name: f"[4,5] {name}" for name in "abc"}, marked_model())
    return folder


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda one: one.pop("seed"), "seed: found nothing; expected a value"),
        (lambda one: one.update(seed="7"), "seed: found '7'; expected a whole number"),
        (lambda one: one.update(replicates=0), "replicates: found 0; expected a number of 1 or"),
        (lambda one: one.update(plain_judge="no"), "plain_judge: found 'no'; expected true or"),
        (lambda one: one.update(models=[]), "models: found 0 items; expected 1 or more"),
        (lambda one: one["models"][0].pop("elicitation"), r"models\.0\.elicitation: found nothing"),
        (lambda one: one["personas"][1].pop("axis"), r"personas\.1\.axis: found nothing"),
        (lambda one: one["rubric"].pop("dimensions"), r"rubric\.dimensions: found nothing"),
        (lambda one: one.update(deliberation="yes"), "deliberation: found 'yes'; expected a map"),
        (lambda one: one.update(random="judges"), "random: found 'judges'; expected 'prompts'"),
        (lambda one: one["texts"].pop("sha256"), r"texts\.sha256: found nothing"),
        (lambda one: one.pop("starts"), "starts: found nothing"),
    ],
    ids=[
        "seed", "seed as text", "replicates", "flag", "no models", "model", "persona", "rubric",
        "deliberation", "random", "texts", "starts",
    ],
)  # fmt: skip
def test_a_damaged_field_is_named_with_the_remedy(
    whole: Path, tmp_path: Path, damage: Damage, said: str
) -> None:
    """Whether it is missing, of another type or out of range: reading the run and comparing it say
    which field, what was found, what is expected and what to do."""
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    document = json.loads((folder / "run.json").read_bytes())
    damage(document)
    (folder / "run.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=rf"run\.json: {said}.*; restore .* --overwrite") as found:
        load_run(folder)
    assert len(found.value.faults) == 1
    with pytest.raises(InputError, match=said):
        compare(whole, folder)


def test_what_an_earlier_version_did_not_write_is_not_missed(whole: Path, tmp_path: Path) -> None:
    """Without what is random, and what reading does not take, a run is read; all faults are said at
    once, one a field."""
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    document = json.loads((folder / "run.json").read_bytes())
    for name in ("random", "graph", "one_dimension_per_call"):
        document.pop(name)
    (folder / "run.json").write_text(json.dumps(document))
    assert load_run(folder).random == "prompts"
    (folder / "run.json").write_text(json.dumps({"models": 1, "rubric": document["rubric"]}))
    with pytest.raises(InputError) as found:
        load_run(folder)
    fields = [fault.field for fault in found.value.faults]
    assert fields[:3] == ["personas", "output_rubric", "models"]
    assert len(set(fields)) == len(fields) == 13


@pytest.mark.parametrize(
    ("words", "again"),
    [
        # Caps times 1.5, those on tokens and money times 1.65, rounded up to two digits.
        ("a.csv --out r --max-calls=1_000", "a.csv --out {} --max-calls=1500"),
        ("a.csv --out r --max-calls 3", "a.csv --out {} --max-calls 5"),
        ("a.csv --out=r --max-calls 1001", "a.csv --out={} --max-calls 1600"),
        ("a.csv --out r --max-tokens 1000", "a.csv --out {} --max-tokens 1700"),
        ("a.csv --out r --max-usd 0.5", "a.csv --out {} --max-usd 0.83"),
        ("a.csv --out r --max-usd=1e1", "a.csv --out {} --max-usd=17"),
        ("a.csv --max-words 5 --out-of 3", "a.csv --max-words 5 --out-of 3 --out {}"),
        ("'my --max-calls 5 --out.csv'", "'my --max-calls 5 --out.csv' --out {}"),
        ("a.csv --out s3://b/r --max-calls 3", "a.csv --out s3://b/r --max-calls 5"),
    ],
)
def test_caps_of_a_command_are_raised(tmp_path: Path, words: str, again: str) -> None:
    """Each cap is read as the command reads it; other options and names of files stay, and the
    folder is named as it is called now, which may be a copy of the first; an address stays."""
    starts = {"starts": [{"command": f"persona-panel score {words}"}]}
    (tmp_path / "run.json").write_text(json.dumps(starts))
    folder = shlex.quote(str(tmp_path))
    assert (
        command_again(tmp_path, 1.5, capped=True) == f"persona-panel score {again.format(folder)}"
    )
    as_it_was = command_again(tmp_path, 1.5, capped=False)
    assert as_it_was.replace(folder, "r").startswith(f"persona-panel score {words}")


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ("a.csv --out runs/r/", "a.csv --out {}-plain-judge --plain-judge"),
        ("'a b.csv' --out=r", "'a b.csv' --out={}-plain-judge --plain-judge"),
        ("a.csv --panel p.yaml", "a.csv --panel p.yaml --out {}-plain-judge --plain-judge"),
        # In whatever format the run was printed.
        ("a.csv --out r --json --full", "a.csv --out {}-plain-judge --plain-judge"),
        ("a.csv --format csv --out r", "a.csv --out {}-plain-judge --plain-judge"),
        ("a.csv --format=csv --out r", "a.csv --out {}-plain-judge --plain-judge"),
        (
            "a.csv --require 'a >= 1' --require-point --junit=j.xml --markdown m.md --plot f.pdf",
            "a.csv --out {}-plain-judge --plain-judge",
        ),
    ],
)
def test_a_command_with_an_option_more_writes_beside_the_run(
    tmp_path: Path, words: str, more: str
) -> None:
    """The run's own folder keeps the panel that it began with."""
    starts = {"starts": [{"command": f"persona-panel score {words}"}]}
    (tmp_path / "run.json").write_text(json.dumps(starts))
    folder = shlex.quote(str(tmp_path))
    assert command_with(tmp_path, "--plain-judge") == (f"persona-panel score {more.format(folder)}")


@pytest.mark.parametrize("words", ["a.csv 'b", "a.csv --max-calls", "a.csv --max-calls many"])
def test_a_command_that_was_edited_is_not_run_again(tmp_path: Path, words: str) -> None:
    """A line that no shell takes, or a cap without a number, gives no command."""
    starts = {"starts": [{"command": f"persona-panel score {words}"}]}
    (tmp_path / "run.json").write_text(json.dumps(starts))
    assert command_again(tmp_path, 1.5, capped=True) == ""


def test_a_command_that_ends_with_a_bare_out_has_none_with_an_option_more(tmp_path: Path) -> None:
    """Somebody edited it: the shell's next word would be taken for the folder."""
    starts = {"starts": [{"command": "persona-panel score a.csv --out"}]}
    (tmp_path / "run.json").write_text(json.dumps(starts))
    assert command_with(tmp_path, "--plain-judge") == ""


def test_a_folder_without_a_command_has_none_with_an_option_more(tmp_path: Path) -> None:
    """A run that a script made names no command."""
    (tmp_path / "run.json").write_text('{"starts": [{"command": "study.py"}]}')
    assert command_with(tmp_path, "--plain-judge") == ""
