"""The share of items to which all raters give the same rating."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from persona_panel.statistics.agreement.agree import AgreementBlock, agreement_statistics
from persona_panel.statistics.agreement.perfect_agreement import perfect_agreement
from persona_panel.statistics.core.registry import ANY_LEVEL
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.resampling.weights import resampled_mean


@agreement_statistics.register(
    "perfect_agreement", "perfect\nagreement", levels=ANY_LEVEL, order=200
)
def same_rating(block: AgreementBlock) -> Iterator[BlockResult]:
    found = perfect_agreement(block.ratings)
    rated_twice = np.sum(~np.isnan(block.ratings), axis=1) >= 2
    agreed = np.where(rated_twice, found.subset.astype(np.float64), np.nan)
    note = f"{int(found.subset.sum())} items"
    yield BlockResult(found.share, resampled_mean(agreed), note, "share", (0.0, 1.0))
