"""How many more prompts show a difference, and where more judges are needed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics import Estimate, Reason
from persona_panel.statistics.core.jackknife import VariancePart
from persona_panel.statistics.core.means import assurance, assurance_limit, assured
from persona_panel.statistics.core.sampled_mean import (
    SampledMean,
    mean_and_levels,
    prompts_assured,
    sampled_mean,
    takes_more_judges,
)

SAMPLED = SampledMean(2.0, ((1.0, 9.0),), 10, judges=(VariancePart(2.0, 6.0, 1.0),))
"""Of whose judges a variance of 1 stays with any number of prompts, and 1 falls with it."""


@pytest.mark.parametrize(
    ("level", "mean", "more"), [(0.05, 2.4, True), (0.05, 2.5, False), (0.01, 3.7, True)]
)
def test_some_means_take_more_judges(level: float, mean: float, more: bool) -> None:
    """With any number of prompts the standard error is 1 with 6 degrees of freedom: a mean is
    detected from Student's t on, 2.447 at 5 % and 3.707 at 1 %, on either side."""
    for sign in (1, -1):
        assert takes_more_judges(replace(SAMPLED, mean=sign * mean), level) is more
    assert not takes_more_judges(None, level)
    assert not takes_more_judges(replace(SAMPLED, judges=()), level)


def test_prompts_that_show_a_mean_of_sampled_judges() -> None:
    """The fewest whose assurance reaches 80 %, where the error of n prompts is √(10/n + 1 + 10/n),
    with Satterthwaite's degrees of freedom; without judges those of plain values."""
    of = replace(SAMPLED, mean=6.0)

    def probability(n: int) -> float:
        prompts, judges = 10 / n, 1 + 10 / n
        df = (prompts + judges) ** 2 / (prompts**2 / (n - 1) + judges**2 / 6)
        error = (prompts + judges) ** 0.5
        return float(assurance(6.0, 1.0, 10, n, 0.05, (error, df)))

    found = prompts_assured(of, 0.05)
    assert found.needed is not None and found.n == 10
    assert probability(found.needed) >= 0.8 > probability(found.needed - 1)
    assert found.limit == pytest.approx(assurance_limit(6.0, 1.0, 10, stats.t.ppf(0.975, 6)))
    plain = prompts_assured(replace(of, judges=(), mean=-2.0), 0.05)
    assert plain == assured(2.0, math.sqrt(10), 10, 0.0, 0.05)


@pytest.mark.parametrize(
    ("levels", "reason"),
    [
        ([1], Reason.SAME_JUDGES),
        ([2], Reason.FEW_JUDGES),
        ([4], Reason.FEW_JUDGES),
        ([2, 2], Reason.FEW_JUDGES),
        ([5], None),
        ([2, 3], None),
    ],
)
def test_judges_are_a_sample_from_five_on(levels: list[int], reason: Reason | None) -> None:
    """Of one there is no sample, and four, or two of either factor, are too few; the mean is there
    all the same, of the prompts that have a score."""
    moved = [np.arange(4.0 * n).reshape(4, n) for n in levels]
    found = mean_and_levels(np.array([1.0, 2.0, 6.0, math.nan]), moved)
    assert (found.mean, found.n_prompts, found.reason) == (3.0, 3, reason)
    assert bool(found.errors) == (reason is None)


def test_judges_as_they_are_leave_students_error() -> None:
    """Of 1, 2 and 6 it is √(7 / 3) with two degrees of freedom; of one prompt there is none."""
    assert mean_and_levels(np.array([1.0, 2.0, 6.0])).errors == (
        (pytest.approx(math.sqrt(7 / 3)), 2),
    )
    for scores, mean in (([4.0], 4.0), ([], math.nan)):
        alone = mean_and_levels(np.array(scores))
        assert alone.mean == pytest.approx(mean, nan_ok=True)
        assert (alone.errors, alone.reason) == ((), Reason.FEW_CLUSTERS)


def test_an_interval_is_cut_where_more_is_not_possible() -> None:
    """At either end; the value and the p-value stay, and nothing is cut unless asked for."""
    mean = mean_and_levels(np.array([1.0, 2.0, 6.0]))
    whole = mean.as_a(Estimate)
    assert whole.low < -0.5 < 4 < whole.high and (whole.over, whole.n) == ("prompts", 3)
    cut = mean.as_a(Estimate, over="items", cut=(-0.5, 4.0))
    assert (cut.low, cut.high, cut.value, cut.over) == (-0.5, 4.0, 3.0, "items")
    assert mean.as_a(Estimate, cut=(-9.0, 99.0)).ends == whole.ends
    assert cut.p == whole.p == pytest.approx(2 * stats.t.sf(3 / math.sqrt(7 / 3), 2))


def test_judges_of_one_persona_or_model_move_a_mean_together() -> None:
    """What they move adds up, by each factor; as they are, they move nothing."""
    scores, influence = np.array([1.0, 2.0, 6.0, 4.0]), np.random.default_rng(0).normal(size=(4, 6))
    factors = {"persona": "aabbcc", "model": "mnmnmn"}
    by_persona = influence.reshape(4, 3, 2).sum(axis=2)
    by_model = np.column_stack([influence[:, ::2].sum(axis=1), influence[:, 1::2].sum(axis=1)])
    found = sampled_mean(scores, influence, factors, (0.0, 9.0))
    assert found == mean_and_levels(scores, [by_persona, by_model], (0.0, 9.0))
    assert [part.df for part in found.judges] == [2, 1] and len(found.errors) == 2
    assert sampled_mean(scores) == mean_and_levels(scores)
