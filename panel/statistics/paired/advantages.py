"""Two panels on the same texts, each in a person's place: which is more often as near to the other
people as a person is.

The advantage probability ρ is that of the alternative annotator test (Calderon, Reichart & Dror
2025; see `persona_panel.statistics.humans.annotator_test`). The difference of two panels' is
paired: it is of the same items and people, and leaves out one prompt at a time of both.

ρ is a mean over items, so that a prompt with most of the items decides the difference nearly alone.
Student's t has as many degrees of freedom as prompts of equal size that would be worth as much,
less one: L. Kish (1965), *Survey Sampling*, section 8.2, for the number; A. Carter, K. Schnepel &
D. Steigerwald (2017), "Asymptotic behavior of a t-test robust to cluster heterogeneity", for its
use in place of the number of clusters.
"""

from __future__ import annotations

from dataclasses import replace
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Labels,
    Mask,
    as_ratings,
    as_scores,
    difference_of,
    encode_labels,
)
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.humans.annotator_test import annotator_test, resampled_advantage
from persona_panel.statistics.paired.panels import ComparedAdvantages, PairedFigure, paired_figure


def compared_advantages(
    a: ArrayLike,
    b: ArrayLike,
    humans: ArrayLike,
    prompts: Labels,
    *,
    epsilon: float | None = None,
    same_scale: bool = True,
) -> ComparedAdvantages:
    """Return whether one of two panels is more often than the other at least as near to people as a
    person is, over the items that both panels rated; see `annotator_test`.

    How to read it: a difference of ρ above 0 whose interval leaves 0 out says that b takes a
    person's place better than a, with these people as they are. ω counts decisions of tests: it may
    jump where ρ hardly differs.

    Args:
        a, b: `(items,)`, NaN where missing; higher is better.
        humans: `(items, humans)`, likewise; as for `annotator_test`, who has few items is left out.
        prompts: a label an item.
        epsilon: for ω, by how much a person may be ahead, in [0, 1).
        same_scale: whether people's ratings are on the panels' scale; else all is undefined.

    Raises:
        ValueError: the shapes differ, a value is infinite, or ε is outside [0, 1).

    >>> people = np.tile([[1, 1, 2], [3, 3, 2], [2, 4, 2]], (10, 1))
    >>> found = compared_advantages([5] * 30, [1, 3, 2] * 10, people, range(30), epsilon=0.1)
    >>> (found.a_advantage, found.b_advantage), (found.a_winning_rate, found.b_winning_rate)
    ((0.0, 1.0), (0.0, 1.0))
    """
    first, second, raters = as_scores(a), as_scores(b), as_ratings(humans)
    if not same_scale:
        return ComparedAdvantages(nan, nan, PairedFigure(nan, nan, nan, 0, 0, Reason.OTHER_SCALE))
    missing = np.isnan(first + second)
    sides = [np.where(missing, np.nan, side) for side in (first, second)]
    tests = [
        annotator_test(side, raters, score="neg_rmse", epsilon=epsilon or 0.0, clusters=prompts)
        for side in sides
    ]
    # Of both the same people are tested: those who have enough of the items that both rated.
    tested = [one.human for one in tests[0].humans if one.is_tested]
    ours, theirs = (
        resampled_advantage(side, raters, score="neg_rmse", of=tested) for side in sides
    )
    of_a, of_b = (one.advantage for one in tests)
    result = BlockResult(
        of_a if of_a.reason else replace(of_b, value=of_b.value - of_a.value),
        difference_of(theirs, ours),
        kind="mean_difference",
        limits=(-1.0, 1.0),
    )
    rates = [nan if epsilon is None else one.winning_rate.value for one in tests]
    judged = ~missing & (~np.isnan(raters[:, tested])).any(axis=1)
    figure = paired_figure(result, prompts, tested=True, most_df=_worth(prompts, judged) - 1)
    return ComparedAdvantages(of_a.value, of_b.value, figure, *rates)


def _worth(prompts: Labels, judged: Mask) -> float:
    """Return how many prompts of equal size those of the judged items are worth."""
    sizes = np.bincount(encode_labels(prompts, len(judged))[1][judged])
    return float(sizes.sum() ** 2 / max(np.sum(sizes**2), 1))
