"""Statistics of all pairs of raters from tables of values, against scipy's and scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from persona_panel.statistics.core.jackknife import left_out_weights
from persona_panel.statistics.rater_pairs import PairStatistic, ValueTables, pairwise

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
    without = pairwise(RATINGS, statistic).mean.resampled(left_out_weights(PROMPTS, 12))
    expected = [np.mean(by_scipy(RATINGS[prompt != PROMPTS], statistic)) for prompt in range(12)]
    assert without == pytest.approx(expected)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_few_values_give_scikit_learns_kappa(weights: str) -> None:
    """Without each prompt the mean κ over pairs is scikit-learn's, whose distances are between
    places on the scale: all of 1 to 5 occur."""
    statistic = f"cohen_kappa_{weights}"
    without = pairwise(RATINGS, statistic).mean.resampled(left_out_weights(PROMPTS, 12))  # type: ignore[arg-type]
    for prompt in range(12):
        left = RATINGS[prompt != PROMPTS].astype(object)
        pairs = [left[:, [a, b]] for a in range(4) for b in range(a + 1, 4)]
        shared = [pair[~np.isnan(pair.astype(float)).any(axis=1)].astype(int) for pair in pairs]
        expected = [
            cohen_kappa_score(
                *pair.T, labels=[1, 2, 3, 4, 5], weights=None if weights == "none" else weights
            )
            for pair in shared
        ]
        assert without[prompt] == pytest.approx(np.mean(expected))


def test_tables_are_for_few_values_only() -> None:
    """Where the values are as many as the items, all pairs of items are compared instead."""
    assert ValueTables.of(np.arange(60.0).reshape(-1, 2)) is None
    assert ValueTables.of(np.full((60, 2), np.nan)) is None
