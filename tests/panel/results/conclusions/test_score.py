"""Sentences on what a run lacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from persona_panel.results.conclusions import score
from persona_panel.results.conclusions.score import Judged, few_judged, limits, nothing_judged
from persona_panel.statistics.core.ranking import Leaderboard, rank_systems

WHOLE = Judged(n_judges=6, n_personas=3, n_models=2, expected=60, scored=60)


def test_nothing_judged_gives_the_reasons_alone() -> None:
    """No judgment was scored: first why, without what followed from that, then how they ended."""
    failed = replace(
        WHOLE,
        scored=0,
        missing={"failed": 8, "skipped": 52},
        reasons={"failed": "the server answered 401", "skipped": "it is no longer called"},
    )
    assert nothing_judged(failed) == (
        "Nothing could be scored: the server answered 401. None of 60 judgments was scored "
        "(8 failed, 52 skipped): nothing can be concluded."
    )
    capped = replace(failed, missing={"skipped": 60}, reasons={"skipped": "the cap is reached"})
    assert str(nothing_judged(capped)).startswith(
        "Nothing could be scored: the cap is reached. None of 60 "
    )
    assert nothing_judged(WHOLE) is None


def test_many_missing_are_counted() -> None:
    """A twentieth missing is said, by reason; less is left to the end of what is printed."""
    many = replace(WHOLE, scored=57, missing={"failed": 2, "refused": 1})
    assert few_judged(many, "composites") == [
        "3 of 60 judgments are missing (2 failed, 1 refused): composites are means of those that "
        "are there."
    ]
    assert few_judged(replace(WHOLE, scored=58, missing={"failed": 2}), "composites") == []


@pytest.mark.parametrize(
    ("judges", "says"),
    [
        ((1, 1, 1), ["There is one judge."]),
        ((5, 5, 1), ["All judges are of one model."]),
        ((3, 1, 3), ["All judges have the same persona, or none."]),
        ((6, 3, 2), []),
    ],
)
def test_what_all_judges_have_in_common_is_said(
    judges: tuple[int, int, int], says: list[str]
) -> None:
    """One judge, one model or one persona: what no interval includes."""
    n_judges, n_personas, n_models = judges
    judged = replace(WHOLE, n_judges=n_judges, n_personas=n_personas, n_models=n_models)
    assert limits(judged) == says


def declining(*of_system: tuple[int, int]) -> Leaderboard:
    """Systems with so many abstentions and judgments on each of five prompts."""
    n = len(of_system)
    table = [[5.0 + i + 0.1 * ((p + i) % 3) for i in range(n)] for p in range(5)]
    names = [name for _ in table for name in "ABCDEF"[:n]]
    prompts = [f"p{i}" for i, line in enumerate(table) for _ in line]
    values = np.array(table).ravel()
    counts = np.array([pair for _ in range(5) for pair in of_system])
    return rank_systems(names, prompts, values, np.empty((len(values), 0)), [], abstentions=counts)


def test_a_system_that_declines_is_named() -> None:
    """Of C 3 of 4 judgments on each of five prompts are abstentions: why it is not ranked, and what
    its mean rests on; more than three such systems are counted."""
    assert score.declining(declining((0, 4), (0, 4), (3, 4))) == [
        "C is not ranked: 15 of its 20 judgments are abstentions (the response declines to "
        "answer); its mean of 7.10 rests on 5."
    ]
    assert score.declining(declining((0, 4), *[(3, 4)] * 4)) == [
        "4 systems are not ranked: more than half of the judgments of each are abstentions (the "
        "response declines to answer)."
    ]
