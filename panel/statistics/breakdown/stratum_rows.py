"""The statistics of a registry by stratum, and how strata differ on them, as rows.

The `by` of a difference is what strata are, with `LESS_OTHERS` behind it, and its `by_value` the
stratum. Holm's correction is over all strata and dimensions of a statistic, the composite among
these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from math import ceil, nan

import numpy as np

from persona_panel.statistics.breakdown.stratum_differences import (
    StratumDifference,
    StratumFigure,
    stratum_differences,
)
from persona_panel.statistics.core.arrays import Labels, encode_labels, unit_weights
from persona_panel.statistics.core.holm import holm
from persona_panel.statistics.core.names import ALL
from persona_panel.statistics.core.options import AnalysisOptions
from persona_panel.statistics.core.registry import Block, BlockT, OnStep, Registry
from persona_panel.statistics.core.results import BlockResult, adjust_over_dimensions, interval_of
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.core.table import Row
from persona_panel.statistics.resampling.jackknife import MOST_GROUPS
from persona_panel.statistics.resampling.weights import left_out_weights

LESS_OTHERS = ", less the mean of the others"


def stratum_rows(
    registry: Registry[BlockT],
    parts: Sequence[tuple[str | None, BlockT, str, str]],
    by: str | None,
    on_step: OnStep | None = None,
    only: Collection[str] | None = None,
) -> list[Row]:
    """The rows of every statistic of each block, those of the composite first, with p-values
    adjusted over dimensions, and over strata where there are any; see `adjust_over_dimensions`.

    Args:
        parts: blocks, each with its stratum before it, and its group and dimension behind.
        by: what strata are, which the rows then name; None: there are none.
        on_step, only: as for `Registry.rows_of_all`.
    """
    found = registry.rows_of_all([part[1:] for part in parts], on_step, only)
    composite: list[Row] = []
    dimensions: list[Row] = []
    for (stratum, block, _, _), rows in zip(parts, found, strict=True):
        if by is not None:
            rows = [replace(row, by=by, by_value=stratum) for row in rows if row.by is None]
        (composite if block.of == "composite" else dimensions).extend(rows)
    return adjust_over_dimensions(dimensions, composite, over_strata=by is not None)


def difference_rows(
    registry: Registry[BlockT],
    parts: Sequence[tuple[str | None, BlockT, str, str]],
    group: str,
    by: str | None,
) -> list[Row]:
    """Return how far each stratum is above the mean of the others, on every statistic of the tables
    that groups of raters have; without a value, with the reason, where a stratum has no interval.

    Args:
        parts: as for `stratum_rows`, of which whatever is drawn for p-values is not needed.
        group: of the raters; the blocks of others are left out.
        by: what strata are; None: there are none, and dimensions are compared with each other.
    """
    compared = [
        (dimension, ALL, block) if stratum is None else (stratum, dimension, block)
        for stratum, block, own, dimension in parts
        if own == group and (stratum is not None or block.of == "dimension")
    ]
    by = by or "dimension"
    clusters = _clusters([block for _, _, block in compared])
    figures: dict[str, dict[str, list[tuple[str, StratumFigure]]]] = defaultdict(dict)
    for (stratum, dimension, block), own in zip(compared, clusters, strict=True):
        for name, result in registry.results(block):
            found = figures[name].setdefault(dimension, [])
            found.append((stratum, _figure(result, own, block)))
    rows = []
    for name, dimensions in figures.items():
        each = [
            (dimension, one)
            for dimension, those in dimensions.items()
            for one in stratum_differences(those)
        ]
        adjusted = holm([one.p for _, one in each])
        n_tests = sum(one.reason is None for _, one in each)
        rows += [
            _row(name, group, dimension, by, one, float(p), n_tests)
            for (dimension, one), p in zip(each, adjusted, strict=True)
        ]
    return rows


def broken_down_by(rows: Iterable[Row]) -> str | None:
    """Return what strata are of which there are differences among the rows; None where there are
    none."""
    found = (row.by for row in rows if row.by is not None and row.by.endswith(LESS_OTHERS))
    return next((by.removesuffix(LESS_OTHERS) for by in found), None)


def without_permutations(options: AnalysisOptions) -> AnalysisOptions:
    """Options for blocks of which only intervals over prompts are of use."""
    return replace(options, n_permutations=0, random="prompts", intervals=True)


def _row(
    name: str, group: str, dimension: str, by: str, one: StratumDifference, p: float, n_tests: int
) -> Row:
    there = one.reason is None
    return Row(
        name,
        group,
        dimension,
        by=f"{by}{LESS_OTHERS}",
        by_value=one.stratum,
        value=one.difference,
        ci_low=one.ci_low,
        ci_high=one.ci_high,
        ci_over="prompts" if there else None,
        ci_df=one.df,
        n_clusters=one.n_prompts if there else None,
        p_value=p,
        p_raw=one.p,
        n_tests=n_tests if there else 0,
        adjusted_over="strata and dimensions" if there and n_tests > 1 else None,
        reason=one.reason,
    )


def _figure(result: BlockResult, clusters: Labels, block: Block) -> StratumFigure:
    found = result.statistic
    if found.reason is not None:
        return StratumFigure(nan, {}, found.reason)
    interval = interval_of(result, clusters, block.options) or result.ci
    if interval is None or interval.reason is not None or result.resampled is None:
        return StratumFigure(found.value, {}, interval.reason if interval else Reason.NO_SPREAD)
    names, codes = encode_labels(clusters, len(clusters))
    # From weights, too: of some statistics the figure itself is another estimate.
    without = result.resampled(left_out_weights(codes, len(names))).tolist()
    value = float(result.resampled(unit_weights(len(clusters)))[0])
    # A prompt without which a mean of prompts is what it was has no part in it.
    entering = {name: one for name, one in zip(names, without, strict=True) if one != value}
    return StratumFigure(value, entering)


def _clusters(blocks: Sequence[Block]) -> list[list[Hashable]]:
    """The clusters of each block; of more than are left out one by one, groups of them, the same
    in every block, each of clusters that are in the same blocks."""
    given = [list(block.clusters) for block in blocks]
    where: dict[Hashable, list[int]] = defaultdict(list)
    for place, own in enumerate(given):
        for cluster in dict.fromkeys(own):
            where[cluster].append(place)
    if len(where) <= MOST_GROUPS:
        return given
    patterns: dict[tuple[int, ...], list[Hashable]] = defaultdict(list)
    for cluster, places in where.items():
        patterns[tuple(places)].append(cluster)
    group: dict[Hashable, Hashable] = {}
    for number, clusters in enumerate(patterns.values()):
        n = min(len(clusters), max(2, ceil(MOST_GROUPS * len(clusters) / len(where))))
        dealt = np.random.default_rng(number).permutation(np.arange(len(clusters)) % n)
        group |= {one: (number, int(k)) for one, k in zip(clusters, dealt, strict=True)}
    return [[group[cluster] for cluster in own] for own in given]
