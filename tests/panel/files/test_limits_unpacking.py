"""Unpacking within bounds: what a few bytes unpack to, and what is read of it."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.calls.journal import decoded, encoded
from persona_panel.files.limits import (
    TooMuchUnpacked,
    UnreadablePacking,
    most_unpacked,
    require_unpackable,
    unpacked,
    unpacked_file,
)
from persona_panel.rubrics import ModelResponse

BOMB = 400_000_000
"""Bytes that the files of these tests unpack to: more than a command may take of memory."""


@given(st.binary(max_size=5_000), st.sampled_from([gzip.compress, zlib.compress]))
def test_what_is_packed_comes_back(content: bytes, pack: Callable[[bytes], bytes]) -> None:
    """By gzip or deflate, whole, or as much of it as is asked for."""
    assert unpacked(pack(content), 10_000) == content
    assert unpacked(pack(content), 100) == content[:100]


def test_what_breaks_off_is_refused() -> None:
    """A packed body of which the end is missing, and one that is not packed, are named."""
    packed = gzip.compress(bytes(range(256)) * 9)
    with pytest.raises(UnreadablePacking, match="broke off"):
        unpacked(packed[:-9], 10_000)
    with pytest.raises(UnreadablePacking, match="cannot be read"):
        unpacked(b"plain text", 10_000)


def test_a_bound_is_a_size_or_a_ratio() -> None:
    """A small file may unpack to 64 MB, a larger one to a hundred times its size; no byte more."""
    assert most_unpacked(1_000) == 64_000_000
    assert most_unpacked(1_000_000) == 100_000_000
    require_unpackable(1_000_000, 100_000_000)
    with pytest.raises(TooMuchUnpacked, match=r"more than 100,000,000 bytes.*100 times its size"):
        require_unpackable(1_000_000, 100_000_001)


def test_a_file_is_read_up_to_its_bound() -> None:
    """Read piece by piece, the error comes once more was unpacked than may be."""
    file = unpacked_file(io.BytesIO(gzip.compress(bytes(most_unpacked(0) + 1_000_000), 9)))
    with pytest.raises(TooMuchUnpacked):
        while file.read(1 << 20):
            pass


def test_a_file_that_ends_early_gives_what_it_has() -> None:
    """Lines before the place where a file breaks off can be read."""
    lines = b"".join(b"%d\n" % n for n in range(50_000))
    file = unpacked_file(io.BytesIO(gzip.compress(lines)[:-3_000]))
    read = []
    with pytest.raises(EOFError):
        while line := file.readline():
            read.append(line)
    assert len(read) > 30_000
    assert b"".join(read) == lines[: sum(map(len, read))]


def run(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["texts.jsonl.gz", "texts.csv.gz"])
def test_a_bomb_is_refused_in_bounded_memory(name: str, tmp_path: Path) -> None:
    """A file of equal bytes that would fill the memory ends in an error of ours with the bound."""
    path = tmp_path / name
    with gzip.open(path, "wb", 9) as file:
        for _ in range(BOMB // 1_000_000):
            file.write(b" " * 999_999 + b"\n")
    code = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from persona_panel import InputError, load_responses\n"
        "try:\n    load_responses(sys.argv[1])\n"
        "except InputError as error:\n    print(error)\n"
        # Not `ru_maxrss`, which begins at what the process took that started this one.
        "status = Path('/proc/self/status').read_text()\n"
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) // 1024)\n"
    )
    done = run(code, path)
    *said, megabytes = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert "unpacks to more than" in "".join(said)
    assert int(megabytes) < 300


def test_a_kept_reply_that_unpacks_to_too_much_is_asked_again() -> None:
    """An entry of a cache is read up to twice the longest answer; a larger one is none."""
    page, key = "a" * 64, bytes(32)
    sound = encoded(ModelResponse("x" * 5_000), page, key)
    reply = decoded(sound, page, key)
    assert reply is not None and reply.text == "x" * 5_000
    assert decoded(encoded(ModelResponse("x" * 17_000_000), page, key), page, key) is None


def test_a_kept_reply_of_another_request_is_asked_again() -> None:
    """An entry that stands under another key or page than it was kept for is not served."""
    page, key = "a" * 64, bytes(32)
    stored = encoded(ModelResponse("yes"), page, key)
    assert decoded(stored, page, key) is not None
    assert decoded(stored, page, b"\x01" * 32) is None
    assert decoded(stored, "b" * 64, key) is None


def test_a_kept_reply_that_is_too_long_is_asked_again() -> None:
    """One that is not packed has the same bound as what is unpacked, to the byte."""
    begin, end = encoded(ModelResponse(""), "page", bytes(32)).split(b'""', 1)
    room = 16_000_000 - len(begin) - len(end) - 2
    for n, is_read in ((room, True), (room + 1, False)):
        stored = begin + b'"' + b"x" * n + b'"' + end
        assert (decoded(stored, "page", bytes(32)) is not None) is is_read
