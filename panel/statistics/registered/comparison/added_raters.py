"""How far Krippendorff's α of people changes as judges join them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from persona_panel.statistics.core.display import general
from persona_panel.statistics.core.registry import ANY_LEVEL, StatisticTable
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.humans.added_raters import added_raters
from persona_panel.statistics.humans.correlate import ComparisonBlock, comparison_statistics


@comparison_statistics.register(
    "alpha_added",
    "change of α",
    table=StatisticTable(
        "Change of people's Krippendorff α as judges are added",
        columns="by_value",
        remark="Intervals and p here: Student's t over prompts, adjusted by Bonferroni for the "
        "numbers of judges.",
    ),
    levels=ANY_LEVEL,
    needs=("same_scale",),
    order=610,
)
def change_of_alpha(block: ComparisonBlock) -> Iterator[BlockResult]:
    """The first 1, 2, … judges join, in the panel's order. p-values and intervals are adjusted by
    Bonferroni for the numbers of judges."""
    if block.other_scale:
        undefined = Statistic.undefined(Reason.OTHER_SCALE)
        yield BlockResult(undefined, by="judges added", by_value="any number")
        return
    options = block.options
    found = added_raters(
        block.humans,
        block.judges,
        block.level,
        block.clusters,
        confidence=options.confidence,
        seed=options.seed,
    )
    alone = found.alphas[0]
    for place, alpha in enumerate(found.alphas[1:]):
        reason = alone.reason or alpha.reason
        statistic = (
            Statistic.undefined(reason, n_items=alpha.n_items, n_raters=alpha.n_raters)
            if reason
            else replace(
                alpha, value=float(found.change[place]), p_value=float(found.p_adjusted[place])
            )
        )
        yield BlockResult(
            statistic,
            note=""
            if reason
            else f"α {general(alone.value, 4)} of people, {general(alpha.value, 4)} with judges",
            by="judges added",
            by_value=f"{place + 1}",
            ci=found.intervals[place] if options.intervals and not reason else None,
            p_raw=float(found.p_value[place]),
            n_tests=len(found.change),
            adjusted_over="judges added",
        )
