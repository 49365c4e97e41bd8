"""The G-study and the D-study of generalizability theory: variance components, and other designs.

All factors are random and crossed; nothing needs to be balanced. Sources: C. R. Henderson (1953),
"Estimation of variance and covariance components", method 1; L. J. Cronbach et al. (1972), *The
Dependability of Behavioral Measurements*; R. L. Brennan (2001), *Generalizability Theory*, sections
3.4, 4 and 7.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import nan, prod, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core import special
from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Reason,
    as_scores,
    check_choice,
    encode_labels,
    group_count,
)
from persona_panel.statistics.core.estimate import POWER
from persona_panel.statistics.core.jackknife import LEAST_JUDGES

RESIDUAL = "residual"
BETWEEN = ":"
"""Stands between the factors in the name of an interaction."""


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """The estimates of a G-study.

    Attributes:
        variances: by effect, in the squared unit of the scores: each factor (`item`), each
            interaction (`item:persona`) and `residual`; unbiased and so sometimes below zero, NaN
            for what the design does not identify.
        shares: of their sum, with those below zero taken as zero.
        levels: how many levels each factor has.
        unidentified: why an effect has no variance of its own. The interaction of all factors is in
            the residual where no cell has several scores.
        replicates: how many scores the cells of all factors have, on average.
        reason: why all variances are NaN, None where they are not.
    """

    variances: Mapping[str, float]
    shares: Mapping[str, float]
    levels: Mapping[str, int]
    unidentified: Mapping[str, Reason] = field(default_factory=dict)
    replicates: float = 1.0
    reason: Reason | None = None


def variance_components(scores: ArrayLike, factors: Mapping[str, Labels]) -> VarianceComponents:
    """Estimate the variance of scores due to each factor and to each of their interactions.

    How to read it: a large share of items means that judges see the same differences (with one
    factor for the judges it is ICC(2,1)).

    Args:
        scores: `(scores,)`, one entry a rating, NaN where missing.
        factors: by name, a label a rating: which item, which persona, which model. Ratings
            with the same labels are replicates.

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
    levels = {name: group_count(code) for name, code in codes.items()}
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
        return VarianceComponents(variances, shares, levels, unidentified, replicates, reason)

    if len(values) < 2 or np.ptp(values) == 0:
        return components({}, Reason.NO_VARIANCE)
    coefficients, sums = _equations(values, cells, kept)
    if np.linalg.matrix_rank(coefficients) < len(sums):
        return components({}, Reason.NO_ERROR_TERM)
    solution = np.linalg.solve(coefficients, sums)
    names = (*(_named([varying[place] for place in effect]) for effect in kept), RESIDUAL)
    return components(dict(zip(names, map(float, solution), strict=True)), None)


_Cells = Mapping[tuple[int, ...], tuple[IntArray, Array]]


def _named(effect: Sequence[str]) -> str:
    return BETWEEN.join(effect)


def _effects(factors: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    return [effect for n in range(1, len(factors) + 1) for effect in combinations(factors, n)]


def _cells(factors: Sequence[IntArray], n: int) -> _Cells:
    """Return, for each effect and `()`, the cell of each score and the size of each cell."""
    cell_of: dict[tuple[int, ...], tuple[IntArray, Array]] = {
        (): (np.zeros(n, dtype=np.intp), np.array([float(n)])[: min(n, 1)])
    }
    for effect in _effects(tuple(range(len(factors)))):
        before, last = cell_of[effect[:-1]][0], factors[effect[-1]]
        joined = before * group_count(last) + last
        _, codes, sizes = np.unique(joined, return_inverse=True, return_counts=True)
        cell_of[effect] = codes, sizes.astype(np.float64)
    return cell_of


def _equations(
    values: Array, cells: _Cells, effects: Sequence[tuple[int, ...]]
) -> tuple[Array, Array]:
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
    """Return Σ over the cells of both effects together of n_ab² / nₐ."""
    codes, sizes = cells[tuple(sorted({*effect, *other}))]
    within, of = cells[effect]
    of_cell = np.empty(len(sizes), dtype=np.intp)
    of_cell[codes] = within
    return float(np.sum(sizes**2 / of[of_cell]))


PROMPT = "prompt"
"""The facet of what systems answered; all facets but this one are of judges."""
REPLICATE = "replicate"
"""The facet of repeated ratings by the same judge."""
_QUANTILE = 0.975
LEAST_DF = 3
"""Degrees of freedom below which no width is forecast: Student's t varies so much from one sample
to the next that the expected width is far above what most samples give."""

Goal = Literal["width", "difference"]
"""The goal of a design: an interval of a mean at most this wide, from end to end, or a detectable
difference of two means this small."""

Levels = Mapping[str, int]
"""The number of conditions of each facet: 8 prompts, 10 personas, 3 models."""


@dataclass(frozen=True, slots=True)
class DStudy:
    """The precision of means of a design.

    Attributes:
        levels: how many conditions it has of each facet.
        n_ratings: how many ratings of judges a mean takes.
        absolute_error: the standard error of a mean as an estimate of the mean over all such
            conditions, in points.
        relative_error: the same of its distance from the others' means: what moves all alike is no
            error. Two of them differ with √2 times this standard error.
        dependability: Φ, the share of the variance of means that is not absolute error, 0 to 1.
        generalizability: Eρ², the same for relative error; for rankings.
        error_shares: each component's share of the absolute error variance, the largest first;
            empty where there is no error.
        width: from end to end, of the 95 % interval of a mean over prompts and judges that can be
            expected (`sampled_mean` with judges as a sample), in points.
        detectable: the smallest true difference of two means whose interval, over prompts and
            judges, leaves out 0 with 80 % power: (t of the confidence + t of the power) standard
            errors (J. Cohen 1988, *Statistical Power Analysis*, section 2.4).

    Relative error and the two coefficients are NaN where the objects of measurement have one level,
    or (the coefficients) nothing varies; width and detectable difference without several prompts,
    with fewer than five judges, with one condition of a facet of which the G-study had several, and
    with fewer than three degrees of freedom.
    """

    levels: Levels
    n_ratings: int
    absolute_error: float
    relative_error: float
    dependability: float
    generalizability: float
    error_shares: Mapping[str, float]
    width: float = nan
    detectable: float = nan


def d_study(components: VarianceComponents, measured: str, levels: Levels) -> DStudy:
    """Return the precision of a design with these numbers of conditions of each facet.

    How to read it: twice the personas on the same models divides what personas bring by two, and
    leaves what models bring. Figures of one model say nothing of others.

    Args:
        components: of a G-study that was defined.
        measured: the factor whose levels are measured: `item`, or `system`.
        levels: how many conditions of each other factor and of `replicate`, 1 or more; what is not
            named has 1.

    >>> variances = {"system": 1.0, "prompt": 0.4, "rater": 0.2, "residual": 0.6}
    >>> found = VarianceComponents(variances, {}, {"system": 4, "prompt": 9, "rater": 5})
    >>> design = d_study(found, "system", {"prompt": 9, "rater": 5})
    >>> round(design.dependability, 3), round(design.width, 2), round(design.detectable, 2)
    (0.911, 1.47, 0.71)
    """
    terms = _terms(components, measured, levels)
    sizes = {facet: np.float64(n) for facet, n in levels.items()}
    parts = {term.name: float(term.over(sizes)) for term in terms}
    error = sum(parts.values())
    relative = sum(parts[term.name] for term in terms if term.relative)
    several = components.levels[measured] > 1
    own = max(components.variances.get(measured, nan), 0.0) if several else nan
    ordered = sorted(parts, key=lambda name: -parts[name])
    width = detectable = nan
    if PROMPT in levels and components.levels[PROMPT] > 1:
        width = 2 * float(_reaches(terms, sizes, False, _QUANTILE))
        if several:
            detectable = float(_reaches(terms, sizes, True, _QUANTILE, POWER))
    return DStudy(
        dict(levels),
        prod(levels.values()),
        sqrt(error),
        sqrt(relative) if several else nan,
        _share(own, error),
        _share(own, relative),
        {name: parts[name] / error for name in ordered} if error > 0 else {},
        width,
        detectable,
    )


def error_as_rated(
    components: VarianceComponents, measured: str, factors: Mapping[str, Labels], weights: Array
) -> float:
    """Return the absolute standard error of means as they were rated, where not every judge rated
    everything: the root of their mean variance.

    Args:
        factors: as for `variance_components`, a label a rating.
        weights: `(ratings,)`, the share of each in its mean, 0 of what is missing; a mean's add up
            to 1.
    """
    there = weights > 0
    codes = {name: encode_labels(of, len(weights))[1][there] for name, of in factors.items()}
    shares, variance = weights[there], 0.0
    for term in _terms(components, measured, {}):
        of_cells = shares
        if term.name != RESIDUAL:
            cells = np.stack([codes[name] for name in (measured, *term.facets)])
            _, places = np.unique(cells, axis=1, return_inverse=True)
            of_cells = np.bincount(places.ravel(), shares).astype(np.float64)
        variance += term.variance * float(np.sum(of_cells**2))
    return sqrt(variance / len(np.unique(codes[measured])))


def cheapest_design(
    components: VarianceComponents,
    measured: str,
    points: float,
    choices: Mapping[str, Sequence[int]],
    goal: Goal,
) -> Levels | None:
    """Return the design with the fewest ratings whose `goal` is at most so many points; of equally
    many, with fewest models, personas and so on, in the reverse order of `choices`, the numbers of
    conditions that may be had of each facet; None where no design does.
    """
    check_choice("goal", goal, Goal)
    if not points > 0:
        raise ValueError(f"a width, or a difference, is above 0, found {points}")
    facets = tuple(choices)
    grid = np.meshgrid(
        *(np.array(sorted(set(choices[facet])), dtype=np.float64) for facet in facets),
        indexing="ij",
    )
    sizes = {facet: each.ravel() for facet, each in zip(facets, grid, strict=True)}
    _terms(components, measured, {facet: int(each.min()) for facet, each in sizes.items()})
    most = {facet: int(each.max()) for facet, each in sizes.items()}
    terms = _terms(components, measured, most)
    reached = (
        2 * _reaches(terms, sizes, False, _QUANTILE)
        if goal == "width"
        else _reaches(terms, sizes, True, _QUANTILE, POWER)
    ) <= points
    if not reached.any():
        return None
    ratings = np.where(reached, np.prod(list(sizes.values()), axis=0), np.inf)
    # The last key is the first to be sorted by.
    place = np.lexsort([*sizes.values(), ratings])[0]
    return {facet: int(each[place]) for facet, each in sizes.items()}


@dataclass(frozen=True, slots=True)
class _Term:
    """A component as a part of the error: its variance, and what it is averaged over."""

    name: str
    variance: float
    facets: tuple[str, ...]
    relative: bool

    def over(self, sizes: _Sizes) -> Any:
        return self.variance / prod(sizes[facet] for facet in self.facets if facet in sizes)


_Sizes = Mapping[str, Any]
"""The number of conditions of each facet, of one design or of each of several `(designs,)`."""


def _terms(components: VarianceComponents, measured: str, levels: Levels) -> list[_Term]:
    factors = components.levels
    if components.reason is not None:
        raise ValueError(f"the variance components are undefined: {components.reason}")
    if unknown := {measured, *levels} - {*factors, REPLICATE}:
        raise ValueError(f"no such factor: {', '.join(sorted(unknown))}")
    if measured in levels or min(levels.values(), default=1) < 1:
        raise ValueError(
            "each facet has one condition or more, and what is measured is not a facet"
        )
    if alone := [name for name, n in levels.items() if n > 1 and factors.get(name, 2) < 2]:
        raise ValueError(f"one {alone[0]} says nothing of others")
    facets = tuple(name for name in factors if name != measured)
    highest = BETWEEN.join(name for name, n in factors.items() if n > 1)
    if levels.get(REPLICATE, 1) > 1 and highest in components.unidentified:
        raise ValueError("no cell has several ratings, which says nothing of replicates")
    terms = []
    for name, variance in components.variances.items():
        if np.isnan(variance) or name == measured:
            continue
        of = (*facets, REPLICATE) if name == RESIDUAL else tuple(name.split(BETWEEN))
        averaged = tuple(facet for facet in of if facet != measured)
        relative = name == RESIDUAL or measured in of
        terms.append(_Term(name, max(variance, 0.0), averaged, relative))
    return terms


def _share(own: float, error: float) -> float:
    return own / (own + error) if own + error > 0 else nan


def _reaches(terms: Sequence[_Term], sizes: _Sizes, difference: bool, *quantiles: float) -> Array:
    parts = [term for term in terms if term.relative or not difference]
    known = {facet for term in terms if term.name != RESIDUAL for facet in term.facets}
    if not {PROMPT} <= known & set(sizes):
        raise ValueError("an interval over prompts takes several of the factor 'prompt'")
    of_judges = [facet for facet in sizes if facet in known - {PROMPT}]
    sampled = [PROMPT, *of_judges]
    judges = prod(sizes[facet] for facet in of_judges)
    variances = [
        (2 if difference else 1) * sum(term.over(sizes) for term in parts if facet in term.facets)
        for facet in sampled
    ]
    dfs = [sizes[facet] - 1 for facet in sampled]
    with np.errstate(divide="ignore", invalid="ignore"):
        total = sum(variances)
        df = total**2 / sum(v**2 / n for v, n in zip(variances, dfs, strict=True))
        alone, together = (
            np.sqrt(variance)
            * np.sum([special.stdtrit(of, quantile) for quantile in quantiles], axis=0)
            for variance, of in ((variances[0], dfs[0]), (total, df))
        )
    possible = (judges >= LEAST_JUDGES) & (np.min(dfs, axis=0) > 0)
    # The wider of the two is the interval.
    possible &= np.where(alone > together, dfs[0], df) >= LEAST_DF
    return np.where(possible & (total > 0), np.fmax(alone, together), nan)
