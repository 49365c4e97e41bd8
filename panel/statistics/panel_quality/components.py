"""How much of the variance of scores is due to items, to personas, to models, to error.

Source: C. R. Henderson (1953), "Estimation of variance and covariance components",
method 1: each factor's sum of squares between its levels is set equal to what the model
expects of it. All factors are random and main effects only; the residual holds their
interactions. Nothing needs to be balanced; where it is, this is analysis of variance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from panel.statistics.core.arrays import Array, IntArray, Labels, as_scores, encode_labels
from panel.statistics.core.statistic import Reason

RESIDUAL = "residual"


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """`variances` by factor and `residual`, unbiased and so sometimes below zero, NaN for
    a factor of one level. `shares` are of their sum with those below zero taken as zero.
    All are NaN exactly when `reason` says why."""

    variances: Mapping[str, float]
    shares: Mapping[str, float]
    n_scores: int
    levels: Mapping[str, int]
    reason: Reason | None = None


def variance_components(scores: ArrayLike, factors: Mapping[str, Labels]) -> VarianceComponents:
    """The variance of scores due to each factor.

    How to read it: a large share of items means that judges see the same differences (it is
    ICC(2,1), with one factor for the judges); of personas or models, that these are milder or
    stricter than others on everything; the residual holds their interactions with items, and
    noise. A variance below 0 is an estimate of one near 0.

    Args:
        scores: `(scores,)`, one entry a rating, NaN where missing.
        factors: by name, a label a rating: which item, which persona, which model.

    Raises:
        ValueError: a wrong shape, an infinite value, not one label a rating, no factor, or
            one that is called `residual`.

    >>> scores = [1, 2, 2, 3, 3, 4]
    >>> factors = {"item": [0, 0, 1, 1, 2, 2], "rater": [0, 1, 0, 1, 0, 1]}
    >>> found = variance_components(scores, factors)
    >>> {name: round(share, 3) + 0 for name, share in found.shares.items()}
    {'item': 0.667, 'rater': 0.333, 'residual': 0.0}
    """
    values = as_scores(scores)
    if not factors or RESIDUAL in factors:
        raise ValueError(f"factors are needed, none of them called {RESIDUAL!r}")
    rated = ~np.isnan(values)
    codes = {
        name: np.unique(encode_labels(labels, len(values))[1][rated], return_inverse=True)[1]
        for name, labels in factors.items()
    }
    levels = {name: int(code.max(initial=-1)) + 1 for name, code in codes.items()}
    varying = [name for name in factors if levels[name] > 1]

    def components(estimates: Mapping[str, float], reason: Reason | None) -> VarianceComponents:
        variances = {name: estimates.get(name, nan) for name in (*factors, RESIDUAL)}
        positive = {name: max(value, 0.0) for name, value in variances.items()}
        total = sum(value for value in positive.values() if not np.isnan(value))
        shares = {name: value / total if total > 0 else nan for name, value in positive.items()}
        return VarianceComponents(variances, shares, int(rated.sum()), levels, reason)

    values = values[rated]
    if len(values) < 2 or np.ptp(values) == 0:
        return components({}, Reason.NO_VARIANCE)
    coefficients, sums = _equations(values, [codes[name] for name in varying])
    if np.linalg.matrix_rank(coefficients) < len(sums):
        return components({}, Reason.NO_ERROR_TERM)
    solution = np.linalg.solve(coefficients, sums)
    return components(dict(zip((*varying, RESIDUAL), map(float, solution), strict=True)), None)


def _equations(values: Array, factors: list[IntArray]) -> tuple[Array, Array]:
    """Expected and found sums of squares about the mean: one row a factor, and the total.

    A factor's is Σ nₐ (ȳₐ − ȳ)². Of the variance of factor B it holds Σ n_ab² / nₐ − Σ n_b² / n,
    of the residual the number of its levels less one.
    """
    n = len(values)
    centred = values - values.mean()
    sizes = [np.bincount(codes).astype(np.float64) for codes in factors]
    of_mean = np.array([np.sum(size**2) / n for size in sizes])
    rows, sums = [], []
    for codes, size in zip(factors, sizes, strict=True):
        held = [_held(codes, size, other) for other in factors]
        rows.append([*(held - of_mean), len(size) - 1])
        sums.append(np.sum(np.bincount(codes, weights=centred) ** 2 / size))
    rows.append([*(n - of_mean), n - 1])
    sums.append(np.sum(centred**2))
    return np.array(rows, dtype=np.float64), np.array(sums)


def _held(codes: IntArray, sizes: Array, other: IntArray) -> float:
    """Σ over pairs of levels n_ab² / nₐ, from those pairs that occur."""
    width = int(other.max(initial=-1)) + 1
    cells, counts = np.unique(codes * width + other, return_counts=True)
    return float(np.sum(counts**2 / sizes[cells // width]))
