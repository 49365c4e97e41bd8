"""Where deliberation led, on panels whose way is known."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest
from scipy.stats import kendalltau

from panel.statistics import Direction, Reason, TowardHumans, toward_humans
from panel.statistics.arrays import Array
from panel.statistics.bootstrap import draw

# Two responses to each of six prompts; humans rate them 1 to 12.
HUMAN = np.arange(1.0, 13.0)
PROMPTS = [f"p{i // 2}" for i in range(12)]
# Each prompt's two responses in the wrong order.
SWAPPED = HUMAN.reshape(6, 2)[:, ::-1].ravel()


def of(mean: Array, spread: float = 0.0) -> Array:
    """Two judges with this mean, so far from it each: an SD of √2 times that."""
    return np.stack([mean - spread, mean + spread], axis=1)


def led(before: Array, after: Array, *, same_scale: bool = True, n: int = 12) -> TowardHumans:
    """Where the first n responses were led."""
    return toward_humans(
        before[:n],
        after[:n],
        HUMAN[:n],
        np.ones(n, bool),
        PROMPTS[:n],
        same_scale=same_scale,
    )


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
    assert (found.direction, found.reason, found.n_prompts) == (direction, None, 6)


def test_values_are_scipys_and_those_by_hand() -> None:
    """τ_c is scipy's; the swapped are 1 off each, the humans' own 0; the spread falls by 2 √2."""
    found = led(of(SWAPPED, 2), of(HUMAN))
    scipys = kendalltau(SWAPPED, HUMAN, variant="c").statistic
    assert (found.tau_c.before, found.tau_c.after) == pytest.approx((scipys, 1))
    assert found.tau_c.change == pytest.approx(1 - scipys)
    assert (found.distance.before, found.distance.after, found.distance.change) == (1, 0, -1)
    assert found.spread.change == pytest.approx(-2 * np.sqrt(2))


def test_interval_is_that_of_a_naive_paired_bootstrap() -> None:
    """The interval of the change in τ_c is that of repeating the drawn prompts' responses and
    asking scipy twice, with the same draws."""
    rng = np.random.default_rng(1)
    before, after = (of(HUMAN + rng.normal(0, spread, 12)) for spread in (6, 2))
    found = led(before, after)
    codes = np.arange(12) // 2
    changes = []
    for weights in draw(codes, 6, 2000, np.random.default_rng(0)):
        for row in weights.astype(int):
            items = np.repeat(np.arange(12), row)
            first, last = (
                kendalltau(side[items].mean(axis=1), HUMAN[items], variant="c").statistic
                for side in (before, after)
            )
            changes.append(last - first)
    assert found.tau_c.interval is not None
    assert (found.tau_c.interval.low, found.tau_c.interval.high) == pytest.approx(
        tuple(np.nanquantile(changes, [0.025, 0.975])), abs=1e-9
    )


def test_five_prompts_tell_no_direction() -> None:
    """All five better, or all five worse, comes by chance in 2 / 2⁵ = 1/16, more than one in
    20; with a sixth in 1/32."""
    found = led(of(SWAPPED), of(HUMAN), n=10)
    assert found.tau_c.sign == 1
    assert (found.direction, found.reason) == (Direction.UNKNOWN, Reason.FEW_TO_TELL)


def test_another_scale_has_no_distance() -> None:
    """Where the scales differ the order alone decides: 20 points nearer say nothing."""
    found = led(of(HUMAN + 20, 1), of(HUMAN), same_scale=False)
    assert found.distance.reason is Reason.OTHER_SCALE
    assert np.isnan(found.distance.change)
    assert found.direction is Direction.ITSELF


def test_nothing_to_measure_by_is_said() -> None:
    """A panel that rates all alike has no τ_c; without a distance no direction can be told."""
    flat = of(np.full(12, 5.0), 1)
    found = led(flat, of(np.full(12, 5.0)), same_scale=False)
    assert found.tau_c.reason is Reason.CONSTANT_RATER
    assert (found.direction, found.reason) == (Direction.UNKNOWN, Reason.CONSTANT_RATER)


def test_what_humans_did_not_rate_does_not_count() -> None:
    """Without human scores nothing is shared; with some, only those responses enter, and a
    judge who rated once only enters neither mean."""
    none = toward_humans(
        of(HUMAN), of(HUMAN), np.full(12, nan), np.ones(12, bool), PROMPTS, same_scale=True
    )
    assert none.tau_c.reason is none.distance.reason is Reason.NO_SHARED_ITEMS
    assert (none.direction, none.n_prompts) == (Direction.UNKNOWN, 0)
    human = np.where(np.arange(12) < 4, HUMAN, nan)
    before = np.column_stack([of(SWAPPED), np.full(12, 99.0)])
    after = np.column_stack([of(HUMAN), np.full(12, nan)])
    found = toward_humans(before, after, human, np.ones(12, bool), PROMPTS, same_scale=True)
    assert (found.distance.before, found.distance.after, found.distance.n_items) == (1, 0, 4)
    assert found.n_prompts == 2


def test_the_undeliberated_count_against_humans_but_have_no_spread() -> None:
    """Of twelve responses two were deliberated: the distance falls by 2/12 on the average of
    all, the spread is of the two."""
    before, after = of(SWAPPED, 1), of(SWAPPED, 1)
    after[:2] = of(HUMAN)[:2]
    contested = np.arange(12) < 2
    found = toward_humans(before, after, HUMAN, contested, PROMPTS, same_scale=True)
    assert found.distance.change == pytest.approx(-2 / 12)
    assert found.spread.n_items == 2
    assert found.spread.change == pytest.approx(-np.sqrt(2))


def test_shapes_that_do_not_fit_are_refused() -> None:
    """As many responses on both sides as human scores."""
    with pytest.raises(ValueError, match=r"\(12, 2\) and \(12, 2\) for 3 human scores"):
        toward_humans(of(HUMAN), of(HUMAN), HUMAN[:3], np.ones(12, bool), PROMPTS, same_scale=True)
