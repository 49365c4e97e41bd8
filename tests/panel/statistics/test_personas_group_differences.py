"""Axes and models against each other, by figures worked out by hand."""

from __future__ import annotations

from math import atan, isnan, nan, pi, sqrt

import numpy as np
import pytest

from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.personas import (
    PairedResponses,
    axis_pair,
    model_pair,
    pairwise_differences,
)

AXES = ["x", "x", "y"]


def test_axes_are_compared_inside_a_model() -> None:
    """x is 7 and y 4 by the first model; by the second, which is higher by 3, only one persona of
    x and y are there: 9 and 7. The difference is the mean of 3 and 2."""
    pair = axis_pair(np.array([[[6.0, 9.0], [8.0, nan], [4.0, 7.0]]]), "x", "y", AXES)
    assert pair.difference.tolist() == [2.5]


def test_a_model_that_lacks_an_axis_does_not_count() -> None:
    """The second model rated for x alone: its level is in no difference."""
    pair = axis_pair(np.array([[[6.0, 8.0], [8.0, 12.0], [4.0, nan]]]), "x", "y", AXES)
    assert pair.difference.tolist() == [3.0]
    assert pair.moved[0].tolist() == [[-0.5, 0.5]]


def test_how_far_personas_and_models_move_the_difference() -> None:
    """By two models: personas of x are 1 below and above their mean by both, so that each moves the
    difference by half a point; the one of y by nothing; models differ by 4 and 2, and move it by
    half a point each way."""
    pair = axis_pair(np.array([[[6.0, 5.0], [8.0, 7.0], [3.0, 4.0]]]), "x", "y", AXES)
    of_x, of_y, of_models = pair.moved
    assert pair.difference.tolist() == [3.0]
    assert of_x.tolist() == [[-0.5, 0.5]]
    assert of_y.tolist() == [[0.0]]
    assert of_models.tolist() == [[0.5, -0.5]]


def test_models_are_compared_persona_by_persona() -> None:
    """The first persona has 2 points between the models, the second 4, the third one of them only:
    3 points, and each moves that by half a point."""
    values = np.array([[[6.0, 4.0], [8.0, 4.0], [9.0, nan]]])
    pair = model_pair(values, "m", "n", ["m", "n"])
    assert pair.difference.tolist() == [3.0]
    assert pair.moved[0].tolist() == [[-0.5, 0.5, 0.0]]


def test_differences_over_all_systems_and_on_each() -> None:
    """Differences of 2 and 4 on s, 0 and 2 on t: over both 1 and 3, mean 2, standard error 1, t = 2
    with one degree of freedom; Holm over the three rows."""
    pair = PairedResponses("x", "y", np.array([2.0, 0.0, 4.0, 2.0]), ())
    found = pairwise_differences([("composite", pair)], ["s", "t"] * 2, ["p", "p", "q", "q"])
    assert [(one.system, one.value) for one in found] == [("all", 2.0), ("s", 3.0), ("t", 1.0)]
    ps = [1 - 2 / pi * atan(t) for t in (2, 3, 1)]
    assert [one.p for one in found] == pytest.approx(ps)
    smallest, middle, largest = sorted(ps)
    expected = {ps[1]: 3 * smallest, ps[0]: max(3 * smallest, 2 * middle)}
    assert found[1].p_adjusted == pytest.approx(expected[ps[1]])
    assert found[0].p_adjusted == pytest.approx(expected[ps[0]])
    assert found[2].p_adjusted == pytest.approx(max(expected[ps[0]], largest))


def test_an_interaction_is_a_system_against_the_others() -> None:
    """On s the difference is 2 and 5 above that on the mean of t and u: 3.5 on average; where a
    prompt lacks s, it does not count."""
    differences = np.array([3.0, 0.0, 2.0, 6.0, 1.0, 1.0, 5.0, 5.0])
    systems = ["s", "t", "u", "s", "t", "u", "t", "u"]
    prompts = [0, 0, 0, 1, 1, 1, 2, 2]
    pair = PairedResponses("x", "y", differences, ())
    found = pairwise_differences([("d", pair)], systems, prompts, interaction=True)
    assert [one.system for one in found] == ["s", "t", "u"]
    assert found[0].value == 3.5
    assert found[0].n == 2


def test_of_one_system_there_is_one_row_and_no_interaction() -> None:
    """There is nothing to see differently."""
    pair = PairedResponses("x", "y", np.array([1.0, 2.0]), ())
    found = pairwise_differences([("d", pair)], ["s", "s"], ["p", "q"])
    assert [one.system for one in found] == ["all"]
    assert pairwise_differences([("d", pair)], ["s", "s"], ["p", "q"], interaction=True) == []


def test_personas_as_a_sample_add_their_variance() -> None:
    """Five personas of x lie at −2 to 2 around their mean on every prompt: a standard error of
    sqrt(2.5 / 5); prompts differ by 1 point each way. The interval has the sum of both."""
    base = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 0.0])
    values = np.stack([base, base])[..., None] + 5
    values[0, :5] += 1
    values[1, :5] -= 1
    pair = axis_pair(values, "x", "y", ["x"] * 5 + ["y"])
    (found,) = pairwise_differences(
        [("d", pair)], ["s", "s"], ["p", "q"], random="prompts-and-judges"
    )
    total, df = 1 + 0.5, 1.5**2 / (1 / 1 + 0.25 / 4)
    (over_prompts,) = pairwise_differences([("d", pair)], ["s", "s"], ["p", "q"])
    # The one degree of freedom of prompts alone makes the wider interval of the two.
    assert found.high == pytest.approx(max(over_prompts.high, _reach(df) * sqrt(total)))


def _reach(df: float) -> float:
    from scipy.stats import t

    return float(t.ppf(0.975, df))


def test_few_judges_are_no_sample() -> None:
    """Three personas through one model: no interval over judges."""
    pair = axis_pair(np.array([[[6.0], [8.0], [4.0]], [[5.0], [6.0], [4.0]]]), "x", "y", AXES)
    (found,) = pairwise_differences(
        [("d", pair)], ["s", "s"], ["p", "q"], random="prompts-and-judges"
    )
    assert found.reason is Reason.FEW_JUDGES
    assert isnan(found.low)
    assert not found.shown
