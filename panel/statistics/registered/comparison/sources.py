"""Each source's mean, win rate and share of first places, as the panel and as people rate them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache
from math import nan

import numpy as np

from persona_panel.statistics.core.arrays import Array, Resampled, row_means
from persona_panel.statistics.core.registry import StatisticTable
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.humans.correlate import ComparisonBlock, comparison_statistics
from persona_panel.statistics.humans.preferences import (
    Preferences,
    preferences,
    resampled_preferences,
)
from persona_panel.statistics.humans.sources import source_means
from persona_panel.statistics.resampling.jackknife import EstimateKind
from persona_panel.statistics.resampling.weights import resampled_mean

BY_SOURCE = StatisticTable(
    "By source",
    columns="group",
    remark=(
        "Share of first places: of the rankings (one rater's of one prompt) that the source is in; "
        "a tie counts in equal parts. Shares add up to 1 only if every ranking has every source."
    ),
)


@comparison_statistics.register(
    "source_pearson",
    "Pearson r",
    table=StatisticTable("Correlation of the means by source, the panel's with people's"),
    needs=("sources",),
    order=540,
)
def correlation_over_sources(block: ComparisonBlock) -> Iterator[BlockResult]:
    found = source_means(block.panel_mean, block.humans, block.sources or [])
    yield BlockResult(block.of_both(found.pearson), note="items are sources")


@comparison_statistics.register(
    "source_mean", "mean", table=BY_SOURCE, needs=("sources",), side="both", order=510
)
def mean(block: ComparisonBlock) -> Iterator[BlockResult]:
    sign = block.judges_sign if block.side == "panel" else block.humans_sign
    means = sign * row_means(_ratings(block))
    for source in _preferences(block).sources:
        own = _own(block, source, means)
        rated = own[~np.isnan(own)]
        value = float(rated.mean()) if len(rated) else nan
        yield _of_source(block, source, value, resampled_mean(own), "", "mean")


@comparison_statistics.register(
    "win_rate", "win rate", table=BY_SOURCE, needs=("sources",), side="both", order=520
)
def win_rate(block: ComparisonBlock) -> Iterator[BlockResult]:
    found, resampled = _preferences(block), _resampled(block)
    for place, source in enumerate(found.sources):
        yield _of_source(
            block,
            source,
            float(found.win_rate[place]),
            resampled[source][0] if resampled else None,
            f"{found.n_comparisons[place]} comparisons",
        )


@comparison_statistics.register(
    "first_place",
    "share of\nfirst places",
    table=BY_SOURCE,
    needs=("sources",),
    side="both",
    order=530,
)
def first_place(block: ComparisonBlock) -> Iterator[BlockResult]:
    found, resampled = _preferences(block), _resampled(block)
    for place, source in enumerate(found.sources):
        yield _of_source(
            block,
            source,
            float(found.first_place[place]),
            resampled[source][1] if resampled else None,
            f"{found.n_rankings[place]} rankings",
        )


def _ratings(block: ComparisonBlock) -> Array:
    """People's ratings, or the panel's mean as one rater's `(items, raters)`."""
    return block.humans if block.side == "humans" else block.panel_mean[:, None]


@lru_cache(maxsize=1)  # the same comparisons give wins and first places
def _preferences(block: ComparisonBlock) -> Preferences:
    return preferences(_ratings(block), block.sources or [], block.prompts)


def _resampled(block: ComparisonBlock) -> dict[Hashable, tuple[Resampled, Resampled]]:
    if block.prompts is None:
        return {}
    return resampled_preferences(_ratings(block), block.sources or [], block.prompts)


def _own(block: ComparisonBlock, source: Hashable, values: Array) -> Array:
    """The values of a source's items, NaN for the others."""
    mine = np.array([label == source for label in block.sources or ()])
    return np.where(mine, values, np.nan)


def _of_source(
    block: ComparisonBlock,
    source: Hashable,
    value: float,
    resampled: Resampled | None,
    note: str,
    kind: EstimateKind = "share",
) -> BlockResult:
    ratings = _ratings(block)
    n_items = int(np.sum(~np.isnan(_own(block, source, row_means(ratings)))))
    n_raters = int(np.sum(~np.isnan(ratings).all(axis=0)))
    if np.isnan(value):
        reason = Reason.NO_RATINGS if n_items == 0 else Reason.FEW_SOURCES
        found = Statistic.undefined(reason, n_items=n_items, n_raters=n_raters)
    else:
        found = Statistic(value, n_items, n_raters)
    return BlockResult(found, resampled, note, kind, by="source", by_value=str(source))
