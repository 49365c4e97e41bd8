"""Figures by stratum of items or raters, and tests of whether they differ between strata.

A stratum's figure is compared with the mean of the others. Its variance is the jackknife's over all
prompts, each left out of every stratum that has it; degrees of freedom are Satterthwaite's over the
sets of prompts in the same strata: Welch's t-test (B. L. Welch 1947, "The generalization of
'Student's' problem when several different population variances are involved") where strata share no
prompt, the paired t-test where they share all. `benchmarks/null_breakdowns.py` measures it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from math import ceil, nan, sqrt
from typing import Literal

import numpy as np

from persona_panel.statistics.core.arrays import (
    AnalysisOptions,
    Array,
    Labels,
    Reason,
    Statistic,
    encode_labels,
    undefined_everywhere,
    value_of,
)
from persona_panel.statistics.core.display import ALL
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.core.jackknife import (
    MOST_GROUPS,
    VariancePart,
    left_out_weights,
    standard_errors,
)
from persona_panel.statistics.core.means import critical_t, two_sided_p
from persona_panel.statistics.core.registry import (
    Block,
    BlockT,
    OnStep,
    Registry,
    adjust_over_dimensions,
    interval_of,
)
from persona_panel.statistics.core.sampled_mean import sampled_mean
from persona_panel.statistics.core.significance import holm_adjusted
from persona_panel.statistics.core.table import NO_PERSONA_GROUP, Ratings, Row

PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class Strata:
    """A grouping of items or raters by which ratings are broken down.

    Attributes:
        by: what the labels are: `prompt`, `source`, `persona`, `topic`.
        of: whose labels they are.
        labels: one an item, or one a rater, in the order of the ratings; None: in no stratum.
    """

    by: str
    of: Literal["items", "raters"]
    labels: Sequence[str | None]

    @classmethod
    def named(cls, ratings: Ratings, by: str) -> Strata:
        """Return the strata that ratings name themselves: `prompt` and `source` of items, `persona`
        and `model` (the raters' group) of raters; controls are in none.
        """
        of_items = {PROMPT: ratings.prompts, "source": ratings.sources}
        of_raters = {"persona": ratings.personas, "model": ratings.groups}
        if (labels := (of_items | of_raters).get(by)) is None:
            raise ValueError(f"these ratings name no {by}")
        return cls(by, "items" if by in of_items else "raters", labels)

    def parts(self, ratings: Ratings) -> Iterator[tuple[str, Ratings]]:
        """Yield each stratum, in order of appearance, with its ratings; within a prompt items have
        no prompt. Raises ValueError without one label an item, or a rater.

        >>> import numpy as np
        >>> ratings = Ratings(np.ones((2, 1, 1)), ("a", "b"), ("r",), ("d",), ("all",))
        >>> [(name, part.items) for name, part in Strata("topic", "items", "xy").parts(ratings)]
        [('x', ('a',)), ('y', ('b',))]
        """
        owners = ratings.items if self.of == "items" else ratings.raters
        if len(self.labels) != len(owners):
            raise ValueError(f"{len(self.labels)} labels for {len(owners)} {self.of}")
        if self.by == PROMPT:
            ratings = replace(ratings, prompts=None)
        for name in dict.fromkeys(self.labels):
            if name is None:
                continue
            kept = [place for place, label in enumerate(self.labels) if label == name]
            if self.of == "items":
                yield name, ratings.of_items(kept)
            elif own := {owners[place] for place in kept} - ratings.controls:
                yield name, ratings.by(own)


def all_raters_of(ratings: Ratings) -> tuple[str, list[int]]:
    """Return the group of all raters that are no controls, and their columns."""
    groups = ratings.raters_by_group()
    name = [name for name in groups if not name.endswith(NO_PERSONA_GROUP)][-1]
    return name, groups[name]


_NONE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class StratumFigure:
    """A figure of a stratum, NaN where there is none, and what it is without each of its prompts;
    `reason` says why the stratum has no interval, so that it is compared with no other."""

    value: float
    without: Mapping[Hashable, float]
    reason: Reason | None = None

    @classmethod
    def mean(cls, scores: Array, prompts: Labels) -> StratumFigure:
        """Return the mean over prompts of a stratum's scores `(prompts,)`, NaN where there is none;
        at least two prompts."""
        mean, there = sampled_mean(scores), ~np.isnan(scores)
        if mean.reason is not None:
            return cls(mean.mean, {}, mean.reason)
        own = scores[there]
        left_out = (own.sum() - own) / (len(own) - 1)
        return cls(mean.mean, dict(zip(compress(prompts, there), left_out.tolist(), strict=True)))


def stratum_differences(figures: Sequence[tuple[str, StratumFigure]]) -> list[Difference]:
    """Return how far each stratum, side `a`, is above the mean of the others, over prompts; of two
    strata that can be compared only the first's, as the second's is the same with the other sign.
    """
    compared = {name: figure for name, figure in figures if figure.reason is None}
    moved, patterns = _moved([*compared.values()])
    values = np.array([figure.value for figure in compared.values()])
    differences, n = [], len(compared)
    for name, figure in figures:
        if figure.reason is not None:
            differences.append(undefined_difference(name, figure.reason))
        elif n < 2:
            differences.append(undefined_difference(name, Reason.ONE_STRATUM))
        elif n > 2 or name == next(iter(compared)):
            weights = np.full(n, -1 / (n - 1))
            weights[list(compared).index(name)] = 1.0
            differences.append(_tested(name, float(weights @ values), moved @ weights, patterns))
    return differences


def undefined_difference(stratum: str, reason: Reason) -> Difference:
    """Return the difference of a stratum that cannot be compared."""
    return Difference(nan, over="prompts", n=0, reason=reason, a=stratum)


def _moved(figures: Sequence[StratumFigure]) -> tuple[Array, Labels]:
    """Return how far each prompt moves each figure `(prompts, strata)`, and each one's strata."""
    prompts = list(dict.fromkeys(prompt for figure in figures for prompt in figure.without))
    moved = np.zeros((len(prompts), len(figures)))
    for column, figure in enumerate(figures):
        own = np.array(list(figure.without.values()))
        scaled = (own - own.mean()) * sqrt((len(own) - 1) / len(own)) if len(own) else own
        by_prompt = dict(zip(figure.without, scaled, strict=True))
        moved[:, column] = [by_prompt.get(prompt, 0.0) for prompt in prompts]
    return moved, [tuple(prompt in figure.without for figure in figures) for prompt in prompts]


def _tested(name: str, difference: float, moved: Array, patterns: Labels) -> Difference:
    names, codes = encode_labels(patterns, len(moved))
    dfs = np.maximum(np.bincount(codes, minlength=len(names)) - 1, 1)
    variances = np.bincount(codes, moved**2, len(names))
    if np.isnan(variances).any():
        return undefined_difference(name, Reason.UNDEFINED_WITHOUT_ONE)
    error, df = standard_errors([*map(VariancePart, variances.tolist(), dfs.tolist())])[-1]
    if error <= _NONE * max(1.0, abs(difference)):
        return undefined_difference(name, Reason.NO_SPREAD)
    reach = error * critical_t(df)
    return Difference(
        difference, difference - reach, difference + reach, over="prompts", n=len(moved),
        p=two_sided_p(difference / error, df), df=df, a=name,
    )  # fmt: skip


LESS_OTHERS = ", less the mean of the others"

StratumPart = tuple[str | None, BlockT, str, str]
"""A stratum, None where there are none; a block to measure; its group and dimension."""


def parts_of(
    ratings: Ratings,
    strata: Strata | None,
    blocks: Callable[[Ratings], Iterable[tuple[BlockT, str, str]]],
) -> list[StratumPart[BlockT]]:
    """Return the `blocks` of ratings, or those of each stratum, group by group."""
    if strata is None:
        return [(None, *block) for block in blocks(ratings)]
    every = [(name, *block) for name, own in strata.parts(ratings) for block in blocks(own)]
    groups = list(dict.fromkeys(group for _, _, group, _ in every))
    return sorted(every, key=lambda part: groups.index(part[2]))


def stratum_rows(
    registry: Registry[BlockT],
    parts: Sequence[StratumPart[BlockT]],
    strata: Strata | None,
    on_step: OnStep | None = None,
    only: Collection[str] | None = None,
) -> list[Row]:
    """Return the rows of every statistic of each block, those of the composite first, with p-values
    adjusted over dimensions, and over strata where there are any; see `adjust_over_dimensions`.
    `on_step` and `only` are as for `Registry.rows_of_all`."""
    rows_by_part = registry.rows_of_all([part[1:] for part in parts], on_step, only)
    composite: list[Row] = []
    dimensions: list[Row] = []
    for (stratum, block, _, _), rows in zip(parts, rows_by_part, strict=True):
        if strata is not None:
            rows = [replace(row, by=strata.by, by_value=stratum) for row in rows if row.by is None]
        (composite if block.of == "composite" else dimensions).extend(rows)
    return adjust_over_dimensions(dimensions, composite, over_strata=strata is not None)


def difference_rows(
    registry: Registry[BlockT],
    parts: Sequence[StratumPart[BlockT]],
    ratings: Ratings,
    strata: Strata | None,
) -> list[Row]:
    """Return how far each stratum is above the mean of the others, on every statistic of the tables
    that groups of raters have, of all raters together; a stratum without an interval has no value
    but a reason. Without strata, dimensions are compared with each other. Of `parts`, what is drawn
    for p-values is not needed."""
    of_raters = strata is not None and strata.of == "raters"
    group = ALL if of_raters else all_raters_of(ratings)[0]
    compared = [
        (dimension, ALL, block) if stratum is None else (stratum, dimension, block)
        for stratum, block, own, dimension in parts
        if own == group and (stratum is not None or block.of == "dimension")
    ]
    by = strata.by if strata else "dimension"
    clusters = _clusters([block for _, _, block in compared])
    figures: dict[str, dict[str, list[tuple[str, StratumFigure]]]] = defaultdict(dict)
    for (stratum, dimension, block), own in zip(compared, clusters, strict=True):
        for name, result in registry.results(block):
            by_stratum = figures[name].setdefault(dimension, [])
            by_stratum.append((stratum, _figure(result, own, block)))
    rows = []
    for name, dimensions in figures.items():
        each = [
            (dimension, difference)
            for dimension, those in dimensions.items()
            for difference in stratum_differences(those)
        ]
        adjusted = holm_adjusted([difference for _, difference in each])
        n_tests = sum(difference.reason is None for difference in adjusted)
        rows += [
            _row(name, group, dimension, by, difference, n_tests)
            for (dimension, _), difference in zip(each, adjusted, strict=True)
        ]
    return rows


def broken_down_by(rows: Iterable[Row]) -> str | None:
    """Return the name of the strata that the rows have differences of; None where there are
    none."""
    breakdowns = (row.by for row in rows if row.by is not None and row.by.endswith(LESS_OTHERS))
    return next((by.removesuffix(LESS_OTHERS) for by in breakdowns), None)


def without_permutations(options: AnalysisOptions) -> AnalysisOptions:
    """Return options for blocks that need only intervals over prompts."""
    return replace(options, n_permutations=0, random="prompts", intervals=True)


def _row(
    name: str, group: str, dimension: str, by: str, difference: Difference, n_tests: int
) -> Row:
    there = difference.reason is None
    return Row(
        name, group, dimension, by=f"{by}{LESS_OTHERS}", by_value=difference.a,
        value=difference.value, ci_low=difference.low, ci_high=difference.high,
        ci_over="prompts" if there else None, ci_df=difference.df,
        n_clusters=difference.n if there else None, p_value=difference.p_adjusted,
        p_raw=difference.p, n_tests=n_tests if there else 0,
        adjusted_over="strata and dimensions" if there and n_tests > 1 else None,
        reason=None if difference.reason is None else Reason(difference.reason),
    )  # fmt: skip


def _figure(statistic: Statistic, clusters: Labels, block: Block) -> StratumFigure:
    if statistic.reason is not None:
        return StratumFigure(nan, {}, statistic.reason)
    interval = interval_of(statistic, clusters, block.options)
    if (
        interval is None
        or interval.reason is not None
        or statistic.resampled is undefined_everywhere
    ):
        return StratumFigure(statistic.value, {}, interval.reason if interval else Reason.NO_SPREAD)
    names, codes = encode_labels(clusters, len(clusters))
    # Computed from weights, too: the value of some statistics is another estimate.
    without = statistic.resampled(left_out_weights(codes, len(names))).tolist()
    value = value_of(statistic.resampled, len(clusters))
    # A prompt without which a mean of prompts is what it was has no part in it.
    entering = {
        name: left
        for name, left in zip(names, without, strict=True)
        if not abs(left - value) <= _NONE * max(1.0, abs(value))
    }
    return StratumFigure(value, entering)


def _clusters(blocks: Sequence[Block]) -> list[list[Hashable]]:
    clusters_of = [list(block.clusters) for block in blocks]
    where: dict[Hashable, list[int]] = defaultdict(list)
    for place, own in enumerate(clusters_of):
        for cluster in dict.fromkeys(own):
            where[cluster].append(place)
    if len(where) <= MOST_GROUPS:
        return clusters_of
    patterns: dict[tuple[int, ...], list[Hashable]] = defaultdict(list)
    for cluster, places in where.items():
        patterns[tuple(places)].append(cluster)
    group: dict[Hashable, Hashable] = {}
    for number, clusters in enumerate(patterns.values()):
        n = min(len(clusters), max(2, ceil(MOST_GROUPS * len(clusters) / len(where))))
        dealt = np.random.default_rng(number).permutation(np.arange(len(clusters)) % n)
        group |= {cluster: (number, int(k)) for cluster, k in zip(clusters, dealt, strict=True)}
    return [[group[cluster] for cluster in own] for own in clusters_of]
