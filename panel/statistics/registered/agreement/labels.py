"""Labels by several annotators: agreement on each label, and κ of every two annotators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from persona_panel.statistics.agreement.agree import AgreementBlock, agreement_statistics
from persona_panel.statistics.agreement.kappa import cohen_kappa
from persona_panel.statistics.agreement.labels import agreement_on
from persona_panel.statistics.core.arrays import Array, unit_weights
from persona_panel.statistics.core.registry import ANY_LEVEL, StatisticTable
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.core.statistic import Reason, Statistic

ANNOTATORS_SHOWN = 40
"""κ of every two is computed for at most so many; of more, the mean is."""


@agreement_statistics.register(
    "agreement_on_label", "agreement",
    table=StatisticTable("Agreement of two annotators on each label", columns="by_value"),
    levels=ANY_LEVEL, needs=("categories",), order=70,
)  # fmt: skip
def by_label(block: AgreementBlock) -> Iterator[BlockResult]:
    several = (~np.isnan(block.ratings)).sum(axis=1) > 1
    n_raters = int((~np.isnan(block.ratings[several])).any(axis=0).sum())
    n_items = int(several.sum())
    for code, name in enumerate(block.categories):
        resampled = agreement_on(block.ratings, code)
        value = float(resampled(unit_weights(len(block.ratings)))[0])
        found = (
            Statistic.undefined(Reason.NO_RATINGS, n_items=n_items, n_raters=n_raters)
            if np.isnan(value)
            else Statistic(value, n_items, n_raters)
        )
        yield BlockResult(
            found, resampled, kind="share", limits=(0.0, 1.0), by="label", by_value=name
        )


@agreement_statistics.register(
    "kappa_of_two", "Cohen κ",
    table=StatisticTable(
        "Cohen κ of every two annotators", columns="crossed", all_raters_only=True
    ),
    levels=ANY_LEVEL, needs=("categories",), order=80,
)  # fmt: skip
def matrix(block: AgreementBlock) -> Iterator[BlockResult]:
    if len(block.raters) <= ANNOTATORS_SHOWN:
        yield from kappa_matrix(block.ratings, block.raters)


def kappa_matrix(labels: Array, names: Sequence[str]) -> Iterator[BlockResult]:
    """Unweighted κ of every two annotators, those of a pair once: `by` is the one, `by_value` the
    other.

    Args:
        labels: `(items, annotators)`, NaN where missing.
        names: the annotators'.
    """
    for place, name in enumerate(names):
        for other in range(place + 1, len(names)):
            found = cohen_kappa(labels[:, place], labels[:, other], "none")
            yield BlockResult(found, by=name, by_value=names[other])
