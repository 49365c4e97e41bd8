"""When ratings have a composite."""

from __future__ import annotations

import numpy as np
import pytest

from panel.statistics import Ratings
from panel.statistics.core.composite import on_composite


def of(*scores: list[float]) -> Ratings:
    """Items by two raters on two dimensions: rows have both raters' first, then both second."""
    table = np.array(scores).reshape(len(scores), 2, 2).transpose(0, 2, 1)
    items = tuple(f"i{place}" for place in range(len(scores)))
    return Ratings(table, items, ("r", "s"), ("clear", "sound"), ("g", "g"))


def test_it_is_the_mean_of_what_a_rater_gave_to_all() -> None:
    """A rater who left one dimension out has none of that item."""
    [whole] = on_composite(of([1, 2, 3, 5], [4, 4, np.nan, 2])) or ()
    np.testing.assert_array_equal(whole.scores[:, :, 0], [[2.0, 3.5], [np.nan, 3.0]])


@pytest.mark.parametrize(
    "ratings",
    [
        of([1, 2, 10, 90], [4, 4, 50, 20]),
        of([1, np.nan, np.nan, 2], [3, np.nan, np.nan, 5]),
    ],
    ids=["ranges of 3 and 80", "each rated one dimension"],
)
def test_there_is_none_of_other_scales_or_of_nobody(ratings: Ratings) -> None:
    """Neither where dimensions plainly have other scales, nor where no rater rated both."""
    assert on_composite(ratings) is None


def test_one_that_says_little_has_no_scale() -> None:
    """A dimension on which all are rated alike is on any scale."""
    assert on_composite(of([3, 3, 1, 5], [3, 3, 2, 4])) is not None
