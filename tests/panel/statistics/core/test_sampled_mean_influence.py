"""The influence of judges on scores."""

from __future__ import annotations

import math

import numpy as np

from persona_panel.statistics.core.sampled_mean import influence_of

NAN = math.nan


def test_influence_is_what_a_judge_moves() -> None:
    """A judge that counts a little more moves the mean over judges and terms by its influence."""
    rng = np.random.default_rng(2)
    terms = rng.normal(size=(3, 4, 2))
    terms[0, 1, 0] = terms[2, 3] = NAN
    weights, step = np.ones(4), 1e-6

    def score(of_judges: np.ndarray) -> np.ndarray:
        there = ~np.isnan(terms)
        total = np.nansum(of_judges[None, :, None] * terms, axis=1)
        return (total / (of_judges[None, :, None] * there).sum(axis=1)).mean(axis=1)

    for judge in range(4):
        more = weights.copy()
        more[judge] += step
        moved = (score(more) - score(weights)) / step
        np.testing.assert_allclose(influence_of(terms)[:, judge], moved, atol=1e-5)
