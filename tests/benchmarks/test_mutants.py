"""A mutant is what the tests of its copy run, in their own process and in those they start."""

from __future__ import annotations

from pathlib import Path

from benchmarks.mutants import Mutant, copied, mirroring, tried_in

FILE = "panel/statistics/core/estimate.py"
TEST = """
import os
import sys
from pathlib import Path
from subprocess import run

from persona_panel.statistics.core import estimate
from tests.helpers import forked

READ = "from persona_panel.statistics.core import estimate; assert not hasattr(estimate, 'MARK')"


def test_in_this_process():
    assert not hasattr(estimate, "MARK")


def test_in_a_fork():
    done = forked.run(["python", "-c", READ], Path.cwd(), os.environ)
    assert done.returncode == 0, done.stderr


def test_in_a_process():
    assert run([sys.executable, "-c", READ]).returncode == 0
"""


def test_a_mutant_is_what_is_tested(tmp_path: Path) -> None:
    """Each way in which tests run the code fails on a mutant, and passes without it."""
    tree = copied(tmp_path)
    assert (tree / "src/persona_panel").readlink() == Path("../panel")
    (tree / "tests/test_mark.py").write_text(TEST, "utf-8")
    source = (tree / FILE).read_bytes()
    mark = Mutant("panel/statistics", FILE, 1, len(source), len(source), "\nMARK = 1\n")
    none = Mutant("panel/statistics", FILE, 1, len(source), len(source), "")
    for way in ("this_process", "a_fork", "a_process"):
        test = [f"tests/test_mark.py::test_in_{way}"]
        killed = tried_in(tree, mark, test, 60, mirrored=True)
        assert (killed.outcome, killed.mirrored) == ("killed", True), way
    survived = tried_in(tree, none, ["tests/test_mark.py"], 60, mirrored=True)
    assert (survived.outcome, survived.mirrored) == ("survived", False)
    assert (tree / FILE).read_bytes() == source


def test_mirroring_files_are_named_after_the_changed_file() -> None:
    """The file of that name comes first, then those of its topics, and no other's."""
    mutant = Mutant("panel/statistics", "panel/statistics/votes.py", 1, 0, 0, "")
    names = [Path(path).name for path in mirroring(mutant)]
    assert names == ["test_votes.py", "test_votes_effective_judges.py", "test_votes_gain.py"]
