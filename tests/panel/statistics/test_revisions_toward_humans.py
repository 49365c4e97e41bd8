"""Where deliberation led, on panels whose way is known."""

from __future__ import annotations

import itertools
from math import nan
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau, rankdata, t

from persona_panel.statistics import Reason
from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.revisions import Direction, TowardHumans, toward_humans

# Two responses to each of eight prompts; humans rate them 1 to 16.
HUMAN = np.arange(1.0, 17.0)
PROMPTS = [f"p{i // 2}" for i in range(16)]
# Each prompt's two responses in the wrong order.
SWAPPED = HUMAN.reshape(8, 2)[:, ::-1].ravel()
ALL = np.ones(16, bool)


def of(mean: Array, spread: float = 0.0) -> Array:
    """Two judges with this mean, so far from it each: an SD of √2 times that."""
    return np.stack([mean - spread, mean + spread], axis=1)


def of_one(before: Array, after: Array, human: Array, *more: Any, same_scale: bool) -> TowardHumans:
    """What is said of a panel with one dimension."""
    (found,) = toward_humans(
        before[:, :, None], after[:, :, None], human[:, None], *more, same_scale=same_scale
    )
    return found


def led(before: Array, after: Array, *, same_scale: bool = True, n: int = 16) -> TowardHumans:
    """Where the first n responses were led."""
    return of_one(before[:n], after[:n], HUMAN[:n], ALL[:n], PROMPTS[:n], same_scale=same_scale)


@pytest.mark.parametrize(
    ("before", "after", "direction"),
    [
        (of(SWAPPED), of(HUMAN), Direction.TOWARD),
        (of(HUMAN), of(SWAPPED), Direction.AWAY),
        (of(HUMAN, 2), of(HUMAN), Direction.ITSELF),
        (of(HUMAN, 2), of(HUMAN, 2), Direction.NONE),
        (of(HUMAN), of(HUMAN, 2), Direction.NONE),  # a spread that grows is not toward itself
        (of(SWAPPED), of(HUMAN + 20), Direction.DIVIDED),  # the right order, 20 points off
        (of(HUMAN + 20), of(HUMAN), Direction.TOWARD),  # by distance alone
        (of(HUMAN), of(HUMAN + 20), Direction.AWAY),
    ],
)
def test_direction_by_the_rule(before: Array, after: Array, direction: Direction) -> None:
    """Each direction from a panel that went there on every prompt."""
    found = led(before, after)
    assert (found.direction, found.reason, found.n_prompts) == (direction, None, 8)


def test_values_are_scipys_and_those_by_hand() -> None:
    """τ_c is scipy's; the swapped are 1 off each, the humans' own 0; the spread falls by 2 √2."""
    found = led(of(SWAPPED, 2), of(HUMAN))
    scipys = kendalltau(SWAPPED, HUMAN, variant="c").statistic
    assert (found.tau_c.before, found.tau_c.after) == pytest.approx((scipys, 1))
    assert found.tau_c.value == pytest.approx(1 - scipys)
    assert (found.distance.before, found.distance.after, found.distance.value) == (1, 0, -1)
    assert found.spread.value == pytest.approx(-2 * np.sqrt(2))


def test_interval_is_that_of_leaving_prompts_out() -> None:
    """The interval of the change in τ_c is that of leaving out each prompt's responses and
    asking scipy twice."""
    rng = np.random.default_rng(1)
    before, after = (of(HUMAN + rng.normal(0, spread, 16)) for spread in (6, 2))
    found = led(before, after)
    codes = np.arange(16) // 2
    changes = []
    for prompt in range(8):
        items = np.flatnonzero(codes != prompt)
        first, last = (
            kendalltau(side[items].mean(axis=1), HUMAN[items], variant="c").statistic
            for side in (before, after)
        )
        changes.append(last - first)
    error = np.sqrt(7 / 8 * np.sum((np.array(changes) - np.mean(changes)) ** 2))
    assert found.tau_c.ends == pytest.approx(t.interval(0.95, 7, found.tau_c.value, error))


def test_p_values_are_those_by_hand() -> None:
    """All prompts changed alike: of 256 ways to turn them round two are as extreme. The smaller of
    the two measures' p-values counts twice; the spread is not tested with them."""
    found = led(of(SWAPPED, 2), of(HUMAN))
    assert (found.tau_c.p_adjusted, found.distance.p_adjusted) == (4 / 256, 4 / 256)
    assert found.spread.p_adjusted == 2 / 256


def test_six_prompts_tell_no_direction() -> None:
    """All six better, or all six worse, comes by chance in 2 / 2⁶ = 1/32, twice that with two
    measures, more than one in 20; with a seventh in 1/32 again."""
    found = led(of(SWAPPED), of(HUMAN), n=12)
    assert found.tau_c.sign == 1
    assert (found.direction, found.reason) == (Direction.UNKNOWN, Reason.FEW_TO_TELL)
    assert led(of(SWAPPED), of(HUMAN), n=14).direction is Direction.TOWARD
    one = led(of(SWAPPED), of(HUMAN), n=2)
    assert (one.direction, one.reason) == (Direction.UNKNOWN, Reason.FEW_TO_TELL)


def test_what_was_not_deliberated_can_show_nothing() -> None:
    """Of eight prompts six were deliberated: as with six alone, no direction can be told."""
    before, after = of(SWAPPED), of(SWAPPED)
    after[:12] = of(HUMAN)[:12]
    found = of_one(before, after, HUMAN, np.arange(16) < 12, PROMPTS, same_scale=True)
    assert (found.direction, found.n_prompts) == (Direction.UNKNOWN, 8)


def test_more_dimensions_take_more_prompts() -> None:
    """Three dimensions have six tests, 6 × 2 / 2⁸ is less than one in 20; with six it is more."""
    before, after = (np.stack([side] * 6, axis=2) for side in (of(SWAPPED), of(HUMAN)))
    human = np.stack([HUMAN] * 6, axis=1)

    def directions(n: int) -> set[Direction]:
        found = toward_humans(
            before[:, :, :n], after[:, :, :n], human[:, :n], ALL, PROMPTS, same_scale=True
        )
        return {one.direction for one in found}

    assert directions(3) == {Direction.TOWARD}
    assert directions(6) == {Direction.UNKNOWN}


def test_turning_prompts_round_is_flipping_signs() -> None:
    """The p-value of τ_c is that of turning the ranks in every set of prompts round, and asking
    each time by how many pairs S changed."""
    rng = np.random.default_rng(3)
    before, after = rankdata(rng.integers(0, 9, (2, 16)), axis=1)
    human = rng.integers(0, 6, 16).astype(float)
    codes = np.arange(16) // 2

    def s(panel: Array) -> float:
        pairs = itertools.combinations(range(16), 2)
        return sum(
            float(np.sign(panel[i] - panel[j]) * np.sign(human[i] - human[j])) for i, j in pairs
        )

    changes = []
    for turned in itertools.product((False, True), repeat=8):
        there = np.array(turned)[codes]
        changes.append(s(np.where(there, before, after)) - s(np.where(there, after, before)))
    # Ranks doubled and raised are of the same order.
    found = of_one(of(before), of(2 * after + 20), human, ALL, PROMPTS, same_scale=False)
    # The first turns none round.
    expected = np.mean(np.abs(changes) >= abs(changes[0]))
    assert found.tau_c.p_adjusted == expected
    assert 0.05 < expected < 0.95


def test_by_chance_alone_a_direction_is_seldom_told() -> None:
    """Of 200 panels of two dimensions whose readings are two draws of the same, at most one in
    20, give or take, is said to have gone toward people or away."""
    rng = np.random.default_rng(11)
    prompts = [i // 3 for i in range(36)]
    told = 0
    for _ in range(200):
        human = rng.normal(5, 1, (36, 2))
        quality = human[:, None] + rng.normal(size=(36, 1, 2))
        before, after = np.rint(quality + rng.normal(size=(2, 36, 6, 2)))
        found = toward_humans(before, after, human, np.ones(36, bool), prompts, same_scale=True)
        told += any(one.direction in (Direction.TOWARD, Direction.AWAY) for one in found)
    # Of 200 at .05 more than 20 come up once in a thousand times.
    assert told <= 20


def test_another_scale_has_no_distance() -> None:
    """Where the scales differ the order alone decides: 20 points nearer say nothing."""
    found = led(of(HUMAN + 20, 1), of(HUMAN), same_scale=False)
    assert found.distance.reason is Reason.OTHER_SCALE
    assert np.isnan(found.distance.value)
    assert found.direction is Direction.ITSELF


def test_nothing_to_measure_by_is_said() -> None:
    """A panel that rates all alike has no τ_c; without a distance no direction can be told."""
    flat = of(np.full(16, 5.0), 1)
    found = led(flat, of(np.full(16, 5.0)), same_scale=False)
    assert found.tau_c.reason is Reason.CONSTANT_RATER
    assert (found.direction, found.reason) == (Direction.UNKNOWN, Reason.CONSTANT_RATER)


def test_what_humans_did_not_rate_does_not_count() -> None:
    """Without human scores nothing is shared; with some, only those responses enter, and a
    judge who rated once only enters neither mean."""
    none = of_one(of(HUMAN), of(HUMAN), np.full(16, nan), ALL, PROMPTS, same_scale=True)
    assert none.tau_c.reason is none.distance.reason is Reason.NO_SHARED_ITEMS
    assert (none.direction, none.n_prompts) == (Direction.UNKNOWN, 0)
    assert np.isnan([none.tau_c.p_adjusted, none.distance.p_adjusted, none.spread.p_adjusted]).all()
    human = np.where(np.arange(16) < 4, HUMAN, nan)
    before = np.column_stack([of(SWAPPED), np.full(16, 99.0)])
    after = np.column_stack([of(HUMAN), np.full(16, nan)])
    found = of_one(before, after, human, ALL, PROMPTS, same_scale=True)
    assert (found.distance.before, found.distance.after, found.distance.n_items) == (1, 0, 4)
    assert found.n_prompts == 2


def test_the_undeliberated_count_against_humans_but_have_no_spread() -> None:
    """Of sixteen responses two were deliberated: the distance falls by 2/16 on the average of
    all, the spread is of the two."""
    before, after = of(SWAPPED, 1), of(SWAPPED, 1)
    after[:2] = of(HUMAN)[:2]
    contested = np.arange(16) < 2
    found = of_one(before, after, HUMAN, contested, PROMPTS, same_scale=True)
    assert found.distance.value == pytest.approx(-2 / 16)
    assert found.spread.n_items == 2
    assert found.spread.value == pytest.approx(-np.sqrt(2))
