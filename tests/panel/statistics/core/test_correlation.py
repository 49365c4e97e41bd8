"""Correlations against their definitions, and resampled ones against scipy."""

from __future__ import annotations

from itertools import combinations
from math import isnan, nan, sqrt
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from persona_panel.statistics import (
    Reason,
    Statistic,
    by_prompt,
    correlation,
    correlation_by_prompt,
    kendall_w,
    over_prompts,
    pairwise,
    resampled_over_prompts,
)
from persona_panel.statistics.concordance import incomplete_concordance
from persona_panel.statistics.core.correlation import CorrelationKind, correlations
from persona_panel.statistics.human_raters import (
    human_ceiling,
    human_difference_by_prompt,
)

KINDS = get_args(CorrelationKind)
SCORE = st.sampled_from([1.0, 2.0, 2.5, 4.0, nan])
PAIR = st.integers(0, 9).flatmap(
    lambda n: st.tuples(arrays(float, n, elements=SCORE), arrays(float, n, elements=SCORE))
)


def by_definition(x: np.ndarray, y: np.ndarray, kind: str) -> float:
    """Each coefficient from its textbook definition, by counting pairs of items."""
    both = ~np.isnan(x + y)
    x, y = x[both], y[both]
    n = len(x)
    if n < 2 or len(set(x)) < 2 or len(set(y)) < 2:
        return nan
    if kind in ("tau_b", "tau_c"):
        pairs = list(combinations(range(n), 2))
        signs = [np.sign(x[i] - x[j]) * np.sign(y[i] - y[j]) for i, j in pairs]
        concordant, discordant = signs.count(1), signs.count(-1)
        if kind == "tau_c":
            m = min(len(set(x)), len(set(y)))
            return 2 * (concordant - discordant) / (n**2 * (m - 1) / m)
        n0 = n * (n - 1) / 2
        n1, n2 = (sum(t * (t - 1) / 2 for t in np.unique(s, return_counts=True)[1]) for s in (x, y))
        return (concordant - discordant) / sqrt((n0 - n1) * (n0 - n2))
    if kind == "spearman":
        x, y = (np.array([np.mean(np.flatnonzero(np.sort(s) == v)) for v in s]) for s in (x, y))
    return float(np.sum((x - x.mean()) * (y - y.mean())) / (n * x.std() * y.std()))


@given(PAIR, st.sampled_from(KINDS))
def test_equals_its_definition(pair: tuple[np.ndarray, np.ndarray], kind: CorrelationKind) -> None:
    """τ_b is the SCRuB paper's (section 14.5), τ_c Stuart's, ρ Pearson's r of mean ranks."""
    ours = correlation(*pair, kind)
    assert ours.value == pytest.approx(by_definition(*pair, kind), abs=1e-12, nan_ok=True)
    assert (ours.reason is None) != isnan(ours.value)
    assert not abs(ours.value) > 1


@given(PAIR, st.sampled_from(KINDS), st.integers(0, 2**32 - 1))
def test_resampled_equals_repeating_the_items(
    pair: tuple[np.ndarray, np.ndarray], kind: CorrelationKind, seed: int
) -> None:
    """A weight of k is worth k copies of the item, in ranks, ties and distinct values too."""
    x, y = pair
    weights = np.random.default_rng(seed).integers(0, 4, (3, len(x))).astype(float)
    ours = correlation(x, y, kind).resampled(weights)
    for row, value in zip(weights.astype(int), ours, strict=True):
        expected = correlation(np.repeat(x, row), np.repeat(y, row), kind).value
        assert value == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_resampling_many_items_leaves_no_seam() -> None:
    """More items than are compared at a time give the same coefficient."""
    rng = np.random.default_rng(0)
    x = rng.integers(1, 6, 700).astype(float)
    y = x + rng.normal(size=700)
    for kind in KINDS:
        drawn = correlation(x, y, kind).resampled(np.ones((2, 700)))
        assert drawn == pytest.approx([correlation(x, y, kind).value] * 2, abs=1e-12)


@given(PAIR)
def test_rank_statistics_see_only_order(pair: tuple[np.ndarray, np.ndarray]) -> None:
    """τ and ρ do not change under monotone transforms, and change sign when one side turns."""
    x, y = pair
    for kind in ("tau_b", "tau_c", "spearman"):
        value = correlation(x, y, kind).value
        assert correlation(np.exp(x), y**3, kind).value == pytest.approx(value, nan_ok=True)
        assert correlation(-x, y, kind).value == pytest.approx(-value, nan_ok=True)
        assert correlation(y, x, kind).value == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([], [], Reason.NO_SHARED_ITEMS),
        ([1, nan], [nan, 1], Reason.NO_SHARED_ITEMS),
        ([1, 2], [2, nan], Reason.FEW_ITEMS),
        ([1, 2, nan], [3, 3, 4], Reason.CONSTANT_RATER),
    ],
)
def test_undefined_has_a_reason(
    kind: CorrelationKind, x: list[float], y: list[float], reason: Reason
) -> None:
    """Without two shared items that both sides tell apart there is no coefficient."""
    ours = correlation(x, y, kind)
    assert isnan(ours.value)
    assert ours.reason is reason
    assert isnan(correlation(x, y, kind).resampled(np.ones((1, len(x))))[0])


def test_scores_that_differ_in_their_last_digit() -> None:
    """Nearly constant scores are correlated as what they are, without scipy's warning.

    0 0 1 against 1 2 4 have the means 1/3 and 7/3, so r = (5/3) / sqrt(2/3 · 14/3) = 0.94491.
    """
    x = [1.0, 1.0, 1.0 + 2**-52]
    assert correlation(x, [1, 2, 4], "pearson").value == pytest.approx(0.944911, abs=1e-6)
    drawn = correlation(x, [1, 2, 4], "pearson").resampled(np.ones((1, 3)))
    assert drawn == pytest.approx([0.944911], abs=1e-6)


def test_p_value_is_scipys_and_missing_for_two_items() -> None:
    """The p-value comes with the value; two items have no distribution to take it from."""
    # scipy.stats.kendalltau([1, 2, 3, 4, 5], [3, 1, 4, 2, 5]): τ = 0.4, exact p = 0.4833.
    ours = correlation([1, 2, 3, 4, 5], [3, 1, 4, 2, 5], "tau_b")
    assert (ours.value, ours.p_value) == pytest.approx((0.4, 0.48333), abs=1e-5)
    assert isnan(correlation([1, 2], [1, 2], "pearson").p_value)


def test_within_prompts_is_a_mean_of_prompts() -> None:
    """Inside prompts, what differs between prompts does not count; undefined prompts do not either.

    Prompt a: 1 2 3 against 1 2 3, τ = 1. Prompt b: 1 2 against 2 1, τ = −1. Prompt c: 5 5
    against 8 9, constant. Mean of a and b: 0.
    """
    x = [1, 2, 3, 1, 2, 5, 5]
    y = [1, 2, 3, 2, 1, 8, 9]
    prompts = list("aaabbcc")
    result = correlation_by_prompt(x, y, prompts, "tau_b")
    assert result.prompts == ("a", "b", "c")
    assert [value.value for value in result.values[:2]] == [1, -1]
    assert result.values[2].reason is Reason.CONSTANT_RATER
    assert (result.mean.value, result.mean.n_items, result.n_undefined) == (0, 5, 1)

    drawn = resampled_over_prompts(result, prompts)(
        np.array([[2, 2, 2, 1, 1, 0, 0], [0, 0, 0, 0, 0, 3, 3]], dtype=float)
    )
    assert drawn == pytest.approx([1 / 3, nan], nan_ok=True)
    # Of prompt a two of three items, of prompt b one of two: 2/3 · 1 + 1/2 · (−1) over 2/3 + 1/2.
    partly = resampled_over_prompts(result, prompts)(np.array([[1.0, 1, 0, 1, 0, 1, 1]]))
    assert partly == pytest.approx([1 / 7])


def test_over_prompts_keeps_a_shared_reason() -> None:
    """Prompts undefined for one reason give that reason, for several that no prompt is defined."""
    constant = correlation([1, 1], [1, 2], "pearson")
    short = correlation([1], [1], "pearson")
    assert over_prompts([("a", constant), ("b", constant)]).mean.reason is Reason.CONSTANT_RATER
    assert over_prompts([("a", constant), ("b", short)]).mean.reason is Reason.FEW_PROMPTS
    assert over_prompts([]).mean.reason is Reason.FEW_PROMPTS


def test_prompts_of_one_item_each_are_not_few_items() -> None:
    """Of any number of prompts with one item each, that is the reason why nothing within prompts
    has a value; of a single prompt it is the number of items."""
    ratings, prompts = np.array([[1.0, 2], [2, 4], [3, 3]]), list("abc")
    for result in (
        kendall_w(ratings, prompts),
        incomplete_concordance(ratings, prompts).over_prompts,
        by_prompt(lambda items: pairwise(ratings[items], "tau_b").mean, prompts, 3),
        by_prompt(lambda items: human_ceiling(ratings[items], "tau_b"), prompts, 3),
        human_difference_by_prompt(ratings[:, :1], ratings, prompts, "tau_b").panel,
    ):
        assert result.mean.reason is Reason.ONE_ITEM_A_PROMPT
    assert kendall_w(ratings[:1], ["a"]).mean.reason is Reason.FEW_ITEMS


def test_an_estimate_has_a_value_or_a_reason() -> None:
    """NaN without a reason, and a reason beside a value, cannot be made."""
    with pytest.raises(ValueError, match="either a value or a reason"):
        Statistic(nan, 1, 2)
    with pytest.raises(ValueError, match="either a value or a reason"):
        Statistic(0.5, 1, 2, reason=Reason.FEW_ITEMS)


def test_bad_input_is_refused() -> None:
    """Scores that cannot be paired, infinite ones and unknown kinds are named."""
    with pytest.raises(ValueError, match="2 scores cannot be paired with 3"):
        correlation([1, 2], [1, 2, 3], "tau_b")
    with pytest.raises(ValueError, match="that of item 1"):
        correlation([1, np.inf], [1, 2], "tau_b")
    with pytest.raises(ValueError, match="found 'tau_a'"):
        correlation([1, 2], [1, 2], "tau_a")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"shape \(items,\)"):
        correlation([[1, 2]], [[1, 2]], "tau_b")


@pytest.mark.parametrize("kind", ["tau_b", "tau_c"])
def test_taus_of_many_items_are_scipys(kind: CorrelationKind) -> None:
    """By sorting, with ties, gaps and columns of their own or one for all; with so many values that
    their counts are not held at a time; and NaN beside a constant column."""
    rng = np.random.default_rng(4)
    x, y = rng.integers(1, 8, (150, 3)).astype(float), rng.integers(1, 5, (150, 3)).astype(float)
    y[rng.random(y.shape) < 0.1] = nan
    x[np.isnan(y)] = nan
    expected = [stats.kendalltau(a, b, variant=kind[-1], nan_policy="omit").statistic
                for a, b in zip(x.T, y.T, strict=True)]  # fmt: skip
    np.testing.assert_allclose(correlations(x, y, kind), expected)
    one = np.arange(150.0) // 3
    whole = np.column_stack([rng.integers(1, 9, 150), one % 11, np.full(150, 2)]).astype(float)
    expected = [stats.kendalltau(one, b, variant=kind[-1]).statistic for b in whole.T[:2]]
    np.testing.assert_allclose(correlations(one[:, None], whole, kind), [*expected, nan])
    large = rng.permutation(17_000).astype(float)
    [found] = correlations(np.arange(17_000.0)[:, None], large[:, None], kind)
    assert found == pytest.approx(stats.kendalltau(np.arange(17_000), large).statistic)
