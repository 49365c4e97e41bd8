"""The panel less one person, both compared with the same other people, and what averaging adds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from persona_panel.statistics.core.arrays import Array, has_two_ratings
from persona_panel.statistics.core.ranks import ranks_within
from persona_panel.statistics.core.registry import OF_SCORES, StatisticTable
from persona_panel.statistics.core.results import BlockResult, mean_over_prompts
from persona_panel.statistics.humans.correlate import ComparisonBlock, comparison_statistics
from persona_panel.statistics.humans.correlation import CorrelationKind
from persona_panel.statistics.humans.difference import (
    human_difference,
    human_difference_by_prompt,
    resampled_human_difference,
)

BY = "comparison"
NAMES = ("panel − human", "judge − human", "panel − judge")
_LIMITS = (-2.0, 2.0)
"""Between which the difference of two correlations lies."""

_TITLE = "Panel and one person compared with the same other people: difference of correlations, "
OVER_ALL_ITEMS = StatisticTable(
    _TITLE + "over all items",
    all_raters_only=True,
    remark=(
        "Each person is left out in turn: that person, the panel and its judges are correlated "
        "with the mean of the other people, over the same items. Above 0: agrees with people more "
        "than one of them does. panel − judge is what averaging gains, as it would for people; "
        "whether judges rate as people do is judge − human. An interval that contains 0 shows no "
        "difference; none says anything of other judges or other people. τ_b is computed for "
        "panel − human alone, as for every judge it would take minutes."
    ),
)
WITHIN_PROMPTS = StatisticTable(_TITLE + "within prompts", all_raters_only=True)


def _register_difference(kind: CorrelationKind, heading: str, order: int) -> None:
    @comparison_statistics.register(
        f"human_difference_{kind}",
        heading,
        table=OVER_ALL_ITEMS,
        of=OF_SCORES,
        summary="panel − one person, over all items" if kind == "tau_b" else "",
        order=order,
    )
    def difference(block: ComparisonBlock) -> Iterator[BlockResult]:
        sides = _judges(block), block.compared
        found = human_difference(*sides, kind)
        resampled = resampled_human_difference(*sides, kind)
        counted = has_two_ratings(block.compared) & ~np.isnan(block.panel_mean)
        # τ of every judge with every person takes minutes where there are thousands of items.
        n_rows = 1 if kind == "tau_b" else _n_rows(block)
        for name, one, function in list(zip(NAMES, found, resampled, strict=True))[:n_rows]:
            yield BlockResult(one, function, "", "difference", _LIMITS, BY, name, counted=counted)

    @comparison_statistics.register(
        f"human_difference_{kind}_within_prompts",
        heading,
        table=WITHIN_PROMPTS,
        of=OF_SCORES,
        needs=("prompts",),
        summary="panel − one person, within prompts" if kind == "tau_b" else "",
        order=order + 5,
    )
    def difference_within(block: ComparisonBlock) -> Iterator[BlockResult]:
        prompts = block.prompts or []
        found = human_difference_by_prompt(_judges(block), block.compared, prompts, kind)
        for name, one in list(zip(NAMES, found, strict=True))[: _n_rows(block)]:
            result = mean_over_prompts(one, prompts, kind="skewed_difference", limits=_LIMITS)
            yield replace(result, by=BY, by_value=name)


def _judges(block: ComparisonBlock) -> Array:
    """The judges' ratings in the form in which people's are compared: scores, or ranks."""
    if block.options.target == "score":
        return block.judges
    return -ranks_within(-block.judges, block.prompts).ranks


def _n_rows(block: ComparisonBlock) -> int:
    """One for a panel of one judge, who is the panel."""
    n_judges = int(np.sum(~np.isnan(block.judges).all(axis=0)))
    return len(NAMES) if n_judges > 1 else 1


_register_difference("tau_b", "τ_b", 181)
_register_difference("spearman", "Spearman ρ", 182)
_register_difference("pearson", "Pearson r", 183)
