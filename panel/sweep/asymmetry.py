"""Whether the Δs of a sweep are plainly asymmetric, and a test of means that allows for it.

Flipping signs takes Δs that lie symmetrically about 0 where the mean is 0. Where a few prompts
collapse and the others gain a little, the mean may be 0 and no test of one cell sees it, for in
some cells no prompt happens to collapse. The other cells of the sweep show it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from panel.statistics.core.arrays import Array, IntArray, divide
from panel.statistics.core.bounded_mean import bounded_mean_p_values
from panel.statistics.core.holm import holm

ASYMMETRIC = 0.5
"""|Skewness| from which Δs are plainly asymmetric: the usual bound of "moderately skewed"."""
_STANDARD_ERRORS = 1.64
"""So many standard errors, too, √(6/n) of n normal values: with few Δs any skewness comes by
chance, and one Δ in ten of symmetric ones would be held for a collapse."""
_NONE = 1e-9


@dataclass(frozen=True, slots=True)
class Asymmetry:
    """The skewness of n Δs about the means of their cells, above 0 where a few fall far; NaN where
    no cell has two different Δs."""

    skewness: float
    n: int

    @property
    def plain(self) -> bool:
        """Whether the test by flipped signs alone cannot be trusted."""
        least = max(ASYMMETRIC, _STANDARD_ERRORS * math.sqrt(6 / max(1, self.n)))
        return abs(self.skewness) >= least


def asymmetry_of(columns: Array, dimensions: IntArray) -> Asymmetry:
    """The skewness of all Δs of a sweep.

    Args:
        columns: `(prompts, cells)`, NaN where there is none.
        dimensions: `(cells,)`, the place of each cell's dimension: Δs of dimensions with other
            scales are brought to the same spread.
    """
    apart = columns - _means(columns)
    scaled = []
    for dimension in np.unique(dimensions):
        own = apart[:, dimensions == dimension]
        own = own[~np.isnan(own)]
        # A spread that is only rounding is none.
        if len(own) and (spread := float(np.sqrt(np.square(own).mean()))) > _NONE:
            scaled.append(own / spread)
    if not scaled:
        return Asymmetry(math.nan, 0)
    # Each dimension has a variance of 1, and so have all of them together.
    together = np.concatenate(scaled)
    return Asymmetry(float((together**3).mean()), len(together))


def bounded_p_values(columns: Array, dimensions: IntArray, asymmetry: Asymmetry) -> Array:
    """p-values, adjusted by Holm, of the cells whose mean lies opposite to the longer tail; NaN
    elsewhere, and everywhere if the Δs are not plainly asymmetric.

    They allow that any prompt changes as far, against the cell's mean, as any prompt of the sweep
    did from the mean of its cell in the same dimension, or as far as one of this cell in either
    direction.

    Args:
        columns, dimensions: as of `asymmetry_of`.
        asymmetry: of these columns.
    """
    if not asymmetry.plain:
        return np.full(columns.shape[1], np.nan)
    means = _means(columns)
    # Turned so that the longer tail is that of large values.
    side = math.copysign(1.0, asymmetry.skewness)
    apart = np.where(np.isnan(columns), -np.inf, (columns - means) * side)
    bounds = np.where(np.isnan(columns), 0.0, np.abs(columns)).max(axis=0, initial=0.0)
    for dimension in np.unique(dimensions):
        own = dimensions == dimension
        bounds[own] = np.maximum(bounds[own], apart[:, own].max(initial=0.0))
    adjusted = holm(bounded_mean_p_values(columns, bounds))
    return np.where(means * side < 0, adjusted, np.nan)


def _means(columns: Array) -> Array:
    there = ~np.isnan(columns)
    return divide(np.where(there, columns, 0.0).sum(axis=0), there.sum(axis=0).astype(np.float64))
