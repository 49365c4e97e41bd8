"""The effective number of independent judges."""

from __future__ import annotations

from collections.abc import Iterator

from persona_panel.statistics.agreement.agree import AGREEMENT, AgreementBlock, agreement_statistics
from persona_panel.statistics.core.registry import OF_SCORES
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.quality.effective_judges import (
    effective_judges,
    effective_judges_interval,
)


@agreement_statistics.register(
    "effective_judges", "effective\nnumber of\njudges", table=AGREEMENT, of=OF_SCORES,
    summary="effective number of judges", order=60,
)  # fmt: skip
def of_all_agreement(block: AgreementBlock) -> Iterator[BlockResult]:
    found, options = effective_judges(block.ratings), block.options
    if found.reason or not options.intervals:
        yield BlockResult(found)
        return
    interval = effective_judges_interval(
        block.ratings,
        clusters=block.clusters,
        judges=[[left.ratings for left in levels] for levels in block.without_judges()],
        confidence=options.confidence,
        seed=options.seed,
    )
    yield BlockResult(found, ci=interval)
