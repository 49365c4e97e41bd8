"""Fleiss' κ."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from persona_panel.statistics.agreement.agree import AgreementBlock, agreement_statistics
from persona_panel.statistics.agreement.kappa import fleiss_kappa, resampled_fleiss_kappa
from persona_panel.statistics.core.arrays import has_two_ratings
from persona_panel.statistics.core.registry import ANY_LEVEL
from persona_panel.statistics.core.results import BlockResult


@agreement_statistics.register("fleiss_kappa", "Fleiss κ", levels=ANY_LEVEL, order=180)
def kappa(block: AgreementBlock) -> Iterator[BlockResult]:
    yield BlockResult(
        fleiss_kappa(block.ratings),
        resampled_fleiss_kappa(block.ratings),
        kind="kappa",
        limits=(-inf, 1),
        counted=has_two_ratings(block.ratings),
    )
