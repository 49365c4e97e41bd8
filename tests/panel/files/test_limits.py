"""How much of a file is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from persona_panel.files.errors import InputError
from persona_panel.files.limits import content_of, json_in, lines_in, lines_of


def test_a_file_that_grows_has_an_end(tmp_path: Path) -> None:
    """Of a file to which another process writes with each line that is read, what it held when it
    was opened is read."""
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"a\n" * 3)
    read = []
    for line in lines_of(path):
        read.append(line)
        with path.open("ab") as file:
            file.write(b"b\n")
        assert len(read) < 10
    assert read == [b"a\n"] * 3


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe that nobody writes to is refused at once."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no regular file"):
        content_of(tmp_path / "pipe")


def test_sizes_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is as long as is read is read, and what is a byte longer is refused, with its line."""
    path = tmp_path / "file"
    path.write_bytes(b"1\n123456789\n")
    assert content_of(path, 12) == b"1\n123456789\n"
    with pytest.raises(InputError, match="a file of 12 bytes; expected at most 11 bytes"):
        content_of(path, 11)
    monkeypatch.setattr(lines_in, "__defaults__", (10,))
    assert list(lines_of(path)) == [b"1\n", b"123456789\n"]
    monkeypatch.setattr(lines_in, "__defaults__", (9,))
    with pytest.raises(InputError, match="file:2: found a line of more than 9 bytes"):
        list(lines_of(path))


@pytest.mark.parametrize(("open_", "close"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_json_is_read_to_a_depth(open_: bytes, close: bytes) -> None:
    """A hundred levels are, one more is not; many values on few levels are."""
    json_in(open_ * 100 + b"1" * (open_ != b"[") + close * 100)
    with pytest.raises(ValueError, match="more than 100 levels of nesting"):
        json_in(open_ * 101 + b"1" * (open_ != b"[") + close * 101)
    assert len(json_in(b"[" + b",".join([b"[]"] * 1000) + b"]")) == 1000
