"""The effective number of judges, of what they say beyond the humans' mean."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from panel.statistics.core.registry import Table
from panel.statistics.core.results import Result
from panel.statistics.correlate import ComparisonBlock, comparison_statistics
from panel.statistics.panel_quality.effective_judges import (
    effective_judges,
    resampled_effective_judges,
)


@comparison_statistics.register(
    "effective_judges",
    "judges",
    table=Table("Effective number of judges, from the correlation of their errors"),
    order=410,
)
def of_errors(block: ComparisonBlock) -> Iterator[Result]:
    yield Result(
        effective_judges(block.judges, block.target),
        resampled_effective_judges(block.judges, block.target),
        "of the residuals of judges' scores on the humans' mean",
        limits=(0, inf),
    )
