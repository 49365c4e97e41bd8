"""Whether the Δs of a sweep are plainly asymmetric, and a test of means that allows for it.

Flipping signs takes Δs that lie symmetrically about 0 where the mean is 0. Where a few prompts
collapse and the others gain a little, the mean may be 0 and no test of one cell sees it, for in
some cells no prompt happens to collapse. The other cells of the sweep show it, if not the same
prompts collapse in all of them, or prompts of this condition alone. With few prompts nothing
shows it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from persona_panel.statistics.core.arrays import ROUNDING, Array, IntArray, divide
from persona_panel.statistics.core.significance import bounded_mean_p_values, holm

ASYMMETRIC = 0.5
"""|Skewness| from which Δs are plainly asymmetric: the usual bound of "moderately skewed"."""
_STANDARD_ERRORS = 1.64
"""So many standard errors, too, √(6/n) of n normal values: with few Δs any skewness comes by
chance, and one Δ in ten of symmetric ones would be held for a collapse."""
RARE = 0.1
"""The share of prompts that is rare: so many may change far while no prompt of a sample does."""
SHOWS_RARE = 29
"""From so many prompts on a sample has, with a probability of 95 %, one of those that are rare:
0.9 to this power is below 0.05."""


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
        if len(own) and (spread := float(np.sqrt(np.square(own).mean()))) > ROUNDING:
            scaled.append(own / spread)
    if not scaled:
        return Asymmetry(math.nan, 0)
    # Each dimension has a variance of 1, and so have all of them together.
    together = np.concatenate(scaled)
    return Asymmetry(float((together**3).mean()), len(together))


def bounded_p_values(
    columns: Array,
    dimensions: IntArray,
    asymmetry: Asymmetry,
    spans: Array,
) -> Array:
    """p-values, adjusted by Holm, of the cells whose mean may be opposite to rare, large changes;
    NaN elsewhere.

    These are cells whose mean lies opposite to the longer tail, where all Δs or those of the cell
    by themselves are plainly asymmetric: p-values then allow that any prompt changes as far on its
    scale, against the cell's mean, as any prompt of the sweep did from the mean of its cell, or as
    far as one of this cell in either direction. And these are all cells of fewer
    than `SHOWS_RARE` prompts: those that change far against the mean may be in none of them, and
    p-values allow for changes across the whole scale.

    Args:
        columns, dimensions: as of `asymmetry_of`.
        asymmetry: of these columns.
        spans: `(cells,)`, how far a Δ can be from 0 on the scale.
    """
    means = _means(columns)
    there = ~np.isnan(columns)
    # What a cell's mean lies opposite to.
    side = -np.sign(means)
    plain = np.array([_opposite(asymmetry, one) for one in side])
    own = [asymmetry_of(columns[:, [c]], dimensions[[c]]) for c in range(columns.shape[1])]
    plain |= [_opposite(each, one) for each, one in zip(own, side, strict=True)]
    few = there.sum(axis=0) < SHOWS_RARE
    if not (plain | few).any():
        return np.full(columns.shape[1], np.nan)
    bounds = np.where(there, np.abs(columns), 0.0).max(axis=0, initial=0.0)
    for sign in (-1, 1):
        # As a share of the scale: what no prompt does on this dimension one may do on others.
        farthest = np.where(there, (columns - means) * sign / spans, -np.inf).max(initial=0.0)
        turned = side == sign
        bounds[turned] = np.maximum(bounds, farthest * spans)[turned]
    bounds[few] = np.maximum(bounds, spans)[few]
    adjusted = holm(bounded_mean_p_values(columns, bounds))
    return np.where(plain | few, adjusted, np.nan)


def _opposite(asymmetry: Asymmetry, side: float) -> bool:
    """Whether the longer tail of plainly asymmetric Δs is on this side, 1 or −1."""
    return asymmetry.plain and asymmetry.skewness * side > 0


def _means(columns: Array) -> Array:
    there = ~np.isnan(columns)
    return divide(np.where(there, columns, 0.0).sum(axis=0), there.sum(axis=0).astype(np.float64))
