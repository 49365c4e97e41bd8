"""The kills of `benchmarks.kills`, a few, with the power cut, too; and what it is to notice."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.kills import JOBS, Tally, Trial, unparsed
from persona_panel.testing import serving
from persona_panel.testing.scripted_model import Call

ROOT = Path(__file__).parents[2]


@pytest.mark.slow("eight kills, and as many commands that go on")
@pytest.mark.parametrize("words", [("score", "batch", "import"), ("score", "--power-cut")])
def test_nothing_is_lost_by_kills(words: tuple[str, ...]) -> None:
    """Commands that are killed at random instants, or with the power, lose nothing and pay for
    nothing twice; their files can be read."""
    command = [sys.executable, "-m", "benchmarks.kills", *words, "--kills", "4"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    if done.stdout.startswith("left out"):
        pytest.skip(done.stdout)


def test_a_call_that_was_read_after_the_kill_was_in_flight(tmp_path: Path) -> None:
    """A busy server reads what was sent before a kill only after it; a call that is repeated
    without a kill, or long after its answer, was paid twice."""
    found = Tally()
    with serving() as server:
        trial = Trial(JOBS["score"], tmp_path, server, found, random.Random(1), False)
        trial._kills.append((10.0, 11.0))
        for number, at in enumerate((9.9, 10.4, 9.0, 11.5)):
            server.calls += [Call({}, {"number": number}, at), Call({}, {"number": number}, 12.0)]
        trial._count_payments()
    assert (found.repeated, found.kinds["paid twice"]) == (2, 2)
    assert [why[:20] for why in found.examples] == ["paid twice: a call 1", "paid twice: a call n"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.json", "{"), ("a.jsonl", '{}\n{"a"'), ("a.csv", "a,b\n1\n"), ("a.csv", "")],
)
def test_a_file_that_cannot_be_parsed_is_noticed(name: str, content: str, tmp_path: Path) -> None:
    """Files that were cut off are said to be so, and whole ones are not."""
    file = tmp_path / name
    file.write_text(content)
    assert unparsed(file) is not None
    file.write_text({".json": "{}", ".jsonl": "{}\n{}\n", ".csv": "a,b\n1,2\n"}[file.suffix])
    assert unparsed(file) is None
