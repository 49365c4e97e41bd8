"""Krippendorff's α against the krippendorff package, published examples and its properties."""

from __future__ import annotations

from itertools import product
from math import isnan, nan
from typing import get_args

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from persona_panel.statistics import Reason, krippendorff_alpha
from persona_panel.statistics.reliability import MeasurementLevel

LEVELS = get_args(MeasurementLevel)
RATINGS = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=7),
    elements=st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0, nan]),
)

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section D: four
# observers, twelve units. He gives nominal 0.743, ordinal 0.815, interval 0.849, ratio 0.797.
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
        [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
    ]
).T


def reference(ratings: np.ndarray, level: str) -> float:
    """α by the krippendorff package, NaN where it refuses or warns of 0/0; of a single item with
    two ratings, too, for which the package's is 0 whatever these are."""
    if np.sum(np.sum(~np.isnan(ratings), axis=1) >= 2) == 1:
        return nan
    try:
        return float(krippendorff.alpha(ratings.T, level_of_measurement=level))
    except (ValueError, RuntimeWarning):
        return nan


@pytest.mark.parametrize(
    ("level", "expected"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_published_example(level: MeasurementLevel, expected: float) -> None:
    """α is the one that its author computes by hand, at every level."""
    assert krippendorff_alpha(PUBLISHED, level).value == pytest.approx(expected, abs=5e-4)


@given(RATINGS, st.sampled_from(LEVELS))
def test_equals_the_krippendorff_package(ratings: np.ndarray, level: MeasurementLevel) -> None:
    """α equals the reference package's on any ratings with gaps, and is undefined with it."""
    ours = krippendorff_alpha(ratings, level)
    assert ours.value == pytest.approx(reference(ratings, level), abs=1e-10, nan_ok=True)
    assert (ours.reason is None) != isnan(ours.value)


@pytest.mark.parametrize("level", LEVELS)
def test_equals_the_package_on_continuous_scores(level: MeasurementLevel) -> None:
    """α does not need few values: every score may be another."""
    rng = np.random.default_rng(1)
    ratings = rng.gamma(2, size=(30, 1)) + rng.gamma(1, size=(30, 4))
    ratings[rng.random(ratings.shape) < 0.3] = nan
    expected = reference(ratings, level)
    assert krippendorff_alpha(ratings, level).value == pytest.approx(expected, abs=1e-12)


def test_hand_calculation() -> None:
    """α nominal is what the definition gives on four items of two raters.

    Ratings 11, 22, 33, 12: eight pairable values, three 1s, three 2s, two 3s. Observed
    disagreement: of 8 ordered pairs within items 2 differ, 2/8. Expected: of 8 × 7 ordered
    pairs, 8² − (3² + 3² + 2²) = 42 differ, 42/56. α = 1 − (2/8) / (42/56) = 2/3.
    """
    ours = krippendorff_alpha([[1, 1], [2, 2], [3, 3], [1, 2]], "nominal")
    assert ours.value == pytest.approx(1 - (2 / 8) / (42 / 56))
    assert (ours.n_items, ours.n_raters) == (4, 2)


@given(RATINGS, st.sampled_from(LEVELS), st.integers(0, 2**32 - 1))
def test_resampled_equals_repeating_the_rows(
    ratings: np.ndarray, level: MeasurementLevel, seed: int
) -> None:
    """A weight of k is worth k copies of the item, ordinal mid-ranks included."""
    weights = np.random.default_rng(seed).integers(0, 4, (3, len(ratings))).astype(float)
    ours = krippendorff_alpha(ratings, level).resampled(weights)
    for row, value in zip(weights.astype(int), ours, strict=True):
        repeated = np.repeat(ratings, row, axis=0)
        expected = krippendorff_alpha(repeated, level).value
        assert value == pytest.approx(expected, abs=1e-10, nan_ok=True)


@given(RATINGS, st.sampled_from(LEVELS), st.randoms(use_true_random=False))
def test_raters_and_items_have_no_names(
    ratings: np.ndarray, level: MeasurementLevel, random: object
) -> None:
    """Shuffling raters, shuffling items, and shuffling the raters of each item change nothing."""
    rng = np.random.default_rng(random.randrange(2**32))  # type: ignore[attr-defined]
    shuffled = rng.permuted(ratings[rng.permutation(len(ratings))], axis=1)
    expected = krippendorff_alpha(ratings, level).value
    assert krippendorff_alpha(shuffled, level).value == pytest.approx(
        expected, abs=1e-10, nan_ok=True
    )


@pytest.mark.parametrize(
    ("level", "change"),
    [
        ("nominal", lambda x: np.cos(x)),
        ("ordinal", lambda x: np.exp(x)),
        ("interval", lambda x: 1000 - 3 * x),
        ("ratio", lambda x: 7 * x),
    ],
)
@given(ratings=RATINGS)
def test_level_decides_what_may_change(
    level: MeasurementLevel, change: object, ratings: np.ndarray
) -> None:
    """Renaming keeps nominal α, monotone transforms ordinal, affine interval, scaling ratio."""
    changed = change(ratings)  # type: ignore[operator]
    expected = krippendorff_alpha(ratings, level).value
    assert krippendorff_alpha(changed, level).value == pytest.approx(
        expected, abs=1e-8, nan_ok=True
    )


@given(RATINGS, st.sampled_from(LEVELS))
def test_at_most_one_and_one_for_agreement(ratings: np.ndarray, level: MeasurementLevel) -> None:
    """α never passes 1, and is 1 where every rater repeats the first."""
    assert not krippendorff_alpha(ratings, level).value > 1
    copied = np.repeat(ratings[:, :1], 3, axis=1)
    alike = krippendorff_alpha(copied, level)
    several = len(np.unique(copied[~np.isnan(copied)])) > 1
    assert alike.value == pytest.approx(1.0) if several else isnan(alike.value)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1.0], [2.0]], Reason.FEW_RATERS),
        ([[1.0, nan], [2.0, nan]], Reason.FEW_RATERS),
        ([[1.0, nan], [nan, 2.0]], Reason.NO_SHARED_ITEMS),
        ([[3.0, 3.0], [3.0, 3.0], [1.0, nan]], Reason.ONE_VALUE),
        ([[1.0, 3.0], [2.0, nan]], Reason.FEW_ITEMS),
        (np.empty((0, 3)), Reason.FEW_RATERS),
    ],
)
def test_undefined_has_a_reason(ratings: object, level: MeasurementLevel, reason: Reason) -> None:
    """What cannot be computed is NaN and says why."""
    ours = krippendorff_alpha(ratings, level)  # type: ignore[arg-type]
    assert isnan(ours.value)
    assert ours.reason is reason


@pytest.mark.parametrize("size", [1e-160, 1.0, 1e160])
def test_size_of_the_scores_does_not_matter(size: float) -> None:
    """Scores whose squares overflow or vanish give the α of ordinary ones, without warnings."""
    ratings = np.array([[1, 2], [2, 2], [3, 5], [4, 4]])
    expected = krippendorff_alpha(ratings, "interval").value
    assert krippendorff_alpha(ratings * size, "interval").value == pytest.approx(expected)


def test_bad_input_is_refused() -> None:
    """A wrong shape, infinity, a negative ratio and an unknown level are named."""
    with pytest.raises(ValueError, match=r"shape \(items, raters\)"):
        krippendorff_alpha([1, 2, 3])
    with pytest.raises(ValueError, match="that of item 1, rater 0"):
        krippendorff_alpha([[1, 2], [np.inf, 2]])
    with pytest.raises(ValueError, match="no negative values, found -1"):
        krippendorff_alpha([[-1, 2], [1, 2]], "ratio")
    with pytest.raises(ValueError, match="found 'cardinal'"):
        krippendorff_alpha([[1, 2]], "cardinal")  # type: ignore[arg-type]


def test_blocks_do_not_show() -> None:
    """Many resamples give what each gives alone, so memory blocks leave no seam."""
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (400, 3)).astype(float)
    weights = rng.multinomial(400, np.full(400, 1 / 400), size=5003).astype(float)
    for level, row in product(LEVELS, (0, 4999, 5002)):
        alpha = krippendorff_alpha(ratings, level).resampled
        assert alpha(weights)[row] == pytest.approx(alpha(weights[row : row + 1])[0], abs=1e-12)


def test_an_alpha_has_the_least_value_that_its_fewest_ratings_of_an_item_allow() -> None:
    """Of items with three ratings, and one with two, α is at least −1 / (2 − 1); one with a single
    rating does not count. Of squared distances alone: a ratio's α has no such end."""
    ratings = np.array([[1, 2, 3], [2, 2, np.nan], [3, np.nan, np.nan], [1, 1, 3.0]])
    assert krippendorff_alpha(ratings).limits == (-1, 1)
    assert krippendorff_alpha(ratings[[0, 3]], "interval").limits == (-1 / 2, 1)
    assert krippendorff_alpha(ratings, "ratio").limits == (-np.inf, 1)
