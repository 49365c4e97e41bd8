"""Results: the output formats that take any, and tables as data frames."""

from __future__ import annotations

import io
from dataclasses import replace
from math import nan

import pytest

from persona_panel.results.result import (
    QUESTIONS,
    Result,
    RunAnswer,
    answers_table,
    format_names,
    load_format,
)
from persona_panel.statistics import Estimate
from tests.helpers.results import DIFFERENCES, MEANS, SAMPLE

OURS = ("csv", "html", "json", "latex", "markdown", "terminal")


def words(name: str, *, full: bool = False, result: Result = SAMPLE) -> str:
    return " ".join(result.text(name, full=full).split())


def test_our_formats_are_offered_by_name() -> None:
    """One a file, each with a function that writes."""
    assert set(OURS) <= set(format_names())
    with pytest.raises(KeyError):
        load_format("papyrus")


@pytest.mark.parametrize("name", OURS)
def test_a_format_writes_and_leaves_the_stream_open(name: str) -> None:
    """In short and in full, also of a result with nothing in it, which has no sentence of its own
    but what the format is."""
    for result in (SAMPLE, Result("empty", (), ())):
        for full in (False, True):
            to = io.StringIO()
            load_format(name).render(result, to, full=full)
            assert not to.closed
            assert "Traceback" not in to.getvalue()
    assert words(name)


def test_tables_as_data_frames() -> None:
    """The first table unless named; an estimate as value, ends, and what else any cell has."""
    frame = SAMPLE.to_frame("polars")
    assert frame.columns == [
        "system", "dimension", "mean", "mean_low", "mean_high", "mean_p", "mean_p_adjusted",
        "mean_n", "mean_reason", "weight", "rated", "n", "verdict", "notes", "control", "raw_p",
    ]  # fmt: skip
    assert frame["mean"].to_list() == [6.0, 5.0, None]
    assert frame["mean_low"].to_list() == [5.5, None, None]
    assert frame["mean_reason"].to_list() == [None, "one prompt alone", "nobody rated it"]
    assert frame["notes"].to_list() == ["few; odd", "", ""]
    assert SAMPLE.to_frame("pandas", table="differences")["difference_high"].tolist() == [2.5]
    assert SAMPLE["means"].to_frame("pyarrow").num_rows == 3
    with pytest.raises(KeyError, match="there are means, differences"):
        SAMPLE["nothing"]


def test_the_full_report_has_more() -> None:
    """Remarks, tables, rows or columns of its own; none of a table without a title."""
    whole = Result("r", (), (replace(MEANS, columns=MEANS.columns[:1], short={}),))
    assert not whole.has_more
    assert replace(whole, remarks_in_full=("more",)).has_more
    assert replace(whole, tables=(*whole.tables, DIFFERENCES)).has_more
    assert not replace(whole, tables=(*whole.tables, replace(DIFFERENCES, title=""))).has_more
    assert replace(whole, tables=(replace(MEANS, columns=MEANS.columns[:1]),)).has_more
    assert replace(whole, tables=(replace(MEANS, short={}),)).has_more
    assert str(SAMPLE) == SAMPLE.text("terminal") != SAMPLE.text("terminal", full=True)
    assert SAMPLE["differences"] is DIFFERENCES


def test_an_answer_is_known_where_it_has_a_figure() -> None:
    """Its text is the question and the sentence, or the shorter one; for programs it is a row."""
    known = RunAnswer("best", "alder: by 1.00 (p 0.01).", Estimate(1.0), "do it", shorter="alder.")
    assert known.is_known and known.verdict == "alder"
    assert known.text == f"{QUESTIONS['best']} alder: by 1.00 (p 0.01)."
    assert known.text.shorter == f"{QUESTIONS['best']} alder."
    open_ = RunAnswer("trust", "Not known", Estimate(nan, reason="few"))
    assert not open_.is_known and open_.verdict == "Not known"
    assert open_.text.shorter == open_.text == f"{QUESTIONS['trust']} Not known"
    table = answers_table([known, open_])
    assert [row["question"] for row in table.rows] == ["best", "trust"]
    assert [row["estimate"] for row in table.rows] == [known.estimate, open_.estimate]
    assert known.document()["command"] == "do it"
