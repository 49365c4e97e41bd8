"""The reliability of the mean of more and of fewer judges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from panel.statistics.agreement.icc import icc, resampled_icc
from panel.statistics.core.registry import Table
from panel.statistics.core.results import Result, interval_of
from panel.statistics.core.statistic import Reason, Statistic
from panel.statistics.core.table import kept_without
from panel.statistics.panel_quality.effective_judges import spearman_brown
from panel.statistics.panel_quality.panel_quality import PanelBlock, panel_quality_statistics


@panel_quality_statistics.register(
    "reliability",
    "reliability",
    table=Table(
        "Reliability of the mean, by number of judges (Spearman-Brown)",
        columns="by_value",
        all_raters_only=True,
    ),
    order=10,
)
def of_the_mean(block: PanelBlock) -> Iterator[Result]:
    """Where judges are interchangeable: other personas on one model, or raters. Spearman-Brown
    rises with ICC(2,1), so the ends of its interval go through it too."""
    if not block.interchangeable:
        return
    one = icc(block.ratings, "icc2")
    judges = [
        [icc(block.ratings[:, kept], "icc2").value for kept in levels]
        for levels in kept_without(block.sampled if block.options.random != "prompts" else {})
    ]
    whole = Result(one, resampled_icc(block.ratings, "icc2"), limits=(-np.inf, 1.0))
    interval = interval_of(whole, block.clusters, block.options, judges)
    low, high = (np.nan, np.nan) if interval is None else (interval.low, interval.high)
    n_judges = len(block.judges)
    sizes = {*(2**n for n in range(n_judges.bit_length())), n_judges, 2 * n_judges}
    for size in sorted(sizes):
        value, *ci = (
            np.nan if np.isnan(end) else float(spearman_brown(min(end, 1.0), size))
            for end in (one.value, low, high)
        )
        reason = one.reason or Reason.NOT_POSITIVE
        yield Result(
            Statistic.undefined(reason, n_items=one.n_items, n_raters=one.n_raters)
            if np.isnan(value)
            else Statistic(value, one.n_items, one.n_raters),
            by="judges",
            by_value=f"{size}",
            ci=(ci[0], ci[1]),
        )
