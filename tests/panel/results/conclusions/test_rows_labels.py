"""Labels of dimensions in place of their ids."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from persona_panel.results.conclusions.rows import (
    called_by,
    called_judges,
    clusters_of,
    labelled_rows,
    rater_word,
    whole_label,
)
from persona_panel.statistics import Ratings, Row


def test_a_label_stands_for_an_id_where_it_is_clear() -> None:
    """Not where two dimensions have it, nor where results or another dimension are called so."""
    called = called_by({
        "depth": "Depth of it", "clarity": "clarity", "a": "Same", "b": "Same", "c": "composite",
        "d": "all", "e": "depth", "all": "Everything",
    })  # fmt: skip
    names = [*"abcde", "depth", "clarity", "all", "other"]
    assert [called(name) for name in names] == [
        *"abcde", "Depth of it", "clarity", "all", "other",
    ]  # fmt: skip


RATINGS = Ratings(
    np.ones((1, 2, 2)), ("i",), ("historian|m", "lawyer|m"), ("d", "c"), ("m", "m"),
    categories={"c": ("x", "y")}, scales={"d": (1.0, 5.0)}, labels={"d": "Depth", "c": "Clarity"},
)  # fmt: skip


def test_rows_and_ratings_have_the_labels_of_either_side() -> None:
    """Dimensions of rows and of ratings with all that is known of them; and the dimensions that
    rows are broken down by, whose names are no sources of the same name."""
    other = replace(RATINGS, dimensions=("d", "e"), categories={}, labels={"e": "Else"})
    rows = [
        Row("w", "m", "d"), Row("w", "m", "e"), Row("w", "m", "all", "source", "d"),
        Row("w", "m", "all", "dimension", "d"), Row("w", "m", "all", "dimension less others", None),
    ]  # fmt: skip
    labelled, (ours, theirs) = labelled_rows(rows, replace(RATINGS, composite_of=("d",)), other)
    assert [(row.dimension, row.by_value) for row in labelled] == [
        ("Depth", None), ("Else", None), ("all", "d"), ("all", "Depth"), ("all", None),
    ]  # fmt: skip
    assert (ours.dimensions, theirs.dimensions) == (("Depth", "Clarity"), ("Depth", "Else"))
    assert (ours.categories, ours.scales) == ({"Clarity": ("x", "y")}, {"Depth": (1.0, 5.0)})
    assert (ours.composite_of, theirs.composite_of, ours.labels) == (("Depth",), None, {})


def test_what_ratings_are_of_and_who_gave_them() -> None:
    """The whole by its label where any side has one; prompts where there are any; judges of a
    run."""
    assert whole_label(RATINGS, replace(RATINGS, labels={"all": "Quality"})) == "Quality"
    assert whole_label(RATINGS) == "all"
    run = replace(RATINGS, personas=("historian", "lawyer"), prompts=("p",))
    assert [clusters_of(each) for each in (RATINGS, run)] == ["item", "prompt"]
    assert [rater_word(each) for each in (RATINGS, run)] == ["rater", "judge"]
    judges = ("historian|m|dimensions|1", "lawyer|m|dimensions|1")
    assert called_judges(replace(run, raters=judges)) == dict(
        zip(judges, run.personas, strict=True)
    )
    assert called_judges(replace(RATINGS, raters=judges)) == {}
