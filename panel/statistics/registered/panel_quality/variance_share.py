"""How much of the variance of scores is due to items, to judges and to the residual."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from panel.statistics.core.registry import Table
from panel.statistics.core.results import Result
from panel.statistics.core.statistic import Reason
from panel.statistics.panel_quality.components import RESIDUAL, variance_components
from panel.statistics.panel_quality.panel_quality import PanelBlock, panel_quality_statistics


@panel_quality_statistics.register(
    "variance_share",
    "share",
    table=Table(
        "Variance components, as shares of the variance of scores",
        columns="by_value",
        all_raters_only=True,
    ),
    order=20,
)
def of_components(block: PanelBlock) -> Iterator[Result]:
    shape = block.ratings.shape
    factors = {"item": np.broadcast_to(np.arange(shape[0])[:, None], shape).ravel()}
    for name, labels in block.judge_factors.items():
        factors[name] = np.broadcast_to(np.array(labels, dtype=object), shape).ravel()
    found = variance_components(block.ratings.ravel(), factors)
    for name in (*factors, RESIDUAL):
        share = found.shares[name]
        defined = not np.isnan(share)
        yield Result(
            block.counted(share) if defined else block.undefined(found.reason or Reason.ONE_LEVEL),
            note=f"variance {found.variances[name]:.4g}" if defined else "",
            by="component",
            by_value=name,
        )
