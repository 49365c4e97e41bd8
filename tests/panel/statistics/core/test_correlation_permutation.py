"""Permutation p-values against full enumeration, and Holm's correction."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product
from math import nan

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics import (
    Reason,
    correlation,
    correlation_test,
    permutation_p_value,
)
from persona_panel.statistics.core.correlation import MOST_LISTED, CorrelationKind, shuffled_sums


def test_p_value_counts_the_data_as_a_shuffle() -> None:
    """No p-value is zero, and a tail is counted with its ties.

    Of 1, 2, 3, 4 two are at least 3, so p = (1 + 2) / (1 + 4); three are at most 3, so
    p = 4/5; two-sided twice the smaller, at most 1.
    """
    assert permutation_p_value(3, [1, 2, 3, 4], "greater") == pytest.approx(3 / 5)
    assert permutation_p_value(3, [1, 2, 3, 4], "less") == pytest.approx(4 / 5)
    assert permutation_p_value(3, [1, 2, 3, 4]) == 1
    assert permutation_p_value(9, [1, 2, 3, 4]) == pytest.approx(2 / 5)
    assert permutation_p_value(0.1 + 0.2, [0.3], "greater") == 1


@pytest.mark.parametrize("kind", ["tau_b", "tau_c", "spearman"])
def test_correlation_test_equals_enumeration(kind: CorrelationKind) -> None:
    """Random shuffles approach the p-value of all 120 orders of five scores."""
    x, y = np.array([1, 2, 3, 5, 8.0]), np.array([1, 3, 2, 4, 9.0])
    values = np.array([correlation(x, order, kind).value for order in permutations(y)])
    found = correlation(x, y, kind).value
    tails = (np.mean(values >= found - 1e-12), np.mean(values <= found + 1e-12))
    ours = correlation_test(x, y, kind, n_permutations=9999)
    assert ours.p_value == pytest.approx(2 * min(tails), abs=0.01)
    assert ours.value == found


def test_shuffling_stays_inside_prompts() -> None:
    """A correlation that only says that one prompt is harder is not significant within prompts."""
    rng = np.random.default_rng(0)
    prompts = np.repeat([0, 1], 30)
    x, y = rng.normal(size=60) + 5 * prompts, rng.normal(size=60) + 5 * prompts
    assert correlation_test(x, y, "tau_b", n_permutations=499).p_value < 0.01
    assert correlation_test(x, y, "tau_b", prompts.tolist(), n_permutations=499).p_value > 0.05


PROMPTS = list("aaaabbbbcc")
X = np.array([1, 2, 3, 4, 11, 12, 12, 14, 5, 5.0])
Y = np.array([1, 2, 4, 3, 8, 9, 7, 9, 1, 2.0])


@pytest.mark.parametrize("kind", ["tau_b", "tau_c", "spearman"])
@pytest.mark.parametrize("sign", [1, -1])
def test_within_prompts_equals_enumeration(kind: CorrelationKind, sign: int) -> None:
    """With prompts the value is the mean of scipy's in each, that of a constant prompt left out,
    and the p-value approaches the share of all 24 · 24 orders of the others that are as far from 0
    in standard errors, whose variance is (4 · that of one prompt in shuffles + the squares of two
    prompts about their mean) / (5 · 2)."""
    of_each = [
        np.array(
            [correlation(X[part], order, kind).value for order in permutations(sign * Y[part])]
        )
        for part in (slice(4), slice(4, 8))
    ]
    at_random = np.mean([values.var() for values in of_each])
    pairs = np.array(list(product(*of_each)))
    means = pairs.mean(axis=1)
    squares = ((pairs - means[:, None]) ** 2).sum(axis=1)
    ratios = np.abs(means) / np.sqrt((4 * at_random + squares) / 10)
    found = correlation_test(X, sign * Y, kind, PROMPTS, n_permutations=9999)
    assert found.value == pytest.approx(means[0])
    assert found.p_value == pytest.approx(np.mean(ratios >= ratios[0] - 1e-9), abs=0.01)


def test_r_within_prompts_is_of_deviations() -> None:
    """Of both prompts' deviations from their means, with that of a constant side, and not of an
    item alone; the variance of one prompt in shuffles is that of Σ dx dy of k items, Σ dx² Σ dy² /
    (k − 1), over the sums of all prompts."""
    x, y = np.append(X, 70.0), np.append(Y, 9.0)
    parts = slice(4), slice(4, 8), slice(8, 10)
    dx, dy = ([side[part] - side[part].mean() for part in parts] for side in (x, y))
    scale = np.sqrt(sum(d @ d for d in dx) * sum(d @ d for d in dy))
    share = [(a @ a / sum(d @ d for d in dx) + b @ b / sum(d @ d for d in dy)) / 2
             for a, b in zip(dx, dy, strict=True)]  # fmt: skip
    at_random = sum((a @ a) * (b @ b) / (len(a) - 1) for a, b in zip(dx, dy, strict=True))
    orders = product(*map(permutations, dy))
    products = np.array(
        [[a @ np.array(b) / scale for a, b in zip(dx, order, strict=True)] for order in orders]
    )
    r = products.sum(axis=1)
    squares = ((products - r[:, None] * np.array(share)) ** 2).sum(axis=1)
    # Three prompts: n times the parts, over n (n − 1 + 4).
    ratios = np.abs(r) / np.sqrt((4 * at_random / scale**2 + 3 * squares) / 6)
    found = correlation_test(x, y, "pearson", [*PROMPTS, "d"], n_permutations=9999)
    assert found.value == pytest.approx(r[0])
    assert found.value == pytest.approx(stats.pearsonr(np.concatenate(dx), np.concatenate(dy))[0])
    assert found.p_value == pytest.approx(np.mean(ratios >= ratios[0] - 1e-9), abs=0.01)


def test_r_over_all_items_is_studentized_over_them() -> None:
    """Of n items each is a part: x y of standard scores, its share half of the sum of their
    squares; (n / (n − 1) · 4 + the squares of the parts about r) / ((n + 3) n)."""
    x, y = np.array([1, 2, 3, 5, 8, 9.0]), np.array([1, 3, 2, 9, 4, 7.0])
    u, v = stats.zscore(x), np.array(list(permutations(stats.zscore(y))))
    r = (u * v).mean(axis=1)
    squares = ((u * v - r[:, None] * (u**2 + v**2) / 2) ** 2).sum(axis=1)
    ratios = np.abs(r) / np.sqrt((4 * 6 / 5 + squares) / 54)
    found = correlation_test(x, y, "pearson", n_permutations=9999)
    assert found.p_value == pytest.approx(np.mean(ratios >= ratios[0] - 1e-9), abs=0.01)


@pytest.mark.parametrize("kind", ["tau_b", "tau_c", "spearman", "pearson"])
def test_the_interval_leaves_0_out_where_p_is_below_the_level(kind: CorrelationKind) -> None:
    """On boards of every strength, at 95 % and 80 %; it holds the value, and is widest about 0."""
    rng, sides = np.random.default_rng(2), set()
    prompts = np.repeat(np.arange(6), 4).tolist()
    for slope in np.linspace(-1.5, 1.5, 24):
        x = rng.normal(size=24)
        y = slope * x + rng.normal(size=24)
        for confidence in (0.95, 0.8):
            found = correlation_test(x, y, kind, prompts, n_permutations=399, confidence=confidence)
            assert found.ci is not None
            assert -1 <= found.ci.low <= found.value <= found.ci.high <= 1
            leaves_out = found.ci.low > 0 or found.ci.high < 0
            assert leaves_out == (found.p_value < round(1 - confidence, 9))
            sides.add(leaves_out)
    assert sides == {True, False}


def test_few_prompts_have_p_but_no_interval() -> None:
    """Four prompts of four items; without prompts, seven items."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 16))
    for found in (
        correlation_test(x, y, "pearson", np.repeat(np.arange(4), 4).tolist()),
        correlation_test(x[:7], y[:7], "pearson"),
    ):
        assert found.p_value > 0
        assert found.ci is not None
        assert found.ci.reason is Reason.FEW_FOR_A_CORRELATION


def test_a_panel_is_tested_as_well_as_by_the_covariance() -> None:
    """Of 12 prompts of four texts with a true r of 0.5 the test finds at least 0.9 of what
    permutations of the covariance find, and errs in at most 8 % without one (400 boards)."""
    rng, shares = np.random.default_rng(5), {}
    prompts = np.repeat(np.arange(12), 4).tolist()
    for slope in (0.0, 0.4):
        said = np.zeros(2)
        for _ in range(400):
            x, y = rng.normal(size=(2, 12, 4))
            y = y + slope * x
            found = correlation_test(x.ravel(), y.ravel(), "pearson", prompts, n_permutations=199)
            apart = x - x.mean(axis=1, keepdims=True)
            moved = rng.permuted(np.broadcast_to(y, (199, 12, 4)), axis=2)
            at_random = np.abs((moved * apart).sum(axis=(1, 2)))
            best = (1 + np.sum(at_random >= abs((apart * y).sum()))) / 200
            said += found.p_value < 0.05, best < 0.05
        shares[slope] = said / 400
    assert shares[0.0][0] <= 0.08
    assert shares[0.4][0] >= 0.9 * shares[0.4][1] > 0.5


def test_prompts_of_one_item_have_no_test() -> None:
    """Nothing can be shuffled: undefined, with the reason."""
    found = correlation_test([1, 2, 3], [3, 1, 2], "tau_b", list("abc"))
    assert found.reason is Reason.ONE_ITEM_A_PROMPT
    assert np.isnan([found.value, found.p_value]).all()


@pytest.mark.parametrize("kind", ["tau_b", "tau_c"])
def test_many_items_are_tested_as_few_are(kind: CorrelationKind) -> None:
    """Of 31 items, whose pairs scipy counts, the p-value is that of 30 but for chance."""
    x = np.arange(31) % 8
    y = x + np.array([0, 5, 1, 7, 2, 9, 3] * 5)[:31]
    few, many = (
        correlation_test(x[:n], y[:n], kind, n_permutations=1999).p_value for n in (30, 31)
    )
    assert many == pytest.approx(few, abs=0.03)


def test_gaps_are_left_out_before_shuffling() -> None:
    """Items that one side lacks change neither value nor p-value."""
    x, y = [1, nan, 2, 3, 4, 6], [2, 5, 1, 4, 3, nan]
    prompts = list("aabbba")
    ours = correlation_test(x, y, "spearman", prompts)
    theirs = correlation_test([1, 2, 3, 4], [2, 1, 4, 3], "spearman", list("abbb"))
    assert ours == theirs


def test_undefined_stays_undefined() -> None:
    """What has no value has no p-value."""
    assert correlation_test([1, 1], [1, 2], "tau_b").reason is Reason.CONSTANT_RATER


def test_shuffled_sums_are_those_of_all_orders_alike() -> None:
    """Of three raters, two with ties, each sum is drawn as often as it comes among all 6³ orders
    that their ranks could have (χ² of 40,000 shuffles)."""
    ranks = np.array([[1, 1.5, 1], [2, 1.5, 2.5], [3, 3, 2.5]])
    expected = Counter(
        tuple(np.sum(orders, axis=0).tolist())
        for orders in product(*(permutations(rater) for rater in ranks.T.tolist()))
    )
    drawn = shuffled_sums(ranks, 40_000, np.random.default_rng(0)).tolist()
    found = Counter(map(tuple, drawn))
    assert set(found) == set(expected)
    shares = np.array(list(expected.values())) / 6**3
    assert stats.chisquare([found[one] for one in expected], shares * 40_000).pvalue > 0.01


@pytest.mark.parametrize("n_items", [MOST_LISTED, MOST_LISTED + 1])
def test_shuffled_sums_of_many_items(n_items: int) -> None:
    """Whether orders are listed or not, one rater's shuffles are their values in another order, and
    each item has each value as often: 1 of n (four standard errors of 4,000 shuffles)."""
    values = np.arange(n_items, dtype=np.float64)
    shuffles = shuffled_sums(values[:, None], 4_000, np.random.default_rng(0))
    assert (np.sort(shuffles, axis=1) == values).all()
    shares = (shuffles[:, :, None] == values).mean(axis=0)
    assert shares == pytest.approx(1 / n_items, abs=4 * np.sqrt(1 / n_items / 4_000))
