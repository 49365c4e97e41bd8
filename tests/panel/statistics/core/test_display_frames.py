"""Ratings and rows of statistics as data frames, and ratings in short."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pytest

from persona_panel.statistics import Ratings, Reason, Row, agree, rows_frame
from tests.helpers.frames import LIBRARIES, rows_of


def ratings(group: str = "experts") -> Ratings:
    """Two items, two raters, a numeric dimension and one of categories; one score is missing."""
    return Ratings(
        np.array([[[3.0, 1.0], [4.0, 0.0]], [[np.nan, 0.0], [2.5, 1.0]]]),
        ("i", "j"),
        ("ann", "bob"),
        ("clarity", "kind"),
        (group, "novices"),
        prompts=("p", "q"),
        categories={"kind": ("claim", "joke")},
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_rating_is_a_row_and_a_gap_is_none(library: Any) -> None:
    """A score or label stands with its item, rater and dimension; what is missing has no row."""
    rows = rows_of(ratings().to_frame(library))
    names = ("item", "rater", "dimension", "score", "label")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("i", "ann", "clarity", 3.0, None),
        ("i", "ann", "kind", None, "joke"),
        ("i", "bob", "clarity", 4.0, None),
        ("i", "bob", "kind", None, "claim"),
        ("j", "ann", "kind", None, "claim"),
        ("j", "bob", "clarity", 2.5, None),
        ("j", "bob", "kind", None, "joke"),
    ]
    assert [rows[-1][name] for name in ("prompt", "source", "group", "persona")] == [
        "q", None, "novices", None
    ]  # fmt: skip


@pytest.mark.parametrize("library", LIBRARIES)
def test_rows_of_statistics_are_rows_of_a_frame(library: Any) -> None:
    """Every field but limits is a column with the row's value; what is undefined is missing, with
    its reason as text."""
    scores = np.array([[1.0, 2, 2], [3, 3, 1], [4, 4, 5], [2, 1, 2]])[:, :, None]
    given = [
        *agree(Ratings(scores, tuple("ijkl"), ("a", "b", "c"), ("clarity",), ("x",) * 3)),
        Row("own", "x", "all", reason=Reason.FEW_RATERS),
    ]
    rows = rows_of(rows_frame(given, library))
    assert list(rows[0]) == [field.name for field in fields(Row) if field.name != "limits"]
    for row, known in zip(rows, map(asdict, given), strict=True):
        assert row == {
            name: None if value is None or value != value else value
            for name, value in known.items()
            if name != "limits"
        }
    assert rows[-1]["reason"] == "fewer than two raters"
    assert list(rows_of(rows_frame([], library))) == []


def test_ratings_in_short() -> None:
    """One line at a prompt, without the array; in a notebook the raters and scores by group."""
    assert repr(ratings()) == "<Ratings: 2 items, 2 raters, 2 dimensions, 7 scores>"
    shown = ratings()._repr_html_()
    assert "<td>experts</td><td>1</td><td>3</td>" in shown
    assert "<td>novices</td><td>1</td><td>4</td>" in shown


def test_markup_in_a_groups_name_is_text_in_a_notebook() -> None:
    """A group called `<script>` is escaped, and a long name is cut."""
    shown = ratings("<script>" + "x" * 100)._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;x" in shown
    assert "x" * 60 not in shown
