"""The reliability of the mean of more and of fewer judges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from persona_panel.statistics.agreement.icc import icc, resampled_icc
from persona_panel.statistics.core.arrays import has_ratings
from persona_panel.statistics.core.registry import StatisticTable
from persona_panel.statistics.core.results import BlockResult, interval_of
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.core.table import kept_without
from persona_panel.statistics.quality.effective_judges import spearman_brown
from persona_panel.statistics.quality.panel_quality import PanelBlock, panel_quality_statistics


@panel_quality_statistics.register(
    "reliability",
    "reliability",
    table=StatisticTable(
        "Reliability of the mean, by number of judges (Spearman-Brown)",
        columns="by_value",
        all_raters_only=True,
        remark=(
            "Of judges who all rate every item. With gaps, ICC(2,k) is of fewer: its k is the "
            "(harmonic) mean number of ratings of an item."
        ),
    ),
    order=10,
)
def of_the_mean(block: PanelBlock) -> Iterator[BlockResult]:
    """Yield the figures where judges are interchangeable: other personas on one model, or raters.

    Spearman-Brown rises with ICC(2,1), so the ends of its interval go through it too; of an end
    below 0 it is 0, as no reliability is less. With an ICC(2,1) that is not above 0 nothing can be
    said of other numbers of judges.
    """
    if not block.interchangeable:
        return
    one = icc(block.ratings, "icc2")
    judges = [
        [resampled_icc(block.ratings[:, kept], "icc2") for kept in levels]
        for levels in kept_without(block.sampled if block.options.random != "prompts" else {})
    ]
    whole = BlockResult(
        one,
        resampled_icc(block.ratings, "icc2"),
        limits=(-np.inf, 1.0),
        counted=has_ratings(block.ratings),
    )
    interval = interval_of(whole, block.clusters, block.options, judges)
    n_judges = len(block.judges)
    sizes = {*(2**n for n in range(n_judges.bit_length())), n_judges, 2 * n_judges}
    for size in sorted(sizes):
        by, by_value = "judges", f"{size}"
        if one.reason or one.value <= 0:
            undefined = Statistic.undefined(
                one.reason or Reason.NOT_RELIABLE, n_items=one.n_items, n_raters=one.n_raters
            )
            yield BlockResult(undefined, by=by, by_value=by_value)
            continue
        value = replace(one, value=float(spearman_brown(one.value, size)))
        if interval is None:
            yield BlockResult(value, by=by, by_value=by_value)
            continue
        low, high = (
            0.0 if end <= 0 else float(spearman_brown(end, size))
            for end in (interval.low, interval.high)
        )
        of_all = replace(interval, low=low, high=high)
        yield BlockResult(value, by=by, by_value=by_value, ci=of_all)
