"""What personas add at equal cost: correlation with people less that of as many replicates of
a judge without a persona."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from persona_panel.statistics.agreement.kappa import cohen_kappa, resampled_cohen_kappa
from persona_panel.statistics.agreement.labels import majority
from persona_panel.statistics.core.arrays import difference_of, row_means
from persona_panel.statistics.core.prompts import over_prompts
from persona_panel.statistics.core.registry import ANY_LEVEL, OF_SCORES, StatisticTable
from persona_panel.statistics.core.results import BlockResult, mean_over_prompts
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.humans.correlate import ComparisonBlock, comparison_statistics
from persona_panel.statistics.humans.correlation import CorrelationKind
from persona_panel.statistics.humans.gain import (
    correlation_gain,
    gain_within_prompts,
    resampled_correlation_gain,
    why_no_gain,
)
from persona_panel.statistics.registered.comparison.labels import why_not_shared

_REMARK = (
    "Above 0: the mean of the judges with personas correlates more with people than the mean "
    "of the replicates without. An interval that contains 0 shows neither that personas add nor "
    "that they take away. The figures are of these models, this rubric and these prompts, and do "
    "not show which persona it is."
)
_LIMITS = (-2.0, 2.0)
"""Between which the difference of two correlations or kappas lies."""

GAIN = StatisticTable(
    "What personas add: correlation with the mean human rating, judges with personas less "
    "replicates without, over all items",
    remark=_REMARK,
)
GAIN_WITHIN = StatisticTable(
    "What personas add: correlation with the mean human rating, judges with personas less "
    "replicates without, within prompts",
)


def _register_gain(kind: CorrelationKind, heading: str, order: int) -> None:
    @comparison_statistics.register(
        f"persona_gain_{kind}", heading, table=GAIN, of=OF_SCORES, needs=("controls",),
        show_note=kind == "tau_b",
        summary="personas add, over all items" if kind == "tau_b" else "", order=order,
    )  # fmt: skip
    def gain(block: ComparisonBlock) -> Iterator[BlockResult]:
        sides = block.panel_mean, row_means(block.controls), block.target
        result = BlockResult(
            correlation_gain(*sides, kind),
            resampled_correlation_gain(*sides, kind),
            kind="difference",
            limits=_LIMITS,
            counted=~np.isnan(np.sum(sides, axis=0)),
        )
        yield _of_all(block, result)

    @comparison_statistics.register(
        f"persona_gain_{kind}_within_prompts", heading, table=GAIN_WITHIN, of=OF_SCORES,
        needs=("controls", "prompts"), order=order + 5,
    )  # fmt: skip
    def gain_within(block: ComparisonBlock) -> Iterator[BlockResult]:
        prompts = block.prompts or []
        sides = block.panel_mean, row_means(block.controls), block.target
        found = over_prompts(gain_within_prompts(*sides, prompts, kind))
        yield _of_all(
            block, mean_over_prompts(found, prompts, kind="mean_difference", limits=_LIMITS)
        )


@comparison_statistics.register(
    "persona_gain_kappa", "Cohen κ",
    table=StatisticTable(
        "What personas add: κ with the majority of people, majority of the judges with "
        "personas less majority of the replicates without",
        remark=_REMARK.replace("mean of the", "majority of the").replace(
            "correlates more", "agrees more"
        ),
    ),
    levels=ANY_LEVEL, needs=("controls", "categories"), show_note=True, order=204,
)  # fmt: skip
def kappa_gain(block: ComparisonBlock) -> Iterator[BlockResult]:
    sides = [majority(each) for each in (block.judges, block.controls, block.humans)]
    missing = np.isnan(sides).any(axis=0)
    ours, theirs, target = (np.where(missing, np.nan, side) for side in sides)
    found = [cohen_kappa(side, target, "none") for side in (ours, theirs)]
    first, second = (resampled_cohen_kappa(side, target, "none") for side in (ours, theirs))
    reason = next((one.reason for one in found if one.reason is not None), None)
    if reason is Reason.NO_SHARED_ITEMS:
        reason = why_not_shared(block.judges, block.controls, block.humans)
    statistic = (
        Statistic.undefined(reason)
        if reason is not None
        else replace(found[0], value=found[0].value - found[1].value)
    )
    yield _of_all(
        block,
        BlockResult(
            statistic,
            difference_of(first, second),
            kind="difference",
            limits=_LIMITS,
            counted=~np.isnan(target),
        ),
    )


def _of_all(block: ComparisonBlock, result: BlockResult) -> BlockResult:
    """With all raters counted; undefined where the replicates are one judgment."""
    if result.statistic.reason is None and (why := why_no_gain(block.controls)) is not None:
        return BlockResult(Statistic.undefined(why))
    n_judges, n_replicates, n_humans = (
        int((~np.isnan(side)).any(axis=0).sum())
        for side in (block.judges, block.controls, block.humans)
    )
    note = f"{n_judges} judges with a persona, {n_replicates} replicates without"
    if n_judges != n_replicates:
        note += ", so not at equal cost: more judges agree better by their number alone"
    return replace(
        result,
        statistic=replace(result.statistic, n_raters=n_judges + n_replicates + n_humans)
        if result.statistic.reason is None
        else result.statistic,
        note=f"{note}; {result.note}" if result.note else note,
    )


_register_gain("tau_b", "τ_b", 201)
_register_gain("spearman", "Spearman ρ", 202)
_register_gain("pearson", "Pearson r", 203)
