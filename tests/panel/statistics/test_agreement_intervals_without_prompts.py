"""Intervals of agreement where items have no prompts, or lie in one: there is one, or a reason."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan

import numpy as np
import pytest

from persona_panel.statistics import AnalysisOptions, Ratings, Reason, agree
from persona_panel.statistics.agreement import Breakdown

OPTIONS = AnalysisOptions(n_permutations=0)


def table(n: int, *, gaps: bool = False) -> Ratings:
    """Ratings from 1 to 10 by five raters on two dimensions, of two sources; with gaps, one item in
    five is not rated by one of the raters, another each time."""
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 1.5, (n, 1, 2))
    scores = np.clip(np.round(5.5 + shared + rng.normal(0, 1.5, (n, 5, 2))), 1, 10)
    for item in range(0, n if gaps else 0, 5):
        scores[item, item // 5 % 5] = nan
    return Ratings(
        scores,
        tuple(f"i{item}" for item in range(n)),
        tuple(f"r{rater}" for rater in range(5)),
        ("a", "b"),
        ("human",) * 5,
        sources=tuple("xy"[item % 2] for item in range(n)),
    )


@pytest.mark.parametrize("by", ["dimension", "group", "source", "prompt"])
@pytest.mark.parametrize("n", [8, 40])
@pytest.mark.parametrize("gaps", [False, True])
def test_a_value_has_an_interval_or_a_reason(by: Breakdown, n: int, gaps: bool) -> None:
    """No figure of agreement is without an interval and without a reason why, with prompts and
    without; where no intervals are asked for there is neither."""
    ratings = table(n, gaps=gaps)
    prompted = replace(ratings, prompts=tuple(f"p{item // 4}" for item in range(n)))
    for each in [prompted] if by == "prompt" else [prompted, ratings]:
        rows = [row for row in agree(each, OPTIONS, by) if row.reason is None]
        assert {"kendall_w", "kendall_w_incomplete"} & {row.statistic for row in rows}
        assert not [row for row in rows if isnan(row.ci_low) == (row.ci_reason is None)]
        plain = agree(each, replace(OPTIONS, intervals=False), by)
        assert all(isnan(row.ci_low) and row.ci_reason is None for row in plain)


def test_rankings_without_prompts_say_why_they_have_no_interval() -> None:
    """Kendall's W is of one ranking then, and intervals are over prompts."""
    rows = {row.statistic: row for row in agree(table(40), OPTIONS) if row.dimension == "a"}
    for name in ("kendall_w", "kendall_w_ties"):
        assert not isnan(rows[name].value)
        assert rows[name].ci_reason is Reason.NO_RANKINGS_BY_PROMPT
