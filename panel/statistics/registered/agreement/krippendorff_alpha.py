"""Krippendorff's α, at the level of measurement of the ratings."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from persona_panel.statistics.agreement.agree import AGREEMENT, AgreementBlock, agreement_statistics
from persona_panel.statistics.agreement.reliability import krippendorff_alpha, resampled_alpha
from persona_panel.statistics.core.arrays import has_two_ratings
from persona_panel.statistics.core.registry import ANY_LEVEL, OF_SCORES
from persona_panel.statistics.core.results import BlockResult


@agreement_statistics.register(
    "krippendorff_alpha", "Krippendorff\nα", table=AGREEMENT, levels=ANY_LEVEL,
    of=OF_SCORES, summary="Krippendorff α", order=10,
)  # fmt: skip
def alpha(block: AgreementBlock) -> Iterator[BlockResult]:
    yield BlockResult(
        krippendorff_alpha(block.ratings, block.level),
        resampled_alpha(block.ratings, block.level),
        block.level,
        kind="kappa" if block.level == "nominal" else "number",
        limits=(-inf, 1),
        counted=has_two_ratings(block.ratings),
    )
