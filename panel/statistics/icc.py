"""Intraclass correlations: the share of variance that is the items'.

Sources: Shrout & Fleiss (1979), "Intraclass correlations: uses in assessing rater
reliability": ICC(1,1), ICC(2,1), ICC(2,k); McGraw & Wong (1996). With gaps, the variance
components are Henderson's (see `components`): the same numbers where every rater rated
every item, and no rating thrown away where not.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from panel.statistics.arrays import as_ratings
from panel.statistics.components import RESIDUAL, variance_components
from panel.statistics.estimate import Estimate, Reason

Form = Literal["icc1", "icc2", "icc2k"]


def icc(ratings: ArrayLike, form: Form = "icc2") -> Estimate:
    """An intraclass correlation of the raters.

    Args:
        ratings: `(items, raters)`, NaN where missing.
        form: `icc1`, one rating, each item by other raters; `icc2`, one rating, raters are
            a sample whose strictness counts as error; `icc2k`, the mean of an item's
            ratings, of which there are k (their harmonic mean over items, with gaps).

    Returns:
        At most 1; below 0 where items vary less than their ratings do. Undefined without
        two items and two raters, when all ratings are one value, or when the gaps leave
        items, raters and error inseparable.

    Raises:
        ValueError: a wrong shape, an infinite value, or an unknown form.
    """
    if form not in get_args(Form):
        raise ValueError(f"form is one of {', '.join(get_args(Form))}, found {form!r}")
    array = as_ratings(ratings)
    rated = ~np.isnan(array)
    sizes = rated.sum(axis=1)
    items, raters = np.nonzero(rated)
    n_items, n_raters = int((sizes > 0).sum()), int(rated.any(axis=0).sum())

    def undefined(reason: Reason) -> Estimate:
        return Estimate.undefined(reason, n_items=n_items, n_raters=n_raters)

    if n_raters < 2:
        return undefined(Reason.FEW_RATERS)
    if n_items < 2:
        return undefined(Reason.FEW_ITEMS)
    if not (sizes >= 2).any():
        return undefined(Reason.NO_SHARED_ITEMS)
    factors = {"item": items} if form == "icc1" else {"item": items, "rater": raters}
    found = variance_components(array[items, raters], factors)
    if found.reason:
        one_value = found.reason is Reason.NO_VARIANCE
        return undefined(Reason.ONE_VALUE if one_value else found.reason)
    signal = found.variances["item"]
    noise = found.variances[RESIDUAL] + found.variances.get("rater", 0.0)
    k = 1.0 if form != "icc2k" else float(1 / np.mean(1 / sizes[sizes > 0]))
    total = signal + noise / k
    if total <= 0:
        return undefined(Reason.NOT_POSITIVE)
    return Estimate(signal / total, n_items, n_raters)
