"""Files that would take more memory than there is, or time without end, as commands meet them."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz import folders
from tests.helpers import forked

MOST_KB = 100_000
"""Beyond what is imported."""
GB = 10**9
MEASURED = """
import resource, sys
from persona_panel.cli.main import main
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
try:
    main()
finally:
    print("PEAK", peak() - before, file=sys.stderr)
"""


def of_a_gigabyte(start: bytes) -> Callable[[Path], None]:
    """Makes a file that begins so, and goes on without a line's end for a gigabyte."""

    def made(path: Path) -> None:
        path.write_bytes(start)
        os.truncate(path, GB)

    return made


def of_bytes(content: bytes) -> Callable[[Path], None]:
    """Makes a file of this content."""

    def made(path: Path) -> None:
        path.write_bytes(content)

    return made


def a_device(path: Path) -> None:
    """A link to a device without an end."""
    path.symlink_to("/dev/zero")


def zipped_twice(path: Path) -> None:
    """A zip in a zip, named as a table."""
    inner = path.with_suffix(".zip")
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(10_000_000))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(inner)


def laughs(key: str) -> bytes:
    """YAML whose aliases stand for a billion values."""
    lines = [b"a0: &a0 {x: 1, y: 2}" if key == "<<" else b"a0: &a0 [x, x]"]
    for level in range(1, 10):
        before = b", ".join([b"*a%d" % (level - 1)] * 9)
        inner = b"{<<: [%s]}" % before if key == "<<" else b"[%s]" % before
        lines.append(b"a%d: &a%d %s" % (level, level, inner))
    return b"\n".join(lines)


DEEP = b"[" * 500_000
A_ROW = b'id,prompt,response,system\nr1,"' + b"never closed\n" * 2_000_000
SCORE = ("score", "FILE", "--model", "openai:m", "--dry-run")
AGREE = ("agree", "FILE")
FILES: dict[str, tuple[str, Callable[[Path], None], tuple[str, ...], str]] = {
    "a line of JSONL": ("in.jsonl", of_a_gigabyte(b'{"id": "'), SCORE,
                        "in.jsonl:1: found a line of more than 16,000,000 bytes; expected shorter"),
    "a line of CSV": ("in.csv", of_a_gigabyte(b"id,prompt,response,system\nr1,"), AGREE,
                      "in.csv:2: found a row of more than 16,000,000 characters; expected shorter"),
    "an open quote": ("in.csv", of_bytes(A_ROW), SCORE,
                      "in.csv:2: found a row of more than 16,000,000 characters; expected shorter"),
    "a list of JSON": ("in.json", of_a_gigabyte(b'[{"id": "'), SCORE,
                       "in.json: found a file of 1,000,000,000 bytes; expected at most 256"),
    "columns": ("in.csv", of_bytes(b"a" + b",a" * 7_000_000 + b"\n"), SCORE,
                "in.csv:1: found 7,000,001 columns; expected at most 10,000"),
    "nested JSON": ("in.jsonl", of_bytes(b'{"id": ' + DEEP), SCORE,
                    "in.jsonl:1: found more than 100 levels of nesting; expected plain JSON"),
    "faults": ("in.jsonl", of_bytes(b"x\n" * 1_000_000), SCORE,
               "in.jsonl: found more than 100,000 faults; it was read no further"),
    "aliases": ("in.yaml", of_bytes(laughs("")), ("library", "rubrics", "FILE"),
                "in.yaml: found more than 50,000 values, aliases written out"),
    "merged aliases": ("in.yaml", of_bytes(laughs("<<")), ("library", "rubrics", "FILE"),
                       "in.yaml: found more than 50,000 values, aliases written out"),
    "nested YAML": ("in.yaml", of_bytes(b"a: " + DEEP), ("library", "rubrics", "FILE"),
                    "in.yaml: found more than 50 levels of nesting"),
    "repeated keys": ("in.yaml", of_bytes(b"a:\n" * 300_000), ("library", "rubrics", "FILE"),
                      "in.yaml: found more than 50,000 values"),
    "long YAML": ("in.yaml", of_a_gigabyte(b"a: "), ("library", "rubrics", "FILE"),
                  "in.yaml: found a file of 1,000,000,000 bytes; expected at most 1,000,000"),
    "a pipe": ("in.jsonl", os.mkfifo, SCORE, "in.jsonl: found a pipe; expected a file"),
    "a piped definition": ("in.yaml", os.mkfifo, ("library", "rubrics", "FILE"),
                           "in.yaml: rubric: found a pipe"),
    "a device": ("in.csv", a_device, AGREE, "in.csv: found a device; expected a file"),
    "a directory": ("in.jsonl", Path.mkdir, SCORE, "in.jsonl: found a folder without a Parquet"),
    "zips": ("in.csv", zipped_twice, AGREE, "in.csv"),
    "run.json": ("run/run.json", of_a_gigabyte(b'{"rubric": "'), ("agree", "run"),
                 "run.json: found a file of 1,000,000,000 bytes; expected at most 256,000,000"),
    "summary.json": ("run/summary.json", of_a_gigabyte(b'{"calls": "'), ("report", "run"),
                     "summary.json: found a file of 1,000,000,000 bytes"),
    "judgments.jsonl": ("run/judgments.jsonl", of_a_gigabyte(b'{"id": "'),
                        ("people", "votes", "run"),
                        "judgments.jsonl:1: found a line of more than 16,000,000 bytes"),
    "responses.jsonl": ("run/responses.jsonl", of_a_gigabyte(b'{"id": "'), ("report", "run"),
                        "responses.jsonl:1: found a line of more than 16,000,000 bytes"),
    "a piped run.json": ("run/run.json", os.mkfifo, ("report", "run"), "run.json: found a pipe"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FILES)
def test_a_file_is_refused_in_bounded_memory(kind: str, tmp_path: Path) -> None:
    """The error names the file, what was found and what is read; it takes less than
    100 MB."""
    import shutil

    name, make, arguments, said = FILES[kind]
    if name.startswith("run/"):
        shutil.copytree(folders.originals() / "run", tmp_path / "run")
        (tmp_path / name).unlink()
    make(tmp_path / name)
    words = [name if one == "FILE" else one for one in arguments]
    # A process of its own: what others have taken is not its peak.
    done = forked.run([sys.executable, "-c", MEASURED, *words], tmp_path, os.environ)
    assert done.returncode == 2, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert said in done.stderr, done.stderr[:2000]
    peak = int(done.stderr.rpartition("PEAK ")[2])
    assert peak < MOST_KB, f"{peak:,} KB"
