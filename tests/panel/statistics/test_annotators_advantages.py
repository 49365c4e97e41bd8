"""Two panels, each in a person's place: the change of ρ, its interval and test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics import Reason, annotator_test
from persona_panel.statistics.annotators import compared_advantages

PEOPLE = np.tile([1.0, 2.0, 3.0], (30, 1))
PROMPTS = np.arange(10).repeat(3)


def test_the_change_is_paired_by_prompt() -> None:
    """People give 1 2 3 on every item. A panel that gives 2 is at least as near to the others as
    each of them (√½ and √2.5, 1 and 1, √½ and √2.5); one that gives 4 is √2.5, √5 and √6.5 from
    the others of the first, the second and the third: it ties with the first alone. a gives 2 on
    all items but 4 on the first of five prompts; b gives 2 throughout. A 4 costs 2/3 of an item, so
    that the change is 5/30 · 2/3; its test is Student's t of the prompts' changes."""
    b = np.full(30, 2.0)
    a = b.copy()
    a[[0, 3, 6, 9, 12]] = 4
    found = compared_advantages(a, b, PEOPLE, PROMPTS.tolist(), epsilon=0.1)
    change = found["alt_test_advantage"]
    assert (change.a_value, change.b_value) == pytest.approx((1 - 1 / 9, 1))
    assert change.value == pytest.approx(1 / 9)
    of_prompts = [2 / 9] * 5 + [0] * 5
    expected = stats.ttest_1samp(of_prompts, 0)
    assert change.p == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval()
    assert (change.low, change.high) == pytest.approx((ends.low, ends.high))
    turned = compared_advantages(b, a, PEOPLE, PROMPTS.tolist())["alt_test_advantage"]
    assert (turned.value, turned.low) == pytest.approx((-1 / 9, -ends.high))


def test_winning_rates_are_those_of_the_annotator_test() -> None:
    """Each panel's ω is that of its own test over the items that both rated; without an epsilon
    there is none."""
    rng = np.random.default_rng(0)
    people = rng.integers(1, 6, (60, 3)).astype(float)
    a, b = rng.integers(1, 6, (2, 60)).astype(float)
    b[:5] = np.nan
    prompts = np.arange(12).repeat(5).tolist()
    found = compared_advantages(a, b, people, prompts, epsilon=0.3)
    a[:5] = np.nan
    advantage, rate = found["alt_test_advantage"], found["alt_test_winning_rate"]
    for own, side in (
        ((rate.a_value, advantage.a_value), a),
        ((rate.b_value, advantage.b_value), b),
    ):
        alone = annotator_test(side, people, score="neg_rmse", epsilon=0.3, clusters=prompts)
        assert own == (alone.winning_rate.value, alone.advantage.value)
    assert np.isnan([rate.low, rate.p]).all()
    assert list(compared_advantages(a, b, people, prompts)) == ["alt_test_advantage"]


@pytest.mark.parametrize(
    ("people", "same_scale", "reason"),
    [
        (PEOPLE[:, :1], True, Reason.FEW_PEOPLE),
        (np.where(np.arange(30)[:, None] < 29, PEOPLE, np.nan), True, Reason.FEW_ITEMS_A_PERSON),
        (PEOPLE, False, Reason.OTHER_SCALE),
    ],
)
def test_where_nobody_can_be_tested(people: np.ndarray, same_scale: bool, reason: Reason) -> None:
    """With one person, fewer than 30 items a person, or another scale the change is undefined, with
    the reason."""
    sides = np.full(30, 2.0), np.full(30, 3.0)
    found = compared_advantages(*sides, people, PROMPTS.tolist(), same_scale=same_scale)
    [change] = found.values()
    assert change.reason is reason
    assert np.isnan([change.a_value, change.p]).all()
