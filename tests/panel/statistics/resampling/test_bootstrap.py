"""Bootstrap intervals against scipy's, and resampling by whole clusters."""

from __future__ import annotations

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from panel.statistics import Reason, bootstrap, by_items, resampled_mean
from panel.statistics.resampling.bootstrap import (
    bca,
    jackknife_weights,
    percentile,
    resample_weights,
)

RNG = np.random.default_rng(0)
SKEWED = RNG.exponential(size=40)


@pytest.mark.parametrize("method", ["BCa", "percentile"])
def test_interval_equals_scipys_on_the_same_resamples(method: str) -> None:
    """From the same resampled values, both intervals are scipy.stats.bootstrap's."""
    theirs = stats.bootstrap((SKEWED,), np.mean, n_resamples=999, method=method, rng=1)
    drawn = theirs.bootstrap_distribution
    if method == "percentile":
        ours = percentile(drawn, 0.95)
    else:
        left_out = np.array([np.delete(SKEWED, i).mean() for i in range(len(SKEWED))])
        low, high, reason = bca(SKEWED.mean(), drawn, left_out, 0.95)
        assert reason is None
        ours = (low, high)
    assert ours == pytest.approx(tuple(theirs.confidence_interval), abs=1e-12)


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_whole_bootstrap_is_near_scipys(method: str) -> None:
    """Our own resampling gives scipy's interval up to the noise of resampling."""
    ours = bootstrap(resampled_mean(SKEWED), 40, method=method, n_resamples=20_000)  # type: ignore[arg-type]
    theirs = stats.bootstrap((SKEWED,), np.mean, n_resamples=20_000, method=method, rng=1)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.02)
    assert ours.standard_error == pytest.approx(theirs.standard_error, rel=0.03)


def test_clusters_are_drawn_whole() -> None:
    """Items of a cluster share their weight, and as many clusters are drawn as there are."""
    codes = np.array([0, 0, 1, 2, 2, 2])
    weights = np.concatenate(list(resample_weights(codes, 3, 600, np.random.default_rng(0))))
    assert weights.shape == (600, 6)
    assert (weights[:, 0] == weights[:, 1]).all()
    assert (weights[:, 3] == weights[:, 5]).all()
    assert (weights[:, [0, 2, 3]].sum(axis=1) == 3).all()
    assert np.concatenate(list(jackknife_weights(codes, 3))).tolist() == [
        [0, 0, 1, 1, 1, 1],
        [1, 1, 0, 1, 1, 1],
        [1, 1, 1, 0, 0, 0],
    ]


def test_clusters_widen_the_interval() -> None:
    """Ten copies of each item say no more than the item: by cluster the interval is the
    single items', by item it is far too narrow."""
    copied = np.repeat(SKEWED, 10)
    clusters = np.repeat(np.arange(40), 10).tolist()
    single = bootstrap(resampled_mean(SKEWED), 40)
    clustered = bootstrap(resampled_mean(copied), 400, clusters)
    naive = bootstrap(resampled_mean(copied), 400)
    assert (clustered.low, clustered.high) == pytest.approx((single.low, single.high), abs=1e-12)
    assert naive.high - naive.low < 0.5 * (single.high - single.low)
    assert (clustered.n_clusters, naive.n_clusters) == (40, 400)


def test_by_items_repeats_what_is_drawn() -> None:
    """A function of drawn items is the function of weights that it stands for."""
    statistic = by_items(lambda items: float(np.median(SKEWED[items])))
    assert statistic(np.ones((1, 40)))[0] == np.median(SKEWED)
    assert statistic(np.eye(40)[:3] * 2).tolist() == SKEWED[:3].tolist()
    mean = by_items(lambda items: float(SKEWED[items].mean()))
    ours, theirs = bootstrap(mean, 40), bootstrap(resampled_mean(SKEWED), 40)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


@given(st.integers(0, 1000))
def test_same_seed_same_interval(seed: int) -> None:
    """An interval depends on the seed and nothing else."""
    first = bootstrap(resampled_mean(SKEWED), 40, n_resamples=50, seed=seed)
    assert first == bootstrap(resampled_mean(SKEWED), 40, n_resamples=50, seed=seed)


def test_undefined_resamples_are_left_out_and_counted() -> None:
    """A resample without a value neither enters the interval nor goes unmentioned."""
    values = np.array([1.0, 2.0, nan, nan])
    interval = bootstrap(resampled_mean(values), 4, method="percentile")
    # Neither of two items of four is drawn in (1/2)^4 of the resamples.
    assert interval.n_undefined == pytest.approx(2000 / 16, abs=40)
    assert (interval.low, interval.high) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("values", "method", "reason"),
    [
        ([3.0], "percentile", Reason.FEW_CLUSTERS),
        ([], "bca", Reason.FEW_CLUSTERS),
        ([nan, nan], "bca", Reason.ALL_RESAMPLES_UNDEFINED),
        ([2.0, 2.0, 2.0], "bca", Reason.RESAMPLES_CONSTANT),
    ],
)
def test_no_interval_has_a_reason(values: list[float], method: str, reason: Reason) -> None:
    """What gives no interval says why, without a warning."""
    statistic = resampled_mean(np.array(values))
    interval = bootstrap(statistic, len(values), method=method, n_resamples=99)  # type: ignore[arg-type]
    assert interval.reason is reason
    assert isnan(interval.low)
    assert isnan(interval.high)


def test_bca_needs_an_estimate_among_its_resamples() -> None:
    """An estimate that no resample comes near, and one that no cluster moves, are undefined."""
    drawn, flat = np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0])
    assert bca(9.0, drawn, drawn, 0.95)[2] is Reason.OUTSIDE_RESAMPLES
    assert bca(2.0, drawn, flat, 0.95)[2] is Reason.NO_VARIANCE


def test_bad_options_are_refused() -> None:
    """Unknown methods, impossible confidences and no resamples are named."""
    mean = resampled_mean(SKEWED)
    with pytest.raises(ValueError, match="found 'basic'"):
        bootstrap(mean, 40, method="basic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"found 95"):
        bootstrap(mean, 40, confidence=95)
    with pytest.raises(ValueError, match="found 0"):
        bootstrap(mean, 40, n_resamples=0)
    with pytest.raises(ValueError, match="2 labels for 40 items"):
        bootstrap(mean, 40, ["a", "b"])
