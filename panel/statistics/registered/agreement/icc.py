"""Intraclass correlations of one rating and of the mean of an item's ratings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from persona_panel.statistics.agreement.agree import AGREEMENT, AgreementBlock, agreement_statistics
from persona_panel.statistics.agreement.icc import ICCForm, icc, resampled_icc
from persona_panel.statistics.core.arrays import has_ratings
from persona_panel.statistics.core.registry import OF_SCORES
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.core.statistic import Reason, Statistic


@agreement_statistics.register("icc1", "ICC(1,1)", order=190)
def one_way(block: AgreementBlock) -> Iterator[BlockResult]:
    yield _icc(block, "icc1")


@agreement_statistics.register("icc2", "ICC(2,1)", table=AGREEMENT, order=40)
def two_way(block: AgreementBlock) -> Iterator[BlockResult]:
    yield _icc(block, "icc2")


@agreement_statistics.register(
    "icc2k", "ICC(2,k),\nof the mean", table=AGREEMENT, of=OF_SCORES,
    summary="ICC(2,k), of the mean", order=50,
)  # fmt: skip
def two_way_of_the_mean(block: AgreementBlock) -> Iterator[BlockResult]:
    """Spearman-Brown's figure from ICC(2,1): none where that is not above 0, and none below 0."""
    found = _icc(block, "icc2k")
    one = found.statistic
    if one.reason in (None, Reason.NOT_POSITIVE) and not one.value > 0:
        undefined = Statistic.undefined(
            Reason.NOT_RELIABLE, n_items=one.n_items, n_raters=one.n_raters
        )
        yield BlockResult(undefined)
        return
    yield replace(found, limits=(0, 1))


def _icc(block: AgreementBlock, form: ICCForm) -> BlockResult:
    # An item with one rating tells of the variance of items, so that it counts.
    return BlockResult(
        icc(block.ratings, form),
        resampled_icc(block.ratings, form),
        limits=(-inf, 1),
        counted=has_ratings(block.ratings),
    )
