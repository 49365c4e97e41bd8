"""Intraclass correlations against published and balanced analyses."""

from __future__ import annotations

from math import isnan, nan
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from persona_panel.statistics import Reason, icc, variance_components
from persona_panel.statistics.reliability import ICCForm

FORMS = get_args(ICCForm)
RATINGS = arrays(
    float,
    st.tuples(st.integers(1, 6), st.integers(1, 5)),
    elements=st.sampled_from([1.0, 2.0, 3.0, 5.0, nan]),
)

# Shrout & Fleiss (1979), table 2: six targets, four judges; table 4 gives ICC(1,1) 0.17,
# ICC(2,1) 0.29, ICC(2,4) 0.62. pingouin 0.6.1 gives 0.165742, 0.289764, 0.620051.
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
)


@pytest.mark.parametrize(
    ("form", "expected"), [("icc1", 0.165742), ("icc2", 0.289764), ("icc2k", 0.620051)]
)
def test_published_example(form: ICCForm, expected: float) -> None:
    """The three forms are those of the paper that named them."""
    ours = icc(SHROUT_FLEISS, form)
    assert ours.value == pytest.approx(expected, abs=1e-6)
    assert (ours.n_items, ours.n_raters) == (6, 4)


@given(
    arrays(
        float, st.tuples(st.integers(2, 6), st.integers(2, 5)), elements=st.floats(-9, 9, width=16)
    )
)
def test_complete_ratings_give_the_mean_squares_formula(ratings: np.ndarray) -> None:
    """Without gaps each form is Shrout & Fleiss' ratio of mean squares."""
    n, k = ratings.shape
    grand, rows, columns = ratings.mean(), ratings.mean(axis=1), ratings.mean(axis=0)
    between = k * np.sum((rows - grand) ** 2) / (n - 1)
    within = np.sum((ratings - rows[:, None]) ** 2) / (n * (k - 1))
    judges = n * np.sum((columns - grand) ** 2) / (k - 1)
    residual = ratings - rows[:, None] - columns[None, :] + grand
    error = np.sum(residual**2) / ((n - 1) * (k - 1))
    ratios = {
        "icc1": (between - within, between + (k - 1) * within),
        "icc2": (between - error, between + (k - 1) * error + k * (judges - error) / n),
        "icc2k": (between - error, between + (judges - error) / n),
    }
    for form in FORMS:
        numerator, denominator = ratios[form]
        if denominator > 1e-6:
            assert icc(ratings, form).value == pytest.approx(numerator / denominator, abs=1e-6)


@given(RATINGS, st.sampled_from(FORMS), st.integers(0, 2**32 - 1))
def test_properties(ratings: np.ndarray, form: ICCForm, seed: int) -> None:
    """Gaps or not: at most 1, blind to units and to the order of raters and items."""
    rng = np.random.default_rng(seed)
    ours = icc(ratings, form)
    assert (ours.reason is None) != isnan(ours.value)
    assert not ours.value > 1 + 1e-9
    shuffled = ratings[rng.permutation(len(ratings))][:, rng.permutation(ratings.shape[1])]
    theirs = icc(5 - 2 * shuffled, form)
    if ours.reason is not Reason.NOT_POSITIVE and theirs.reason is not Reason.NOT_POSITIVE:
        assert theirs.value == pytest.approx(ours.value, abs=1e-6, nan_ok=True)


@given(RATINGS, st.sampled_from(FORMS), st.integers(0, 2**32 - 1))
def test_resampled_equals_repeating_the_rows(ratings: np.ndarray, form: ICCForm, seed: int) -> None:
    """A weight of k is worth k copies of the item."""
    drawn = np.random.default_rng(seed).integers(0, 4, (3, len(ratings))).astype(float)
    for row, found in zip(drawn, icc(ratings, form).resampled(drawn), strict=True):
        repeated = icc(np.repeat(ratings, row.astype(int), axis=0), form)
        if repeated.reason is not Reason.NOT_POSITIVE:
            assert found == pytest.approx(repeated.value, abs=1e-6, nan_ok=True)


@given(RATINGS)
def test_equals_the_variance_components(ratings: np.ndarray) -> None:
    """Gaps or not, ICC(2,1) is the items' part of Henderson's components."""
    items, raters = np.nonzero(~np.isnan(ratings))
    found = variance_components(ratings[items, raters], {"item": items, "rater": raters})
    total = sum(value for name, value in found.variances.items() if name != "item:rater")
    ours = icc(ratings, "icc2")
    if ours.reason is None:
        assert ours.value * total == pytest.approx(found.variances["item"], abs=1e-6)
    else:
        assert not total > 1e-6


def test_raters_who_share_no_item_cannot_be_told_from_items() -> None:
    """Each item rated by raters of its own: ICC(1) is defined, ICC(2,1) is not.

    1 2 against 4 5: between 2 · 1.5² · 2 = 9 over 1, within 1/2, so (9 − 1/2) / (9 + 1/2).
    """
    ratings = [[1, 2, nan, nan], [nan, nan, 4, 5]]
    assert icc(ratings, "icc1").value == pytest.approx(8.5 / 9.5)
    assert icc(ratings, "icc2").reason is Reason.NO_ERROR_TERM


def test_variances_that_cancel_have_no_share() -> None:
    """Components −1/2, −1/3 and 5/6 sum to 0: no ICC, not one of a rounding error."""
    assert icc([[2, 1], [nan, 2], [nan, 2]]).reason is Reason.NOT_POSITIVE


def test_one_way_with_gaps() -> None:
    """ICC(1) with gaps is the one-way analysis of unequal groups.

    Items with ratings 1 2, 4 5 6 and 9: n = 6, grand mean 4.5. Between: 2 · 3² + 3 · 0.5² +
    4.5² = 39 over 2 = 19.5. Within: 0.5 + 2 = 2.5 over 3 = 5/6. k₀ = (6 − (4 + 9 + 1)/6) / 2
    = 11/6. σ² of items = (19.5 − 5/6) / k₀ = 112/11; ICC = (112/11) / (112/11 + 5/6).
    """
    ratings = [[1, 2, nan], [4, 5, 6], [nan, 9, nan]]
    assert icc(ratings, "icc1").value == pytest.approx((112 / 11) / (112 / 11 + 5 / 6))


def test_gaps_at_random_do_not_bias() -> None:
    """On average over many samples with half of the ratings gone, ICC(2,1) is the true one."""
    rng = np.random.default_rng(0)
    values = []
    for _ in range(60):
        ratings = rng.normal(size=(120, 1)) + rng.normal(size=12) * 0.5**0.5
        ratings = ratings + rng.normal(size=ratings.shape) * 0.5**0.5
        ratings[rng.random(ratings.shape) < 0.5] = nan
        values.append(icc(ratings, "icc2").value)
    # Variances 1 of items, 1/2 of raters, 1/2 of error: 1 / 2.
    assert np.mean(values) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1.0], [2.0]], Reason.FEW_RATERS),
        ([[1.0, 2.0]], Reason.FEW_ITEMS),
        ([[1.0, nan], [nan, 2.0]], Reason.NO_SHARED_ITEMS),
        ([[2.0, 2.0], [2.0, 2.0]], Reason.ONE_VALUE),
    ],
)
def test_undefined_has_a_reason(form: ICCForm, ratings: list[list[float]], reason: Reason) -> None:
    """What cannot be computed is NaN and says why."""
    ours = icc(ratings, form)
    assert isnan(ours.value)
    assert ours.reason is reason


def test_unknown_form_is_refused() -> None:
    """A form that does not exist is named."""
    with pytest.raises(ValueError, match="found 'icc3'"):
        icc(SHROUT_FLEISS, "icc3")  # type: ignore[arg-type]
