"""Perfect agreement, by hand and by its properties."""

from __future__ import annotations

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from persona_panel.statistics import Reason, perfect_agreement

RATINGS = arrays(
    float,
    st.tuples(st.integers(1, 6), st.integers(1, 4)),
    elements=st.sampled_from([1.0, 2.0, 3.0, nan]),
)


def test_perfect_agreement_by_hand() -> None:
    """Items that all their raters rate the same, of those with enough raters."""
    ratings = [[2, 2, 2], [1, 1, nan], [1, 2, 1], [3, nan, nan], [nan, nan, nan]]
    ours = perfect_agreement(ratings)
    assert ours.subset.tolist() == [True, True, False, False, False]
    assert ours.ratings == pytest.approx([2, 1, nan, nan, nan], nan_ok=True)
    assert (ours.share.value, ours.share.n_items, ours.share.n_raters) == (2 / 3, 3, 3)
    strict = perfect_agreement(ratings, min_raters=3)
    assert strict.subset.tolist() == [True, False, False, False, False]
    assert strict.share.value == 1 / 2


@given(RATINGS)
def test_perfect_agreement_is_no_spread(ratings: np.ndarray) -> None:
    """The subset is where the largest and smallest rating coincide, for any ratings."""
    ours = perfect_agreement(ratings)
    expected = [len(row := item[~np.isnan(item)]) >= 2 and len(set(row)) == 1 for item in ratings]
    assert ours.subset.tolist() == expected
    assert ours.share.reason is not None or 0 <= ours.share.value <= 1


def test_perfect_agreement_undefined() -> None:
    """No item with two ratings is no agreement, and one rater cannot be asked for any."""
    assert perfect_agreement([[1.0], [2.0]]).share.reason is Reason.FEW_RATERS
    assert perfect_agreement([[1, nan], [nan, 2]]).share.reason is Reason.NO_SHARED_ITEMS
    assert isnan(perfect_agreement(np.empty((0, 2))).share.value)
    with pytest.raises(ValueError, match="found 1"):
        perfect_agreement([[1.0, 2.0]], min_raters=1)
