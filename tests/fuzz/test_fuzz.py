"""Targets of the fuzzer: what was once found stays mended, and a short search finds nothing new."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS, corpus

ROOT = Path(__file__).parents[2]
SECONDS = 20
"""Of search, for all targets together."""


@pytest.mark.parametrize("target", TARGETS)
def test_inputs_of_the_corpus_and_seeds_are_read_or_refused(target: str) -> None:
    """An input that was a finding raises nothing but our errors, and so does what it began with."""
    for path in corpus(target):
        TARGETS[target].check(path.read_bytes())
    for seed in list(TARGETS[target].seeds())[:30]:
        TARGETS[target].check(seed)


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The findings of a short search of every target: one process, since most of its time goes into
    imports whose coverage is measured."""
    folder = tmp_path_factory.mktemp("findings")
    minutes = str(SECONDS / 60 / len(TARGETS))
    searched = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--minutes", minutes, "--findings", folder, *TARGETS],
        cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=280,
        env=os.environ | {"PYTHONWARNINGS": "default"},
    )  # fmt: skip
    assert searched.returncode == 0, searched.stderr[-3000:]
    return folder


@pytest.mark.slow("it searches for two seconds a target")
@pytest.mark.parametrize("target", TARGETS)
def test_a_short_search_finds_nothing(target: str, findings: Path) -> None:
    """A few seconds of `python -m tests.fuzz` leave no finding behind."""
    of_it = sorted(findings.glob(f"{target}-*.txt"))
    assert not of_it, "\n".join(path.read_text("utf-8", "replace") for path in of_it)


def test_a_finding_is_noted_once_for_each_place(tmp_path: Path) -> None:
    """What a target raises is written with its input and its traceback; the same place again is
    not, and the search goes on."""
    from tests.fuzz.__main__ import noting
    from tests.fuzz.targets import Target

    def check(data: bytes) -> None:
        if data:
            raise ValueError(data)

    noted = noting(Target(check, list), tmp_path, "own")
    for data in (b"", b"a", b"b"):
        noted(data)
    [path] = tmp_path.glob("own-????????????")
    assert path.read_bytes() == b"a"
    assert "ValueError" in path.with_name(f"{path.name}.txt").read_text()
