"""Intraclass correlations of one rating and of the mean of an item's ratings."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from panel.statistics.agree import AGREEMENT, AgreementBlock, agreement_statistics
from panel.statistics.agreement.icc import ICCForm, icc, resampled_icc
from panel.statistics.core.results import Result


@agreement_statistics.register("icc1", "ICC(1,1)", order=190)
def one_way(block: AgreementBlock) -> Iterator[Result]:
    yield _icc(block, "icc1")


@agreement_statistics.register("icc2", "ICC(2,1)", table=AGREEMENT, order=40)
def two_way(block: AgreementBlock) -> Iterator[Result]:
    yield _icc(block, "icc2")


@agreement_statistics.register("icc2k", "ICC(2,k),\nof the mean", table=AGREEMENT, order=50)
def two_way_of_the_mean(block: AgreementBlock) -> Iterator[Result]:
    yield _icc(block, "icc2k")


def _icc(block: AgreementBlock, form: ICCForm) -> Result:
    return Result(icc(block.ratings, form), resampled_icc(block.ratings, form), limits=(-inf, 1))
