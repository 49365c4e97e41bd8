"""Designs of a panel (G- and D-studies of ratings), and the share of the variance between raters.

Each dimension is studied by itself, and the composite as one score of each judge (R. L. Brennan
2001, *Generalizability Theory*, section 4.4).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, nan
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    Labels,
    Reason,
    Statistic,
    as_ratings,
    divide,
    encode_labels,
    has_ratings,
    means_by,
    row_means,
)
from persona_panel.statistics.core.display import COMPOSITE
from persona_panel.statistics.core.table import Ratings, ranges_differ
from persona_panel.statistics.generalizability import (
    BETWEEN,
    PROMPT,
    REPLICATE,
    RESIDUAL,
    DStudy,
    Goal,
    Levels,
    VarianceComponents,
    cheapest_design,
    d_study,
    error_as_rated,
    variance_components,
)

ITEM, SYSTEM = "item", "system"
RATER, GROUP = "rater", "group"
"""The facets of raters who are no run's judges; in groups, each group's mean is one rater."""
_MOST = {"persona": 30, "model": 10, RATER: 100, GROUP: 100, REPLICATE: 5}
"""The most conditions of each facet that the cheapest design may have, unless there are more
already."""
_MOST_PROMPTS = 10_000
LEAST_SAMPLED = 3
"""The fewest personas, models or raters that the cheapest design may have, where these are a
sample: two have one degree of freedom."""


@dataclass(frozen=True, slots=True)
class DesignStudy:
    """The G-study of one dimension and its D-study.

    Attributes:
        measured: whose means are studied: each `item`'s, or each `system`'s over prompts.
        dimension: or `composite`.
        components: of the G-study.
        designs: the present one first, then with half and twice as many conditions of each facet;
            none where `reason` says why. Where raters rated some responses each, the present one is
            of as many raters as rated a response (the harmonic mean), who rate all of them. No
            interval is wider than the scale, and what it does not allow is not detected.
        raters_each: how many raters' ratings one entry is the mean of.
        span: from the lowest to the highest value of the scale, where that is known.
        error_as_rated: where raters rated some responses each, the absolute standard error of the
            means as they are; else NaN.
    """

    measured: str
    dimension: str
    components: VarianceComponents
    designs: tuple[DStudy, ...] = ()
    reason: Reason | None = None
    raters_each: float = 1.0
    span: float = inf
    error_as_rated: float = nan

    @property
    def in_turn(self) -> tuple[str, int, int] | None:
        """Return, where raters rated some responses each, the noun for raters, how many rated a
        response, and how many there are."""
        if isnan(self.error_as_rated):
            return None
        facet = next(name for name in self.components.levels if name in (RATER, GROUP))
        return facet, self.designs[0].levels[facet], self.components.levels[facet]

    def cheapest(
        self,
        points: float,
        *,
        goal: Goal = "width",
        present_judges: bool = False,
        fewest_prompts: int = 2,
    ) -> DStudy | None:
        """Return the design with the fewest ratings that can be expected to be this precise: its
        95 % interval of a system's mean, over prompts and judges, is at most this wide, or it
        detects a difference of two systems this small with 80 % power. None where no design does,
        up to 10,000 prompts, 3 to 30 personas, 3 to 10 models (or 100 raters), and 5 replicates.

        Args:
            present_judges: whether only the number of prompts may change.
            fewest_prompts: of designs that are tried.
        """
        if self.measured != SYSTEM or not self.designs:
            raise ValueError("the interval of a system's mean takes a defined study of systems")

        def tried(facet: str, n: int) -> Sequence[int]:
            if facet == PROMPT:
                further = np.geomspace(100, _MOST_PROMPTS, 96).round().astype(int).tolist()
                every = sorted({*range(fewest_prompts, 101), *further, n})
                return [more for more in every if more >= fewest_prompts]
            single = facet != REPLICATE and self.components.levels[facet] < 2
            if present_judges or single:
                return [n]
            return range(1 if facet == REPLICATE else LEAST_SAMPLED, max(n, _MOST[facet]) + 1)

        choices = {facet: tried(facet, n) for facet, n in self.designs[0].levels.items()}
        levels = cheapest_design(self.components, SYSTEM, points, choices, goal)
        if levels is None:
            return None
        return _result(self.components, SYSTEM, levels, self.span, self.raters_each)


def design_studies(
    ratings: Ratings, composites: Array | None = None, composite_span: float = inf
) -> list[DesignStudy]:
    """Return the studies of responses, then of systems, the composite before each dimension that is
    rated by numbers.

    Items, systems, prompts and judges are random and crossed: of a run a judge is a persona through
    a model, else a rater; of several groups of raters each group's mean is one rater. Controls are
    left out. There are no studies of systems without sources and prompts.

    Args:
        composites: `(items, raters)`, each judge's composite of each item, NaN where missing; None:
            the mean over the dimensions.
        composite_span: between the lowest and the highest composite, where these are given.

    >>> scores = np.array([[1.0, 2], [2, 3], [3, 5]])[:, :, None]
    >>> ratings = Ratings(scores, ("a", "b", "c"), ("r", "s"), ("clarity",), ("human", "human"))
    >>> (study,) = design_studies(ratings)
    >>> for one in study.designs:
    ...     print(design_name(one.levels), round(one.dependability, 3))
    2 raters 0.75
    1 rater 0.6
    4 raters 0.857
    """
    raters = ratings.panel_columns
    grouped = rater_groups(ratings)
    each = len(raters) / len(grouped) if grouped else 1.0
    judges = {GROUP: list(grouped)} if grouped else ratings.judge_facets(raters)
    numeric = ratings.numeric()
    scored = {name: numeric.scores[:, raters, d] for d, name in enumerate(numeric.dimensions)}
    spans = {name: high - low for name, (low, high) in numeric.scales.items()}
    if composites is not None:
        scored = {COMPOSITE: composites[:, raters]} | scored
        spans[COMPOSITE] = composite_span
    elif (
        len(scored) > 1
        and COMPOSITE not in scored
        and not ranges_differ([numeric], numeric.dimensions)
    ):
        composite = numeric.composite().called(COMPOSITE)
        scored = {COMPOSITE: composite.scores[:, raters, 0]} | scored
        spans |= {name: high - low for name, (low, high) in composite.scales.items()}
    if grouped:
        places = [[raters.index(rater) for rater in those] for those in grouped.values()]
        scored = {
            name: np.stack([row_means(scores[:, those]) for those in places], axis=1)
            for name, scores in scored.items()
        }
    items: dict[str, Labels] = {ITEM: ratings.items}
    studies = [_study(ITEM, name, scores, items, judges, each) for name, scores in scored.items()]
    if ratings.sources is None or ratings.prompts is None:
        return studies
    pairs = list(zip(ratings.sources, ratings.prompts, strict=True))
    codes = encode_labels(pairs, len(pairs))[1]
    sources, prompts = zip(*dict.fromkeys(pairs), strict=True)
    rows: dict[str, Labels] = {SYSTEM: sources, PROMPT: prompts}
    return studies + [
        _study(SYSTEM, name, means_by(scores, codes), rows, judges, each, spans.get(name, inf))
        for name, scores in scored.items()
    ]


def rater_groups(ratings: Ratings) -> dict[str, list[int]]:
    """Return the columns of each group of raters who are not a run's judges; empty where there is
    one group, or each has one rater."""
    if ratings.personas is not None:
        return {}
    groups: dict[str, list[int]] = defaultdict(list)
    for column in ratings.panel_columns:
        groups[ratings.groups[column]].append(column)
    several = len(groups) > 1 and max(map(len, groups.values())) > 1
    return dict(groups) if several else {}


def design_name(levels: Levels) -> str:
    """Return a design in words.

    >>> design_name({"prompt": 8, "persona": 10, "model": 1, "replicate": 1})
    '8 prompts x 10 personas x 1 model'
    """
    return " x ".join(
        f"{n:,} {facet}{'s' if n != 1 else ''}"
        for facet, n in levels.items()
        if facet != REPLICATE or n > 1
    )


def _study(
    measured: str,
    dimension: str,
    scores: Array,
    rows: Mapping[str, Labels],
    columns: Mapping[str, Labels],
    each: float,
    span: float = inf,
) -> DesignStudy:
    """Study scores `(rows, columns)`, with a label of each row and column by factor."""
    factors = crossed_factors(scores.shape, rows, columns)
    components = variance_components(scores.ravel(), factors)
    if components.reason is not None:
        return DesignStudy(measured, dimension, components, reason=components.reason)
    levels, as_rated = present_levels(components, measured), nan
    # Every persona rates everything through every model; raters may take turns.
    if len(columns) == 1 and (n := scores_a_row(scores)) < levels[facet := next(iter(columns))]:
        levels[facet] = n
        there = ~np.isnan(scores)
        counts = there.sum(axis=1)
        codes = encode_labels(rows[measured], len(there))[1]
        of_measured = np.bincount(codes, counts > 0)[codes]
        each_row = divide(np.ones(len(there)), counts * of_measured)[:, None]
        weights = np.where(there, each_row, 0.0).ravel()
        as_rated = error_as_rated(components, measured, factors, weights)
    designs = designs_around(components, measured, levels)
    return DesignStudy(
        measured, dimension, components,
        tuple(_result(components, measured, design, span, each) for design in designs),
        raters_each=each, span=span, error_as_rated=as_rated,
    )  # fmt: skip


def scores_a_row(scores: Array) -> int:
    """Return the number of scores of a row: the harmonic mean over rows that have any, rounded, as
    the error of a mean is inversely proportional to their number."""
    counts = np.sum(~np.isnan(scores), axis=1)
    return round(1 / float(np.mean(1 / counts[counts > 0])))


def crossed_factors(
    shape: tuple[int, ...], rows: Mapping[str, Labels], columns: Mapping[str, Labels]
) -> dict[str, Labels]:
    """Return a label for each cell of a table of this shape, in the order of its rows, from those
    of its rows and columns."""
    of_rows = {name: encode_labels(labels, shape[0])[1] for name, labels in rows.items()}
    of_columns = {name: encode_labels(labels, shape[1])[1] for name, labels in columns.items()}
    return {
        **{name: codes.repeat(shape[1]) for name, codes in of_rows.items()},
        **{name: np.tile(codes, shape[0]) for name, codes in of_columns.items()},
    }


def present_levels(components: VarianceComponents, measured: str) -> dict[str, int]:
    """Return how many conditions of each facet the design of a G-study has."""
    levels = {name: n for name, n in components.levels.items() if name != measured}
    highest = BETWEEN.join(name for name, n in components.levels.items() if n > 1)
    if highest not in components.unidentified:
        levels[REPLICATE] = round(components.replicates)
    return levels


def designs_around(components: VarianceComponents, measured: str, present: Levels) -> list[Levels]:
    """Return the present design, and designs with half and twice as many conditions of each facet
    that has several."""
    designs = [present]
    for facet, n in present.items():
        if facet == REPLICATE or components.levels[facet] > 1:
            designs += [{**present, facet: max(1, n // 2)}, {**present, facet: 2 * n}]
    return [design for place, design in enumerate(designs) if design not in designs[:place]]


def _result(
    components: VarianceComponents, measured: str, levels: Levels, span: float, each: float
) -> DStudy:
    design = d_study(components, measured, levels)
    return replace(
        design,
        n_ratings=round(design.n_ratings * each),
        # As min() would not, np.minimum keeps NaN.
        width=float(np.minimum(design.width, span)),
        detectable=design.detectable if design.detectable <= span else nan,
    )


ComponentName = Literal["item", "rater", "residual"]


def variance_share(ratings: ArrayLike, raters: Labels, part: ComponentName) -> Statistic:
    """Return the share of the variance of ratings `(items, columns)` that is due to items, to
    raters, or to neither; the three, from 0 to 1, add up to 1.

    Args:
        raters: a label a column; columns of the same label are one rater, asked repeatedly.
        part: `rater` are differences between the raters' means; which rater likes which item is
            `residual`, with error, also where columns of a rater tell the two apart.

    >>> round(variance_share([[1, 2], [2, 3], [3, 4]], ["a", "b"], "item").value, 3)
    0.667
    """
    array = as_ratings(ratings)
    counted = has_ratings(array)
    factors = crossed_factors(array.shape, {ITEM: range(len(array))}, {RATER: raters})
    n_raters = len(np.unique(np.asarray(factors[RATER])[~np.isnan(array).ravel()]))
    components = variance_components(array.ravel(), factors)
    share, reason = components.shares[part], components.reason
    if part == RESIDUAL:
        # Of its own where raters were asked repeatedly; nothing else is left out.
        share = 1 - components.shares["item"] - components.shares["rater"]
    if n_raters < 2:
        reason = Reason.FEW_RATERS
    elif counted.sum() < 2:
        reason = Reason.FEW_ITEMS

    def resampled(weights: Array) -> Array:
        # A drawn item is an item of its own as often as it was drawn.
        drawn = (array[np.repeat(np.arange(len(array)), row.astype(np.intp))] for row in weights)
        return np.array([variance_share(those, raters, part).value for those in drawn])

    whole = Statistic(nan if reason else share, int(counted.sum()), n_raters, reason=reason)
    return whole.with_weights(resampled, counted, limits=(0.0, 1.0))
