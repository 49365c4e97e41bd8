"""Full, top-1 and perfect agreement, by hand and by their properties."""

from __future__ import annotations

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from persona_panel.statistics import Reason, perfect_agreement, ranking_agreement

RATINGS = arrays(
    float,
    st.tuples(st.integers(1, 6), st.integers(1, 4)),
    elements=st.sampled_from([1.0, 2.0, 3.0, nan]),
)


def test_ranking_agreement_by_hand() -> None:
    """Shares are over pairs of raters in each prompt, then over prompts.

    Prompt a: 3 1 2, 9 1 5 and 3 2 1. The first two rank alike; all put the first item first:
    full 1/3, top 3/3. Prompt b: 1 2 and 2 2 and 1 2: first and third alike; the second ties
    both for first: full 1/3, top 1/3. Means 1/3 and 2/3.
    """
    ratings = np.array([[3, 1, 2, 1, 2], [9, 1, 5, 2, 2], [3, 2, 1, 1, 2]]).T
    full, top = ranking_agreement(ratings, list("aaabb"))
    assert [value.value for value in full.values] == pytest.approx([1 / 3, 1 / 3])
    assert [value.value for value in top.values] == pytest.approx([1, 1 / 3])
    assert full.mean.value == pytest.approx(1 / 3)
    assert top.mean.value == pytest.approx(2 / 3)


@given(RATINGS, st.integers(0, 2**32 - 1))
def test_ranking_agreement_properties(ratings: np.ndarray, seed: int) -> None:
    """Only order counts, raters have no names, and the same ranking has the same top."""
    ours = ranking_agreement(ratings)
    shuffled = np.exp(ratings)[:, np.random.default_rng(seed).permutation(ratings.shape[1])]
    theirs = ranking_agreement(shuffled)
    for found, expected in zip(theirs, ours, strict=True):
        assert found.mean.value == pytest.approx(expected.mean.value, nan_ok=True)
    assert not ours[0].mean.value > ours[1].mean.value
    copied = ranking_agreement(np.repeat(ratings[:, :1], 3, axis=1))[0].mean
    assert copied.value == 1 or copied.reason is not None


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1.0], [2.0]], Reason.FEW_RATERS),
        ([[1.0, nan], [nan, 2.0]], Reason.NO_SHARED_ITEMS),
        ([[1.0, 2.0]], Reason.FEW_ITEMS),
        ([[1.0, 2.0, nan], [nan, 1.0, 2.0]], Reason.NO_PAIRS),
    ],
)
def test_ranking_agreement_undefined(ratings: list[list[float]], reason: Reason) -> None:
    """A pair needs two items to have ranked."""
    ours = ranking_agreement(ratings)
    assert ours[0].mean.reason is reason
    assert ours[1].mean.reason is reason


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
