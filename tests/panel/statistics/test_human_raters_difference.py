"""Panel less human against a loop over scipy, and against judges who are drawn as people are."""

from __future__ import annotations

from math import isnan, nan
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from persona_panel.statistics import (
    Reason,
    correlation,
    human_ceiling,
    human_difference,
    human_difference_by_prompt,
    jackknife,
    row_means,
)
from persona_panel.statistics.core.correlation import (
    CorrelationKind,
)

KINDS = st.sampled_from(get_args(CorrelationKind))
SCORES = st.sampled_from([1.0, 2.0, 3.0, nan])
RATINGS = arrays(float, st.tuples(st.integers(1, 7), st.just(5)), elements=SCORES)


def test_hand_calculation() -> None:
    """Two people rate 1 2 3 4 and 1 3 2 4, a panel of two judges 1 2 3 4 and 2 1 4 3.

    Each person has 0.8 with the other (Σd² = 2). With the second person the judges have 0.8 and 0
    (Σd² = 10), with the first 1 and 0.6 (Σd² = 4). The panel's mean is 1.5 1.5 3.5 3.5, about its
    mean −1 −1 1 1, of which the squares add up to 4, as the people's to 5; the products with the
    first person's −1.5 −0.5 0.5 1.5 add up to 4, with the second's −1.5 0.5 −0.5 1.5 to 2.
    """
    people = np.array([[1, 2, 3, 4], [1, 3, 2, 4]]).T
    judges = np.array([[1, 2, 3, 4], [2, 1, 4, 3]]).T
    found = human_difference(judges, people, "pearson")
    panel = (4 + 2) / 20**0.5 / 2
    judge = (0.8 + 0 + 1 + 0.6) / 4
    assert found.panel.value == pytest.approx(panel - 0.8)
    assert found.judge.value == pytest.approx(judge - 0.8)
    assert found.averaging.value == pytest.approx(panel - judge)
    assert (found.panel.n_items, found.panel.n_raters) == (4, 4)


def test_equals_a_loop_over_scipy() -> None:
    """With gaps all three are compared over the items that all three have."""
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (40, 1)) + rng.integers(-2, 3, (40, 6)).astype(float)
    ratings[rng.random(ratings.shape) < 0.3] = nan
    people, judges = ratings[:, :3], ratings[:, 3:]

    def both(first: np.ndarray, second: np.ndarray, others: np.ndarray) -> float:
        kept = ~np.isnan(first + second + others)
        sides = (stats.kendalltau(side[kept], others[kept]) for side in (first, second))
        first_tau, second_tau = (found.statistic for found in sides)
        return float(first_tau - second_tau)

    expected: list[list[float]] = [[], [], []]
    mean = row_means(judges)
    for place, human in enumerate(people.T):
        others = np.where(np.isnan(human), nan, row_means(np.delete(people, place, axis=1)))
        expected[0].append(both(mean, human, others))
        expected[1] += [both(judge, human, others) for judge in judges.T]
        expected[2] += [both(mean, judge, others) for judge in judges.T]
    found = human_difference(judges, people, "tau_b")
    assert [one.value for one in found] == pytest.approx([np.mean(each) for each in expected])


@settings(max_examples=60, deadline=None)
@given(RATINGS, KINDS, st.integers(0, 2**32 - 1))
def test_resampled_equals_the_whole_and_the_prompts_alone(
    ratings: np.ndarray, kind: CorrelationKind, seed: int
) -> None:
    """With every item drawn once the resampled form is the value; inside a prompt it is that of
    its items alone; and who is called human first does not matter."""
    people, judges = ratings[:, :3], ratings[:, 3:]
    found = human_difference(judges, people, kind)
    for one in found:
        value = one.resampled(np.ones((1, len(ratings))))[0]
        assert one.value == pytest.approx(value, abs=1e-9, nan_ok=True)
        assert isnan(one.value) == (one.reason is not None)
    turned = human_difference(judges[:, ::-1], people[:, ::-1], kind)
    for one, other in zip(found, turned, strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-9, nan_ok=True)
    prompts = np.random.default_rng(seed).integers(0, 2, len(ratings))
    by_prompt = human_difference_by_prompt(judges, people, prompts, kind)
    for name, *values in zip(by_prompt[0].prompts, *(one.values for one in by_prompt), strict=True):
        alone = human_difference(judges[prompts == name], people[prompts == name], kind)
        for ours, theirs in zip(values, alone, strict=True):
            assert ours.value == pytest.approx(theirs.value, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("n_people", [2, 3, 5])
def test_a_judge_who_is_a_person_is_not_ahead(n_people: int) -> None:
    """Judges drawn as people are differ from them by 0 on average, where the correlation with the
    mean of all people is ahead of the people's own; their mean is ahead by averaging alone."""
    rng = np.random.default_rng(n_people)
    differences, naive, averaging = [], [], []
    for _ in range(300):
        ratings = np.round(3 + rng.normal(size=(24, 1)) + 1.2 * rng.normal(size=(24, n_people + 3)))
        people, judges = ratings[:, :n_people], ratings[:, n_people:]
        found = human_difference(judges, people, "pearson")
        differences.append(found.judge.value)
        averaging.append(found.averaging.value)
        alone = correlation(judges[:, 0], row_means(people), "pearson").value
        naive.append(alone - human_ceiling(people, "pearson").value)
    error = np.std(differences) / len(differences) ** 0.5
    assert abs(np.mean(differences)) < 3 * error
    assert np.mean(averaging) > 0.08
    if n_people == 2:
        assert np.mean(naive) > 3 * np.std(naive) / len(naive) ** 0.5


def test_its_interval_seldom_excludes_0() -> None:
    """Of a judge drawn as people are, in at most 5 % (with Monte Carlo error) at five prompts."""
    rng = np.random.default_rng(0)
    prompts = np.repeat(np.arange(5), 4)
    excluded = 0
    for _ in range(200):
        quality = rng.normal(size=(20, 1)) + 0.7 * rng.normal(size=(5, 1))[prompts]
        ratings = np.round(3 + quality + 1.2 * rng.normal(size=(20, 3)))
        of_panel = human_difference(ratings[:, 2:], ratings[:, :2], "spearman").panel
        found = jackknife(of_panel.resampled, 20, prompts, kind="difference")
        excluded += found.low > 0 or found.high < 0
    assert excluded / 200 <= 0.05 + 3 * (0.05 * 0.95 / 200) ** 0.5


@pytest.mark.parametrize(
    ("judges", "humans", "reason"),
    [
        ([[1.0], [2.0]], [[1.0], [2.0]], Reason.FEW_PEOPLE),
        ([[1.0], [2.0]], [[1.0, nan], [nan, 2.0]], Reason.NO_SHARED_ITEMS),
        ([[1.0], [nan]], [[1.0, 1.0], [1.0, 2.0]], Reason.FEW_ITEMS),
        ([[1.0], [2.0]], [[1.0, 1.0], [1.0, 2.0]], Reason.CONSTANT_RATER),
    ],
)
def test_undefined_has_a_reason(
    judges: list[list[float]], humans: list[list[float]], reason: Reason
) -> None:
    """What cannot be computed is NaN and says why; one judge gains nothing by averaging."""
    found = human_difference(judges, humans, "pearson")
    assert found.panel.reason is found.judge.reason is reason
    few_people = reason is Reason.FEW_PEOPLE
    assert found.averaging.reason is (Reason.FEW_PEOPLE if few_people else Reason.FEW_RATERS)
    with pytest.raises(ValueError, match="2 items rated by judges, 3 by humans"):
        human_difference(judges, np.ones((3, 2)), "pearson")
