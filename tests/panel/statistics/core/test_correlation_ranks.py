"""Ranks within prompts."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from persona_panel.statistics import ranks_within

SPARSE = arrays(
    float,
    st.tuples(st.integers(1, 8), st.integers(1, 4)),
    elements=st.sampled_from([1.0, 2.0, 3.0, nan]),
)


@given(SPARSE)
def test_ranks_equal_scipys(ratings: np.ndarray) -> None:
    """Ranks inside a prompt are scipy.stats.rankdata's, gaps left as they are."""
    expected = stats.rankdata(ratings, axis=0, nan_policy="omit")
    assert ranks_within(ratings).ranks == pytest.approx(expected, nan_ok=True)
    ties = [stats.tiecorrect(stats.rankdata(c[~np.isnan(c)])) for c in ratings.T]
    sizes = np.sum(~np.isnan(ratings), axis=0)
    expected_ties = [(1 - t) * (n**3 - n) for t, n in zip(ties, sizes, strict=True)]
    assert ranks_within(ratings).ties[0] == pytest.approx(expected_ties, abs=1e-9)


def test_ranks_within_prompts() -> None:
    """The lowest item has rank 1 in its prompt, ties share, and gaps are not ranked.

    Prompt a: rater 1 gives 5 < 9, ranks 2 1; rater 2 gives 4 = 4, ranks 1.5 1.5. Prompt b:
    rater 1 gives 1 < 2, ranks 1 2; rater 2 rated the first only, rank 1.
    """
    ratings = [[9, 4], [5, 4], [1, 7], [2, nan], [nan, nan]]
    expected = np.array([[2, 1.5], [1, 1.5], [1, 1], [2, nan], [nan, nan]])
    found = ranks_within(ratings, list("aabbb")).ranks
    assert found == pytest.approx(expected, nan_ok=True)
