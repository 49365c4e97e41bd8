"""The effective number of judges, of what they say beyond people's mean."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from persona_panel.statistics.core.display import number, percent
from persona_panel.statistics.core.registry import StatisticTable
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.humans.correlate import ComparisonBlock, comparison_statistics
from persona_panel.statistics.humans.mean_reliability import mean_reliability
from persona_panel.statistics.quality.effective_judges import (
    effective_judges,
    effective_judges_interval,
)

ASSUMED = (0.8, 0.5)
"""Reliabilities of people's mean for which the number is given where there is no knowing it."""


@comparison_statistics.register(
    "effective_judges",
    "effective number",
    table=StatisticTable("Effective number of judges, from the correlation of their errors"),
    show_note=True,
    order=410,
)
def of_errors(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Corrected for the noise of people's mean where its reliability can be estimated; else a
    lower bound, with what it would be for given reliabilities."""
    options, reliability = block.options, mean_reliability(block.compared)
    bound = effective_judges(block.judges, block.target)
    if reliability.reason is None:
        reference = block.compared
        found = effective_judges(block.judges, reference)
        note = (
            f"corrected for the noise of people's mean (reliability "
            f"{number(reliability.value)}); without the correction {_number(bound)}, a lower bound"
        )
    else:
        reference, found = block.target, bound
        assumed = (
            f"{_number(effective_judges(block.judges, block.target, reliability=one))} if its "
            f"reliability were {one}"
            for one in ASSUMED
        )
        note = (
            "a lower bound, as the noise of people's mean is not known "
            f"({reliability.reason}): {', '.join(assumed)}"
        )
    interval = None
    if options.intervals and found.reason in (None, Reason.NOT_CORRELATED):
        interval = effective_judges_interval(
            block.judges,
            reference,
            clusters=block.clusters,
            confidence=options.confidence,
            seed=options.seed,
        )
    if interval is None:
        yield BlockResult(found, note=note)
    elif found.reason is None:
        yield BlockResult(found, note=note, ci=interval)
    else:
        # Judges whose errors seem independent have no number, but a bound.
        least = (
            ""
            if isnan(interval.low)
            else f"; {percent(options.confidence)} interval {interval.low:.1f} to "
            f"{interval.high:.1f}"
        )
        yield BlockResult(found, note=note + least)


def _number(found: Statistic) -> str:
    return "undefined" if found.reason else f"{found.value:.1f}"
