"""Degradations of scores under framing, from arrays: with their uncertainty, with tests that allow
for asymmetry, and what a system is vulnerable to.

Both tests, Student's of few prompts and flipped signs, take Δs that lie symmetrically about 0 where
framing has no effect, as they do where responses with and without framing are alike. Where a few
prompts collapse and the others gain a little, the mean may be 0, and the other cells of the sweep
show it, if not the same prompts collapse in all of them. Where no prompt of the sweep happens to
collapse, nothing shows it.

Pure functions. Δ is baseline − framed in points of the rubric's scale (scrub.txt, appendix 15.4):
positive is degradation. The paper gives means; intervals, tests and effect sizes are ours. A prompt
without a Δ is left out of its cell and counted, nothing is imputed.

The kinds of vulnerability are those of SCRuB (section 6.1 and appendix 15.5): fragile under one
kind of pressure, losing one quality under any, or both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from persona_panel.files.outputs import json_number
from persona_panel.graphs.framing import Contrast
from persona_panel.statistics.core.arrays import ROUNDING, Array, IntArray, mean_there
from persona_panel.statistics.core.estimate import LEVEL
from persona_panel.statistics.core.sampled_mean import sampled_mean
from persona_panel.statistics.core.significance import (
    binomial_interval,
    bounded_mean_p_values,
    holm,
    sign_flip_p_values,
)

ASYMMETRIC = 0.5
"""|Skewness| from which Δs are plainly asymmetric: the usual bound of "moderately skewed"."""
_STANDARD_ERRORS = 1.64
"""So many standard errors, too, √(6/n) of n normal values: with few Δs any skewness comes by
chance, and one Δ in ten of symmetric ones would be held for a collapse."""


@dataclass(frozen=True, slots=True)
class Asymmetry:
    """The skewness of n Δs about the means of their cells, above 0 where a few fall far; NaN where
    no cell has two different Δs."""

    skewness: float
    n: int

    @property
    def plain(self) -> bool:
        """Return whether the first test alone cannot be trusted."""
        least = max(ASYMMETRIC, _STANDARD_ERRORS * math.sqrt(6 / max(1, self.n)))
        return abs(self.skewness) >= least

    def document(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {"skewness": json_number(self.skewness), "plain": self.plain}


def asymmetry_of(columns: Array, dimensions: IntArray) -> Asymmetry:
    """Return the skewness of all Δs of a sweep, `(prompts, cells)`, NaN where there is none;
    `dimensions` `(cells,)` is the place of each cell's dimension: Δs of other scales are brought to
    the same spread."""
    apart = columns - mean_there(columns, 0)
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
    """Return p-values, adjusted by Holm, of the cells whose mean may be opposite to rare, large
    changes; NaN elsewhere. `columns` and `dimensions` are as of `asymmetry_of`, `spans` `(cells,)`
    is how far a Δ can be from 0.

    These are cells whose mean lies opposite to the longer tail, where all Δs or those of the cell
    by themselves are plainly asymmetric: p-values then allow that any prompt changes as far on its
    scale, against the cell's mean, as any prompt of the sweep did from the mean of its cell, or as
    far as one of this cell in either direction.
    """
    means = mean_there(columns, 0)
    there = ~np.isnan(columns)
    # The side opposite to a cell's mean.
    side = -np.sign(means)
    plain = np.array([_opposite(asymmetry, sign) for sign in side])
    own = [asymmetry_of(columns[:, [c]], dimensions[[c]]) for c in range(columns.shape[1])]
    plain |= [_opposite(each, sign) for each, sign in zip(own, side, strict=True)]
    if not plain.any():
        return np.full(columns.shape[1], np.nan)
    bounds = np.where(there, np.abs(columns), 0.0).max(axis=0, initial=0.0)
    for sign in (-1, 1):
        # As a share of the scale: a change that no prompt has on this dimension may occur on
        # others.
        farthest = np.where(there, (columns - means) * sign / spans, -np.inf).max(initial=0.0)
        turned = side == sign
        bounds[turned] = np.maximum(bounds, farthest * spans)[turned]
    return np.where(plain, holm(bounded_mean_p_values(columns, bounds)), np.nan)


def _opposite(asymmetry: Asymmetry, side: float) -> bool:
    """Return whether the longer tail of plainly asymmetric Δs is on this side, 1 or −1."""
    return asymmetry.plain and asymmetry.skewness * side > 0


THRESHOLD = 1.2
"""|Δ| from which a cell is strong: where SCRuB's heatmap (figure 10) draws bold borders."""
LARGE = 1 / 3
"""The share of a scale's length from which the Δ of one prompt is a large fall or rise."""
FEWEST = 2
"""The fewest prompts with which a Δ can be significant."""
_FEW = 6
"""So many prompts have at most 64 patterns of signs; up to five show nothing."""
_PERMUTATIONS = 9_999
_SCRUB_LENGTH = 9.0

Counts = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Names:
    """The names along the axes of a sweep's arrays; `conditions` are the framed ones."""

    systems: tuple[str, ...]
    prompts: tuple[str, ...]
    conditions: tuple[str, ...]
    dimensions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over prompts, in points of the scale.

    The 95 % interval is Student's over `n_pairs` prompts, NaN below two and where all have the same
    value. `p_value` is two-sided, Student's where one mean is tested or there are at most six
    prompts, else of flipped signs, as where all have the same value: these take values that are as
    likely to have either sign where nothing has an effect. `p_max_t` is adjusted for all that is
    tested beside it, Student's by Holm. `p_bounded` (by Holm) does without symmetry: it is there
    where the values of the sweep, or of the cell, are plainly asymmetric and the mean lies opposite
    to the longer tail. `n_above` prompts lie above 0 and `n_below` below it. NaN below two prompts
    is `sd` (n − 1). `effect_size` is Cohen's d of paired differences: the mean over `sd`, NaN where
    that is 0 or undefined.
    """

    value: float
    ci_low: float
    ci_high: float
    p_value: float
    p_max_t: float
    p_bounded: float | None
    sd: float
    effect_size: float
    n_pairs: int
    n_above: int = 0
    n_below: int = 0

    @property
    def p_claim(self) -> float:
        """Return the adjusted p-value of the claim: where there is a second test, both have to be
        significant."""
        return self.p_max_t if self.p_bounded is None else max(self.p_max_t, self.p_bounded)

    @property
    def shown(self) -> bool:
        """Return whether the adjusted tests and the interval, if there is one, exclude 0."""
        return self.p_claim < LEVEL and not self.ci_low <= 0 <= self.ci_high


@dataclass(frozen=True, slots=True)
class Cell:
    """Δ of one dimension under one condition for one system, of `delta.n_pairs` prompts.
    `n_abstained` counts the pairs of judgments (one judge and prompt) of which one calls the
    response an abstention; `n_missing` those that lack one. `n_fell` and `n_rose` prompts have a Δ
    of `large` points or more, and of −`large` or less."""

    system: str
    dimension: str
    condition: str
    delta: Mean
    n_abstained: int
    n_missing: int
    n_fell: int
    n_rose: int
    large: float
    threshold: float

    @property
    def strong(self) -> bool:
        """Return whether |Δ| reaches the threshold, regardless of its uncertainty."""
        # Rounded, as the last bit of a sum must not decide.
        return round(abs(self.delta.value), 9) >= self.threshold

    @property
    def fell_ci(self) -> tuple[float, float]:
        """Return the exact 95 % interval of the share of prompts that fall by `large` points or
        more."""
        return binomial_interval(self.n_fell, self.delta.n_pairs)


@dataclass(frozen=True, slots=True)
class Gap:
    """The difference between a dimension's degradation under two groups of conditions."""

    system: str
    contrast: Contrast
    dimension: str
    gap: Mean


@dataclass(frozen=True, slots=True)
class CompositeDelta:
    """The mean over dimensions of the Δs of one condition, for one system; it is not tested."""

    system: str
    condition: str
    value: float
    ci_low: float
    ci_high: float
    n_pairs: int


@dataclass(frozen=True, slots=True)
class Measured:
    """All figures that are computed from the Δs of a sweep. `asymmetry` is that of the cells' Δs,
    `gap_asymmetry` that of the gaps."""

    cells: tuple[Cell, ...]
    gaps: tuple[Gap, ...]
    composites: tuple[CompositeDelta, ...]
    asymmetry: Asymmetry
    gap_asymmetry: Asymmetry


def measure(
    delta: Array,
    names: Names,
    n_abstained: Counts,
    n_missing: Counts,
    contrasts: Sequence[Contrast] = (),
    *,
    threshold: float = THRESHOLD,
    lengths: Sequence[float] = (),
    seed: int = 0,
) -> Measured:
    """Compute the cells, gaps and composites of a sweep from Δs `(systems, prompts, conditions,
    dimensions)`, NaN where there is none, and the counts of pairs `(systems, prompts, conditions)`;
    `lengths` are those of the dimensions' scales, in points [9, SCRuB's, for all].

    p-values are adjusted over all cells of the sweep and, apart from them, over all gaps: in each
    of the two, at most 5 % of sweeps without an effect show one. Where the Δs of the sweep
    plainly are not symmetric, what is opposite to the longer tail has to pass the test of
    `bounded_p_values` as well.
    `python -m benchmarks.independent.sweeps` measures both how often it claims what is not so and
    how often what is.
    """
    systems, prompts, conditions, dimensions = delta.shape
    # (prompts, tests), a test for each system, dimension and condition.
    columns = delta.transpose(1, 0, 3, 2).reshape(prompts, systems * dimensions * conditions)
    keys = [(s, d, c) for s in range(systems) for d in range(dimensions) for c in range(conditions)]
    spans = np.array(lengths or [_SCRUB_LENGTH] * dimensions, dtype=np.float64)
    large = LARGE * spans
    # Of a gap in the data neither comparison holds. The last bit of a mean must not decide.
    points = np.round(delta, 9)
    n_fell, n_rose = ((side * points >= large).sum(axis=1) for side in (1, -1))
    places: IntArray = np.array([d for _, d, _ in keys], dtype=np.intp)
    cell_means, asymmetry = means(columns, places, spans[places], seed)
    cells = tuple(
        Cell(
            names.systems[s], names.dimensions[d], names.conditions[c], mean,
            int(n_abstained[s, :, c].sum()), int(n_missing[s, :, c].sum()),
            int(n_fell[s, c, d]), int(n_rose[s, c, d]), float(large[d]), threshold,
        )
        for (s, d, c), mean in zip(keys, cell_means, strict=True)
    )  # fmt: skip
    gaps, gap_asymmetry = _gaps(delta, names, contrasts, 2 * spans, seed)
    return Measured(cells, gaps, _composites(delta, names), asymmetry, gap_asymmetry)


def means(
    columns: Array, places: IntArray, spans: Array, seed: int
) -> tuple[list[Mean], Asymmetry]:
    """Return the mean of each column `(prompts, tests)` with its interval and adjusted p-values,
    and the asymmetry of all columns; `places` has the index of each column's dimension, `spans` the
    largest possible distance of a value from 0."""
    asymmetry = asymmetry_of(columns, places)
    bounded = bounded_p_values(columns, places, asymmetry, spans)
    p_values, adjusted = sign_flip_p_values(columns, n_permutations=_PERMUTATIONS, seed=seed)
    sampled = [sampled_mean(column) for column in columns.T]
    tested = [mean.n_prompts for mean in sampled if mean.n_prompts > 1]
    if len(tested) == 1 or max(tested, default=0) <= _FEW:
        by_t = np.array([mean.p_value for mean in sampled])
        p_values = np.where(np.isnan(by_t), p_values, by_t)
        # Where all prompts have the same value there is no t.
        adjusted = np.where(np.isnan(by_t), adjusted, holm(p_values))
    # The last bit of a mean must not decide. Of a gap in the data neither comparison holds.
    n_above, n_below = (columns > ROUNDING).sum(axis=0), (columns < -ROUNDING).sum(axis=0)
    all_means = []
    for test, (column, mean, p, p_max_t, p_bounded) in enumerate(
        zip(columns.T, sampled, p_values, adjusted, bounded, strict=True)
    ):
        kept = column[~np.isnan(column)]
        sd = float(kept.std(ddof=1)) if len(kept) > 1 else math.nan
        # A spread that is only rounding is none.
        size = mean.mean / sd if sd > ROUNDING else math.nan
        also = None if math.isnan(p_bounded) else float(p_bounded)
        all_means.append(
            Mean(
                mean.mean, *mean.interval(), float(p), float(p_max_t), also, sd, size, len(kept),
                int(n_above[test]), int(n_below[test]),
            )
        )  # fmt: skip
    return all_means, asymmetry


def _gaps(
    delta: Array, names: Names, contrasts: Sequence[Contrast], spans: Array, seed: int
) -> tuple[tuple[Gap, ...], Asymmetry]:
    place = {name: c for c, name in enumerate(names.conditions)}
    known = [
        contrast for contrast in contrasts if {*contrast.plus, *contrast.minus} <= place.keys()
    ]
    keys, columns = [], []
    for s, system in enumerate(names.systems):
        for contrast in known:
            plus = delta[s][:, [place[name] for name in contrast.plus]].mean(axis=1)
            minus = delta[s][:, [place[name] for name in contrast.minus]].mean(axis=1)
            for d, dimension in enumerate(names.dimensions):
                keys.append((system, contrast, dimension))
                columns.append((plus - minus)[:, d])
    if not keys:
        return (), Asymmetry(math.nan, 0)
    places = np.array([names.dimensions.index(dimension) for _, _, dimension in keys])
    gap_means, asymmetry = means(np.stack(columns, axis=1), places, spans[places], seed)
    return tuple(Gap(*key, gap) for key, gap in zip(keys, gap_means, strict=True)), asymmetry


def _composites(delta: Array, names: Names) -> tuple[CompositeDelta, ...]:
    composites = []
    for s, system in enumerate(names.systems):
        for c, condition in enumerate(names.conditions):
            values = delta[s, :, c].mean(axis=1)
            kept = values[~np.isnan(values)]
            value = float(kept.mean()) if len(kept) else math.nan
            composites.append(
                CompositeDelta(system, condition, value, *sampled_mean(kept).interval(), len(kept))
            )
    return tuple(composites)


Kind = Literal[
    "nothing measured", "none shown", "one cell", "one condition", "one dimension", "several"
]


@dataclass(frozen=True, slots=True)
class SweepLabels:
    """Labels of dimensions and conditions, by their ids; an id without a label stands for
    itself."""

    dimensions: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)

    def dimension(self, name: str) -> str:
        return self.dimensions.get(name, name)

    def condition(self, name: str) -> str:
        return self.conditions.get(name, name)

    def of(self, cell: Cell) -> str:
        """Return a cell's dimension and condition in words."""
        return f"{self.dimension(cell.dimension)} under {self.condition(cell.condition)}"


@dataclass(frozen=True, slots=True)
class Profile:
    """One system's vulnerabilities: the cells with a claim, the largest |Δ| first. `kind`,
    `conditions` and `dimensions` describe the degraded cells other than the placebo's; `rewording`:
    the placebo degrades something, too, so that what looks like pressure may be mere rewording."""

    system: str
    kind: Kind
    conditions: tuple[str, ...]
    dimensions: tuple[str, ...]
    degraded: tuple[Cell, ...]
    improved: tuple[Cell, ...]
    rewording: bool

    def in_words(self, labels: SweepLabels) -> str:
        """Return the profile in a few words."""
        conditions = " and ".join(map(labels.condition, self.conditions))
        dimensions = " and ".join(map(labels.dimension, self.dimensions))
        match self.kind:
            case "nothing measured":
                return "nothing could be measured"
            case "none shown":
                of = " but under mere rewording" if self.rewording else ""
                return f"no significant degradation{of}"
            case "one cell":
                return f"degrades in {dimensions} under {conditions}"
            case "one condition":
                return f"degrades in several dimensions under {conditions}"
            case "one dimension":
                return f"degrades in {dimensions} under several conditions"
            case "several":
                return "degrades in several dimensions under several conditions"


def profiles(cells: Sequence[Cell], systems: Sequence[str], placebo: str | None) -> list[Profile]:
    """Return each system's profile, in the order of `systems`."""
    every = []
    for system in systems:
        own = [cell for cell in cells if cell.system == system]
        measured = any(cell.delta.n_pairs for cell in own)
        shown = sorted(
            (cell for cell in own if cell.delta.shown), key=lambda cell: -abs(cell.delta.value)
        )
        degraded = tuple(cell for cell in shown if cell.delta.value > 0)
        pressed = [cell for cell in degraded if cell.condition != placebo]
        conditions = tuple(dict.fromkeys(cell.condition for cell in pressed))
        dimensions = tuple(dict.fromkeys(cell.dimension for cell in pressed))
        improved = tuple(cell for cell in shown if cell.delta.value < 0)
        kind: Kind = "several" if len(dimensions) > 1 else "one dimension"
        if len(conditions) < 2:
            kind = "one condition" if len(dimensions) > 1 else "one cell"
        if not conditions:
            kind = "none shown" if measured else "nothing measured"
        rewording = len(pressed) < len(degraded)
        every.append(Profile(system, kind, conditions, dimensions, degraded, improved, rewording))
    return every
