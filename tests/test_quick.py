"""Which tests `python -m tests --quick` chooses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.documents import PAGES
from tests.quick import CORE, ROOT, WALK, changed_files, matching_tests


def git(folder: Path, *words: str) -> None:
    own = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("tests/panel/calls/test_cache.py", ["tests/panel/calls/test_cache.py"]),
        ("tests/panel/calls/test_of_nothing.py", []),
        ("tests/helpers/forked.py", []),
        (
            "panel/calls/cache.py",
            ["tests/panel/calls/test_cache.py", "tests/panel/calls/test_cache_coalescing.py"],
        ),
        ("graphs/records.py", ["tests/graphs/test_records.py"]),
        ("docs/how-to/cost.md", [f"{WALK}[docs/how-to/cost.md]"]),
        ("pyproject.toml", []),
    ],
)
def test_a_file_has_the_tests_that_mirror_it(path: str, tests: list[str]) -> None:
    """A test file is run itself, a module by the files with its name in the mirroring folder, a
    page is walked; nothing else brings tests."""
    assert matching_tests(Path(path)) == tests


def test_a_module_without_a_test_file_has_those_that_import_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nearest test files that import it, by whichever words, and else those of its folder."""
    monkeypatch.setattr("tests.quick.ROOT", tmp_path)
    for name, text in {
        "tests/panel/x/test_a.py": "from persona_panel.x.other import y\n",
        "tests/panel/x/test_b.py": "    import persona_panel.x.y\n",
        "tests/panel/x/test_c.py": "from persona_panel.x import other, y\n",
        "tests/test_far.py": "from persona_panel.x.y import z\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    near = ["tests/panel/x/test_b.py", "tests/panel/x/test_c.py"]
    assert matching_tests(Path("panel/x/y.py")) == [*near, "tests/test_far.py"]
    assert matching_tests(Path("panel/x/unused.py")) == ["tests/panel/x/test_a.py", *near]


def test_what_is_not_committed_is_changed_and_else_the_last_commit(tmp_path: Path) -> None:
    """Edited and new files are changed, ignored ones are not; without any, those of HEAD are."""
    git(tmp_path, "init", "-q")
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("1")
        (tmp_path / ".gitignore").write_text("ignored")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", name)
    (tmp_path / "ignored").touch()
    assert changed_files(tmp_path) == [Path("b.py")]
    (tmp_path / "a.py").write_text("2")
    (tmp_path / "c.py").touch()
    assert changed_files(tmp_path) == [Path("a.py"), Path("c.py")]


def test_pages_and_the_core_are_there() -> None:
    """A page that is walked is known here, too, and no file of the core was renamed."""
    from tests import quick

    assert sorted(quick.PAGES) == sorted(PAGES)
    assert all((ROOT / name).exists() for name in CORE)
