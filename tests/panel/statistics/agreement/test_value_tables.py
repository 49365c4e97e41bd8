"""τ_b and Spearman's ρ of all pairs of raters from tables of their values, against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from panel.statistics.agreement.pairwise import PairStatistic, pairwise, resampled_pairwise
from panel.statistics.agreement.value_tables import ValueTables
from panel.statistics.resampling.weights import left_out_weights

RNG = np.random.default_rng(0)
RATINGS = np.clip(np.round(3 + RNG.normal(0, 0.7, (60, 1)) + RNG.normal(0, 0.7, (60, 4))), 1, 5)
RATINGS[RNG.random(RATINGS.shape) < 0.2] = np.nan
# One rater gives one value, and has none with anybody.
RATINGS = np.column_stack([RATINGS, np.full(60, 2.0)])
PROMPTS = np.arange(60) // 5
SCIPY = {"tau_b": stats.kendalltau, "spearman": stats.spearmanr}


def by_scipy(ratings: np.ndarray, statistic: str) -> list[float]:
    values = []
    for a in range(4):
        for b in range(a + 1, 4):
            both = ~np.isnan(ratings[:, [a, b]]).any(axis=1)
            values.append(SCIPY[statistic](ratings[both, a], ratings[both, b]).statistic)
    return values


@pytest.mark.parametrize("statistic", ["tau_b", "spearman"])
def test_few_values_give_what_scipy_does(statistic: PairStatistic) -> None:
    """Of ratings with ties and gaps each pair's correlation is scipy's over the items that both
    rated, as a whole and without each prompt; a constant rater has none."""
    assert ValueTables.of(RATINGS) is not None
    found = pairwise(RATINGS, statistic)
    constant = (found.pairs == 4).any(axis=1)
    assert np.isnan(found.values[constant]).all()
    assert found.values[~constant] == pytest.approx(by_scipy(RATINGS, statistic))
    without = resampled_pairwise(RATINGS, statistic)(left_out_weights(PROMPTS, 12))
    expected = [np.mean(by_scipy(RATINGS[prompt != PROMPTS], statistic)) for prompt in range(12)]
    assert without == pytest.approx(expected)


def test_tables_are_for_few_values_only() -> None:
    """Where the values are as many as the items, all pairs of items are compared instead."""
    assert ValueTables.of(np.arange(60.0).reshape(-1, 2)) is None
    assert ValueTables.of(np.full((60, 2), np.nan)) is None
