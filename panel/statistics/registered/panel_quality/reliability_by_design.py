"""The reliability of a response's mean rating with more and fewer personas, models, replicates."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from persona_panel.statistics.core.registry import StatisticTable
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.quality.components import variance_components
from persona_panel.statistics.quality.d_study import d_study
from persona_panel.statistics.quality.design_study import (
    ITEM,
    crossed_factors,
    design_name,
    designs_around,
    present_levels,
)
from persona_panel.statistics.quality.panel_quality import PanelBlock, panel_quality_statistics


@panel_quality_statistics.register(
    "reliability_by_design",
    "reliability",
    table=StatisticTable(
        "Reliability of the mean, by design (D-study)",
        columns="dimension",
        all_raters_only=True,
        remark="The dependability Φ of a response's mean rating: this design, and with half and "
        "twice as many of each. More personas on the same models do not average out what these "
        "models have in common. The figures rest on few models and personas, and have no "
        "intervals. `plan` has standard errors, systems and costs.",
    ),
    order=11,
)
def of_designs(block: PanelBlock) -> Iterator[BlockResult]:
    """Yield the figures where judges are crossed; of others `reliability` says it."""
    if block.interchangeable:
        return
    rows = {ITEM: np.arange(len(block.ratings))}
    found = variance_components(
        block.ratings.ravel(), crossed_factors(block.ratings.shape, rows, block.judge_factors)
    )
    if found.reason is not None:
        yield BlockResult(block.undefined(found.reason), by="design")
        return
    for levels in designs_around(found, ITEM, present_levels(found, ITEM)):
        value = d_study(found, ITEM, levels).dependability
        defined = not np.isnan(value)
        yield BlockResult(
            block.counted(value) if defined else block.undefined(Reason.NOT_POSITIVE),
            by="design",
            by_value=design_name(levels),
        )
