"""The share of items on which all raters lie within one point."""

from collections.abc import Iterator

import numpy as np

from persona_panel.statistics import (
    OF_SCORES,
    AgreementBlock,
    Reason,
    Statistic,
    agreement_statistics,
    resampled_mean,
)


@agreement_statistics.register(
    "near_agreement", "within\none point", of=OF_SCORES, summary="within one point"
)
def near_agreement(block: AgreementBlock) -> Iterator[Statistic]:
    complete = np.asarray(~np.isnan(block.ratings).any(axis=1))
    near = np.where(complete, np.ptp(block.ratings, axis=1) <= 1, np.nan)
    n_raters, otherwise = block.ratings.shape[1], Reason.NO_SHARED_ITEMS
    yield Statistic.of_weights(resampled_mean(near), complete, n_raters, otherwise, "share", (0, 1))
