"""What the alternative annotator test is said to show."""

from __future__ import annotations

import pytest

from panel.conclusions.annotator_test import annotator_test_conclusion
from panel.statistics import Reason, Row

RATE, ADVANTAGE, NEEDED = "alt_test_winning_rate", "alt_test_advantage", "alt_test_items_needed"


def rows(rate: float, *judges: float) -> list[Row]:
    """Of the panel and of judges a, b, …."""
    note = "epsilon 0.2; wins over some"
    found = [
        Row(RATE, "all", "all", value=rate, note=note),
        Row(ADVANTAGE, "all", "all", value=0.8, ci_low=0.7, ci_high=0.9),
        Row(NEEDED, "all", "all", value=120.0),
    ]
    for name, value in zip("abcdef", judges, strict=False):
        found.append(Row(RATE, "all", "all", by="rater", by_value=name, value=value, note=note))
    return found


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (0.5, "the panel may take the place of a human: winning rate ω 0.50 (epsilon 0.2;"),
        (0.49, "the panel is not shown to be as good as a human: winning rate ω 0.49"),
    ],
)
def test_half_of_the_people_decide(rate: float, expected: str) -> None:
    """From a winning rate of 0.5 on the panel may take a human's place; below, the number of items
    that would show it is given."""
    said = annotator_test_conclusion(rows(rate), "all")
    assert expected in said[0]
    assert "advantage ρ 0.80 (95 % interval 0.70 to 0.90)" in said[0]
    assert ("120 items rated by each human" in " ".join(said)) == (rate < 0.5)


def test_judges_are_counted_by_themselves() -> None:
    """Of several judges those who pass are named; of one judge nothing more is said."""
    assert annotator_test_conclusion(rows(0.5, 0.6, 0.4, 1.0), "all")[-1] == (
        "Of its 3 judges alone, 2 may take that place: a and c."
    )
    assert annotator_test_conclusion(rows(0.5, 0.0, 0.4), "all")[-1] == (
        "Of its 2 judges alone, none may take that place."
    )
    assert len(annotator_test_conclusion(rows(0.5, 0.5), "all")) == 1


def test_an_undefined_test_and_none() -> None:
    """Without enough shared items the reason is given; without the test nothing is said."""
    undefined = [Row(RATE, "all", "all", reason=Reason.FEW_ITEMS_A_PERSON)]
    [said] = annotator_test_conclusion(undefined, "all")
    assert said == f"The alternative annotator test is undefined: {Reason.FEW_ITEMS_A_PERSON}."
    assert annotator_test_conclusion([], "all") == []
