"""Weighted κ of people with the panel in one person's place, and of people themselves."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import inf

import numpy as np

from persona_panel.statistics.core.arrays import Array, has_two_ratings
from persona_panel.statistics.core.registry import StatisticTable
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.humans.correlate import ComparisonBlock, comparison_statistics
from persona_panel.statistics.humans.substitution import (
    Substitution,
    resampled_substitution,
    substitution,
)

SUBSTITUTION = StatisticTable(
    "Quadratically weighted κ of pairs of people, one of them replaced by the panel; "
    "people: neither replaced"
)


def _register_kappa(suffix: str, heading: str, order: int, *, zeros: bool) -> None:
    @comparison_statistics.register(
        f"substituted_kappa{suffix}", heading, table=SUBSTITUTION, needs=("same_scale",),
        show_note=zeros, order=order,
    )  # fmt: skip
    def panel(block: ComparisonBlock) -> Iterator[BlockResult]:
        yield _kappa(block, zeros=zeros)

    @comparison_statistics.register(
        f"human_kappa{suffix}", heading, table=SUBSTITUTION, needs=("same_scale",),
        side="humans", show_note=zeros, order=order,
    )  # fmt: skip
    def humans(block: ComparisonBlock) -> Iterator[BlockResult]:
        yield _kappa(block, zeros=zeros)


def _kappa(block: ComparisonBlock, *, zeros: bool) -> BlockResult:
    of_panel = block.side == "panel"
    if of_panel and block.other_scale:
        return BlockResult(Statistic.undefined(Reason.OTHER_SCALE))
    both = _substitution(block)
    found = both.panel if of_panel else both.humans
    note = f"{found.n_pairs} pairs, {found.n_constant} with a constant rater"
    if found.n_missing:
        note += f", {found.n_missing} that the panel did not rate"
    resampled = resampled_substitution(
        block.humans, _stand_in(block), min_shared=block.options.min_shared, zeros=zeros
    )[of_panel]
    statistic = found.with_zeros if zeros else found.without
    counted = has_two_ratings(block.humans) & ~np.isnan(_stand_in(block))
    return BlockResult(
        block.of_both(statistic) if of_panel else statistic,
        resampled,
        note,
        limits=(-inf, 1),
        counted=counted,
    )


@lru_cache(maxsize=1)  # κ with and without the zeros come from the same pairs
def _substitution(block: ComparisonBlock) -> Substitution:
    return substitution(block.humans, _stand_in(block), min_shared=block.options.min_shared)


def _stand_in(block: ComparisonBlock) -> Array:
    """Whose ratings take a person's place; on people's side nobody's are looked at."""
    return block.panel_mean if block.side == "panel" else block.target


_register_kappa("", "pairs with a constant\nrater counted as 0", 210, zeros=True)
_register_kappa("_without_constant", "pairs with a constant\nrater left out", 220, zeros=False)
