"""The measure of how contested a response is, and who stands apart on which, against hand-made
tables."""

from __future__ import annotations

from math import atan, isnan, nan, pi, sqrt

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.personas import (
    PersonaCells,
    contested_responses,
    departures,
    response_departures,
)

MIRRORED = np.array([[[8.0, 6.0], [2.0, 4.0]], [[2.0, 4.0], [8.0, 6.0]]])[..., None]
"""Two personas through two models; on the second response they change sides."""


def cells(values: np.ndarray) -> PersonaCells:  # type: ignore[type-arg]
    """Of values `(responses, personas, models, dimensions)`."""
    _, n_personas, n_models, _ = values.shape
    return PersonaCells(values, tuple("abcdefghij"[:n_personas]), tuple("mno"[:n_models]))


def drawn(seed: int, n: int = 10, effect: float = 0.0) -> np.ndarray:  # type: ignore[type-arg]
    """Five personas through three models, two dimensions; on the first response the first persona
    is above the others by an effect."""
    values = 5 + np.random.default_rng(seed).normal(size=(n, 5, 3, 2))
    values[0, 0] += effect
    return values


def test_the_variance_between_personas() -> None:
    """Departures are ±3 by one model and ±1 by the other: personas' sum of squares is 16, the
    residual's 4, each with one degree of freedom, k is 2. Half of the variance went with the
    severity over two responses, so the component is (16 − 4) / (2 · ½) = 12, noise 8, the share
    0.6; F = 4 on 1 and 1 degrees of freedom, by the response's own noise and by that of both."""
    first, second = contested_responses(cells(MIRRORED))
    assert first.value == pytest.approx(sqrt(12))
    assert first.by_dimension == (pytest.approx(sqrt(12)),)
    assert first.share == pytest.approx(0.6)
    assert first.p == pytest.approx(1 - 2 / pi * atan(2))
    assert first.p_adjusted == pytest.approx(2 * first.p)
    assert (first.response, second.response) == (0, 1)


def test_a_table_with_gaps_is_fitted_by_least_squares() -> None:
    """With gaps the component is that of Henderson's third method, here by numpy's least squares of
    each response with and without personas, and k by its definition."""
    values = drawn(5)[..., :1]
    values[0, 0, 0] = values[0, 3, 2] = values[4, 1, 1] = nan
    found = {one.response: one for one in contested_responses(cells(values))}
    left = departures(values)
    left = left - np.nanmedian(left, axis=0)
    for response in (0, 4, 7):
        y, kept = left[response, :, :, 0].ravel(), 0.8 + pi / 22.5
        there = ~np.isnan(y)
        models = np.tile(np.eye(3), (5, 1))[there]
        personas = np.repeat(np.eye(5), 3, axis=0)[there]

        def rest(design: np.ndarray, y: np.ndarray = y[there]) -> np.ndarray:  # type: ignore[type-arg]
            return y - design @ np.linalg.lstsq(design, y, rcond=None)[0]

        without = np.sum(rest(models) ** 2)
        error = np.sum(rest(np.hstack([models, personas])) ** 2)
        df = there.sum() - 3 - 4
        k = np.sum(personas * np.column_stack([rest(models, one) for one in personas.T]))
        component = (without - error - 4 * error / df) / (k * kept)
        expected = sqrt(max(component, 0))
        assert found[response].value == pytest.approx(expected)


def test_p_values_are_those_of_box_with_gaps() -> None:
    """Over two dimensions F is the sum of mean squares between personas over that of residuals,
    with degrees of freedom times (tr C)² / tr C², C the residuals' cross-products; by numpy's
    least squares; with the response's own noise and with that of all, the larger."""
    values = drawn(5, n=6)
    values[0, 0, 0] = values[0, 3, 2] = values[4, 1, 1] = nan
    left, kept = departures(values), 2 / 3 + pi / 14.5
    left = left - np.nanmedian(left, axis=0)
    models, personas = np.tile(np.eye(3), (5, 1)), np.repeat(np.eye(5), 3, axis=0)
    rows = []
    residuals = np.zeros((6, 15, 2))
    for response, table in enumerate(left.reshape(6, 15, 2)):
        there = ~np.isnan(table[:, 0])
        y, both = table[there], np.hstack([models, personas])[there]
        error = y - both @ np.linalg.lstsq(both, y, rcond=None)[0]
        without = y - models[there] @ np.linalg.lstsq(models[there], y, rcond=None)[0]
        residuals[response, there] = error
        between = ((without**2).sum() - (error**2).sum()) / 4
        rows.append((between, (error**2).sum(), there.sum() - 3 - 4))
    flat = residuals.reshape(-1, 2)
    cross = flat.T @ flat
    shrink = np.trace(cross) ** 2 / np.sum(cross**2)
    found = {one.response: one.p for one in contested_responses(cells(values))}
    pooled, df = sum(row[1] for row in rows), sum(row[2] for row in rows)
    for response, (between, error, own) in enumerate(rows):
        p = [
            stats.f.sf(between / kept / (noise / (n * kept)), 4 * shrink, many * shrink)
            for noise, n, many in ((error, own, own), (pooled, df, df * kept))
        ]
        assert found[response] == pytest.approx(max(p))


def test_dimensions_that_cancel_are_contested_all_the_same() -> None:
    """On the first response a is 3 above the panel on one dimension and 3 below on the other: the
    means agree, and the response is the most contested, and more than noise explains."""
    values = drawn(3)
    values[0, 0] += [3.0, -3.0]
    first = contested_responses(cells(values))[0]
    assert first.response == 0
    assert first.shown
    assert not response_departures(cells(values)).shown[0].any()


def test_a_persona_that_stands_apart_is_shown_on_its_response() -> None:
    """An effect of 4 points on one response: that cell is shown and no other of that persona."""
    found = response_departures(cells(drawn(4, effect=4.0)))
    assert found.shown[0, 0]
    assert not found.shown[1:].any()
    assert found.departures[0, 0] == pytest.approx(4 * 0.8, abs=1)
    assert found.beyond_chance[0, 0]


def test_one_models_outlier_is_no_viewpoint() -> None:
    """A single rating 9 points off, with the other models of the persona on the other side of the
    panel: the cell is not shown, nor is the response contested."""
    values = drawn(8)
    values[0, 0] = 4.0
    values[0, 0, 0] = 14.0
    assert not response_departures(cells(values)).shown[0, 0]
    assert not any(one.shown for one in contested_responses(cells(values)) if one.response == 0)


def test_a_persona_must_be_on_one_side_by_all_models() -> None:
    """Of 30 personas one has a single rating 9 points off, its other models are below the panel: by
    t alone, also with the noise of that response, the cell would be shown."""
    values = 5 + 0.1 * np.random.default_rng(1).normal(size=(6, 30, 3, 1))
    values[0, 0, :, 0] = [14.0, 4.8, 4.8]
    kinds = PersonaCells(values, tuple(map(str, range(30))), ("m", "n", "o"))
    found = response_departures(kinds)
    assert found.departures[0, 0] > 2
    assert found.p[0, 0] == 1
    assert not found.shown[0, 0]


@pytest.mark.parametrize("scale", [0.0, 20.0])
def test_noise_of_the_response_and_of_all_must_both_be_passed(scale: float) -> None:
    """Where models happen to agree on a response (no noise of its own), what personas differ by
    there is compared with the noise of all; where it is far noisier than the others, with its
    own."""
    values = drawn(12, n=20)
    middle = values[0].mean(axis=1, keepdims=True)
    values[0] = middle + scale * (values[0] - middle)
    of_first = next(one for one in contested_responses(cells(values)) if one.response == 0)
    assert of_first.p > 0.05
    assert response_departures(cells(values)).p[0].min() > 0.01


def test_chance_is_what_noise_exceeds_in_one_cell_of_twenty() -> None:
    """With noise alone about 5 % of 1,500 cells are beyond chance, and none is shown."""
    found = response_departures(cells(drawn(6, n=300)))
    assert np.mean(found.beyond_chance) == pytest.approx(0.05, abs=0.02)
    assert not found.shown.any()


def test_a_response_on_which_a_persona_is_far_off_makes_no_other_contested() -> None:
    """An effect of 8 points on one of six responses, with little noise: a mean severity would make
    1.3 points on the other five of it, the median makes nothing."""
    values = 5 + 0.1 * np.random.default_rng(7).normal(size=(6, 5, 3, 1))
    values[0, 0] += 8
    assert [one.response for one in contested_responses(cells(values)) if one.shown] == [0]
    assert not response_departures(cells(values)).shown[1:].any()


def test_a_severe_judge_contests_nothing() -> None:
    """Two points taken off every rating of a persona change nothing of the measure."""
    values = drawn(9)
    severe = values.copy()
    severe[:, 1] -= 2
    before, after = (contested_responses(cells(one)) for one in (values, severe))
    assert [one.value for one in before] == pytest.approx([one.value for one in after])


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (drawn(1)[:, :1], Reason.FEW_PERSONAS),
        (drawn(1)[:, :, :1], Reason.NOISE_UNKNOWN),
        (drawn(1)[:1], Reason.FEW_RESPONSES),
        (np.repeat(drawn(1)[:, :, :1], 3, axis=2), Reason.NOISE_ZERO),
    ],
)
def test_without_noise_to_compare_with_nothing_is_claimed(
    values: np.ndarray,  # type: ignore[type-arg]
    reason: Reason,
) -> None:
    """One persona, one model and replicate, one response, or models that never differ."""
    found = contested_responses(cells(values))
    assert len(found) == len(values)
    assert {one.reason for one in found} == {reason}
    assert all(isnan(one.value) and not one.shown for one in found)
    beside = response_departures(cells(values))
    assert beside.reason is reason
    assert not beside.shown.any()
    assert not beside.beyond_chance.any()


def test_a_response_that_few_rated_has_no_value() -> None:
    """One persona rated it: no spread, with the reason, at the end; the others have theirs."""
    values = drawn(2)
    values[3, 1:] = nan
    last = contested_responses(cells(values))[-1]
    assert last.response == 3
    assert last.reason is Reason.FEW_RATERS
    assert isnan(last.p_adjusted)


def test_a_persona_that_one_model_alone_speaks_for_is_not_shown() -> None:
    """However far it is off: whether another model would agree is not known."""
    values = drawn(4, n=20, effect=9.0)
    assert response_departures(cells(values)).p[0, 0] < 0.001
    values[0, 0, 1:] = nan
    found = response_departures(cells(values))
    assert found.p[0, 0] == 1 and not found.shown[0, 0]


def test_a_response_of_which_models_say_the_same_has_the_noise_of_the_others() -> None:
    """There a is above the panel where b is below, which the noise of other responses does not
    explain; c, who is on the panel's mean, does not depart."""
    alike = np.array([[6.0, 4.0, 5.0], [4.0, 6.0, 5.0]])[:, :, None, None].repeat(2, axis=2)
    noisy = 5 + 0.1 * np.random.default_rng(0).normal(size=(3, 3, 2, 1))
    p = response_departures(cells(np.concatenate([alike, noisy]))).p
    assert (p[:2, :2] < 0.001).all() and p[:2, 2].tolist() == [1, 1]
