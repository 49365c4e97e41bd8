"""Ratings come in as they were written, gaps stay gaps, and every fault is named."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from itertools import product
from math import isnan, nan, prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from persona_panel import Ratings, load_ratings
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.outputs import cell_of, csv_of

HEADER = ("item", "rater", "dimension", "score")


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """The rows in the format of the path's suffix."""
    if path.suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        path.write_text("".join(lines), "utf-8")
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(rows)), path)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0], delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


def text(path: Path, content: str) -> Path:
    path.write_text(content, "utf-8")
    return path


def faults_of(source: Any, **options: Any) -> tuple[Fault, ...]:
    with pytest.raises(InputError) as caught:
        load_ratings(source, **options)
    return caught.value.faults


def fault_of(source: Any, **options: Any) -> Fault:
    (fault,) = faults_of(source, **options)
    return fault


# What was written is read back.

_labels = (
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1, max_size=6
    )
    .map(str.strip)
    .filter(bool)
)
_numbers = st.floats(-1e9, 1e9) | st.integers(-5, 5).map(float)


@st.composite
def _tables(draw: st.DrawFn) -> Ratings:
    items, raters, dimensions = (
        tuple(draw(st.lists(_labels, min_size=1, max_size=3, unique=True))) for _ in range(3)
    )
    shape = (len(items), len(raters), len(dimensions))
    flat = draw(
        st.lists(st.none() | _numbers, min_size=prod(shape), max_size=prod(shape)).filter(
            lambda values: any(value is not None for value in values)
        )
    )
    scores = np.array([nan if value is None else value for value in flat]).reshape(shape)
    return Ratings(
        scores,
        items,
        raters,
        dimensions,
        tuple(draw(_labels) for _ in raters),
        tuple(draw(_labels) for _ in items),
        tuple(draw(_labels) for _ in items),
    )


def _rows(table: Ratings) -> list[dict[str, Any]]:
    return [
        {
            "item": table.items[i],
            "rater": table.raters[r],
            "dimension": table.dimensions[d],
            "score": None if isnan(table.scores[i, r, d]) else table.scores[i, r, d],
            "group": table.groups[r],
            "prompt": (table.prompts or ())[i],
            "source": (table.sources or ())[i],
        }
        for i, r, d in product(*map(range, table.scores.shape))
    ]


@settings(deadline=None)
@given(_tables(), st.sampled_from([".csv", ".tsv", ".jsonl", ".parquet"]))
def test_a_table_is_read_back(table: Ratings, suffix: str) -> None:
    """A table written as a long file of any format is read back the same, gaps as gaps."""
    with TemporaryDirectory() as folder:
        found = load_ratings(write(Path(folder, f"in{suffix}"), _rows(table)))
    np.testing.assert_array_equal(found.scores, table.scores)
    for part in ("items", "raters", "dimensions", "groups", "prompts", "sources"):
        assert getattr(found, part) == getattr(table, part)
    assert not found.lower_is_better


@settings(deadline=None)
@given(_tables(), st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_the_order_of_names_only(table: Ratings, random: Any) -> None:
    """Shuffled lines give each rater the same score of each item on each dimension."""
    rows = _rows(table)
    random.shuffle(rows)
    with TemporaryDirectory() as folder:
        found = load_ratings(write(Path(folder, "in.jsonl"), rows))
    places = [
        [names.index(name) for name in wanted]
        for names, wanted in (
            (found.items, table.items),
            (found.raters, table.raters),
            (found.dimensions, table.dimensions),
        )
    ]
    np.testing.assert_array_equal(found.scores[np.ix_(*places)], table.scores)


@settings(deadline=None)
@given(st.binary(max_size=200), st.sampled_from([".csv", ".jsonl", ".parquet"]))
def test_any_bytes_are_read_or_refused(content: bytes, suffix: str) -> None:
    """Whatever a file holds, it is ratings or an InputError with faults, and never else."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"in{suffix}")
        path.write_bytes(content)
        assert faults_of(path)


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from("ab")] * 2, st.text(max_size=4)), max_size=6))
@example(cells=[("a", "a", "0\x1f")])
def test_any_cells_are_read_or_refused(cells: list[tuple[str, str, str]]) -> None:
    """Any text as a score is a number, a gap or a fault on its own line."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "in.csv")
        with path.open("w", encoding="utf-8", newline="", errors="replace") as file:
            csv.writer(file).writerows([("item", "rater", "score"), *cells])
        try:
            found = load_ratings(path)
        except InputError as error:
            assert error.faults
        else:
            assert np.isfinite(found.scores[~np.isnan(found.scores)]).all()


def test_what_is_left_out_has_a_name(tmp_path: Path) -> None:
    """Without those columns there is one group and one dimension, and no prompt or source."""
    found = load_ratings(text(tmp_path / "in.csv", "item,rater,score\na,r,1\na,s,2\n"))
    assert (found.groups, found.dimensions) == (("all", "all"), ("all",))
    assert found.prompts is None
    assert found.sources is None
    assert found.personas is None
    # A column that is empty from top to bottom is as good as none.
    empty = "item,rater,score,group,prompt,dimension\na,r,1,,,\na,s,2,,,\n"
    same = load_ratings(text(tmp_path / "in.csv", empty))
    assert (same.groups, same.dimensions, same.prompts) == (("all", "all"), ("all",), None)


@pytest.mark.parametrize(
    "gap", ["", " ", "?", "NA", "n/a", "NaN", "null", "None", "<NA>", "not assessable"]
)
def test_gaps_stay_gaps(tmp_path: Path, gap: str) -> None:
    """What stands for no rating is NaN, and its rater and item are there nonetheless."""
    found = load_ratings(text(tmp_path / "in.csv", f'item,rater,score\na,r,"{gap}"\nb,s,2\n'))
    np.testing.assert_array_equal(found.scores[:, :, 0], [[nan, nan], [nan, 2]])


def test_gaps_of_json_and_parquet(tmp_path: Path) -> None:
    """null and NaN are gaps there; a number may be written as text."""
    content = (
        '{"item": "a", "rater": "r", "score": null}\n{"item": "a", "rater": "s", "score": NaN}\n'
        '{"item": "a", "rater": "t", "score": "2.5"}\n'
    )
    found = load_ratings(text(tmp_path / "in.jsonl", content))
    assert found.scores.ravel().tolist() == pytest.approx([nan, nan, 2.5], nan_ok=True)
    rows = [{"item": 7, "rater": 1, "score": nan}, {"item": 7, "rater": 2, "score": 3.0}]
    found = load_ratings(write(tmp_path / "in.parquet", rows))
    assert found.scores.ravel().tolist() == pytest.approx([nan, 3], nan_ok=True)
    assert (found.items, found.raters) == (("7",), ("1", "2"))


def test_a_byte_order_mark_and_any_script(tmp_path: Path) -> None:
    """What a spreadsheet writes before the header is no part of it; names may be in any script."""
    found = load_ratings(
        text(tmp_path / "in.csv", "\ufeffitem,rater,score\n項目,Ольга,3\n🙂,é,4\n")
    )
    assert (found.items, found.raters) == (("項目", "🙂"), ("Ольга", "é"))


def test_ranks(tmp_path: Path) -> None:
    """A column `rank` makes lower better; ties share a rank, and each prompt counts its own."""
    content = "item,rater,rank,prompt\na,r,1.5,p\nb,r,1.5,p\nc,r,3,p\nd,r,1,q\n"
    found = load_ratings(text(tmp_path / "in.csv", content))
    assert found.lower_is_better
    assert found.scores.ravel().tolist() == [1.5, 1.5, 3, 1]


# What is refused


def test_every_fault_is_named_at_once(tmp_path: Path) -> None:
    """Text, infinity, a second rating, another prompt, source and group: each on its line."""
    content = (
        "item,rater,score,group,prompt,source\n"
        "a,r,3,h,p,x\n"
        "a,s,good,h,p,x\n"
        "a,r,4,h,p,x\n"
        "b,r,inf,h,p,x\n"
        "b,s,1,m,q,y\n"
        ",s,1,h,p,x\n"
    )
    found = [
        (fault.line, fault.field, fault.actual)
        for fault in faults_of(text(tmp_path / "in.csv", content))
    ]
    assert found == [
        (3, "score", "'good'"),
        (4, "item", "'a' rated again, first on line 2 (4, first 3)"),
        (5, "score", "an infinite value"),
        (6, "prompt", "'q', but 'p' on line 5"),
        (6, "source", "'y', but 'x' on line 5"),
        (6, "group", "'m', but 'h' on line 3"),
        (7, "item", "an empty value"),
    ]


@pytest.mark.parametrize(
    ("score", "found"),
    [
        ("three", "'three'"),
        ("1_000", "'1_000'"),
        ("٣", "'٣'"),
        ("0x10", "'0x10'"),
        ("-Infinity", "an infinite value"),
        ("1e999", "an infinite value"),
        ("9" * 400, "an infinite value"),
        ("1e308", "'1e308'"),
        ("-1.1e12", "'-1.1e12'"),
    ],
)
def test_what_is_no_number(tmp_path: Path, score: str, found: str) -> None:
    """Text that Python might take for a number, and numbers too large, are refused."""
    path = write(tmp_path / "in.csv", [{"item": "a", "rater": "r", "score": score}])
    assert (fault_of(path).line, fault_of(path).actual) == (2, found)


@pytest.mark.parametrize(
    ("score", "found"),
    [("true", "true"), ("[1]", "a list"), ("Infinity", "an infinite value"),
     ("1" * 400, "an infinite value")],
)  # fmt: skip
def test_what_is_no_number_in_json(tmp_path: Path, score: str, found: str) -> None:
    """Booleans, lists and infinite numbers are refused."""
    path = text(tmp_path / "in.jsonl", f'{{"item": "a", "rater": "r", "score": {score}}}\n')
    assert fault_of(path).actual == found


def test_the_same_rating_on_another_dimension_is_another(tmp_path: Path) -> None:
    """An item may be rated on several dimensions by one rater, but once on each."""
    rows = [("a", "r", "clear", "1"), ("a", "r", "deep", "2"), ("a", "r", "deep", "")]
    path = write(tmp_path / "in.csv", [dict(zip(HEADER, row, strict=True)) for row in rows])
    fault = fault_of(path)
    assert (fault.line, fault.actual) == (
        4,
        "'a' rated again on 'deep', first on line 3 (a gap, first 2)",
    )


def test_ranks_beyond_the_items_of_a_prompt(tmp_path: Path) -> None:
    """A rank is from 1 to the number of items in its prompt, or of all where there are none."""
    content = "item,rater,rank,prompt\na,r,1,p\nb,r,3,p\nc,s,0,q\n"
    faults = faults_of(text(tmp_path / "in.csv", content))
    assert [(fault.line, fault.actual) for fault in faults] == [(3, "3"), (4, "0")]
    assert faults[0].expected == "a rank from 1 to 2, the items that its prompt has"
    content = "item,rater,rank\na,r,1\nb,r,3\n"
    fault = fault_of(text(tmp_path / "in.csv", content))
    assert fault.expected == "a rank from 1 to 2, the items that there are"


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    """Each missing column is named with those that are there, and the one that may be meant."""
    faults = faults_of(text(tmp_path / "in.csv", "Item,judge,value\na,r,1\n"))
    assert [fault.field for fault in faults] == ["item", "rater", "score"]
    assert faults[0].actual == "no such field, only 'Item', 'judge', 'value'"
    assert faults[0].expected == "'item' (did you mean 'Item'?); or use --map item=Item"
    assert faults[2].expected == "'score' or 'rank' or 'label'; or use --map score=COLUMN"
    assert all(fault.line == 1 for fault in faults)
    fault = fault_of(text(tmp_path / "in.csv", "item,rater,score,rank\na,r,1,1\n"))
    assert (fault.actual, fault.expected) == ("'score' and 'rank'", "one of them")


def test_scores_and_ranks_do_not_mix(tmp_path: Path) -> None:
    """JSON lines that give now a score and now a rank are refused where it changes."""
    rows = [{"item": "a", "rater": "r", "score": 1}, {"item": "a", "rater": "s", "rank": 1}]
    fault = fault_of(write(tmp_path / "in.jsonl", rows))
    assert (fault.line, fault.actual) == (2, "a rank")


def test_a_label_for_some_is_needed_for_all(tmp_path: Path) -> None:
    """One line that gives an item's prompt is enough; an item that never has one is named."""
    content = "item,rater,score,prompt,dimension\na,r,1,p,x\na,s,1,,x\nb,r,2,,\n"
    faults = faults_of(text(tmp_path / "in.csv", content))
    assert [(fault.line, fault.field, fault.actual) for fault in faults] == [
        (4, "dimension", "nothing"),
        (4, "prompt", "nothing for the item 'b'"),
    ]


@pytest.mark.parametrize(
    ("content", "found"),
    [("", "no ratings"), ("item,rater,score\n", "no ratings"),
     ("item,rater,score\na,r,?\n", "gaps only")],
)  # fmt: skip
def test_nothing_to_read(tmp_path: Path, content: str, found: str) -> None:
    """An empty file, a header alone and gaps alone are no ratings."""
    assert fault_of(text(tmp_path / "in.csv", content)).actual == found


def test_fewer_raters_than_are_needed(tmp_path: Path) -> None:
    """One rater is refused where two are asked for; a rater of gaps alone does not count."""
    path = text(tmp_path / "in.csv", "item,rater,score\na,r,1\nb,r,2\na,s,?\n")
    assert load_ratings(path).raters == ("r", "s")
    fault = fault_of(path, min_raters=2)
    assert (fault.actual, fault.expected) == ("ratings by 'r' only", "2 raters or more")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """No file, and a file of another kind, are refused by name."""
    assert fault_of(tmp_path / "none.csv").actual == "no such file"
    assert "'.xlsx'" in fault_of(text(tmp_path / "in.xlsx", "")).actual


def test_half_a_surrogate_pair(tmp_path: Path) -> None:
    """A name that could not be printed or written again is refused."""
    path = text(tmp_path / "in.jsonl", '{"item": "\\ud800", "rater": "r", "score": 1}\n')
    assert fault_of(path).actual == "half a surrogate pair"


def test_the_quote_of_our_own_csv_is_no_part_of_a_name(tmp_path: Path) -> None:
    """Names and labels that a spreadsheet would calculate are read as they were, from CSV alone."""
    names = ["=a", "+b", "'=c", "-5", "'d"]
    rows = [[cell_of(name), cell_of("@r"), cell_of("-no")] for name in names]
    (tmp_path / "in.csv").write_bytes(csv_of([("item", "rater", "label"), *rows]))
    found = load_ratings(tmp_path / "in.csv")
    assert (found.items, found.raters) == (tuple(names), ("@r",))
    assert found.categories == {"all": ("-no",)}
    found = load_ratings(text(tmp_path / "in.jsonl", '{"item": "\'=a", "rater": "r", "score": 1}'))
    assert found.items == ("'=a",)
