"""How far personas are from the panel, by figures worked out by hand."""

from __future__ import annotations

from math import atan, isnan, nan, pi

import numpy as np
import pytest

from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.personas import (
    PersonaCells,
    departures,
    departures_by_dimension,
    departures_by_system,
    severities,
    without_severity,
)

TWO = [[6.0, 4.0], [4.0, 4.0], [7.0, 4.0], [4.0, 4.0]]
"""Of personas a and b, on two prompts with a response of s and one of t each."""
SYSTEMS, PROMPTS = ["s", "t"] * 2, ["p", "p", "q", "q"]


def cells(rows: list[list[float]]) -> PersonaCells:
    """Of one model, a column a persona."""
    names = "abcdef"[: len(rows[0])]
    return PersonaCells.of(np.array(rows)[..., None], names, ["m"] * len(names))


def test_replicates_are_averaged_where_there_are_models() -> None:
    """Two replicates of a persona through a model are one cell, their mean; of one model they are
    columns."""
    ratings = np.array([[[2.0], [4.0], [5.0]]])
    of_two = PersonaCells.of(ratings, ["a", "a", "a"], ["m", "m", "n"])
    assert of_two.values[0, 0, :, 0].tolist() == [3.0, 5.0]
    of_one = PersonaCells.of(ratings, ["a", "a", "b"], ["m", "m", "m"])
    assert of_one.values[0, 0, :, 0].tolist() == [2.0, 4.0]
    assert of_one.values[0, 1, 0, 0] == 5.0
    assert isnan(of_one.values[0, 1, 1, 0])


def test_a_gap_of_a_lenient_model_moves_nobody() -> None:
    """The second model rates 5 points higher and did not answer for b: a and c stay one point
    above and below the panel, as the first model has them."""
    found = departures(np.array([[[5.0, 10.0], [4.0, nan], [3.0, 8.0]]]))[0]
    assert found[0].tolist() == [1.0, 1.0]
    assert found[2].tolist() == [-1.0, -1.0]
    assert found[1][0] == 0.0
    assert isnan(found[1][1])


def test_a_rating_without_another_persona_has_no_departure() -> None:
    """Where only one persona rated, there is no panel to depart from."""
    assert np.isnan(departures(np.array([[[5.0], [nan]]]))).all()


def test_what_a_judge_always_does_is_severity() -> None:
    """a is 2 above the panel on one response and 0 on the other: 1 of it is severity."""
    found = without_severity(np.array([[[7.0], [3.0]], [[4.0], [4.0]]]))
    assert found[:, :, 0].tolist() == [[1.0, -1.0], [-1.0, 1.0]]


def test_a_persona_by_system_beyond_its_severity() -> None:
    """a is above the panel by 1 and 1.5 on s, by 0 on t: beyond its severity by 0.5 and 0.75 on s,
    mean 0.625, standard error 0.125, t = 5 with one degree of freedom, which is Cauchy's; the four
    cells mirror each other, and Holm takes four times p."""
    first = departures_by_system(cells(TWO), SYSTEMS, PROMPTS)[0]
    p = 1 - 2 / pi * atan(5)
    assert (first.persona, first.on, first.n) == ("a", "s", 2)
    assert first.departure == 1.25
    assert first.value == 0.625
    assert first.p == pytest.approx(p)
    assert first.p_adjusted == pytest.approx(4 * p)
    assert first.high - 0.625 == pytest.approx(12.706205 * 0.125, rel=1e-6)
    assert not first.shown


def test_severity_is_over_all_systems() -> None:
    """a is 0.5 above the panel on one prompt and 0.75 on the other."""
    a, b = severities(cells(TWO), PROMPTS)
    assert (a.departure, b.departure) == (0.625, -0.625)


def test_a_persona_by_dimension_beyond_its_severity() -> None:
    """On the first dimension a is 2 above the panel, on the second 0: 1 beyond its severity; the
    prompts are alike, so that there is no test."""
    ratings = np.array([[[8.0, 5.0], [4.0, 5.0]]] * 2)
    found = departures_by_dimension(PersonaCells.of(ratings, "ab", "mm"), ["x", "y"], ["p", "q"])
    assert [one.value for one in found] == [1.0, -1.0, -1.0, 1.0]
    assert {one.reason for one in found} == {Reason.NO_SPREAD}


def test_a_persona_that_sees_a_system_otherwise_is_shown() -> None:
    """Of five personas one is 2.4 points above the panel on s alone, on six prompts: it is shown
    on both systems, with opposite signs, and no other is."""
    rng = np.random.default_rng(1)
    rows = 5 + 0.2 * rng.normal(size=(12, 5))
    rows[::2, 0] += 3
    prompts = [i // 2 for i in range(12)]
    found = departures_by_system(cells(rows.tolist()), ["s", "t"] * 6, prompts)
    a = [one for one in found if one.persona == "a"]
    assert [one.shown for one in a] == [True, True]
    assert a[0].value == pytest.approx(1.2, abs=0.2)
    assert a[1].value == -a[0].value


@pytest.mark.parametrize(
    ("rows", "systems", "reason"),
    [
        (TWO, ["s"] * 4, Reason.FEW_SYSTEMS),
        ([[1.0], [2.0], [3.0], [4.0]], SYSTEMS, Reason.FEW_PERSONAS),
    ],
)
def test_nothing_is_said_without_a_comparison(
    rows: list[list[float]], systems: list[str], reason: Reason
) -> None:
    """Of one system nothing is beyond severity, and one persona has no panel beside it."""
    found = departures_by_system(cells(rows), systems, PROMPTS)
    assert {one.reason for one in found} == {reason}
    assert all(isnan(one.p_adjusted) and isnan(one.value) for one in found)


def test_of_one_prompt_there_is_no_test() -> None:
    """The departure stands without an interval, with the reason."""
    found = severities(cells(TWO), ["p"] * 4)
    assert [one.departure for one in found] == [0.625, -0.625]
    assert {one.reason for one in found} == {Reason.FEW_CLUSTERS}


def test_dimensions_on_different_scales_are_not_compared() -> None:
    """Points of two scales are not the same points: no dimension is beyond severity."""
    ratings = np.array([[[8.0, 5.0], [4.0, 5.0]]] * 2)
    found = departures_by_dimension(
        PersonaCells.of(ratings, "ab", "mm"), ["x", "y"], ["p", "q"], one_scale=False
    )
    assert {one.reason for one in found} == {Reason.OTHER_SCALE}
