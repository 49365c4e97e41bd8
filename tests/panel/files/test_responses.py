"""Responses come in as they were written, or not at all and with every fault named."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from persona_panel.files import responses as reading
from persona_panel.files.errors import Fault, InputError, RunStopped
from persona_panel.files.outputs import prompt_id_of, without_texts
from persona_panel.files.responses import Batch, ResponseFile, load_responses
from persona_panel.graphs import Response

GOOD = {"id": "r1", "prompt": "Why?", "response": "Because.", "system": "alder"}
HEADER = "id,prompt,response,system\n"


def jsonl(path: Path, *rows: Mapping[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def faults_of(source: Any, **options: Any) -> tuple[Fault, ...]:
    with pytest.raises(InputError) as caught:
        load_responses(source, **options)
    return caught.value.faults


def fault_of(source: Any, **options: Any) -> Fault:
    (fault,) = faults_of(source, **options)
    return fault


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path / "in.jsonl"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "in.csv"


# What was written is read back.

_characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
_texts = st.text(_characters, min_size=1).filter(lambda text: bool(text.strip()))
_names = st.text(_characters, min_size=1).filter(
    lambda name: (
        name not in {*GOOD, "text", "prompt_id", "context", "metadata"}
        and not name.startswith(("respon", "prompt_"))
    )
)
_json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(_characters),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(_characters), inner),
    max_leaves=5,
)  # fmt: skip


@st.composite
def _batches(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> list[Response]:
    """Responses to a few prompts, all with the same metadata columns, as a table has them."""
    prompts = draw(st.dictionaries(_texts, _texts, min_size=1, max_size=4))
    columns = draw(st.lists(_names, unique=True, max_size=3))
    keys = draw(
        st.lists(
            st.tuples(st.sampled_from(sorted(prompts)), _texts),
            unique=True,
            min_size=1,
            max_size=6,
        )
    )
    return [
        Response(
            id=id_,
            prompt_id=prompt_id,
            prompt=prompts[prompt_id],
            text=draw(_texts),
            system=draw(_texts),
            context=draw(st.none() | _texts),
            metadata={column: draw(values) for column in columns},
        )
        for prompt_id, id_ in keys
    ]


def _row(response: Response) -> dict[str, Any]:
    fields = response.model_dump(exclude={"text", "metadata"})
    return {**fields, "response": response.text, **response.metadata}


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]], delimiter: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


@settings(deadline=None)
@given(_batches(_json_values))
def test_jsonl_is_read_back(batch: list[Response]) -> None:
    """Responses written as JSON lines are read back equal, metadata of any JSON type too."""
    with TemporaryDirectory() as folder:
        path = jsonl(Path(folder, "in.jsonl"), *map(_row, batch))
        assert load_responses(path) == batch


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".tsv", "\t")])
@settings(deadline=None)
@given(batch=_batches(st.text(_characters)))
def test_csv_is_read_back(suffix: str, delimiter: str, batch: list[Response]) -> None:
    """Responses written as a table of text are read back equal, line ends and quotes included."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"in{suffix}")
        _write_csv(path, [_row(response) for response in batch], delimiter)
        assert load_responses(path) == batch


@settings(deadline=None)
@given(_batches(st.none() | st.integers(-(2**63), 2**63 - 1)) | _batches(st.text(_characters)))
def test_parquet_is_read_back(batch: list[Response]) -> None:
    """Responses written as Parquet are read back equal."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "in.parquet")
        pq.write_table(pa.Table.from_pylist([_row(response) for response in batch]), path)
        assert load_responses(path) == batch


def test_public_names_are_taken(here: Path) -> None:
    """The column names of public data sets stand for ours."""
    jsonl(
        here,
        {"response_id": "r1", "prompt_text": "P", "response_text": "T", "respondent_id": "S"},
    )
    assert load_responses(here) == [
        Response(id="r1", prompt="P", text="T", system="S", prompt_id=prompt_id_of("P"))
    ]


def test_text_stands_for_response(here: Path) -> None:
    """A response may be called `text`, which is what a Response calls it."""
    jsonl(here, {"id": "r1", "prompt": "P", "text": "T", "system": "S"})
    assert load_responses(here)[0].text == "T"


def test_metadata_keeps_order_and_type(here: Path) -> None:
    """Every other field of a JSON line is kept as it is, in its order."""
    extra = {"z": 1, "a": [True, None, {"b": 1.5}], "m": "1"}
    jsonl(here, {**GOOD, **extra})
    (response,) = load_responses(here)
    assert list(response.metadata.items()) == list(extra.items())


def test_csv_metadata_is_text(table: Path) -> None:
    """A cell of a CSV file is kept as its text, an empty one too."""
    table.write_text("id,prompt,response,system,n,note\nr1,q,a,s,01,\n")
    assert load_responses(table)[0].metadata == {"n": "01", "note": ""}


def test_numbers_as_labels_are_text(here: Path) -> None:
    """Ids and systems that are numbers are read as their digits."""
    jsonl(here, {**GOOD, "id": 7, "system": 2.5, "prompt_id": 3})
    (response,) = load_responses(here)
    assert (response.id, response.system, response.prompt_id) == ("7", "2.5", "3")


def test_parquet_numbers_as_labels_are_text(tmp_path: Path) -> None:
    """Parquet's numbers are read as labels in the same way."""
    path = tmp_path / "in.parquet"
    pq.write_table(pa.Table.from_pylist([{**GOOD, "id": 7}]), path)
    assert load_responses(path)[0].id == "7"


def test_parquet_dates_and_decimals_are_text(tmp_path: Path) -> None:
    """Parquet's times and decimals, which JSON lacks, become metadata as text."""
    path = tmp_path / "in.parquet"
    columns = {name: pa.array([value]) for name, value in GOOD.items()}
    columns["when"] = pa.array([1], pa.timestamp("ns", "UTC"))
    columns["cost"] = pa.array(["1.50"]).cast(pa.decimal128(5, 2))
    pq.write_table(pa.table(columns), path)
    assert load_responses(path)[0].metadata == {
        "when": "1970-01-01 00:00:00.000000001Z",
        "cost": "1.50",
    }


def test_a_prompt_without_an_id_is_called_after_its_text(here: Path) -> None:
    """Its id is `p-` and the first 12 digits of its text's SHA-256, wherever it stands in whatever
    file; blank optional fields are none."""
    jsonl(
        here,
        {**GOOD, "prompt": "B"},
        {**GOOD, "prompt": "Ä", "prompt_id": None},
        {**GOOD, "prompt": "B", "id": "r2", "prompt_id": " ", "context": ""},
    )
    responses = load_responses(here)
    # What `printf %s B | sha256sum` says, and of Ä in UTF-8.
    assert [response.prompt_id for response in responses] == [
        "p-df7e70e50215", "p-2fe5ca1c1a3d", "p-df7e70e50215",
    ]  # fmt: skip
    assert responses[2].context is None
    jsonl(here, {**GOOD, "prompt": "Ä"})
    assert load_responses(here)[0].prompt_id == responses[1].prompt_id


def test_the_id_of_a_prompt_is_no_other_prompts(here: Path) -> None:
    """An id that is given to another prompt than the one it is made from is refused, on its
    line."""
    jsonl(here, {**GOOD, "prompt": "A", "prompt_id": "p-df7e70e50215"}, {**GOOD, "prompt": "B"})
    fault = fault_of(here)
    assert (fault.line, fault.field) == (2, "prompt_id")
    assert fault.actual == "'p-df7e70e50215', which is another prompt's, on line 1"


@settings(deadline=None)
@given(st.lists(st.sampled_from("ABCD"), min_size=1, max_size=8), st.integers(1, 10))
def test_a_limit_takes_the_first(prompts: list[str], limit: int) -> None:
    """A limit gives the beginning of what is read without one, with the same prompt ids."""
    rows = [{**GOOD, "id": i, "prompt": prompt} for i, prompt in enumerate(prompts)]
    with TemporaryDirectory() as folder:
        path = jsonl(Path(folder, "in.jsonl"), *rows)
        assert load_responses(path, limit=limit) == load_responses(path)[:limit]


def test_a_limit_hides_no_fault(here: Path) -> None:
    """The lines after the limit are checked as well."""
    jsonl(here, GOOD, {**GOOD, "id": "r2", "system": None})
    assert fault_of(here, limit=1).line == 2


def test_ids_are_unique_by_prompt(here: Path) -> None:
    """The same id may answer two prompts."""
    jsonl(here, GOOD, {**GOOD, "prompt": "Why not?"})
    assert [response.id for response in load_responses(here)] == ["r1", "r1"]


def test_blank_lines_are_skipped(here: Path) -> None:
    """Blank JSON lines are no records, but they count as lines."""
    here.write_text(f"\n{json.dumps(GOOD)}\n  \n[]\n")
    assert fault_of(here).line == 4


@pytest.mark.parametrize("name", ["in.jsonl", "in.ndjson", "in.JSONL"])
def test_a_bom_is_accepted(tmp_path: Path, name: str) -> None:
    """A byte order mark before UTF-8 is no part of the first line."""
    path = tmp_path / name
    path.write_text(json.dumps(GOOD), encoding="utf-8-sig")
    assert len(load_responses(path)) == 1


def test_a_bom_is_no_part_of_a_header(table: Path) -> None:
    """A CSV file as spreadsheets save it has the column `id`."""
    table.write_text(HEADER + "r1,q,a,s\r\n", encoding="utf-8-sig")
    assert load_responses(table)[0].id == "r1"


def test_a_very_long_cell_is_read(table: Path) -> None:
    """A response of 100,000 words is longer than the csv module's default allows."""
    text = "word " * 100_000
    table.write_text(f'{HEADER}r1,q,"{text}",s\n')
    assert load_responses(table)[0].text == text


@pytest.mark.parametrize("make", [io.StringIO, lambda text: io.BytesIO(text.encode())])
def test_a_stream_is_jsonl(make: Any) -> None:
    """An open stream, of text or bytes, is read as JSON lines."""
    assert load_responses(make(json.dumps(GOOD)))[0].id == "r1"


@pytest.mark.parametrize("line", [b'{"id": "caf\xe9"}\n', b"{}\n"])
def test_standard_input_is_dash(line: bytes) -> None:
    """`-` is standard input, whose faults are named like a file's."""
    script = (
        "from persona_panel.files.errors import InputError\n"
        "from persona_panel.files.responses import load_responses\n"
        "try: load_responses('-')\n"
        "except InputError as error: print(ascii(error.faults[0].file), error.faults[0].line)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], input=line, capture_output=True)
    assert done.stdout.split() == [b"'<stdin>'", b"1"], done.stderr


# What cannot be used is refused.


def test_all_faults_are_reported_together(here: Path) -> None:
    """One reading finds every fault, in the order of the lines, and names each field."""
    here.write_text(
        json.dumps(GOOD) + '\n{oops\n{"id": "r2", "prompt": 5, "response": "", "system": null}\n'
        '[]\n{"id": "r3", "prompt": "q", "response": "a", "sistem": "s"}\n' + json.dumps(GOOD)
    )
    assert [(fault.line, fault.field) for fault in faults_of(here)] == [
        (2, None),
        (3, "prompt"),
        (3, "response"),
        (3, "system"),
        (4, None),
        (5, "system"),
        (6, "id"),
    ]
    assert {fault.file for fault in faults_of(here)} == {str(here)}


def test_a_missing_file(here: Path) -> None:
    """A path at which nothing is says so."""
    assert fault_of(here).actual == "no such file"


def test_a_directory(tmp_path: Path) -> None:
    """A directory is one of Parquet files, or none of responses."""
    assert fault_of(str(tmp_path)).actual == "a folder without a Parquet file"


@pytest.mark.parametrize("name", ["in.jsonl", "in.csv", "in.tsv"])
def test_an_empty_file(tmp_path: Path, name: str) -> None:
    """A file without a byte holds no responses."""
    path = tmp_path / name
    path.touch()
    assert fault_of(path).actual == "no responses"


def test_only_a_header(table: Path) -> None:
    """A table without rows holds no responses."""
    table.write_text(HEADER)
    assert fault_of(table).actual == "no responses"


def test_a_parquet_file_without_rows(tmp_path: Path) -> None:
    """The same goes for Parquet."""
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({name: pa.array([], pa.string()) for name in GOOD}), path)
    assert fault_of(path).actual == "no responses"


def test_a_wrong_extension(tmp_path: Path) -> None:
    """An unknown extension is named beside the known ones."""
    path = tmp_path / "in.xlsx"
    path.write_text("[]")
    fault = fault_of(path)
    assert "'.xlsx'" in fault.actual
    assert ".jsonl, .ndjson, .json, .csv, .tsv, .parquet" in fault.expected
    assert "save the sheet as CSV UTF-8" in fault.expected


def test_wrong_encoding_is_located(here: Path) -> None:
    """The first line that is not UTF-8 is named, with the byte and its offset in the file."""
    good = json.dumps(GOOD).encode() + b"\n"
    here.write_bytes(good + b"\n" + b'{"x": "caf\xe9"}\n')
    fault = next(fault for fault in faults_of(here) if fault.field is None)
    assert (fault.line, fault.expected.partition(";")[0]) == (3, "UTF-8 text")
    place = len(good) + 1 + 10
    assert fault.actual == f"probably Windows-1252 (cp1252): the byte 0xe9 at offset {place}"


def test_wrong_encoding_is_one_fault(table: Path) -> None:
    """A CSV file in cp1252 is one fault that names the encoding, with exactly the lines that are
    not UTF-8."""
    table.write_bytes(HEADER.encode() + b"r1,q,caf\xe9,s\nr2,q,a,s\nr3,q,\xfc,s\n")
    fault = fault_of(table)
    assert fault.line == 2
    assert "cp1252" in fault.actual
    assert fault.actual.endswith("on lines 2, 4")


def test_another_encoding_is_not_called_cp1252(table: Path) -> None:
    """Cyrillic text in cp1251, which cp1252 would read as other letters, is only said not to be
    UTF-8."""
    table.write_bytes(HEADER.encode() + "r1,вопрос,ответ на вопрос,s\n".encode("cp1251"))
    assert "cp1252" not in fault_of(table).actual


@pytest.mark.parametrize("name", ["in.jsonl", "in.csv"])
def test_utf_16(tmp_path: Path, name: str) -> None:
    """UTF-16 without a byte order mark is one fault, not one a line."""
    path = tmp_path / name
    path.write_text(f"{HEADER}r1,q,a,s\n", encoding="utf-16-le")
    found = "UTF-16 text without a byte order mark"
    assert fault_of(path) == Fault(str(path), found, "UTF-8 text", line=1)


def test_a_text_stream_that_cannot_be_decoded() -> None:
    """A stream that decodes its bytes itself, and fails, is refused like a file."""
    stream = io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="utf-8")
    assert fault_of(stream).actual == "bytes that are not utf-8"


@pytest.mark.parametrize("name", ["in.jsonl", "in.csv"])
def test_a_nul(tmp_path: Path, name: str) -> None:
    """A NUL is named by line and column."""
    path = tmp_path / name
    lines = [json.dumps(GOOD)] if name.endswith("jsonl") else [HEADER.strip(), "r1,q,a,s"]
    path.write_text("\n".join([*lines[:-1], "\0" + lines[-1]]))
    fault = fault_of(path)
    assert (fault.line, fault.actual) == (len(lines), "a NUL at column 1")


def test_a_run_without_texts_is_no_file_of_responses(tmp_path: Path) -> None:
    """The digests of a run made with --no-texts are not taken for its texts: the file that it
    scored is what would do."""
    path = tmp_path / "responses.jsonl"
    line = {"id": "r1", "prompt": "q", "response": "a", "system": "s"}
    path.write_text(json.dumps(without_texts(line)) + "\n")
    faults = faults_of(path)
    assert [fault.field for fault in faults] == ["prompt", "response"]
    assert {fault.expected for fault in faults} == {
        "texts, which a run made with --no-texts does not hold: give the file that it scored"
    }


def test_a_missing_column_has_a_suggestion(table: Path) -> None:
    """A column that is missing is named once, with the column that may be meant for it."""
    table.write_text("id,promt,response,system\nr1,q,a,s\nr2,q,a,s\n")
    fault = fault_of(table)
    assert (fault.line, fault.field) == (1, "prompt")
    assert fault.expected == (
        "'prompt' or 'prompt_text' (did you mean 'promt'?); or use --map prompt=promt"
    )


def test_a_fault_of_many_lines_is_one_in_words(here: Path) -> None:
    """Each line has its fault, and the message tells what lines share once, with all of them;
    what differs, if only in what was found, is distinguished."""
    lacking = [{"id": f"r{i}", "prompt": "Why?", "response": "So."} for i in range(12)]
    rows = [
        *lacking[:3],
        GOOD | {"id": "y"},
        lacking[3],
        GOOD | {"id": "x", "system": 5.5},
        *lacking[4:],
    ]
    rows[8] = {"id": "r6", "prompt": "Why?", "response": " "}
    rows[9] |= {"note": "b"}
    with pytest.raises(InputError) as caught:
        load_responses(jsonl(here, *rows))
    assert [fault.line for fault in caught.value.faults if fault.field == "system"] == [
        1, 2, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14,
    ]  # fmt: skip
    several, empty, another = str(caught.value).splitlines()
    assert several.startswith(f"{here}: lines 1-3, 5, 7-9, 11-14: system: found no such field")
    assert (
        empty
        == f"{here}:9: response: found an empty value; expected text (remove rows that have none)"
    )
    assert another.startswith(f"{here}:10: system: found no such field")
    assert "'note'" in another


def test_a_missing_column_hides_no_fault(table: Path) -> None:
    """Rows are checked for the columns that they do have."""
    table.write_text("id,prompt,response\nr1,q,\n")
    assert [(fault.line, fault.field) for fault in faults_of(table)] == [
        (1, "system"),
        (2, "response"),
    ]


def test_a_name_and_its_alias(here: Path) -> None:
    """A name together with its alias leaves open which one counts."""
    jsonl(here, {**GOOD, "response_id": "x"})
    fault = fault_of(here)
    assert (fault.field, fault.actual) == ("id", "'id' and 'response_id'")


@pytest.mark.parametrize("field", list(GOOD))
@pytest.mark.parametrize("value", ["", " \n"])
def test_an_empty_value(here: Path, field: str, value: str) -> None:
    """A required field that is blank is empty."""
    jsonl(here, {**GOOD, field: value})
    fault = fault_of(here)
    assert (fault.line, fault.field, fault.actual) == (1, field, "an empty value")


@pytest.mark.parametrize("field", list(GOOD))
@pytest.mark.parametrize(
    ("value", "shown"),
    [(True, "true"), ({"a": 1}, "a mapping"), ([1], "a list"), (None, "null")],
)
def test_a_value_that_is_no_text(here: Path, field: str, value: Any, shown: str) -> None:
    """Booleans, objects, lists and null are neither text nor labels."""
    jsonl(here, {**GOOD, field: value})
    fault = fault_of(here)
    assert (fault.field, fault.actual) == (field, shown)
    assert fault.expected.startswith("text")


@pytest.mark.parametrize("number", ["NaN", "1e999"])
def test_an_id_that_is_no_finite_number(here: Path, number: str) -> None:
    """NaN and Infinity name nothing."""
    here.write_text(json.dumps(GOOD).replace('"r1"', number))
    fault = fault_of(here)
    assert (fault.field, fault.actual) == ("id", "NaN or Infinity")


def test_a_duplicate_names_both_lines(here: Path) -> None:
    """The same id twice for one prompt is refused, the number and the text being the same."""
    jsonl(here, {**GOOD, "id": 1}, {**GOOD, "id": "2"}, {**GOOD, "id": "1"})
    fault = fault_of(here)
    assert (fault.line, fault.field) == (3, "id")
    assert fault.actual == "'1' again, first on line 1"


def test_one_prompt_id_for_two_prompts(here: Path) -> None:
    """A prompt id belongs to one prompt; the line that had it first is named."""
    jsonl(here, {**GOOD, "prompt_id": "x"}, {**GOOD, "prompt_id": "x", "prompt": "Another?"})
    fault = fault_of(here)
    assert (fault.line, fault.field) == (2, "prompt_id")
    assert fault.actual == "'x', which is another prompt's, on line 1"


def test_a_json_syntax_error(here: Path) -> None:
    """A line that is not JSON is named with the column and the reason."""
    here.write_text('{"id": "r1" "prompt": "q"}\n')
    fault = fault_of(here)
    assert fault.line == 1
    assert fault.actual == "a syntax error at column 13 (Expecting ',' delimiter)"


@pytest.mark.parametrize(
    ("text", "shown"), [("[1]", "a list"), ('"x"', "'x'"), ("3", "3"), ("null", "null")]
)
def test_a_line_that_is_no_object(here: Path, text: str, shown: str) -> None:
    """JSON that is not an object is no record."""
    here.write_text(text)
    assert fault_of(here) == Fault(str(here), shown, "a JSON object", line=1)


@pytest.mark.parametrize("extra", ['"system": "b"', '"m": {"system": 1, "system": 2}'])
def test_a_repeated_key(here: Path, extra: str) -> None:
    """A key that an object has twice is refused, at any depth, for one of them would be lost."""
    here.write_text(f"{json.dumps(GOOD)[:-1]}, {extra}}}")
    fault = fault_of(here)
    assert (fault.field, fault.actual) == ("system", "the key more than once")


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "[1e999]", '{"a": NaN}'])
def test_metadata_that_json_lacks(here: Path, value: str) -> None:
    """NaN and Infinity in metadata could not be written out again."""
    here.write_text(f'{json.dumps(GOOD)[:-1]}, "m": {value}}}')
    fault = fault_of(here)
    assert (fault.line, fault.field, fault.actual) == (1, "m", "NaN or Infinity")


@pytest.mark.parametrize("field", ["response", "id", "note"])
def test_half_a_surrogate_pair(here: Path, field: str) -> None:
    """Text that UTF-8 cannot hold is refused, in metadata too."""
    jsonl(here, {**GOOD, field: "\ud800"})
    assert fault_of(here).field == field


def test_a_name_is_safe_to_print(here: Path) -> None:
    """A field's name that a terminal would obey, or could not print, is shown escaped."""
    here.write_text(f'{json.dumps(GOOD)[:-1]}, "\\u001b[2J\\ud800": 1}}')
    assert str(fault_of(here)).isprintable()


@pytest.mark.parametrize("text", ["[" * 100_000, '{"id": ' + "9" * 5_000 + "}"])
def test_json_that_python_cannot_read(here: Path, text: str) -> None:
    """JSON too deep or with too long a number for Python's parser is a fault of its line."""
    here.write_text(text)
    assert fault_of(here).line == 1


def test_an_unclosed_quote(table: Path) -> None:
    """A quote that is never closed is reported on the line where its record starts."""
    table.write_text(f'{HEADER}r1,q,"a\nb",s\nr2,q,"a\nb,s\n')
    fault = fault_of(table)
    assert (fault.line, fault.actual) == (4, "a quote that is never closed")


def test_text_after_a_closing_quote(table: Path) -> None:
    """Quotes that are not doubled are reported row by row, and the rows between are read."""
    table.write_text(
        f'{HEADER}r1,q,"a\nb",s\nr2,q,"say "hi"",s\nr3,q,"say ""hi""",s\nr4,q,"x"y,s\nr5,q,,s\n'
    )
    faults = faults_of(table)
    assert [fault.line for fault in faults] == [4, 6, 7]
    assert faults[0].actual == faults[1].actual == "text after a closing quote"


def test_a_broken_header(table: Path) -> None:
    """Where the header cannot be read, no row is taken for it."""
    table.write_text('id,"pro"mpt,response,system\nr1,q,a,s\n')
    assert fault_of(table).line == 1


def test_old_line_ends(table: Path) -> None:
    """Carriage returns alone end no line."""
    table.write_bytes(HEADER.replace("\n", "\r").encode() + b"r1,q,a,s\r")
    assert fault_of(table).expected == "lines that end in a line feed"


def test_too_many_and_too_few_cells(table: Path) -> None:
    """Rows of another length than the header's are counted, blank lines are not rows."""
    table.write_text(f"{HEADER}r1,q,a,s,x\n\nr2,q,a\n")
    assert [(fault.line, fault.actual, fault.expected) for fault in faults_of(table)] == [
        (2, "5 cells", "4, as in the header"),
        (4, "3 cells", "4, as in the header"),
    ]


def test_a_repeated_column(table: Path) -> None:
    """Two columns of one name are refused."""
    table.write_text("id,prompt,response,system,note,note\nr1,q,a,s,x,y\n")
    fault = fault_of(table)
    assert (fault.line, fault.field, fault.actual) == (1, "note", "2 fields of this name")


def test_a_repeated_column_in_parquet(tmp_path: Path) -> None:
    """The same goes for Parquet, which has no header line."""
    path = tmp_path / "in.parquet"
    cells = [pa.array([value]) for value in (*GOOD.values(), "x", "y")]
    pq.write_table(pa.Table.from_arrays(cells, names=[*GOOD, "note", "note"]), path)
    assert (fault_of(path).line, fault_of(path).field) == (None, "note")


def test_a_file_that_is_not_parquet(tmp_path: Path) -> None:
    """Other bytes under Parquet's extension are refused."""
    path = tmp_path / "in.parquet"
    path.write_text(HEADER)
    assert fault_of(path).expected == "a Parquet file"


def test_a_damaged_parquet_file(tmp_path: Path) -> None:
    """A Parquet file that breaks off within its rows is refused, not read in part."""
    path = tmp_path / "in.parquet"
    pq.write_table(pa.Table.from_pylist([GOOD]), path)
    raw = path.read_bytes()
    path.write_bytes(raw[:10] + b"\xff" * 20 + raw[30:])
    assert fault_of(path).actual.startswith("a damaged file")


def test_parquet_text_that_is_not_utf_8(tmp_path: Path) -> None:
    """A Parquet column of text may hold other bytes, which are refused."""
    path = tmp_path / "in.parquet"
    latin = pa.array([b"caf\xe9"]).cast(pa.string(), safe=False)
    pq.write_table(pa.table({**{name: ["x"] for name in GOOD}, "response": latin}), path)
    assert fault_of(path).expected == "a Parquet file"


def test_a_null_in_parquet(tmp_path: Path) -> None:
    """A null where a value must be is named by its row."""
    path = tmp_path / "in.parquet"
    pq.write_table(pa.Table.from_pylist([GOOD, {**GOOD, "id": "r2", "system": None}]), path)
    assert fault_of(path) == Fault(str(path), "null", "text", line=2, field="system")


def test_parquet_bytes_are_no_metadata(tmp_path: Path) -> None:
    """A column of bytes cannot be written out as JSON."""
    path = tmp_path / "in.parquet"
    pq.write_table(pa.Table.from_pylist([{**GOOD, "image": b"x"}]), path)
    assert (fault_of(path).field, fault_of(path).actual) == (
        "image",
        "bytes, or another type that JSON lacks",
    )


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one(here: Path, limit: int) -> None:
    """A limit that takes nothing is refused."""
    fault = fault_of(jsonl(here, GOOD), limit=limit)
    assert (fault.field, fault.actual, fault.expected) == ("limit", str(limit), "1 or more")


def test_long_values_are_shortened(here: Path) -> None:
    """What is shown of a value fits a line, whatever its length."""
    jsonl(here, {**GOOD, "id": "x" * 10_000}, {**GOOD, "id": "x" * 10_000})
    assert fault_of(here).actual == f"'{'x' * 60}…' again, first on line 1"


def test_many_faults_take_linear_time(here: Path) -> None:
    """Tens of thousands of faults are all listed, and soon."""
    jsonl(here, *({**GOOD, "response": ""} for _ in range(20_000)))
    began = time.perf_counter()
    assert len(faults_of(here)) == 20_000 + 19_999  # each is empty, all but one repeated
    assert time.perf_counter() - began < 20


def test_two_responses_of_one_name_are_refused_before_a_call() -> None:
    """Files of ratings name a response by its prompt and itself, with / between: two that are then
    the same could not be told from each other. One that is there twice is said to be that."""
    texts = [
        Response(id="b", prompt_id="p/a", prompt="Why?", text="So.", system="s"),
        Response(id="a/b", prompt_id="p", prompt="How?", text="Thus.", system="s"),
        Response(id="b", prompt_id="p/a", prompt="Why?", text="Else.", system="s"),
    ]
    with pytest.raises(InputError) as caught:
        Batch(texts)
    assert [(fault.line, fault.actual) for fault in caught.value.faults] == [
        (2, "the id 'a/b', by which this is 'p/a/b', as is response 1"),
        (3, "'b' a second time for the prompt 'p/a'"),
    ]


# The order in which prompts are judged


PROMPTS, SYSTEMS = 40, 3


def sorted_by_system() -> list[Response]:
    """All responses of one system, then all of the next."""
    return [
        Response(id=f"r{p}", prompt=f"Why {p}?", text=f"So {p}.", system=f"s{s}", prompt_id=f"p{p}")
        .model_copy(update={"id": f"r{p}-{s}", "metadata": {"n": p}})
        for s in range(SYSTEMS)
        for p in range(PROMPTS)
    ]  # fmt: skip


def test_prompts_come_whole_and_in_random_order() -> None:
    """All systems of a prompt come together, in the order of the input, and no response twice."""
    batch = Batch(sorted_by_system())
    shuffled = list(batch.shuffled(0))
    assert sorted(each.id for each in shuffled) == sorted(each.id for each in batch)
    prompts = []
    for start in range(0, len(shuffled), SYSTEMS):
        of_prompt = shuffled[start : start + SYSTEMS]
        assert len({each.prompt_id for each in of_prompt}) == 1
        assert [each.system for each in of_prompt] == ["s0", "s1", "s2"]
        prompts.append(str(of_prompt[0].prompt_id))
    assert prompts != [f"p{p}" for p in range(PROMPTS)]
    # Of a random order about half of the first half are of the first half.
    first = sum(int(prompt[1:]) < PROMPTS // 2 for prompt in prompts[: PROMPTS // 2])
    assert 4 < first < 16


def test_the_seed_draws_the_order_whatever_the_input_is_sorted_by() -> None:
    """Another seed draws another order; more prompts leave those that are there in theirs."""

    def prompts(responses: Sequence[Response], seed: int) -> list[str]:
        return [str(each.prompt_id) for each in Batch(responses).shuffled(seed)]

    responses = sorted_by_system()
    assert prompts(responses, 1) == prompts(responses[::-1], 1) != prompts(responses, 2)
    some = [each for each in responses if each.metadata["n"] < 30]
    known = {each.prompt_id for each in some}
    assert prompts(some, 1) == [each for each in prompts(responses, 1) if each in known]


class Unsorted:
    """Responses that have a length, and no places."""

    def __len__(self) -> int:
        return PROMPTS * SYSTEMS

    def __iter__(self) -> Any:
        return iter(sorted_by_system())


def test_what_need_not_fit_into_memory_comes_in_the_same_order(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is not kept, and whatever can only be gone through, with all that they have."""
    expected = list(Batch(sorted_by_system()).shuffled(3))
    assert list(Batch(Unsorted()).shuffled(3)) == expected
    here.write_text(
        "".join(
            json.dumps(
                {"id": each.id, "prompt": each.prompt, "response": each.text,
                 "system": each.system, "prompt_id": each.prompt_id, "n": each.metadata["n"]}
            ) + "\n"
            for each in sorted_by_system()
        )
    )  # fmt: skip
    kept = ResponseFile(here)
    monkeypatch.setattr(reading, "_SMALL_BYTES", 10)
    read_anew = ResponseFile(here)
    assert kept.kept is not None
    assert read_anew.kept is None
    assert list(Batch(kept).shuffled(3)) == list(Batch(read_anew).shuffled(3)) == expected


def test_a_copy_that_cannot_be_written_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the folder and what to do."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(RunStopped, match=r"gone: No such file.*TMPDIR"):
        next(Batch(Unsorted()).shuffled(0))


def test_a_likely_column_is_named_where_a_field_is_not_there(tmp_path: Path) -> None:
    """With the option that takes it, so that a panel file alone is enough to know the rest."""
    path = tmp_path / "in.csv"
    path.write_text("Question,answer,model\na,b,c\n")
    with pytest.raises(InputError) as caught:
        list(ResponseFile(str(path)))
    wanted = [fault.expected.rpartition("or use ")[2] for fault in caught.value.faults]
    assert wanted == ["--map prompt=Question", "--map response=answer", "--map system=model"]
