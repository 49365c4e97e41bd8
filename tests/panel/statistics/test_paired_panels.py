"""Two panels on the same texts: order, scores, best responses, and nearness to people."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics import krippendorff_alpha
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.significance import holm_adjusted
from persona_panel.statistics.paired import (
    best_of_prompts,
    nearer_to_people,
    order_alike,
    scores_alike,
)

RNG = np.random.default_rng(1)
PROMPTS = np.arange(8).repeat(4)
QUALITY = RNG.normal(0, 1, 32)
A = np.round(5 + 2 * QUALITY + RNG.normal(0, 1, 32), 1)
B = np.round(6 + 2 * QUALITY + RNG.normal(0, 1, 32), 1)
PEOPLE = 5 + 2 * QUALITY


def tau_of(x: np.ndarray, y: np.ndarray) -> list[float]:
    """SciPy's τ_b inside each prompt."""
    pairs = zip(x.reshape(8, 4), y.reshape(8, 4), strict=True)
    return [stats.kendalltau(*pair).statistic for pair in pairs]


def test_order_is_scipys_tau() -> None:
    """Within prompts the mean of SciPy's τ_b, over all responses its τ_b; both with intervals."""
    within, over_all = order_alike(A, B, PROMPTS)
    assert within.value == pytest.approx(np.mean(tau_of(A, B)))
    assert over_all.value == pytest.approx(stats.kendalltau(A, B).statistic)
    for figure in (within, over_all):
        assert figure.low < figure.value < figure.high
        assert figure.n_items == 32
        assert np.isnan(figure.p)


def test_order_within_prompts_takes_two_responses() -> None:
    """One response to each prompt has no order in it: undefined within, defined over all."""
    within, over_all = order_alike(A, B, range(32))
    assert within.reason is Reason.ONE_ITEM_A_PROMPT
    assert over_all.reason is None


def test_few_prompts_have_values_without_intervals() -> None:
    """Of three prompts the correlations are said without an interval, with the reason."""
    first = PROMPTS < 3
    within, over_all = order_alike(A[first], B[first], PROMPTS[first])
    for figure in (within, over_all):
        assert not np.isnan(figure.value)
        assert figure.reason is Reason.FEW_FOR_A_CORRELATION
        assert np.isnan(figure.low)


def test_scores_are_compared_as_two_raters() -> None:
    """α is that of the two panels as raters at the interval level: a shift of one panel lowers it,
    and leaves τ_b as it is."""
    expected = krippendorff_alpha(np.column_stack([A, B]), "interval").value
    assert scores_alike(A, B, PROMPTS).value == pytest.approx(expected)
    assert scores_alike(A, B + 3, PROMPTS).value < expected
    # No α is above 1, nor is the end of its interval.
    nearly = scores_alike(A, np.where(PROMPTS == 0, A + 2, A), PROMPTS)
    assert nearly.value < nearly.high < 1
    assert order_alike(A, B + 3, PROMPTS)[0].value == order_alike(A, B, PROMPTS)[0].value


def test_best_responses_are_counted_by_prompt() -> None:
    """The same best; a tie of which one is shared; another one; one that a panel did not rate,
    which leaves a single response and no best."""
    a = [1, 2, 2, 2, 3, 1, 5, np.nan]
    b = [1, 3, 2, 1, 1, 4, 5, 6]
    found = best_of_prompts(a, b, "ppqqrrss")
    assert (found.same, found.shared, found.flipped, found.n_prompts) == (1, 1, 1, 3)


def test_nearer_to_people_is_the_difference_of_correlations_and_distances() -> None:
    """τ_b within prompts by SciPy; distances by hand: b is one point above people and a, so a is
    nearer in scores, while the order of both is judged by itself."""
    found = nearer_to_people(A, B, PEOPLE, PROMPTS)
    assert found.within
    tau, distance = found.figures["tau_b"], found.figures["distance"]
    assert (tau.a_value, tau.b_value) == pytest.approx(
        (np.mean(tau_of(A, PEOPLE)), np.mean(tau_of(B, PEOPLE)))
    )
    assert tau.value == pytest.approx(tau.b_value - tau.a_value)
    distances = [np.abs(side - PEOPLE).mean() for side in (A, B)]
    assert (distance.a_value, distance.b_value) == pytest.approx(tuple(distances))
    by_prompt = (np.abs(B - PEOPLE) - np.abs(A - PEOPLE)).reshape(8, 4).mean(axis=1)
    assert found.figures["distance"].p == pytest.approx(stats.ttest_1samp(by_prompt, 0).pvalue)


def test_the_panel_that_rates_as_people_do_is_nearer() -> None:
    """Panel a rates at random, b as people do: τ_b is higher and the distance smaller, both shown;
    the other way round, the signs turn."""
    noise = np.round(RNG.uniform(1, 10, 32))
    found = nearer_to_people(noise, PEOPLE, PEOPLE, PROMPTS)
    tau, distance = holm_adjusted(list(found.figures.values()))
    assert tau.shown
    assert distance.shown
    assert (tau.value > 0, distance.value < 0) == (True, True)
    turned = nearer_to_people(PEOPLE, noise, PEOPLE, PROMPTS)
    assert turned.figures["tau_b"].value == pytest.approx(-found.figures["tau_b"].value)
    assert turned.figures["tau_b"].p == pytest.approx(found.figures["tau_b"].p)


def test_of_single_responses_correlations_are_over_all() -> None:
    """One response to each prompt: τ_b over all of them."""
    found = nearer_to_people(A, B, PEOPLE, range(32))
    assert not found.within
    assert found.figures["tau_b"].a_value == pytest.approx(stats.kendalltau(A, PEOPLE).statistic)
    assert found.figures["tau_b"].value == pytest.approx(
        stats.kendalltau(B, PEOPLE).statistic - stats.kendalltau(A, PEOPLE).statistic
    )


def test_only_what_all_three_rated_counts() -> None:
    """A response that people did not rate changes nothing, whatever the panels say of it."""
    people = PEOPLE.copy()
    people[5] = np.nan
    odd = A.copy()
    odd[5] = 99
    first, second = (nearer_to_people(side, B, people, PROMPTS) for side in (A, odd))
    assert first == second


def test_on_another_scale_there_is_no_distance() -> None:
    """τ_b is there, the distance undefined with its reason."""
    found = nearer_to_people(A, B, PEOPLE / 10, PROMPTS, same_scale=False)
    assert found.figures["distance"].reason is Reason.OTHER_SCALE
    assert np.isnan([found.figures["distance"].a_value, found.figures["distance"].b_value]).all()
    assert found.figures["tau_b"].reason is None


def test_no_text_in_common_with_people_is_said() -> None:
    """People rated none of the responses: both figures are undefined, with their reasons."""
    found = nearer_to_people(A, B, np.full(32, np.nan), PROMPTS)
    assert found.figures["tau_b"].reason is Reason.NO_SHARED_ITEMS
    assert found.figures["distance"].reason is Reason.NO_SHARED_ITEMS
    assert (found.figures["distance"].n_items, found.figures["distance"].n) == (0, 0)
