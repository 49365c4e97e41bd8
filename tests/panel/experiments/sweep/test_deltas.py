"""Cells, gaps and composites of arrays whose figures are known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

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
    """Δs of 1, 2, 3: mean 2, effect size 2, Student's p, and an interval around the mean."""
    [cell] = measured(np.array([1.0, 2.0, 3.0]).reshape(1, 3, 1, 1)).cells
    delta = cell.delta
    # The standard deviation with n − 1 is 1.
    assert (delta.value, delta.effect_size, delta.n_pairs) == (2, 2, 3)
    # t² = 12; with two degrees of freedom p is 1 − √(t² / (2 + t²)).
    assert (delta.p_value, delta.p_max_t) == pytest.approx([1 - (12 / 14) ** 0.5] * 2)
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
    assert math.isnan(mean.p_max_t)
    assert not mean.shown
    assert math.isnan(mean.value) == (not values)


def test_equal_deltas_have_no_effect_size() -> None:
    """Where every prompt has the same Δ nothing tells a spread: no interval and no d, but the
    test of signs shows it."""
    [cell] = measured(np.full((1, 20, 1, 1), 0.1)).cells
    assert math.isnan(cell.delta.ci_low)
    assert math.isnan(cell.delta.effect_size)
    assert cell.delta.shown


def test_p_values_are_adjusted_over_all_cells() -> None:
    """Of two cells, 1, 2, 3 and −3, 1, 1, each with four 0: 2 of 8 patterns of signs give the first
    its |sum| of 6 alone, and none more gives the second, whose largest |sum| / √Σx² is 5 / √11, as
    much as the first's 6 / √14; 4 patterns have one or the other. The second, −1, is reached in all
    patterns but the two of 5 and two of 3, once the first is set aside: its p is that of its test
    alone."""
    delta = np.array([[1.0, 2, 3, *[0] * 4], [-3, 1, 1, *[0] * 4]]).T.reshape(1, 7, 2, 1)
    first, second = (cell.delta for cell in measured(delta).cells)
    assert (first.p_value, first.p_max_t) == (2 / 8, 2 / 8)
    assert (second.p_value, second.p_max_t) == (8 / 8, 8 / 8)


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


def test_one_strong_effect_is_found_in_600_cells() -> None:
    """The correction takes the largest of what goes together and needs no smaller p-values."""
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
    one is significant in half of the sweeps, with the other cells' collapses in mind in none."""
    alone = claims = 0
    for seed in range(20):
        found = measured(collapsing(seed))
        assert found.asymmetry.plain
        alone += any(cell.delta.p_max_t < 0.05 for cell in found.cells)
        claims += any(cell.delta.shown for cell in found.cells)
    assert alone >= 6
    assert claims == 0


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
        assert cell.delta.p_max_t < 0.001
        assert not cell.delta.shown
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


@pytest.mark.parametrize(("n", "cells"), [(4, 20), (6, 20), (12, 1)])
def test_few_prompts_and_one_cell_take_student_s_test(n: int, cells: int) -> None:
    """SciPy's p, by Holm that of the cell with the lowest times their number; with seven prompts
    and twenty cells it is of patterns of signs."""
    rng = np.random.default_rng(0)
    delta = rng.normal(0, 1, (1, n, cells, 1))
    delta[0, :, 0, 0] += 6
    found = [cell.delta for cell in measured(delta).cells]
    p = stats.ttest_1samp(delta[0, :, :, 0], 0).pvalue
    assert [mean.p_value for mean in found] == pytest.approx(p)
    assert found[0].p_max_t == pytest.approx(min(1, p[0] * cells))
    assert [mean.shown for mean in found] == [True] + [False] * (cells - 1)
    seven = measured(rng.normal(0, 1, (1, 7, 20, 1))).cells
    assert all((cell.delta.p_value * 2**7).is_integer() for cell in seven)


def test_without_a_spread_signs_are_flipped() -> None:
    """A cell that falls by 2 in all six prompts has no t: 2 of 64 patterns of signs, as far as no
    other cell; in five prompts it is not significant. Beside it two others are tested by Holm."""
    delta = np.random.default_rng(0).normal(0, 1, (1, 6, 3, 1))
    delta[0, :, 1] = 2.0
    p = stats.ttest_1samp(delta[0, :, [0, 2], 0], 0, axis=1).pvalue
    first, same, last = (cell.delta for cell in measured(delta).cells)
    assert (same.p_value, same.p_claim, same.shown) == (2 / 64, 2 / 64, True)
    # The smallest of three p-values is that of signs.
    adjusted = [max(3 / 32, 2 * p.min()), max(3 / 32, 2 * p.min(), p.max())]
    assert sorted([first.p_max_t, last.p_max_t]) == pytest.approx(np.minimum(adjusted, 1))
    assert not measured(delta[:, :5]).cells[1].delta.shown


def test_the_second_test_counts_where_it_is() -> None:
    """The p-value of a claim is the larger of the two, and 0 is outside of the interval."""
    mean = Mean(1, 0.5, 1.5, 0.004, 0.004, None, 1, 1, 12)
    assert (mean.p_claim, mean.shown) == (0.004, True)
    assert replace(mean, p_bounded=0.2).p_claim == 0.2
    assert not replace(mean, p_bounded=0.2).shown
    assert not replace(mean, ci_low=0.0).shown


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
    """Where skewness is what chance gives, every claim rests on the first test alone."""
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
