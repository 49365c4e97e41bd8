"""A file that grows: what is in it at any moment, and what becomes of what it held."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pytest

from persona_panel.files.errors import RunFolderError
from persona_panel.runs.output import AppendedFile


def result(line: Mapping[str, Any]) -> Hashable | None:
    return line["name"] if line["good"] else None


def grow(path: Path, *, fresh: bool = False) -> AppendedFile:
    return AppendedFile(path, result, fresh=fresh)


def line(name: str, *, good: bool = True, **more: Any) -> dict[str, Any]:
    return {"name": name, "good": good, **more}


def names(path: Path) -> list[str]:
    return [json.loads(text)["name"] for text in path.read_text().splitlines()]


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """A file with two results, a failure and a line that a kill has torn."""
    path = tmp_path / "lines.jsonl"
    whole = "".join(json.dumps(one) + "\n" for one in (line("a"), line("x", good=False), line("b")))
    path.write_text(whole + '{"name": "c", "go')
    return path


def test_the_old_lines_stay_until_the_new_ones_have_all_their_results(held: Path) -> None:
    """Not before both results have come again does the file change; from then on it grows."""
    before = held.read_bytes()
    file = grow(held)
    for name in ("b", "new"):
        file.add(line(name))
        file.flush()
        assert held.read_bytes() == before
    file.add(line("a"))
    assert names(held) == ["b", "new", "a"]
    file.add(line("later"))
    file.flush()
    assert names(held) == ["b", "new", "a", "later"]
    assert file.close() == 0
    assert [path.name for path in held.parent.iterdir()] == [held.name]


def test_a_change_is_announced_once_before_it_is_in_the_file(held: Path) -> None:
    """Results that come again, also twice as by a second round, and failures are no change; a new
    one is, and the file has only the old ones when it is announced."""
    announced: list[list[str]] = []
    file = AppendedFile(held, result, fresh=False, on_change=lambda: announced.append(names(held)))
    for name in ("b", "a", "a"):
        file.add(line(name))
    file.add(line("x", good=False))
    file.flush()
    assert announced == []
    for name in ("new", "newer"):
        file.add(line(name))
        file.flush()
    assert announced == [["b", "a", "a", "x"]]
    assert file.close() == 0
    assert names(held) == ["b", "a", "a", "x", "new", "newer"]


def test_what_does_not_come_again_is_counted_and_kept(held: Path) -> None:
    """A result that comes back as a failure has not come back: the file is what it was."""
    before = held.read_bytes()
    file = grow(held)
    file.add(line("a", good=False))
    file.add(line("b"))
    assert file.close() == 1
    assert held.read_bytes() == before
    assert [path.name for path in held.parent.iterdir()] == [held.name]


def test_what_a_kill_left_beside_the_file_is_begun_anew(held: Path) -> None:
    """Lines that had not taken the file's place are no part of it later."""
    (held.parent / f".{held.name}.new").write_text('{"name": "old", "good": true}\n')
    file = grow(held)
    for name in ("a", "b"):
        file.add(line(name))
    assert file.close() == 0
    assert names(held) == ["a", "b"]


def test_failures_alone_and_a_fresh_start_keep_nothing(held: Path) -> None:
    """Where there is no result to lose, or it is to go, the file is empty at once."""
    file = grow(held, fresh=True)
    assert held.read_bytes() == b""
    file.add(line("x", good=False))
    file.close()
    file = grow(held)
    assert held.read_bytes() == b""
    file.close()


def test_only_whole_lines_are_written(tmp_path: Path) -> None:
    """However much is added without a flush, what stands in the file ends with a line's end."""
    path = tmp_path / "lines.jsonl"
    file = grow(path)
    for i in range(2_000):
        file.add(line(f"n{i}", text="x" * (i % 977)))
        content = path.read_bytes()
        assert not content or content.endswith(b"\n")
    assert path.stat().st_size > 500_000
    file.close()
    assert len(names(path)) == 2_000


def test_a_file_that_is_being_replaced_is_nobody_elses(held: Path) -> None:
    """Before, while and after the new lines take the old ones' place a second run is refused, and
    the lines are untouched; afterwards it is let in."""
    file = grow(held)
    for name in ("a", "b", "c"):
        with pytest.raises(RunFolderError, match="another run is writing"):
            grow(held, fresh=True)
        file.add(line(name))
    file.close()
    assert names(held) == ["a", "b", "c"]
    grow(held).close()
