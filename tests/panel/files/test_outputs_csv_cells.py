"""Cells of CSV files: what a spreadsheet would calculate is text to it, and reads back the same."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from persona_panel.files.outputs import cell_of, csv_of, text_of

texts = st.text() | st.builds(
    "{}{}{}".format, st.sampled_from(["", "'", "''"]), st.sampled_from("=+-@\t\r\n＝"), st.text()
)


@given(texts)
@example("'=1+1")
@example("''=1+1")
@example("'")
@example("-5")
def test_a_text_reads_back_the_same(text: str) -> None:
    """Whatever a text begins with, the apostrophe itself as well, its cell gives it back."""
    assert text_of(cell_of(text)) == text


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"))).filter(bool))
def test_a_row_reads_back_the_same(row: list[str]) -> None:
    """So does a row with line ends of any kind, through a file and the csv module."""
    written = csv_of([map(cell_of, row), ["next"]]).decode()
    read = csv.reader(io.StringIO(written, newline=""))
    assert [[*map(text_of, cells)] for cells in read] == [row, ["next"]]


@given(texts)
def test_no_cell_begins_like_a_formula(text: str) -> None:
    """A cell begins with no sign that a spreadsheet calculates from, unless it is a number."""
    cell = cell_of(text)
    if cell[:1] in {*"=+-@\t\r\n"} - {""}:
        float(cell)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers())
def test_a_number_stays_one(number: float) -> None:
    """A number, a negative one as well, is written as it is, also where it came as text."""
    assert cell_of(str(number)) == str(number)


@pytest.mark.parametrize("text", ["-5+cmd|'/C calc'!A0", "+1 2", "-", "--5", "-5\n"])
def test_what_only_begins_like_a_number_is_text(text: str) -> None:
    """A formula that begins with a number gets its apostrophe."""
    assert cell_of(text) == f"'{text}"
