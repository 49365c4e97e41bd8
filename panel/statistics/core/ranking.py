"""Systems over prompts and responses within a prompt, ranked with their uncertainty.

Pure functions over arrays. What the numbers mean and how they are shown is elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from panel.statistics.core.arrays import Array, IntArray

RESAMPLES = 2000
_CELLS = 500_000


@dataclass(frozen=True, slots=True)
class SystemRank:
    """One system's place.

    `rank` is 1 for the best; ties share the better rank. The interval of the composite
    and that of the rank hold 95 % of the resamples; NaN and None where there are fewer
    than two prompts to resample, or nothing to rank.
    """

    system: str
    composite: float
    ci_low: float
    ci_high: float
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    n_prompts: int
    dimensions: dict[str, float]


def competition_ranks(values: Array) -> Array:
    """Ranks along the last axis, 1 for the largest; ties share the better rank; NaN stays NaN.

    Values that are equal to nine decimals are ties: equal means need not be equal floats.

    >>> competition_ranks(np.array([7.0, 9.0, np.nan, 7.0]))
    array([ 2.,  1., nan,  2.])
    """
    missing = np.isnan(values)
    rounded = np.where(missing, np.inf, -np.round(values, 9))
    # What scipy.stats.rankdata does, without the second that every command would wait for it.
    order = np.argsort(rounded, axis=-1)
    rising = np.take_along_axis(rounded, order, axis=-1)
    first = np.ones(rising.shape, dtype=bool)
    first[..., 1:] = rising[..., 1:] != rising[..., :-1]
    places = np.where(first, np.arange(1, rising.shape[-1] + 1), 0)
    ranks = np.empty(rising.shape)
    np.put_along_axis(ranks, order, np.maximum.accumulate(places, axis=-1), axis=-1)
    return np.where(missing, np.nan, ranks)


def rank_systems(
    systems: Sequence[str],
    prompts: Sequence[str],
    composites: Array,
    dimensions: Array,
    names: Sequence[str],
    *,
    seed: int,
) -> list[SystemRank]:
    """The leaderboard: each system's mean over prompts, best first.

    Args:
        systems, prompts: of each of n responses.
        composites: shape (n,), NaN where undefined.
        dimensions: shape (n, d), each response's mean by dimension, NaN where undefined.
        names: the d dimensions.
        seed: of the resampling.

    A prompt counts once for a system however many responses it has to it, and a
    response without a composite counts nowhere. The interval is a percentile cluster
    bootstrap over prompts (Efron and Tibshirani 1993, chapter 13), which keeps the
    systems' answers to the same prompt together.

    >>> board = rank_systems(
    ...     ["a", "b"], ["p", "p"], np.array([3.0, 4.0]), np.empty((2, 0)), [], seed=0
    ... )
    >>> [(entry.system, entry.rank) for entry in board]
    [('b', 1), ('a', 2)]
    """
    of_system = {system: i for i, system in enumerate(dict.fromkeys(systems))}
    # Sorted, so that the resampling does not depend on the order of the responses.
    of_prompt = {prompt: i for i, prompt in enumerate(sorted(set(prompts)))}
    column = np.array([of_system[system] for system in systems], dtype=np.intp)
    row = np.array([of_prompt[prompt] for prompt in prompts], dtype=np.intp)
    shape = (len(of_prompt), len(of_system))
    table = _cell_means(row, column, composites, shape)
    means = _mean(table)
    ranks = competition_ranks(means)
    low, high, rank_low, rank_high = _intervals(table, seed)
    by_dimension = [
        _mean(_cell_means(row, column, dimensions[:, d], shape)) for d in range(len(names))
    ]
    board = [
        SystemRank(
            system=system,
            composite=float(means[i]),
            ci_low=float(low[i]),
            ci_high=float(high[i]),
            rank=_whole(ranks[i]),
            rank_low=_whole(rank_low[i]),
            rank_high=_whole(rank_high[i]),
            n_prompts=int(np.sum(~np.isnan(table[:, i]))),
            dimensions={
                name: float(mean[i]) for name, mean in zip(names, by_dimension, strict=True)
            },
        )
        for system, i in of_system.items()
    ]
    return sorted(board, key=lambda entry: (entry.rank is None, entry.rank, entry.system))


def _cell_means(row: IntArray, column: IntArray, values: Array, shape: tuple[int, int]) -> Array:
    """The mean of the values in each (row, column), NaN where there are none."""
    there = ~np.isnan(values)
    sums, counts = np.zeros(shape), np.zeros(shape)
    np.add.at(sums, (row[there], column[there]), values[there])
    np.add.at(counts, (row[there], column[there]), 1.0)
    return _ratio(sums, counts)


def _mean(table: Array) -> Array:
    """The mean of each column over its rows that are there."""
    there = ~np.isnan(table)
    counts = there.sum(axis=0).astype(float)
    sums = np.where(there, table, 0.0).sum(axis=0)
    return _ratio(sums, counts)


def _ratio(sums: Array, counts: Array) -> Array:
    """Sums by counts, NaN where nothing was counted."""
    with np.errstate(invalid="ignore"):
        means: Array = sums / counts
    return means


def _intervals(table: Array, seed: int) -> tuple[Array, Array, Array, Array]:
    """Percentile intervals of each system's mean and rank, from resampled prompts."""
    n_prompts, n_systems = table.shape
    there = ~np.isnan(table)
    enough = there.sum(axis=0) >= 2
    if not enough.any():
        nothing = np.full(n_systems, np.nan)
        return nothing, nothing, nothing, nothing
    generator = np.random.default_rng(seed)
    filled, present = np.where(there, table, 0.0), there.astype(float)
    means, ranks = [], []
    # Some at a time, so that memory does not grow with the number of prompts.
    chunk = max(1, _CELLS // n_prompts)
    for start in range(0, RESAMPLES, chunk):
        size = min(chunk, RESAMPLES - start)
        drawn = generator.multinomial(n_prompts, np.full(n_prompts, 1 / n_prompts), size=size)
        weights = drawn.astype(float)
        sums, counts = weights @ filled, weights @ present
        resampled = _ratio(sums, counts)
        means.append(resampled)
        ranks.append(competition_ranks(resampled))
    bounds = []
    for values in (np.concatenate(means), np.concatenate(ranks)):
        # A resample in which a system has no prompt at all says nothing about it.
        known = [column[~np.isnan(column)] for column in values.T]
        for quantile in (0.025, 0.975):
            bounds.append(
                np.array(
                    [
                        np.quantile(column, quantile) if ok else np.nan
                        for column, ok in zip(known, enough, strict=True)
                    ]
                )
            )
    low, high, rank_low, rank_high = bounds
    return low, high, np.floor(rank_low), np.ceil(rank_high)


def _whole(value: float) -> int | None:
    return None if np.isnan(value) else int(value)
