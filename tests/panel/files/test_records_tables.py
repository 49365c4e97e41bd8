"""Responses from tables in memory: data frames, data sets, lists of dicts."""

from __future__ import annotations

import asyncio
import datetime
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from persona_panel import InputError, Panel, Response, load_responses
from persona_panel.files.errors import distinct_faults
from persona_panel.testing import ScriptedModel
from tests.helpers.extras import needs_extra

ROWS: list[dict[str, Any]] = [
    {"id": 1, "prompt": "Is liberty one thing?", "response": "No.", "system": "elm", "topic": "a"},
    {
        "id": 2,
        "prompt": "Is liberty one thing?",
        "response": "Yes.",
        "system": "oak",
        "topic": None,
    },
    {"id": 1, "prompt": "Is justice?", "response": "It is.", "system": "elm", "topic": "b"},
]


class OnlyInterchange:
    """A data frame of a library that knows the interchange protocol alone."""

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return pa.table(columns()).__dataframe__(nan_as_null, allow_copy)


class OnlyRows:
    """A data set: a length and rows, as those of Hugging Face have them."""

    def __len__(self) -> int:
        return len(ROWS)

    def __iter__(self) -> Any:
        return iter(ROWS)


def columns() -> dict[str, list[Any]]:
    return {name: [row[name] for row in ROWS] for name in ROWS[0]}


def of_library(library: str, name: str) -> Any:
    return lambda: getattr(import_module(library), name)(columns())


def of_hugging_face() -> Any:
    return import_module("datasets").Dataset.from_dict(columns())


TABLES = [
    pytest.param(lambda: ROWS, id="dicts"),
    pytest.param(lambda: tuple(ROWS), id="tuple"),
    pytest.param(lambda: pa.table(columns()), id="arrow"),
    pytest.param(lambda: pa.table(columns()).to_reader(), id="stream"),
    pytest.param(OnlyInterchange, id="interchange"),
    pytest.param(OnlyRows, id="rows"),
    pytest.param(of_hugging_face, id="datasets", marks=needs_extra("test", "datasets")),
    *(
        pytest.param(of_library(name, "DataFrame"), id=name, marks=needs_extra("test", name))
        for name in ("pandas", "polars")
    ),
]


def judged(given: Any, **options: Any) -> Any:
    model = ScriptedModel('{"good_opening": 4}')
    return Panel("disciplinary", model, "debate-speech", elicitation="dimensions").score(
        given, **options
    )


def refused(given: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        judged(given)
    return distinct_faults(caught.value.faults)


@pytest.mark.parametrize("made", TABLES)
def test_a_table_holds_the_responses_of_the_same_file(
    made: Callable[[], Any], tmp_path: Path
) -> None:
    """Whatever the table is, its responses are those of a JSONL file with the same rows."""
    file = tmp_path / "responses.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert load_responses(made()) == load_responses(file)


@pytest.mark.parametrize("made", TABLES)
def test_a_panel_scores_a_table(made: Callable[[], Any], tmp_path: Path) -> None:
    """`score` takes a table, and the texts in the run's folder are the table's, with metadata."""
    run = judged(made(), out=tmp_path / "run")
    assert [item.system for item in run.items] == ["elm", "oak", "elm"]
    assert run.coverage.scored == 15
    assert [response.text for response in run.responses()] == ["No.", "Yes.", "It is."]
    assert [response.metadata["topic"] for response in run.responses()] == ["a", None, "b"]


def test_estimates_and_streams_take_tables_too() -> None:
    """`estimate` and `astream` read the same table as `score`; so does a generator of dicts."""
    panel = Panel(
        "disciplinary",
        ScriptedModel('{"good_opening": 4}'),
        "debate-speech",
        elicitation="dimensions",
    )

    async def systems() -> set[tuple[str, str]]:
        return {(verdict.id, verdict.system) async for verdict in panel.astream(ROWS)}

    assert [one.calls for one in panel.estimate(ROWS)] == [15]
    assert asyncio.run(systems()) == {("1", "elm"), ("2", "oak")}
    assert judged(dict(row) for row in ROWS).items == judged(ROWS).items


def test_faults_of_a_table_are_those_of_a_file_with_rows_in_place_of_lines() -> None:
    """All faults are listed before any call, each with its row from 1 and its field; what several
    rows have is listed once."""
    rows = [
        *ROWS,
        ROWS[0],
        {**ROWS[1], "id": 3, "response": " "},
        {**ROWS[1], "id": 4, "response": ""},
        {**ROWS[1], "id": 5, "prompt_id": "p"},
        {**ROWS[2], "id": 6, "prompt_id": "p"},
    ]
    assert refused(rows) == [
        "responses: row 4: id: found '1' again, first on row 1; expected an id once for each "
        "prompt",
        "responses: rows 5-6: response: found an empty value; expected text (remove rows that "
        "have none)",
        "responses: row 8: prompt_id: found 'p', which is another prompt's, on row 7; expected one "
        "prompt for each prompt_id",
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            [ROWS[0], Response(id="a", prompt="p", text="t", system="s")],
            "row 2: found an object of type Response",
        ),
        ([{**ROWS[0], 3: "x"}], "row 1: found 3 as a name; expected names that are text"),
        ([{**ROWS[0], "size": float("nan")}], "row 1: size: found NaN or Infinity"),
        ([{**ROWS[0], "size": b"x"}], "row 1: size: found bytes, or another type that JSON lacks"),
        ([{"id": "a"}], "row 1: prompt: found no such field, only 'id'"),
        (pa.table({"id": pa.array([], pa.string())}), "prompt: found no such field, only 'id'"),
        (pa.table({name: [] for name in ROWS[0]}), "found no responses; expected at least one"),
        ({"train": ROWS}, "found a mapping; expected Responses, a data frame, one split of"),
        (pa.chunked_array([[1, 2]]), "found what Arrow does not take"),
        (12, "found 12; expected Responses, a data frame"),
    ],
)
def test_what_is_no_table_of_responses_is_refused_in_words(given: Any, said: str) -> None:
    """Each says what was found and what is expected."""
    assert any(line.startswith(f"responses: {said}") for line in refused(given)), refused(given)


def test_values_that_json_lacks_are_kept_as_their_text_or_number() -> None:
    """Dates in metadata are kept as text, and numpy's numbers as numbers, as they come from a
    file."""
    row = {**ROWS[0], "id": np.int64(4), "day": datetime.date(2026, 1, 2), "words": np.float64(2.5)}
    (response,) = load_responses([row])
    assert (response.id, dict(response.metadata)) == (
        "4", {"topic": "a", "day": "2026-01-02", "words": 2.5}
    )  # fmt: skip


@needs_extra("test", "pandas")
def test_the_numbers_of_pandas_rows_are_no_metadata() -> None:
    """Where rows stand in another order, what pandas numbers them by does not become a
    column; an index that has a name does."""
    frame = import_module("pandas").DataFrame(columns())
    turned = frame.iloc[[2, 0, 1]]
    assert [dict(response.metadata) for response in load_responses(turned)] == [
        {"topic": "b"},
        {"topic": "a"},
        {"topic": None},
    ]
    assert [response.id for response in load_responses(turned.set_index("id"))] == ["1", "1", "2"]


@needs_extra("test", "pandas")
def test_a_column_of_several_types_is_a_fault() -> None:
    """A column of pandas that Arrow has no type for is named."""
    frame = import_module("pandas").DataFrame({**columns(), "id": [1, "a", 2]})
    (said,) = refused(frame)
    assert "column id" in said and said.endswith("expected a table, each column of one type")


@needs_extra("test", "datasets")
def test_rows_of_a_data_set_that_were_selected_are_those_that_are_judged() -> None:
    """A selection of a data set of Hugging Face is read in its order, not in that of its file."""
    given = of_hugging_face().select([2, 0])
    assert [response.text for response in load_responses(given)] == ["It is.", "No."]


@needs_extra("test", "datasets")
def test_data_sets_that_are_no_table_are_refused_with_what_to_take() -> None:
    """A DatasetDict is refused with the names of its splits, a stream with how to read it."""
    datasets = import_module("datasets")
    splits = datasets.DatasetDict(train=of_hugging_face(), test=of_hugging_face())
    with pytest.raises(InputError, match="type DatasetDict with the keys 'train', 'test'"):
        load_responses(splits)
    with pytest.raises(InputError, match="which has no length: make a list of it"):
        load_responses(of_hugging_face().to_iterable_dataset())


@pytest.mark.parametrize("empty", [[], {}])
def test_an_empty_collection_is_called_empty(empty: Any) -> None:
    """A list has a length, and a mapping without keys no tables: it is told to be empty."""
    with pytest.raises(InputError) as refused:
        load_responses(empty)
    assert refused.value.faults[0].actual.endswith(f"{type(empty).__name__} with nothing in it")


def test_what_is_neither_file_nor_table_is_refused() -> None:
    """An object of another kind is named, with what is expected in its place."""
    source: Any = 5
    with pytest.raises(
        InputError,
        match="found an object of the type int; expected a path, an open stream of JSONL",
    ):
        load_responses(source)
