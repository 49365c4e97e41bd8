"""The effective number of independent judges."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from panel.statistics.agree import AGREEMENT, AgreementBlock, agreement_statistics
from panel.statistics.core.results import Result
from panel.statistics.panel_quality.effective_judges import (
    effective_judges,
    resampled_effective_judges,
)


@agreement_statistics.register(
    "effective_judges", "effective\nnumber of\njudges", table=AGREEMENT, order=60
)
def of_all_agreement(block: AgreementBlock) -> Iterator[Result]:
    yield Result(
        effective_judges(block.ratings), resampled_effective_judges(block.ratings), limits=(0, inf)
    )
