"""The fewest judges whose mean ranks as the full panel's does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from persona_panel.statistics.core.display import number, percent
from persona_panel.statistics.core.registry import StatisticTable
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.quality.panel_quality import PanelBlock, panel_quality_statistics
from persona_panel.statistics.quality.subset import THRESHOLD, smallest_subset


@panel_quality_statistics.register(
    "smallest_subset",
    "judges",
    table=StatisticTable(
        "Smallest subset reproducing the full panel's ranking",
        columns="none",
        all_raters_only=True,
    ),
    order=40,
)
def that_keeps_the_ranking(block: PanelBlock) -> Iterator[BlockResult]:
    """Yield how many judges, and by `judge` who they are: the place at which each was chosen."""
    if block.sparse:
        yield BlockResult(block.undefined(Reason.SPARSE))
        return
    options = block.options
    found = smallest_subset(
        block.sign * block.ratings, block.prompts, confidence=options.confidence, seed=options.seed
    )
    if found.reason:
        best = found.low[-2] if found.reason is Reason.NOT_REACHED else np.nan
        note = "" if np.isnan(best) else f"τ_b of all judges but one: at least {number(best, 3)}"
        yield BlockResult(block.undefined(found.reason), note=note)
        return
    note = (
        f"τ_b with the full panel on other prompts shown to be at least {THRESHOLD:g} (test at "
        f"{percent(1 - options.confidence)}), {percent(found.cost_saved)} of the cost saved if "
        "judges cost alike"
    )
    yield BlockResult(block.counted(float(len(found.judges))), note=note)
    for place, judge in enumerate(found.judges):
        yield BlockResult(block.counted(place + 1.0), by="judge", by_value=block.judges[judge])
