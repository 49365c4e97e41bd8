"""The history checker, small, and that it sees each kind of fault that it is for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("src", "panel", "graphs", "rubrics", "personas", "benchmarks", "tests")
EXAMPLE = re.compile(r"^  libcurl: ([a-z ]+): ", re.MULTILINE)


def histories(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.histories", "libcurl", *words],
        cwd=root, env={**os.environ, "PYTHONPATH": str(root / "src")}, capture_output=True,
        text=True, timeout=200,
    )  # fmt: skip


@pytest.mark.slow("2,000 judgments, four times each")
def test_every_judgment_has_the_answer_to_its_own_request() -> None:
    """2,000 judgments on a server that misbehaves in every way at once: each has the scores of its
    own request, none that was paid for is lost or paid for again, and no failure is kept."""
    done = histories(ROOT, "--judgments", "2000", "--errors", "0.1", "--odd", "0.3")
    assert (done.returncode, EXAMPLE.findall(done.stdout)) == (0, []), done.stdout + done.stderr


@pytest.mark.slow("the checker is run on copies of the code, which are imported and run four times")
@pytest.mark.parametrize(
    ("kind", "file", "old", "new"),
    [
        pytest.param(
            "answered wrongly",
            "panel/calls/cache.py",
            "    digest.update(document[_BEGINNING:])\n",
            "",
            id="a key without the persona",
        ),
        pytest.param(
            "lost though paid",
            "panel/calls/caller.py",
            "                if call.before is not None:\n",
            "                if not hasattr(Caller, 'planted'):\n"
            "                    Caller.planted = True\n"
            "                    raise Unanswered('failed', 'planted')\n"
            "                if call.before is not None:\n",
            id="a reply that is dropped",
        ),
        pytest.param(
            "paid twice",
            "panel/calls/caller.py",
            # A third of them: a run refuses a folder of which the cache answers at most half.
            "    self._cache.put(*call.entry, reply)\n                except CannotBeKept",
            "    call.entry[1][0] % 3 == 0 or self._cache.put(*call.entry, reply)\n"
            "                except CannotBeKept",
            id="replies that are not kept",
        ),
        pytest.param(
            "kept though failed",
            "panel/calls/caller.py",
            "self._cache.forget(page, key_of(request, replicate), reply)",
            "pass",
            id="replies without scores that are kept",
        ),
    ],
)
def test_a_planted_fault_is_seen(kind: str, file: str, old: str, new: str, tmp_path: Path) -> None:
    """A fault of each kind that is put into a copy of the code is counted as of that kind."""
    for part in PARTS:
        shutil.copytree(ROOT / part, tmp_path / part, symlinks=True)
    path = tmp_path / file
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    errors = "0.5" if kind == "kept though failed" else "0"
    some = ("--judgments", "60", "--errors", errors, "--kind", "no scores", "--odd", "0")
    done = histories(tmp_path, *some)
    assert done.returncode == 1, done.stdout + done.stderr
    assert kind in EXAMPLE.findall(done.stdout)


@pytest.mark.slow("the checker is run on a copy of the code")
def test_a_fault_that_nothing_writes_ends_the_checker(tmp_path: Path) -> None:
    """A fault that is named, and for which the server has no words, is no fault that was tried: an
    error and an odd way to answer."""
    for part in PARTS:
        shutil.copytree(ROOT / part, tmp_path / part, symlinks=True)
    path = tmp_path / "benchmarks/history_server.py"
    text = path.read_text()
    for last, new in (
        ("chunks without an end", "unwritten error"),
        ("gzip by its label alone", "unwritten oddity"),
    ):
        assert text.count(f'"{last}",\n)') == 1
        text = text.replace(f'"{last}",\n)', f'"{last}", "{new}",\n)')
    path.write_text(text)
    # Drawn among all kinds, the error would not come at all in some runs of a hundred.
    errors = ("--errors", "0.1", "--kind", "unwritten error")
    done = histories(tmp_path, "--judgments", "200", *errors, "--odd", "0.9")
    assert done.returncode == 1
    assert "the server failed by itself" in done.stderr
    # An error whose first letters are no status.
    assert "'unw'" in done.stderr
    assert "nothing says how to write 'unwritten oddity'" in done.stderr
