"""Ratings in short."""

from __future__ import annotations

import numpy as np

from persona_panel.statistics import Ratings


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
