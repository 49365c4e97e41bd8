"""The share of variance between raters, against the general variance components."""

from __future__ import annotations

import numpy as np
import pytest

from persona_panel.statistics import (
    Reason,
    variance_components,
    variance_share,
)

PARTS = ("item", "rater", "residual")


def test_by_hand() -> None:
    """Two raters a point apart on everything: no residual, and the parts follow the means."""
    ratings = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    # Items: means 1.5, 3.5, 5.5, variance 4; raters: means 3, 4, variance 0.5; no residual.
    assert variance_share(ratings, "ab", "item").value == pytest.approx(4 / 4.5)
    assert variance_share(ratings, "ab", "rater").value == pytest.approx(0.5 / 4.5)
    assert variance_share(ratings, "ab", "residual").value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_a_resample_is_the_statistic_of_its_items(gaps: float) -> None:
    """A drawn item is an item of its own as often as it was drawn; columns of a label are one
    rater asked again."""
    rng = np.random.default_rng(3)
    raters = ["a", "a", "b", "b", "c"]
    ratings = rng.normal(size=(15, 1)) + np.array([0, 0, 1, 1, 2.0]) + rng.normal(size=(15, 5))
    ratings[rng.random(ratings.shape) < gaps] = np.nan
    weights = rng.multinomial(15, np.full(15, 1 / 15), size=6).astype(float)
    for part in PARTS:
        drawn = variance_share(ratings, raters, part).resampled(weights)
        for row, value in zip(weights, drawn, strict=True):
            again = np.repeat(ratings, row.astype(int), axis=0)
            items = np.repeat(np.arange(len(again)), 5)
            found = variance_components(
                again.ravel(), {"item": items, "rater": np.tile(raters, len(again))}
            )
            shares = {name: 0 if np.isnan(share) else share for name, share in found.shares.items()}
            shares["residual"] += shares["item:rater"]
            assert value == pytest.approx(shares[part], abs=1e-9)
        plain = variance_share(ratings, raters, part).resampled(np.ones((1, 15)))[0]
        assert variance_share(ratings, raters, part).value == pytest.approx(plain)


@pytest.mark.parametrize(
    ("ratings", "raters", "reason"),
    [
        ([[1.0], [2.0]], "a", Reason.FEW_RATERS),
        ([[1.0, np.nan], [2.0, np.nan]], "ab", Reason.FEW_RATERS),
        ([[1.0, 2.0]], "ab", Reason.FEW_ITEMS),
        ([[1.0, np.nan], [np.nan, 2.0]], "ab", Reason.NO_ERROR_TERM),
        ([[7.0, 7.0], [7.0, 7.0]], "ab", Reason.NO_VARIANCE),
    ],
)
def test_undefined(ratings: list[list[float]], raters: str, reason: Reason) -> None:
    """One rater, one item or one value has no variance to share, and it is said why."""
    found = variance_share(ratings, list(raters), "rater")
    assert np.isnan(found.value)
    assert found.reason == reason
    assert np.isnan(
        variance_share(ratings, list(raters), "rater").resampled(np.ones((1, len(ratings))))
    )


def test_what_a_rater_repeats_of_an_item_is_no_variance_of_items() -> None:
    """Two raters asked twice give 1 1 and 3 3, then 3 3 and 1 1: items and raters have the mean 2
    each, so all variance is who says it of which item."""
    ratings = [[1.0, 1.0, 3.0, 3.0], [3.0, 3.0, 1.0, 1.0]]
    found = [variance_share(ratings, "aabb", part).value for part in PARTS]
    assert found == pytest.approx([0, 0, 1])
