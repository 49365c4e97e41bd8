"""Krippendorff's α of the panel without each of its judges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from persona_panel.statistics.agreement.reliability import krippendorff_alpha
from persona_panel.statistics.core.display import signed
from persona_panel.statistics.core.registry import ANY_LEVEL, StatisticTable
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.quality.effective_judges import leave_one_judge_out
from persona_panel.statistics.quality.panel_quality import PanelBlock, panel_quality_statistics


@panel_quality_statistics.register(
    "alpha_without",
    "Krippendorff α",
    table=StatisticTable(
        "Krippendorff α without a judge", columns="dimension", all_raters_only=True
    ),
    levels=ANY_LEVEL,
    order=30,
)
def without_each_judge(block: PanelBlock) -> Iterator[BlockResult]:
    """The row of nobody left out has no `by_value`."""
    if block.sparse:
        return
    found = leave_one_judge_out(
        block.ratings, lambda ratings: krippendorff_alpha(ratings, block.level), block.judges
    )
    yield BlockResult(found.full, note=block.level, by="judge left out")
    for judge, alpha, change in zip(found.judges, found.without, found.change, strict=True):
        note = block.level if np.isnan(change) else f"{block.level}, changed by {signed(change, 4)}"
        yield BlockResult(alpha, note=note, by="judge left out", by_value=str(judge))
