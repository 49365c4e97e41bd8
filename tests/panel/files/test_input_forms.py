"""Files as people have them: other names, no ids, other delimiters, JSON lists and gzip."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from persona_panel import load_ratings
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.responses import load_responses

ROW = {"id": "r1", "prompt": "Why?", "response": "Because.", "system": "ash", "year": 2024}
MAPPING = {"prompt": "question", "response": "answer", "system": "model"}
_texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1
).filter(lambda text: bool(text.strip()))


def fault_of(path: Path, **options: Any) -> Fault:
    with pytest.raises(InputError) as caught:
        load_responses(path, **options)
    (fault,) = caught.value.faults
    return fault


@settings(deadline=None)
@given(st.lists(st.tuples(_texts, _texts), unique=True, min_size=1), st.sampled_from(",;\t"))
def test_mapped_columns_of_any_delimiter_are_read(rows: list[tuple[str, str]], mark: str) -> None:
    """A table whose columns have other names is read by a mapping, whatever separates its cells."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "in.csv")
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file, delimiter=mark)
            writer.writerow(["question", "answer", "model", "note"])
            writer.writerows([["q", text, "m", note] for text, note in dict(rows).items()])
        found = load_responses(path, mapping=MAPPING)
    assert [(one.text, one.metadata) for one in found] == [
        (text, {"note": note}) for text, note in dict(rows).items()
    ]


@settings(deadline=None)
@given(st.lists(_texts, unique=True, min_size=1), st.sampled_from([None, 1]))
def test_a_json_list_is_read(texts: list[str], indent: int | None) -> None:
    """A list of objects, on one line or many, is read with the types of its metadata."""
    rows = [{**ROW, "response": text, "id": n} for n, text in enumerate(texts)]
    with TemporaryDirectory() as folder:
        path = Path(folder, "in.json")
        path.write_text(json.dumps(rows, indent=indent, ensure_ascii=False), "utf-8")
        found = load_responses(path)
    assert [(one.text, one.metadata) for one in found] == [(text, {"year": 2024}) for text in texts]


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv"])
def test_gzip_is_read(tmp_path: Path, suffix: str) -> None:
    """A file in gzip is read as the file in it; a damaged one is one fault."""
    text = json.dumps(ROW)
    if suffix == ".csv":
        text = "id,prompt,response,system\nr1,Why?,Because.,ash\n"
    path = tmp_path / f"in{suffix}.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert load_responses(path)[0].text == "Because."
    path.write_bytes(path.read_bytes()[:-12])
    assert fault_of(path).expected == "a gzip file"


def test_ids_are_made_from_system_and_text(tmp_path: Path) -> None:
    """Without a column of ids, each response is called after its system and text; the same text
    by the same system is refused with the line on which it was."""
    path = tmp_path / "in.csv"
    path.write_text("prompt,response,system\nq,a,ash\nq,a,elm\n")
    # What `printf 'ash\na\n' | sha256sum` says.
    assert [one.id for one in load_responses(path)] == ["r-c80c5629ecd3", "r-32b86e46030f"]
    path.write_text("prompt,response,system\nq,a,ash\nq,a,ash\n")
    assert fault_of(path).actual == "the same text by 'ash' again, first on line 2"


@pytest.mark.parametrize("name", ["ID", "Id", "Response ID"])
def test_a_column_almost_called_id_is_not_passed_over(tmp_path: Path, name: str) -> None:
    """Ids are not made where a column seems to hold them."""
    path = tmp_path / "in.csv"
    path.write_text(f"{name},prompt,response,system\n1,q,a,ash\n")
    assert f"{name}" in fault_of(path).expected
    assert load_responses(path, mapping={"id": name})[0].id == "1"


def test_ids_that_some_lines_lack(tmp_path: Path) -> None:
    """Where other lines have an id, a line without one is refused."""
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps(ROW) + "\n" + json.dumps({**ROW, "id": None} | {"prompt": "B"}))
    assert fault_of(path).field == "id"
    lacking = {name: value for name, value in ROW.items() if name != "id"}
    path.write_text(json.dumps(ROW) + "\n" + json.dumps({**lacking, "prompt": "B"}))
    assert (fault_of(path).line, fault_of(path).actual) == (2, "nothing")


@pytest.mark.parametrize("mapping", [{"response": "anwser"}, {"context": "anwser"}])
def test_a_mapped_column_that_is_not_there(tmp_path: Path, mapping: dict[str, str]) -> None:
    """The columns that are there are listed, with the nearest, of an optional field, too."""
    path = tmp_path / "in.csv"
    path.write_text("id,prompt,response,system,answer\n1,q,a,s,b\n")
    fault = fault_of(path, mapping=mapping)
    assert fault.actual.startswith("no such field, only 'id', 'prompt'")
    assert "did you mean 'answer'" in fault.expected


@pytest.mark.parametrize(
    ("mapping", "found"),
    [
        ({"respons": "answer"}, "an unknown field"),
        ({"response": "answer", "text": "b"}, "'response' mapped, too, which is the same field"),
        ({"response": "answer", "prompt": "answer"}, "the column of 'response' a second time"),
    ],
)
def test_a_mapping_that_cannot_be(tmp_path: Path, mapping: dict[str, str], found: str) -> None:
    """An unknown field, a field twice and a column twice are refused before the file is read."""
    assert fault_of(tmp_path / "absent.csv", mapping=mapping).actual == found


def test_many_empty_cells_are_one_fault_in_words(tmp_path: Path) -> None:
    """667 empty cells are one line with the first of them and their number."""
    path = tmp_path / "in.csv"
    rows = [f"{n},q,{'' if n % 3 else 'a'},s\n" for n in range(1000)]
    path.write_text("id,prompt,response,system\n" + "".join(rows))
    with pytest.raises(InputError) as caught:
        load_responses(path)
    assert str(caught.value) == (
        f"{path}: lines 3-4, 6-7, 9-10, 12-13, 15-16, … (666 lines): response: "
        "found an empty value; expected text (remove rows that have none)"
    )


def test_ratings_are_mapped(tmp_path: Path) -> None:
    """A mapping says whether a column holds scores or labels, and faults name the column."""
    path = tmp_path / "in.csv"
    path.write_text("text;who;value\na;x;1\na;y;2\n")
    mapping = {"item": "text", "rater": "who"}
    assert load_ratings(path, mapping={**mapping, "score": "value"}).scores.max() == 2
    assert load_ratings(path, mapping={**mapping, "label": "value"}).categories == {
        "all": ("1", "2")
    }
    path.write_text("text;who;value\na;x;one\n")
    with pytest.raises(InputError) as caught:
        load_ratings(path, mapping={**mapping, "score": "value"})
    assert caught.value.faults[0].field == "value"
