"""The three losses of the conceptual-critiques paper, by its examples and formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.integrate import quad

from persona_panel.statistics import (
    CUSTOM_DIMENSIONS,
    Reason,
    custom_loss,
    pairwise_error,
    resampled_over_prompts,
)

UNIT = st.floats(0, 1, width=16)


@pytest.mark.parametrize(
    ("panel", "plain", "weighted"), [([0.1, 0.9], 1, 0.02), ([0.5, 0.5], 0.5, 0.01), ([1, 0], 0, 0)]
)
def test_the_papers_example(panel: list[float], plain: float, weighted: float) -> None:
    """Critiques at 0.45 and 0.43: the wrong order loses 0.02, indifference 0.01, the right 0."""
    human = [0.45, 0.43]
    assert pairwise_error(human, panel, "aa").by_position.mean.value == plain
    ours = pairwise_error(human, panel, "aa", weighted=True)
    assert ours.by_position.mean.value == pytest.approx(weighted)
    assert ours.baseline == pytest.approx(0.01)


def test_averages_are_over_pairs_then_positions() -> None:
    """Positions count alike; a tie of the human is no comparison unless asked to be.

    Position a: human 1 2 2 4, panel 1 3 0 2. Five comparisons (the tie 2 2 is none): 1<2 right,
    1<2' wrong, 1<4 right, 2<4 wrong, 2'<4 right; 2/5. Weighted: (1 + 2)/5. Position b: human
    3 1, panel 5 5: 1/2, weighted 2/2 = 1. Position c: one critique, no comparison.
    """
    human, panel, positions = [1, 2, 2, 4, 3, 1, 7], [1, 3, 0, 2, 5, 5, 7], list("aaaabbc")
    plain = pairwise_error(human, panel, positions)
    assert plain.by_position.mean.value == pytest.approx((2 / 5 + 1 / 2) / 2)
    assert (plain.pooled, plain.n_terms, plain.baseline) == (pytest.approx(2.5 / 6), 6, 0.5)
    assert plain.by_position.values[2].reason is Reason.NO_COMPARISONS
    weighted = pairwise_error(human, panel, positions, weighted=True)
    assert weighted.by_position.mean.value == pytest.approx((3 / 5 + 1) / 2)
    # Random: half of the mean gap, (1 + 1 + 3 + 2 + 2)/5/2 and 2/2.
    assert weighted.baseline == pytest.approx((0.9 + 1) / 2)


@given(st.integers(2, 8).flatmap(lambda n: arrays(float, (n, 2), elements=st.integers(0, 4))))
def test_error_is_a_rank_correlation_turned_round(scores: np.ndarray) -> None:
    """As the paper says, the loss is a rank correlation in disguise: 1 − 2 · loss is Somers' D.

    Over the n pairs that the human tells apart, concordant less discordant is n (1 − 2 · loss).
    """
    human, panel = scores.T.astype(float)
    ours = pairwise_error(human, panel, [0] * len(human))
    if np.ptp(human) == 0:
        assert ours.by_position.mean.reason is Reason.NO_COMPARISONS
        return
    pairs = list(combinations(range(len(human)), 2))
    signs = [np.sign(human[i] - human[j]) * np.sign(panel[i] - panel[j]) for i, j in pairs]
    assert ours.n_terms * (1 - 2 * ours.pooled) == pytest.approx(sum(signs))
    with np.errstate(invalid="ignore"):  # scipy's p-value can be 0/0
        somers = stats.somersd(human, panel).statistic if np.ptp(panel) else 0
    assert 1 - 2 * ours.pooled == pytest.approx(somers)


@given(st.integers(2, 8).flatmap(lambda n: arrays(float, (n, 2), elements=UNIT)))
def test_error_properties(scores: np.ndarray) -> None:
    """Losses lie between 0 and twice the baseline, and only the panel's order matters."""
    human, panel = scores.T
    for weighted in (False, True):
        ours = pairwise_error(human, panel, [0] * len(human), weighted=weighted)
        value = ours.by_position.mean.value
        same = pairwise_error(human, human, [0] * len(human), weighted=weighted)
        turned = pairwise_error(human, -panel, [0] * len(human), weighted=weighted)
        if not isnan(value):
            assert 0 <= value <= 2 * ours.baseline + 1e-12
            assert same.by_position.mean.value == 0
            assert value + turned.by_position.mean.value == pytest.approx(2 * ours.baseline)
        changed = pairwise_error(human, np.exp(3 * panel), [0] * len(human), weighted=weighted)
        assert changed.by_position.mean.value == pytest.approx(value, nan_ok=True)


def critique(**ratings: float) -> list[float]:
    return [ratings.get(name, 0.5) for name in CUSTOM_DIMENSIONS]


def test_custom_loss_by_hand() -> None:
    """A clear critique is weighed over all dimensions, an unclear one over two.

    Clear: 0.5 · |0.8 − 0.4| + 0.2 · |0.9 · 0.5 − 0.5 · 0.5| + 0.1 · |0.6 − 0.5| + 0.1 · |0.9 −
    0.5| + 0.05 · |1 − 0.5| + 0.05 · |0 − 0.5| = 0.2 + 0.04 + 0.01 + 0.04 + 0.025 + 0.025 = 0.34.
    Unclear: 0.5 · |0.2 − 0.4| + 0.5 · |0.3 − 0.5| = 0.2, whatever else is missing.
    """
    clear = critique(
        overall=0.8, strength=0.9, clarity=0.6, correctness=0.9, single_issue=1, dead_weight=0
    )
    unclear = critique(overall=0.2, clarity=0.3, strength=nan, dead_weight=nan)
    panel = critique(overall=0.4)
    ours = custom_loss([clear, unclear, clear], [panel] * 3, list("abb"))
    values = [value.value for value in ours.by_position.values]
    assert values == pytest.approx([0.34, 0.27])
    assert (ours.pooled, ours.n_terms) == (pytest.approx(0.88 / 3), 3)
    assert ours.by_position.mean.value == pytest.approx(0.305)


def test_custom_loss_of_several_raters() -> None:
    """Losses are of each judge against each person who has what they need, then over critiques;
    of means, errors that cancel are gone.

    First critique, people 0.4 and 0.6 overall, judges 0.3 and 0.7: differences 0.1, 0.3, 0.3, 0.1,
    half of which is 0.1 on average, and 0 of the means. Second, one person 0.2, one judge 0.4: 0.1
    either way. First and third are of one position; the third is nobody's but the second judge's.
    """
    none = [nan] * 7
    human = [
        [critique(overall=0.4), critique(overall=0.6)],
        [critique(overall=0.2), none],
        [none, none],
    ]
    panel = [
        [critique(overall=0.3), critique(overall=0.7)],
        [none, critique(overall=0.4)],
        [none, critique()],
    ]
    people, judges = (np.moveaxis(np.array(side), 1, 2) for side in (human, panel))
    of_losses, of_means = (custom_loss(people, judges, of=of) for of in ("losses", "means"))
    assert of_losses.by_position.mean.value == of_losses.pooled == pytest.approx(0.1)
    assert of_means.by_position.mean.value == of_means.pooled == pytest.approx(0.05)
    assert of_losses.n_terms == of_means.n_terms == 2
    together = custom_loss(people[[0, 0, 1]], judges[[0, 0, 1]], "aab", of="means")
    assert (together.pooled, together.by_position.mean.value) == pytest.approx((0.1 / 3, 0.05))


def test_custom_loss_needs_what_it_weighs() -> None:
    """A critique that lacks a rating its loss needs has none; nothing is filled in."""
    missing = critique(strength=nan)
    ours = custom_loss([critique(), missing], [missing, critique()], ["a", "b"])
    assert ours.by_position.mean.reason is Reason.NO_SHARED_ITEMS
    assert isnan(ours.baseline)
    unclear = critique(clarity=0.4)
    assert custom_loss([unclear], [missing], ["a"]).by_position.mean.value == pytest.approx(0.05)


def test_custom_baseline_equals_simulation() -> None:
    """The exact expectation is the mean loss of many critics who rate at random."""
    rng = np.random.default_rng(0)
    human = rng.random((6, 7))
    human[0, CUSTOM_DIMENSIONS.index("strength")] = 0
    positions = list("aabbbc")
    losses = [
        custom_loss(human, rng.random((6, 7)), positions).by_position.mean.value
        for _ in range(4000)
    ]
    expected = custom_loss(human, human, positions)
    assert expected.baseline == pytest.approx(np.mean(losses), abs=4 * np.std(losses) / 4000**0.5)
    assert expected.by_position.mean.value == 0


@pytest.mark.parametrize(("strength", "centrality"), [(0, 0.5), (0.5, 0.4), (0.9, 0.8), (1, 1)])
def test_custom_baseline_equals_numerical_integrals(strength: float, centrality: float) -> None:
    """Each difference from a uniform rating is integrated over its density, 1, and that of strength
    × centrality over −ln p, the density of a product of two; the weights are the paper's."""
    rated = {"overall": 0.3, "single_issue": 0.6, "clarity": 0.7, "correctness": 0.2}
    rated |= {"dead_weight": 0.9, "strength": strength, "centrality": centrality}

    def mean_difference(c: float, density: Callable[[float], float]) -> float:
        low, _ = quad(lambda p: (c - p) * density(p), 0, c)
        high, _ = quad(lambda p: (p - c) * density(p), c, 1)
        return low + high

    weights = {"overall": 0.5, "correctness": 0.1, "clarity": 0.1}
    weights |= {"single_issue": 0.05, "dead_weight": 0.05}
    expected = 0.2 * mean_difference(strength * centrality, lambda p: -math.log(p))
    for name, weight in weights.items():
        expected += weight * mean_difference(rated[name], lambda p: 1.0)
    human = [[rated[name] for name in CUSTOM_DIMENSIONS]]
    assert custom_loss(human, human, ["a"]).baseline == pytest.approx(expected, abs=1e-7)


def test_losses_are_resampled_by_position() -> None:
    """A position drawn twice counts twice."""
    positions = list("aabb")
    ours = pairwise_error([1, 2, 1, 2], [1, 2, 2, 1], positions)
    resampled = resampled_over_prompts(ours.by_position, positions)
    weights = np.array([[1, 1, 1, 1], [2, 2, 0, 0], [1, 1, 2, 2]], dtype=float)
    assert resampled(weights) == pytest.approx([0.5, 0, 2 / 3])


def test_bad_ratings_are_refused() -> None:
    """A rating outside [0, 1] is named by its dimension and item, a wrong shape by its columns."""
    good = critique()
    with pytest.raises(ValueError, match="clarity of item 1 is 5, outside"):
        custom_loss([good, critique(clarity=5)], [good, good], ["a", "a"])
    with pytest.raises(ValueError, match="columns overall, centrality"):
        custom_loss([[0.5]], [[0.5]], ["a"])
    with pytest.raises(ValueError, match="1 critiques rated by the person, 2 by the panel"):
        custom_loss([good], [good, good], ["a"])


@pytest.mark.parametrize(
    ("clarity", "weights"),
    [
        (0.9, {"overall": 0.5, "correctness": 0.1, "clarity": 0.1, "single_issue": 0.05,
               "dead_weight": 0.05}),
        (0.1, {"overall": 0.5, "clarity": 0.5}),
    ],
)  # fmt: skip
def test_each_dimension_has_the_weight_of_the_paper(
    clarity: float, weights: dict[str, float]
) -> None:
    """A judge who differs from the person by 0.05 on one dimension loses its weight times that; of
    strength and centrality the product counts, with 0.2; where the person finds a critique
    unclear, clarity and the overall rating alone."""
    person = np.full((1, len(CUSTOM_DIMENSIONS)), 0.5)
    person[0, CUSTOM_DIMENSIONS.index("clarity")] = clarity
    of_product = 0.2 if "dead_weight" in weights else 0.0
    for place, name in enumerate(CUSTOM_DIMENSIONS):
        judge = person.copy()
        judge[0, place] += 0.05
        weight = 0.5 * of_product if name in ("strength", "centrality") else weights.get(name, 0.0)
        assert custom_loss(person, judge).pooled == pytest.approx(0.05 * weight), name
