"""How much of the variance of scores is due to items, to judges and to their interactions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from persona_panel.statistics.core.registry import StatisticTable
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.quality.components import BETWEEN, RESIDUAL, variance_components
from persona_panel.statistics.quality.design_study import ITEM, crossed_factors
from persona_panel.statistics.quality.panel_quality import PanelBlock, panel_quality_statistics


@panel_quality_statistics.register(
    "variance_share",
    "share",
    table=StatisticTable(
        "Variance components, as shares of the variance of scores",
        columns="dimension",
        all_raters_only=True,
        remark="item: what judges agree on. item:model: models disagree about which items are "
        "better. residual: the highest interaction, unless replicates separate it, and error. "
        "Components have no intervals: those that were tried did not cover.",
    ),
    order=20,
)
def of_components(block: PanelBlock) -> Iterator[BlockResult]:
    """Of interactions those that the design identifies."""
    rows = {ITEM: np.arange(len(block.ratings))}
    found = variance_components(
        block.ratings.ravel(), crossed_factors(block.ratings.shape, rows, block.judge_factors)
    )
    for name, share in found.shares.items():
        if BETWEEN in name and (found.reason or name in found.unidentified):
            continue
        defined = not np.isnan(share)
        yield BlockResult(
            block.counted(share) if defined else block.undefined(found.reason or Reason.ONE_LEVEL),
            note=_note(name, found.variances[name], found.unidentified) if defined else "",
            by="component",
            by_value=name,
        )


def _note(name: str, variance: float, unidentified: Mapping[str, Reason]) -> str:
    note = f"variance {variance:.4g}"
    if variance < 0:
        note += ", taken as 0"
    held = [of for of, why in unidentified.items() if why is Reason.IN_RESIDUAL]
    return f"{note}, with {held[0]}" if name == RESIDUAL and held else note
