"""Cells, gaps and composites of arrays whose figures are known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from persona_panel.experiments.sweep.deltas import Mean, Measured, Names, measure
from persona_panel.graphs.framing import Contrast

NAN = math.nan


def measured(
    delta: np.ndarray,
    contrasts: tuple[Contrast, ...] = (),
    threshold: float = 1.2,
    lengths: tuple[float, ...] = (),
) -> Measured:
    systems, prompts, conditions, dimensions = delta.shape
    names = Names(
        tuple(f"s{i}" for i in range(systems)),
        tuple(f"p{i}" for i in range(prompts)),
        tuple(f"c{i}" for i in range(conditions)),
        tuple(f"d{i}" for i in range(dimensions)),
    )
    none = np.zeros(delta.shape[:3], dtype=np.intp)
    return measure(delta, names, none, none, contrasts, threshold=threshold, lengths=lengths)


def test_a_cell_by_hand() -> None:
    """Δs of 1, 2, 3: mean 2, effect size 2, exact p 1/4, and an interval around the mean."""
    [cell] = measured(np.array([1.0, 2.0, 3.0]).reshape(1, 3, 1, 1)).cells
    delta = cell.delta
    # The standard deviation with n − 1 is 1; 2 of 8 patterns of signs reach a sum of 6.
    assert (delta.value, delta.effect_size, delta.p_value, delta.n_pairs) == (2, 2, 0.25, 3)
    # Student's: 2 ± 4.303 / √3.
    assert (delta.ci_low, delta.ci_high) == pytest.approx((-0.484, 4.484), abs=1e-3)
    assert cell.strong
    assert not delta.shown


def test_cells_keep_their_places() -> None:
    """Each of 2 × 3 × 4 cells is that of its system, dimension and condition."""
    delta = np.arange(2 * 5 * 4 * 3, dtype=float).reshape(2, 5, 4, 3)
    for cell in measured(delta).cells:
        place = int(cell.system[1]), int(cell.condition[1]), int(cell.dimension[1])
        assert cell.delta.value == delta[place[0], :, place[1], place[2]].mean()


def test_a_prompt_without_a_delta_is_left_out() -> None:
    """A gap in the data changes the count, and the mean is that of the others."""
    delta = np.array([[1.0, NAN, 3.0, NAN]]).reshape(1, 4, 1, 1)
    [cell] = measured(delta).cells
    assert (cell.delta.value, cell.delta.n_pairs) == (2, 2)


@pytest.mark.parametrize("values", [[], [2.0]])
def test_too_few_for_an_interval(values: list[float]) -> None:
    """With one prompt or none there is no interval, no p and no claim."""
    delta = np.array([*values, *[NAN] * (3 - len(values))]).reshape(1, 3, 1, 1)
    found = measured(delta)
    mean = found.cells[0].delta
    assert math.isnan(mean.ci_low)
    assert math.isnan(mean.p_holm)
    assert not mean.shown
    assert math.isnan(found.smallest_p)
    assert math.isnan(mean.value) == (not values)


def test_equal_deltas_have_no_effect_size() -> None:
    """Where every prompt has the same Δ nothing tells a spread: no interval and no d, but the
    test of signs shows it."""
    [cell] = measured(np.full((1, 20, 1, 1), 0.1)).cells
    assert math.isnan(cell.delta.ci_low)
    assert math.isnan(cell.delta.effect_size)
    assert cell.delta.shown


def test_holm_is_over_all_cells() -> None:
    """Of four cells with p = 1/4, 1, 1, 1 the adjusted ones are 1: the first times four."""
    delta = np.zeros((1, 3, 4, 1))
    delta[0, :, 0, 0] = [1, 2, 3]
    assert [cell.delta.p_holm for cell in measured(delta).cells] == [1, 1, 1, 1]


@pytest.mark.parametrize(("value", "strong"), [(1.2, True), (-1.2, True), (1.19, False)])
def test_strong_is_the_threshold_reached(value: float, strong: bool) -> None:
    """|Δ| of exactly the threshold is strong, whichever way; below it is not."""
    # A mean of thirds that is 1.2 but for its last bit.
    delta = np.array([value - 0.1, value, value + 0.1]).reshape(1, 3, 1, 1)
    assert measured(delta).cells[0].strong is strong


def test_gaps_by_hand() -> None:
    """Δ of the first two conditions, averaged, less that of the third, prompt by prompt."""
    delta = np.array([[[1.0], [3.0], [1.0]], [[2.0], [4.0], [0.0]], [[9.0], [NAN], [1.0]]])
    contrast = Contrast(id="x", label="x", plus=("c0", "c1"), minus=("c2",))
    stranger = Contrast(id="y", label="y", plus=("c0",), minus=("c7",))
    [gap] = measured(delta[None], (contrast, stranger)).gaps
    # (1 + 3) / 2 − 1 = 1 and (2 + 4) / 2 − 0 = 3; the third prompt lacks one of the three.
    assert (gap.contrast, gap.gap.value, gap.gap.n_pairs) == (contrast, 2, 2)


def test_composites_by_hand() -> None:
    """The mean over dimensions, then over the prompts that have all of them."""
    delta = np.array([[[1.0, 3.0]], [[2.0, 6.0]], [[5.0, NAN]]])
    [composite] = measured(delta[None]).composites
    assert (composite.value, composite.n_pairs) == (3, 2)


def test_the_smallest_p_that_there_could_be() -> None:
    """With 5 prompts p is at least 2 / 32, times 4 cells 0.25; with 40 it is far below 0.05."""
    assert measured(np.zeros((1, 5, 2, 2))).smallest_p == 0.25
    assert measured(np.zeros((1, 40, 2, 2))).smallest_p == pytest.approx(4 / 10_000)


def test_many_cells_get_enough_permutations() -> None:
    """With 600 cells one strong effect is still shown: draws grow with the tests."""
    rng = np.random.default_rng(0)
    delta = rng.normal(0, 1, (1, 30, 120, 5))
    delta[0, :, 7, 3] += 3
    shown = [(c.condition, c.dimension) for c in measured(delta).cells if c.delta.shown]
    assert shown == [("c7", "d3")]


def test_the_null_is_calibrated() -> None:
    """Of 40 sweeps without an effect at most six claim one; 5 % would be two.

    With P ≤ 0.05 each, more than six happen in less than 0.4 % of such forties.
    """
    claims = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        baseline = rng.integers(4, 9, (1, 20, 1, 3)).astype(float)
        framed = rng.integers(4, 9, (1, 20, 4, 3)).astype(float)
        claims += any(cell.delta.shown for cell in measured(baseline - framed).cells)
    assert claims <= 6


def collapsing(seed: int, cells: int = 20) -> np.ndarray:
    """Δs `(1, 30, cells, 1)` of which one in ten is about 4.5 and the others about −0.5, on
    average 0."""
    rng = np.random.default_rng(seed)
    hit = rng.random((1, 30, cells, 1)) < 0.1
    return rng.normal(0, 0.2, hit.shape) + np.where(hit, 4.5, -0.5)


def test_rare_collapses_elsewhere_keep_an_improvement_from_being_claimed() -> None:
    """Cells in which no prompt happens to collapse look like improvements: by flipped signs alone
    one is claimed in half of the sweeps, with the other cells' collapses in mind in none: that more
    prompts improve than not is, as it is true."""
    alone = claims = weaker = 0
    for seed in range(20):
        found = measured(collapsing(seed))
        assert found.asymmetry.plain
        alone += any(cell.delta.p_holm < 0.05 for cell in found.cells)
        claims += any(cell.delta.claim == "mean" for cell in found.cells)
        weaker += sum(cell.delta.claim == "more prompts" for cell in found.cells)
        assert all(cell.delta.value < 0 for cell in found.cells if cell.delta.shown)
    assert alone >= 6
    assert claims == 0
    assert weaker > 0


def test_collapses_on_another_dimension_count() -> None:
    """A cell in which no prompt collapsed is no improvement on average where prompts do collapse
    under its condition on another dimension, as far in shares of that one's scale, however long
    that is."""
    rng = np.random.default_rng(0)
    delta = 0.5 * rng.normal(size=(1, 30, 2, 2))
    delta[0, :, 0] -= 0.5
    delta[0, ::10, 0, 1] += 5
    p_values = []
    for times in (1, 10):
        longer = delta * np.array([1, times])
        found = measured(longer, lengths=(9, 9 * times))
        assert found.asymmetry.plain
        cell = found.cells[0]
        assert (cell.condition, cell.dimension) == ("c0", "d0")
        assert cell.delta.p_holm < 0.001
        assert cell.delta.claim == "more prompts"
        p_values.append(cell.delta.p_bounded)
    assert p_values[0] == pytest.approx(p_values[1])


def test_what_lies_toward_the_longer_tail_needs_no_second_test() -> None:
    """Where falls are the longer tail, a degradation has no second p-value, and is claimed; an
    improvement that is far larger than any collapse is, too; mirrored, all is the other way."""
    delta = collapsing(1, cells=6)
    delta[0, :, 0] += 3
    delta[0, :, 1] -= 6
    for side in (1, -1):
        found = measured(side * delta)
        down, up = found.cells[0].delta, found.cells[1].delta
        assert down.p_bounded is None
        assert up.p_bounded is not None
        assert down.shown
        assert up.shown
        assert np.sign(found.asymmetry.skewness) == side


@pytest.mark.parametrize(
    ("n", "value", "second", "claim"),
    [
        (28, -0.5, True, "more prompts"),
        (29, -0.5, False, "mean"),
        (12, 0.5, True, "more prompts"),
        (28, 6, True, "mean"),
        (28, -6, True, "mean"),
    ],
)
def test_a_mean_over_few_prompts_takes_a_second_test(
    n: int, value: float, second: bool, claim: str
) -> None:
    """Below 29 prompts there may be none of those that change far the other way, so that the mean
    is claimed only if it is large beside the whole scale; what is claimed else is that more prompts
    change so than not. With 29 prompts no second test is needed."""
    noise = np.tile([-0.1, 0.1], n)[:n].reshape(1, n, 1, 1)
    [cell] = measured(value + noise).cells
    assert cell.delta.p_holm < 0.05
    assert (cell.delta.p_bounded is not None, cell.delta.claim) == (second, claim)


def test_what_a_sample_may_not_show_is_taken_from_the_level() -> None:
    """Of 29 prompts none is a rare one, one in ten, with a probability of 0.9 to the power of 29,
    0.047: an adjusted p of 0.004 is then not enough for a claim of the mean, and of 100 prompts it
    is. The counts are claimed where they are significant, on the side of the mean, and 0 is outside
    of the interval."""
    few, many = (Mean(1, 0.5, 1.5, 0.004, 0.004, None, 1, 1, n) for n in (29, 100))
    assert few.p_mean == pytest.approx(0.004 + 0.9**29)
    assert (few.claim, many.claim) == (None, "mean")
    counted = replace(few, p_sign=0.03, n_above=25, n_below=4)
    assert (counted.claim, counted.p_claim) == ("more prompts", 0.03)
    assert replace(counted, n_above=4, n_below=25).claim is None
    assert replace(counted, ci_low=0.0).claim is None


def test_the_second_test_of_few_prompts_allows_for_the_whole_scale() -> None:
    """Of 10 equal improvements of half a point on a scale 9 long, were so many of all prompts falls
    of 9 that the mean is 0, none would be among them with a probability of (9 / 9.5) to the power
    of 10; a gap either way allows for twice that."""
    delta = np.full((1, 10, 2, 1), -0.5)
    delta[:, :, 1] = 0.0
    contrast = Contrast(id="x", label="x", plus=("c1",), minus=("c0",))
    found = measured(delta, (contrast,))

    def p_value(bound: float) -> float:
        return min(1.0, 2 * float((bound / (bound + 0.5)) ** 10))

    # Two cells, Holm.
    assert found.cells[0].delta.p_bounded == pytest.approx(min(1.0, 2 * p_value(9)))
    assert found.gaps[0].gap.value == 0.5
    assert found.gaps[0].gap.p_bounded == pytest.approx(p_value(18))


def test_a_cell_with_a_collapse_of_its_own_takes_the_second_test() -> None:
    """Where nine cells are symmetric and one has a single large fall against its mean, that one
    alone has a second p-value."""
    rng = np.random.default_rng(3)
    delta = rng.permuted(np.tile(np.linspace(-1, 1, 40)[None, :, None], (1, 1, 10)), axis=1)
    delta[0, :, 0] = delta[0, :, 0] / 5 - 0.4
    delta[0, 0, 0] = 1.5
    cells = measured(delta[..., None]).cells
    assert [cell.delta.p_bounded is not None for cell in cells] == [True] + [False] * 9


def test_symmetric_deltas_have_no_second_test() -> None:
    """Where skewness is what chance gives, every claim rests on flipped signs alone."""
    delta = np.random.default_rng(0).normal(-1, 1, (1, 30, 4, 5))
    found = measured(delta)
    assert not found.asymmetry.plain
    assert all(cell.delta.p_bounded is None and cell.delta.shown for cell in found.cells)


def test_asymmetry_by_hand() -> None:
    """Δs of 0, 0, 0 and 4 have the skewness 2/√3 in each dimension, whatever its unit; four of
    them could come by chance, forty could not."""
    one = np.array([0.0, 0.0, 0.0, 4.0])
    delta = np.stack([one, 100 * one], axis=1).reshape(1, 4, 1, 2)
    found = measured(delta).asymmetry
    # About the mean 1: −1, −1, −1, 3; the mean cube is 6 and the mean square 3.
    assert (found.skewness, found.n) == (pytest.approx(6 / 3**1.5), 8)
    assert not found.plain
    assert measured(np.tile(delta, (1, 10, 1, 1))).asymmetry.plain
    assert math.isnan(measured(np.full((1, 4, 1, 1), 0.1)).asymmetry.skewness)


def test_large_falls_are_counted() -> None:
    """Prompts that fall or rise by a third of the scale's length, each dimension by its own."""
    delta = np.array([[3.0, 3.0], [2.9, 1.0], [-3.0, -1.0], [NAN, 0.9]]).reshape(1, 4, 1, 2)
    names = Names(("s",), ("a", "b", "c", "d"), ("c0",), ("long", "short"))
    none = np.zeros((1, 4, 1), dtype=np.intp)
    long, short = measure(delta, names, none, none, lengths=[9.0, 3.0]).cells
    assert (long.large, long.n_fell, long.n_rose) == (3, 1, 1)
    assert (short.large, short.n_fell, short.n_rose) == (1, 2, 1)
    # Clopper and Pearson's for 1 of 3.
    assert long.fell_ci == pytest.approx((0.0084, 0.9057), abs=1e-4)
