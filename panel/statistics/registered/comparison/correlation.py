"""Correlations of the panel's mean with people's, over all items and within prompts.

Beside each stands what people achieve: the mean correlation of one with the mean of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from persona_panel.statistics.core.arrays import has_two_ratings, paired_scores
from persona_panel.statistics.core.prompts import over_prompts
from persona_panel.statistics.core.registry import OF_SCORES, StatisticTable
from persona_panel.statistics.core.results import BlockResult, mean_over_prompts
from persona_panel.statistics.humans.ceiling import (
    NOT_COMPARABLE,
    human_ceiling,
    human_ceiling_by_prompt,
    resampled_human_ceiling,
)
from persona_panel.statistics.humans.correlate import ComparisonBlock, comparison_statistics
from persona_panel.statistics.humans.correlation import (
    CorrelationKind,
    resampled_correlation,
    within_prompts,
)
from persona_panel.statistics.resampling.permutation import correlation_test

OVER_ALL_ITEMS = StatisticTable(
    "Correlation with the mean human rating, over all items; people: each with the others' mean",
    remark=NOT_COMPARABLE,
)
WITHIN_PROMPTS = StatisticTable(
    "Correlation with the mean human rating, within prompts; people: each with the others' mean"
)


def _register_correlation(kind: CorrelationKind, heading: str, order: int) -> None:
    @comparison_statistics.register(
        kind,
        heading,
        table=OVER_ALL_ITEMS,
        of=OF_SCORES,
        summary=f"{heading}, over all items" if kind == "tau_b" else "",
        order=order,
    )
    def panel(block: ComparisonBlock) -> Iterator[BlockResult]:
        # Items of different prompts are not exchangeable: with prompts the test is of the
        # correlation within them.
        found = correlation_test(
            block.panel_mean,
            block.target,
            kind,
            n_permutations=0 if block.prompts else block.options.n_permutations,
            seed=block.options.seed,
        )
        resampled = resampled_correlation(block.panel_mean, block.target, kind)
        counted = paired_scores(block.panel_mean, block.target)[2]
        yield BlockResult(block.of_both(found), resampled, kind="correlation", counted=counted)

    @comparison_statistics.register(
        f"human_ceiling_{kind}",
        heading,
        table=OVER_ALL_ITEMS,
        side="humans",
        of=OF_SCORES,
        order=order,
    )
    def humans(block: ComparisonBlock) -> Iterator[BlockResult]:
        found = human_ceiling(block.compared, kind)
        note = f"{found.n_undefined} constant raters left out" if found.n_undefined else ""
        resampled = resampled_human_ceiling(block.compared, kind)
        counted = has_two_ratings(block.compared)
        yield BlockResult(found.mean, resampled, note, "correlation", counted=counted)

    @comparison_statistics.register(
        f"{kind}_within_prompts",
        heading,
        table=WITHIN_PROMPTS,
        needs=("prompts",),
        of=OF_SCORES,
        summary=f"{heading}, within prompts" if kind == "tau_b" else "",
        order=order + 100,
    )
    def panel_within_prompts(block: ComparisonBlock) -> Iterator[BlockResult]:
        prompts = block.prompts or []
        found = over_prompts(within_prompts(block.panel_mean, block.target, prompts, kind))
        result = mean_over_prompts(
            found, prompts, kind="mean_pearson" if kind == "pearson" else "mean_correlation"
        )
        tested = correlation_test(
            block.panel_mean,
            block.target,
            kind,
            prompts,
            n_permutations=block.options.n_permutations,
            seed=block.options.seed,
        )
        counted = paired_scores(block.panel_mean, block.target)[2]
        yield replace(result, statistic=block.of_both(tested), counted=counted)

    @comparison_statistics.register(
        f"human_ceiling_{kind}_within_prompts",
        heading,
        table=WITHIN_PROMPTS,
        needs=("prompts",),
        side="humans",
        of=OF_SCORES,
        order=order + 100,
    )
    def humans_within_prompts(block: ComparisonBlock) -> Iterator[BlockResult]:
        prompts = block.prompts or []
        yield mean_over_prompts(human_ceiling_by_prompt(block.compared, prompts, kind), prompts)


_register_correlation("tau_b", "τ_b", 10)
_register_correlation("tau_c", "τ_c", 20)
_register_correlation("spearman", "Spearman ρ", 30)
_register_correlation("pearson", "Pearson r", 40)
