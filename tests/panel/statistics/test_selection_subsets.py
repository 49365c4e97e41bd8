"""The fewest judges who keep the panel's ranking, and when that is not known."""

from __future__ import annotations

from math import isnan, nan

import numpy as np
import pytest
import scipy

from persona_panel.statistics import Reason, correlation, row_means, smallest_subset

RNG = np.random.default_rng(0)
PANEL = RNG.normal(size=(80, 1)) + RNG.normal(size=(80, 6))


def test_the_judges_that_matter_are_found() -> None:
    """Where two judges decide the ranking and others add a hair, those two are enough.

    The panel's mean is (9 a + 9 b + noise)/k: with a and b alone the order is nearly kept.
    """
    a, b = RNG.normal(size=(2, 200))
    noise = 0.05 * RNG.normal(size=(200, 4))
    ratings = np.column_stack([noise[:, :2], 9 * a, noise[:, 2:], 9 * b])
    ours = smallest_subset(ratings)
    assert sorted(ours.judges) == [2, 5]
    assert 0.95 <= ours.low[1] < ours.held_out[1]
    assert ours.held_out[0] < 0.95
    assert ours.held_out[-1] == pytest.approx(1)
    assert ours.cost_saved == pytest.approx(1 - 2 / 6)


def test_judges_are_compared_on_prompts_that_did_not_choose_them() -> None:
    """The curve and its bounds are what plain code finds: chosen on four fifths of the prompts,
    tried on the other; and the size is the last, from the largest down, whose bounds reach it."""
    ratings = PANEL.copy()
    ratings[RNG.random(ratings.shape) < 0.2] = nan
    prompts = np.repeat(np.arange(20), 4)
    ours = smallest_subset(ratings, prompts.tolist(), threshold=0.5, seed=3)
    fold = np.random.default_rng(3).permutation(20)[prompts] % 5
    curves = []
    for held in range(5):
        chosen: list[int] = []
        train, test = ratings[fold != held], ratings[fold == held]
        curve = []
        while len(chosen) < 6:
            taus = {
                judge: correlation(
                    row_means(train[:, [*chosen, judge]]), row_means(train), "tau_b"
                ).value
                for judge in range(6)
                if judge not in chosen
            }
            chosen.append(max(taus, key=lambda judge: taus[judge]))
            curve.append(correlation(row_means(test[:, chosen]), row_means(test), "tau_b").value)
        curves.append(curve)
    mean = np.mean(curves, axis=0)[:5]
    assert ours.held_out[:5] == pytest.approx(mean)
    reach = scipy.stats.t.ppf(0.95, 4) * np.std(curves, axis=0, ddof=1)[:5] / np.sqrt(5)
    low = np.tanh(np.arctanh(mean) - reach / (1 - mean**2))
    assert ours.low[:5] == pytest.approx(low)
    assert len(ours.judges) == max(np.flatnonzero(low < 0.5)) + 2
    assert 1 < len(ours.judges) < 6


def test_a_higher_threshold_takes_no_fewer_judges() -> None:
    """What is asked for more strictly is found with as many judges or more, or not at all."""
    found = [
        len(smallest_subset(PANEL, threshold=threshold).judges) or 6
        for threshold in (0.4, 0.6, 0.99)
    ]
    assert found == sorted(found)
    assert found[0] < found[-1] == 6


def test_few_prompts_or_items_are_refused() -> None:
    """It takes 20 prompts and 60 items; an item that nobody rated is none."""
    prompts = [n % 20 for n in range(80)]
    assert smallest_subset(PANEL, prompts, threshold=0.3).reason is None
    fewer = smallest_subset(PANEL, [n % 19 for n in range(80)], threshold=0.3)
    assert fewer.reason is Reason.FEW_TO_CHOOSE
    gaps = PANEL.copy()
    gaps[:21] = nan
    assert smallest_subset(gaps, prompts, threshold=0.3).reason is Reason.FEW_TO_CHOOSE
    gaps[20] = PANEL[20]
    assert smallest_subset(gaps, prompts, threshold=0.3).reason is not Reason.FEW_TO_CHOOSE


def test_of_judges_who_are_all_alike_one_is_enough() -> None:
    """A τ_b of 1 on every fold has no spread, and is no reason to end the search."""
    ours = smallest_subset(np.repeat(np.arange(80.0)[:, None], 4, axis=1))
    assert (len(ours.judges), ours.reason) == (1, None)
    assert ours.held_out == pytest.approx(1)
    assert (ours.low == 1).all()


def test_the_true_ranking_is_kept() -> None:
    """Of 60 panels of ten judges and 20 prompts, at most three are cut to judges whose τ_b on 900
    further items is below the threshold, and the reported bound is below the truth on average."""
    below, away = 0, []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        noise = 0.4 * np.exp(rng.normal(0, 0.7, 10))

        def rated(n: int) -> np.ndarray:
            return rng.normal(size=(n, 1)) + noise * rng.normal(size=(n, 10))  # noqa: B023

        found = smallest_subset(rated(80), np.repeat(np.arange(20), 4).tolist(), threshold=0.85)
        if found.reason:
            continue
        further = rated(900)
        kept = row_means(further[:, list(found.judges)])
        true = correlation(kept, row_means(further), "tau_b").value
        below += true < 0.85
        away.append(found.low[len(found.judges) - 1] - true)
    assert len(away) > 40
    assert below <= 3
    assert np.mean(away) < 0


def test_undefined() -> None:
    """One judge and an unreachable threshold are named."""
    assert smallest_subset([[1.0], [2.0]]).reason is Reason.FEW_RATERS
    assert smallest_subset(PANEL, ["a"] * 80).reason is Reason.FEW_TO_CHOOSE
    missed = smallest_subset(PANEL, threshold=0.99)
    assert (missed.judges, missed.reason) == ((), Reason.NOT_REACHED)
    assert isnan(missed.cost_saved)
