"""What personas do to ratings: how far judges with personas lie apart, and replicates without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf

import numpy as np

from persona_panel.statistics.agreement.agree import AgreementBlock, agreement_statistics
from persona_panel.statistics.agreement.disagreement import disagreement_by_item
from persona_panel.statistics.agreement.reliability import krippendorff_alpha, resampled_alpha
from persona_panel.statistics.core.arrays import Array, difference_of, has_two_ratings
from persona_panel.statistics.core.registry import ANY_LEVEL, OF_SCORES, StatisticTable
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.humans.gain import why_no_gain
from persona_panel.statistics.resampling.weights import resampled_mean

PERSONAS = StatisticTable(
    "Judges with personas compared with replicates of a judge without one, by item: variance of "
    "the ratings, of categories the share of pairs that differ",
    remark="More disagreement among personas than among replicates: personas change ratings beyond "
    "what the model varies by itself. This cannot show that they change them for the better: only "
    "ratings by people can (correlate --human). Equal disagreement does not show that personas do "
    "nothing: all may move ratings alike.",
)


@agreement_statistics.register(
    "persona_disagreement", "among\npersonas", table=PERSONAS, levels=ANY_LEVEL,
    needs=("controls",), order=51,
)  # fmt: skip
def among_personas(block: AgreementBlock) -> Iterator[BlockResult]:
    yield replace(_mean(block, _by_item(block)[0], block.ratings), limits=(0.0, inf))


@agreement_statistics.register(
    "replicate_disagreement", "among replicates\nwithout persona", table=PERSONAS,
    levels=ANY_LEVEL, needs=("controls",), order=52,
)  # fmt: skip
def among_replicates(block: AgreementBlock) -> Iterator[BlockResult]:
    yield replace(_mean(block, _by_item(block)[1], block.controls), limits=(0.0, inf))


@agreement_statistics.register(
    "disagreement_added", "difference", table=PERSONAS, levels=ANY_LEVEL, needs=("controls",),
    of=OF_SCORES, show_note=True, summary="disagreement that personas add", order=53,
)  # fmt: skip
def added(block: AgreementBlock) -> Iterator[BlockResult]:
    personas, replicates = _by_item(block)
    result = _mean(block, personas - replicates, np.hstack([block.ratings, block.controls]))
    yield _unless_alike(block, result)


@agreement_statistics.register(
    "alpha_added_by_personas", "difference\nof α", table=PERSONAS, levels=ANY_LEVEL,
    needs=("controls",), order=54,
)  # fmt: skip
def alpha_difference(block: AgreementBlock) -> Iterator[BlockResult]:
    sides = (block.ratings, block.controls)
    found = [krippendorff_alpha(side, block.level) for side in sides]
    first, second = (resampled_alpha(side, block.level) for side in sides)
    reason = next((one.reason for one in found if one.reason is not None), None)
    statistic = (
        Statistic.undefined(reason)
        if reason is not None
        else Statistic(
            found[0].value - found[1].value, found[0].n_items, sum(one.n_raters for one in found)
        )
    )
    yield _unless_alike(
        block,
        BlockResult(
            statistic,
            difference_of(first, second),
            kind="difference",
            limits=(-2.0, 2.0),
            counted=np.logical_or(*map(has_two_ratings, sides)),
        ),
    )


def _by_item(block: AgreementBlock) -> tuple[Array, Array]:
    """The disagreement of both sides on the items on which both have one."""
    sides = [disagreement_by_item(side, block.level) for side in (block.ratings, block.controls)]
    missing = np.isnan(sides[0]) | np.isnan(sides[1])
    first, second = (np.where(missing, np.nan, side) for side in sides)
    return first, second


def _mean(block: AgreementBlock, by_item: Array, ratings: Array) -> BlockResult:
    defined = ~np.isnan(by_item)
    n_raters = int((~np.isnan(ratings[defined])).any(axis=0).sum())
    if not defined.any():
        few = (~np.isnan(block.controls)).any(axis=0).sum() < 2
        return BlockResult(
            Statistic.undefined(Reason.FEW_RATERS if few else Reason.NO_SHARED_ITEMS)
        )
    value = float(by_item[defined].mean())
    return BlockResult(
        Statistic(value, int(defined.sum()), n_raters), resampled_mean(by_item), kind="mean"
    )


def _unless_alike(block: AgreementBlock, result: BlockResult) -> BlockResult:
    n_replicates = int((~np.isnan(block.controls)).any(axis=0).sum())
    if result.statistic.reason is None and (why := why_no_gain(block.controls)) is not None:
        return BlockResult(Statistic.undefined(why))
    n_personas = int((~np.isnan(block.ratings)).any(axis=0).sum())
    return replace(
        result, note=f"{n_personas} judges with a persona, {n_replicates} replicates without"
    )
