"""Inputs of several files, and of files elsewhere: `persona_panel.files.named_files`."""

from __future__ import annotations

import json
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from persona_panel import InputError, load_responses
from persona_panel.files.named_files import files_of

ROWS = [
    {"id": f"r{i}", "prompt": f"Why {i // 4}?", "response": f"Text {i}.", "system": f"s{i % 4}"}
    for i in range(12)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Responses in three partitions, one of them in a folder of its own, beside another file."""
    texts = tmp_path / "texts"
    (texts / "more").mkdir(parents=True)
    for number, name in enumerate(("a", "b", "more/c")):
        part = pa.Table.from_pylist(ROWS[number::3])
        pq.write_table(part, texts / f"{name}.parquet")
    (texts / "_SUCCESS").touch()
    return texts


def ids(source: str | Path) -> list[str]:
    return [response.id for response in load_responses(source)]


def test_a_folder_and_a_pattern_are_their_files_by_name(folder: Path) -> None:
    """Of a folder all Parquet files are read, at whatever depth; of a pattern those that match."""
    first, second, third = ([row["id"] for row in ROWS[start::3]] for start in range(3))
    assert ids(folder) == first + second + third
    assert ids(folder / "[ab].parquet") == first + second
    assert ids(str(folder / "**" / "c.parquet")) == third


def test_an_address_is_read_by_fsspec(folder: Path) -> None:
    """A file, a folder and a pattern elsewhere are those of the same names here, and are copied
    once."""
    elsewhere = f"memory://{folder.name}-{id(folder)}"
    fsspec.filesystem("memory").put(str(folder), elsewhere, recursive=True)
    assert ids(elsewhere) == ids(folder)
    assert ids(f"{elsewhere}/b.parquet") == ids(folder / "b.parquet")
    assert ids(f"{elsewhere}/*.parquet") == ids(folder / "*.parquet")
    assert files_of(elsewhere) is files_of(elsewhere)


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_a_file_with_brackets_is_no_pattern(tmp_path: Path, scheme: str) -> None:
    """A file of the very name is read, and not the one that its brackets would match."""
    for name, row in (("t[1]", ROWS[1]), ("t1", ROWS[2])):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    fsspec.filesystem("memory").put(str(tmp_path), str(tmp_path), recursive=True)
    assert ids(f"{scheme}://{tmp_path}/t[1].jsonl") == ["r1"]
    assert ids(f"{scheme}://{tmp_path}/t[12].jsonl") == ["r2"]


@pytest.mark.parametrize("scheme", ["", "file://", "memory://"])
def test_a_folder_as_spark_writes_it(tmp_path: Path, scheme: str) -> None:
    """Folders may be called as files are; what begins with a dot or an underscore is no data, nor
    is what lies below it, wherever the folder itself is."""
    texts = tmp_path / "_out" / "texts.parquet"
    wanted = ("a.parquet/b.parquet", "a.parquet/c_.parquet")
    for name in (*wanted, "_tmp.parquet", ".c.parquet", "_temporary/0/d.parquet", ".x/e.parquet"):
        (texts / name).parent.mkdir(parents=True, exist_ok=True)
        (texts / name).touch()
    fsspec.filesystem("memory").put(str(texts), str(texts), recursive=True)
    assert [one.name.split(f"{texts}/")[1] for one in files_of(f"{scheme}{texts}")] == [*wanted]


def test_a_fault_names_its_file(folder: Path) -> None:
    """A response that is there twice is told with both files."""
    pq.write_table(pa.Table.from_pylist(ROWS[:1]), folder / "z.parquet")
    with pytest.raises(InputError) as refused:
        load_responses(folder)
    [fault] = refused.value.faults
    assert (fault.file, fault.line) == (str(folder / "z.parquet"), 1)
    assert fault.actual == f"'r0' again, first on line 1 of {folder / 'a.parquet'}"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("", "an empty name"),
        ("memory://nowhere/texts", "no such file"),
        ("memory://nowhere/*.parquet", "no file there"),
        ("acme://bucket/x.parquet", "what cannot be read (Protocol not known: acme)"),
        ("nowhere/*.parquet", "no file of such a name"),
    ],
)
def test_nothing_there_is_told(source: str, found: str) -> None:
    """An empty name, an address or a pattern without a file, and one that nobody knows, are refused
    as such."""
    with pytest.raises(InputError) as refused:
        load_responses(source)
    assert [(fault.file, fault.actual) for fault in refused.value.faults] == [
        (source or "''", found)
    ]
