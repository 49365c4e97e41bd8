"""How much of the variance of scores is due to items, to personas, to models, to their
interactions, to error: the G-study of generalizability theory.

Sources: C. R. Henderson (1953), "Estimation of variance and covariance components",
method 1: the sum of squares between the cells of each effect is set equal to what the model
expects of it. R. L. Brennan (2001), *Generalizability Theory*, sections 3.4 and 7.1, for its use
here. All factors are random and crossed. Nothing needs to be balanced; where it is, this is
analysis of variance. It was preferred to restricted likelihood because it is unbiased with gaps,
solves one small system of equations, and takes no package.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import nan
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import Array, IntArray, Labels, as_scores, encode_labels
from persona_panel.statistics.core.statistic import Reason

RESIDUAL = "residual"
BETWEEN = ":"
"""Stands between the factors in the name of an interaction."""


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """What a G-study estimates.

    Attributes:
        variances: by effect, in the squared unit of the scores: each factor (`item`), each
            interaction (`item:persona`) and `residual`; unbiased and so sometimes below zero, NaN
            for what the design does not identify.
        shares: of their sum, with those below zero taken as zero.
        n_scores: how many scores there are.
        levels: how many levels each factor has.
        unidentified: why an effect has no variance of its own. The interaction of all factors is
            in the residual where no cell has several scores.
        replicates: how many scores the cells of all factors have, on average.
        reason: why all variances are NaN, None where they are not.
    """

    variances: Mapping[str, float]
    shares: Mapping[str, float]
    n_scores: int
    levels: Mapping[str, int]
    unidentified: Mapping[str, Reason] = field(default_factory=dict)
    replicates: float = 1.0
    reason: Reason | None = None


def variance_components(scores: ArrayLike, factors: Mapping[str, Labels]) -> VarianceComponents:
    """The variance of scores due to each factor and to each of their interactions.

    How to read it: a large share of items means that judges see the same differences (it is
    ICC(2,1), with one factor for the judges); of personas or models, that these are milder or
    stricter than others on everything; of `item:model`, that models disagree about which items
    are better, which more personas on the same models cannot average out. The residual is
    what a judge says of an item beyond all this: the highest interaction, unless replicates tell
    it from error, and error. A variance below 0 is an estimate of one near 0. Few levels make a
    variance unsure: between three models it has two degrees of freedom.

    Args:
        scores: `(scores,)`, one entry a rating, NaN where missing.
        factors: by name, a label a rating: which item, which persona, which model. Ratings
            with the same labels are replicates.

    Raises:
        ValueError: a wrong shape, an infinite value, not one label a rating, no factor, or
            one that is called `residual` or has a colon in its name.

    >>> scores = [1, 2, 2, 3, 3, 4]
    >>> factors = {"item": [0, 0, 1, 1, 2, 2], "rater": [0, 1, 0, 1, 0, 1]}
    >>> found = variance_components(scores, factors)
    >>> {name: round(share, 3) + 0 for name, share in found.shares.items()}
    {'item': 0.667, 'rater': 0.333, 'item:rater': nan, 'residual': 0.0}
    >>> found.unidentified["item:rater"].value
    'no cell has several ratings, so it is in the residual'
    """
    values = as_scores(scores)
    if not factors or RESIDUAL in factors or any(BETWEEN in name for name in factors):
        raise ValueError(
            f"factors are needed, none of them called {RESIDUAL!r} or with {BETWEEN!r} in its name"
        )
    rated = ~np.isnan(values)
    codes = {
        name: np.unique(encode_labels(labels, len(values))[1][rated], return_inverse=True)[1]
        for name, labels in factors.items()
    }
    levels = {name: int(code.max(initial=-1)) + 1 for name, code in codes.items()}
    varying = [name for name in factors if levels[name] > 1]
    values = values[rated]
    cells = _cells([codes[name] for name in varying], len(values))
    whole = tuple(range(len(varying)))
    n_cells = len(cells[whole][1])
    unidentified = {
        _named(effect): Reason.ONE_LEVEL
        for effect in _effects(tuple(factors))
        if any(levels[name] < 2 for name in effect)
    }
    kept = _effects(whole)
    if len(varying) > 1 and n_cells == len(values):
        kept.remove(whole)
        unidentified[_named(varying)] = Reason.IN_RESIDUAL

    def components(estimates: Mapping[str, float], reason: Reason | None) -> VarianceComponents:
        every = (*map(_named, _effects(tuple(factors))), RESIDUAL)
        variances = {name: estimates.get(name, nan) for name in every}
        positive = {name: max(value, 0.0) for name, value in variances.items()}
        total = sum(value for value in positive.values() if not np.isnan(value))
        shares = {name: value / total if total > 0 else nan for name, value in positive.items()}
        replicates = len(values) / n_cells if n_cells else 1.0
        return VarianceComponents(
            variances, shares, len(values), levels, unidentified, replicates, reason
        )

    if len(values) < 2 or np.ptp(values) == 0:
        return components({}, Reason.NO_VARIANCE)
    coefficients, sums = _equations(values, cells, kept)
    if np.linalg.matrix_rank(coefficients) < len(sums):
        return components({}, Reason.NO_ERROR_TERM)
    solution = np.linalg.solve(coefficients, sums)
    names = (*(_named([varying[place] for place in effect]) for effect in kept), RESIDUAL)
    return components(dict(zip(names, map(float, solution), strict=True)), None)


EffectT = TypeVar("EffectT", bound=Hashable)
_Cells = Mapping[tuple[int, ...], tuple[IntArray, Array]]


def _named(effect: Sequence[str]) -> str:
    return BETWEEN.join(effect)


def _effects(factors: tuple[EffectT, ...]) -> list[tuple[EffectT, ...]]:
    """The factors, then their interactions, those of fewer factors first."""
    return [effect for n in range(1, len(factors) + 1) for effect in combinations(factors, n)]


def _cells(factors: Sequence[IntArray], n: int) -> _Cells:
    """For each effect, and for none `()`, the cell that each score is in and the size of each."""
    found: dict[tuple[int, ...], tuple[IntArray, Array]] = {
        (): (np.zeros(n, dtype=np.intp), np.array([float(n)])[: min(n, 1)])
    }
    for effect in _effects(tuple(range(len(factors)))):
        before, last = found[effect[:-1]][0], factors[effect[-1]]
        joined = before * (int(last.max(initial=-1)) + 1) + last
        _, codes, sizes = np.unique(joined, return_inverse=True, return_counts=True)
        found[effect] = codes, sizes.astype(np.float64)
    return found


def _equations(
    values: Array, cells: _Cells, effects: Sequence[tuple[int, ...]]
) -> tuple[Array, Array]:
    """Expected and found sums of squares about the mean: one row an effect, and the total.

    An effect's is Σ nₐ (ȳₐ − ȳ)² over its cells. Of the variance of effect B it holds
    Σ n_ab² / nₐ − Σ n_b² / n, of the residual the number of its cells less one.
    """
    n = len(values)
    centred = values - values.mean()
    of_mean = np.array([np.sum(cells[effect][1] ** 2) / n for effect in effects])
    rows, sums = [], []
    for effect in effects:
        codes, sizes = cells[effect]
        held = [_held(cells, effect, other) for other in effects]
        rows.append([*(held - of_mean), len(sizes) - 1])
        sums.append(np.sum(np.bincount(codes, weights=centred) ** 2 / sizes))
    rows.append([*(n - of_mean), n - 1])
    sums.append(np.sum(centred**2))
    return np.array(rows, dtype=np.float64), np.array(sums)


def _held(cells: _Cells, effect: tuple[int, ...], other: tuple[int, ...]) -> float:
    """Σ over the cells of both effects together of n_ab² / nₐ."""
    codes, sizes = cells[tuple(sorted({*effect, *other}))]
    within, of = cells[effect]
    of_cell = np.empty(len(sizes), dtype=np.intp)
    of_cell[codes] = within
    return float(np.sum(sizes**2 / of[of_cell]))
