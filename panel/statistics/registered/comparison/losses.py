"""Losses against people's mean, averaged over prompts: smaller is better."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from math import inf

import numpy as np

from persona_panel.statistics.core.arrays import Array, row_means
from persona_panel.statistics.core.prompts import resampled_over_prompts
from persona_panel.statistics.core.registry import StatisticTable
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.humans.correlate import ComparisonBlock, comparison_statistics
from persona_panel.statistics.humans.losses import (
    CUSTOM_DIMENSIONS,
    Loss,
    custom_loss,
    pairwise_error,
)

LOSSES = StatisticTable("Losses against the mean human rating, averaged over prompts")


def _register_loss(name: str, heading: str, order: int, *, weighted: bool) -> None:
    @comparison_statistics.register(
        name, heading, table=LOSSES, needs=("prompts",), show_note=True, order=order
    )
    def ranking_error(block: ComparisonBlock) -> Iterator[BlockResult]:
        prompts = block.prompts or []
        found = pairwise_error(block.target, block.panel_mean, prompts, weighted=weighted)
        result = _loss(found, prompts)
        # Seldom wrong, and then by much: as skewed as a share.
        yield replace(result, statistic=block.of_both(result.statistic), kind="share")


@comparison_statistics.register(
    "custom_loss",
    "custom loss",
    table=LOSSES,
    needs=("prompts",),
    of=("all",),
    show_note=True,
    order=330,
)
def custom(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Yield the loss where all its dimensions are there, in [0, 1]."""
    if block.prompts is None or not set(CUSTOM_DIMENSIONS) <= set(block.by_dimension):
        return
    ours, theirs = (
        [block.by_dimension[name][side] for name in CUSTOM_DIMENSIONS] for side in (0, 1)
    )
    if any(((ratings < 0) | (ratings > 1)).any() for ratings in (*ours, *theirs)):
        return
    found = custom_loss(_means(theirs), _means(ours), block.prompts)
    n_raters = sum(int(np.any(~np.isnan(side), axis=(0, 1)).sum()) for side in (ours, theirs))
    result = _loss(found, block.prompts)
    yield replace(result, statistic=replace(result.statistic, n_raters=n_raters))


def _means(ratings: list[Array]) -> Array:
    """The mean rater on each dimension `(items, dimensions)`."""
    return np.stack([row_means(one) for one in ratings], axis=1)


def _loss(found: Loss, prompts: list[Hashable]) -> BlockResult:
    note = f"smaller is better, {found.baseline:.3g} at random, {found.n_terms} terms"
    resampled = resampled_over_prompts(found.by_position, prompts)
    return BlockResult(found.by_position.mean, resampled, note, "mean", (0, inf))


_register_loss("pairwise_error", "pairwise\nranking error", 310, weighted=False)
_register_loss("weighted_pairwise_error", "weighted pairwise\nranking error", 320, weighted=True)
