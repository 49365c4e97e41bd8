"""What all statistics compute with: `persona_panel.statistics.core.arrays`."""

from __future__ import annotations

import numpy as np
import pytest

from persona_panel.statistics.core.arrays import (
    AnalysisOptions,
    Reason,
    Statistic,
    as_ratings,
    as_scores,
    count_by_item,
    count_raters,
    defined_mean,
    difference_of,
    divide,
    effective_number,
    encode_labels,
    group_count,
    has_ratings,
    items_by_label,
    mean_of,
    mean_there,
    means_by,
    paired_scores,
    row_means,
    rows_of,
    scaled_to_unit,
    undefined_everywhere,
    unit_weights,
    value_of,
    variance_there,
    why_few,
)
from persona_panel.statistics.human_raters import mean_of_others


@pytest.mark.parametrize("power", [-1060, -600, 0, 600, 1020])
def test_magnitudes_are_scaled_exactly(power: int) -> None:
    """The largest of 3, −1 and 2 times any power of two becomes 3/4, the others as exactly."""
    values = np.ldexp([3.0, -1.0, 2.0], power)
    assert scaled_to_unit(values).tolist() == [0.75, -0.25, 0.5]


def test_nothing_and_zeros_stay() -> None:
    """There is no magnitude to scale by, and none is made up."""
    assert scaled_to_unit(np.array([])).tolist() == []
    assert scaled_to_unit(np.zeros(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("unit", [1e-30, 1, 1e300])
def test_equal_means_are_ties_whatever_the_order_of_raters(unit: float) -> None:
    """Thirds, as composites of three dimensions are, that add up to the same in other orders have
    one mean, that of all as that of the others; what differs by a billionth stays apart."""
    rng = np.random.default_rng(3)
    drawn = rng.integers(3, 16, 9) / 3 * unit
    ratings = np.array([rng.permutation(drawn) for _ in range(200)])
    assert len({sum(row) for row in ratings.tolist()}) > 1
    assert len(set(row_means(ratings))) == 1
    np.testing.assert_allclose(row_means(ratings), drawn.mean(), rtol=1e-11)
    others = mean_of_others(np.column_stack([np.full(200, unit), ratings]))[:, 0]
    assert len(set(others)) == 1
    apart = np.array([[2.0], [2.0 + 1e-9]]) * unit
    assert len(set(row_means(apart))) == 2


@pytest.mark.parametrize(
    ("low", "high", "step", "n_raters"),
    [(65, 100, 0.1, 32), (65, 100, 0.01, 16), (600, 1000, 0.1, 4)],
)
def test_equal_means_are_ties_in_the_middle_between_two_decimals(
    low: float, high: float, step: float, n_raters: int
) -> None:
    """Of 2^n raters a mean may lie in the middle between two numbers of 12 decimals of a power of
    two, to either of which the rounding of a sum would take it: all orders have one mean."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        drawn = np.round(rng.integers(low / step, high / step, n_raters) * step, 2)
        assert len(set(row_means(np.array([rng.permutation(drawn) for _ in range(6)])))) == 1


@pytest.mark.parametrize("mean", [0.0, 1e-5])
def test_equal_means_near_0_are_ties(mean: float) -> None:
    """Tenths of either sign that add up to the same in other orders have one mean, also where it is
    0 or next to it, and the others have one, too; what is a ten-millionth off stays apart."""
    rng = np.random.default_rng(3)
    drawn = np.append(rng.integers(-30, 30, 9) / 10, 10 * mean)
    drawn[0] -= drawn.sum() - 10 * mean
    ratings = np.array([rng.permutation(drawn) for _ in range(200)])
    assert len({sum(row) for row in ratings.tolist()}) > 1
    found = row_means(np.vstack([ratings, drawn + 1e-7]))
    assert len(set(found[:-1])) == 1
    assert found[:2] == pytest.approx(mean, abs=1e-13)
    assert found[-1] - found[0] == pytest.approx(1e-7)
    others = mean_of_others(np.column_stack([np.full(200, 2.0), ratings]))[:, 0]
    assert len(set(others)) == 1


def test_scores_and_ratings_are_finite_numbers_of_their_shape() -> None:
    """What is missing stays; an infinite one is named by its place."""
    scores = as_scores([1, np.nan, 3])
    assert scores.dtype == np.float64 and scores.tolist()[::2] == [1.0, 3.0]
    assert as_ratings([[1, 2], [3, 4]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(ValueError, match=r"the shape \(items,\), found \(1, 2\)"):
        as_scores([[1, 2]])
    with pytest.raises(ValueError, match=r"the shape \(items, raters\), found \(2,\)"):
        as_ratings([1, 2])
    with pytest.raises(ValueError, match="not that of item 1, rater 0"):
        as_ratings([[1, 2], [np.inf, 4]])
    first, second, both = paired_scores([1, 2, np.nan], [4, np.nan, 6])
    assert (first[0], second[2], both.tolist()) == (1.0, 6.0, [True, False, False])
    with pytest.raises(ValueError, match="2 scores cannot be paired with 1"):
        paired_scores([1, 2], [1])


def test_labels_have_places_in_order_of_appearance() -> None:
    """Without labels all items have one."""
    names, codes = encode_labels("baab", 4)
    assert (names, codes.tolist()) == (("b", "a"), [0, 1, 1, 0])
    names, codes = encode_labels(None, 2)
    assert (names, codes.tolist()) == ((None,), [0, 0])
    with pytest.raises(ValueError, match="4 labels for 3 items"):
        encode_labels("baab", 3)
    assert [group_count(np.array(of, dtype=int)) for of in ([], [-1], [0, 2, 1])] == [0, 0, 3]


@pytest.mark.parametrize(
    ("rated", "reason"),
    [
        ([[1, 0], [1, 0]], Reason.FEW_PEOPLE),
        ([[1, 1], [0, 0]], Reason.FEW_ITEMS),
        ([[1, 0], [0, 1]], Reason.NO_SHARED_ITEMS),
        ([[1, 1], [0, 1]], Reason.ONE_VALUE),
    ],
)
def test_why_raters_cannot_be_compared(rated: list[list[int]], reason: Reason) -> None:
    """One rater, one item, nothing in common, else what the caller says; two items are enough."""
    assert why_few(np.array(rated, bool), Reason.ONE_VALUE, Reason.FEW_PEOPLE) is reason
    assert why_few(np.array([[True]]), Reason.ONE_VALUE) is Reason.FEW_RATERS


RATED = np.array([[1.0, np.nan, 4.0], [np.nan, np.nan, np.nan], [2.0, np.nan, 2.0]])


def test_means_and_variances_of_what_is_there() -> None:
    """NaN where there is nothing; a variance takes two values."""
    assert mean_there(RATED, 1) == pytest.approx([2.5, np.nan, 2.0], nan_ok=True)
    assert mean_there(RATED, 0) == pytest.approx([1.5, np.nan, 3.0], nan_ok=True)
    assert mean_there(RATED, 1, keepdims=True).shape == (3, 1)
    assert variance_there(RATED, 1) == pytest.approx([4.5, np.nan, 0.0], nan_ok=True)
    alone = np.array([[1.0, np.nan], [1.0, 3.0]])
    assert variance_there(alone, 1) == pytest.approx([np.nan, 2.0], nan_ok=True)
    assert defined_mean(np.array([1.0, np.nan, 4.0])) == 2.5
    assert np.isnan(defined_mean(np.array([np.nan])))


def test_means_of_groups() -> None:
    """Of as many groups as codes have, or as many as wanted."""
    codes = np.array([1, 0, 1])
    assert means_by(np.array([1.0, 5.0, 4.0]), codes).tolist() == [5.0, 2.5]
    assert means_by(RATED[:, 0], codes, 3) == pytest.approx([np.nan, 1.5, np.nan], nan_ok=True)
    assert means_by(np.empty(0), np.empty(0, int)).shape == (0,)


def test_rows_of_wanted_items() -> None:
    """In their order; NaN of others."""
    scores = np.array([[1.0, 2.0], [3.0, 4.0]])
    rows = rows_of(scores, ["x", "y"], ["y", "z", "x"])
    assert rows.ravel() == pytest.approx([3, 4, np.nan, np.nan, 1, 2], nan_ok=True)
    of = [(name, items.tolist()) for name, items in items_by_label("baab", 4)]
    assert of == [("b", [0, 3]), ("a", [1, 2])]


def test_ratings_are_counted() -> None:
    """By item, by rater, by value."""
    assert has_ratings(RATED).tolist() == [True, False, True]
    assert has_ratings(RATED, 3).tolist() == [False] * 3
    assert has_ratings(RATED, 2).tolist() == [True, False, True]
    assert count_raters(RATED) == 2
    counted = count_by_item(RATED, np.array([1.0, 2.0, 4.0]))
    assert counted.tolist() == [[1, 0, 1], [0, 0, 0], [0, 2, 0]]


def test_quotients_and_effective_numbers() -> None:
    """Nothing is divided by 0; weights 2, 1 and 1 are worth 16/6."""
    assert divide([1.0, 0.0, np.nan], [2.0, 0.0, 1.0]) == pytest.approx(
        [0.5, np.nan, np.nan], nan_ok=True
    )
    assert divide(1, [2.0, 4.0]).tolist() == [0.5, 0.25]
    assert float(effective_number(np.array([2.0, 1.0, 1.0]))) == pytest.approx(16 / 6)
    assert np.isnan(effective_number(np.zeros(2)))


def test_statistics_in_resamples() -> None:
    """Means are over those defined, differences where both are."""
    first, second = (lambda weights: weights[:, 0]), (lambda weights: weights[:, 1])
    weights = np.array([[1.0, 3.0], [2.0, np.nan]])
    assert mean_of([first, second])(weights).tolist() == [2.0, 2.0]
    assert np.isnan(mean_of([])(weights)).tolist() == [True, True]
    assert difference_of(first, second)(weights) == pytest.approx([-2.0, np.nan], nan_ok=True)
    assert undefined_everywhere(weights).shape == (2,)
    assert unit_weights(3).tolist() == [[1, 1, 1]]
    assert value_of(lambda weights: weights.sum(axis=1), 3) == 3.0


def test_a_statistic_has_a_value_or_a_reason() -> None:
    """Also one of weights, and the difference of two."""
    none = Statistic.undefined(Reason.FEW_ITEMS)
    assert np.isnan(none.value) and (none.n_items, none.n_raters) == (0, 0)
    of = Statistic.of_weights(
        lambda weights: weights @ np.array([1.0, 2.0, 3.0]), np.array([True, False, True]), 4,
        Reason.NO_RATINGS,
    )  # fmt: skip
    assert (of.value, of.n_items, of.n_raters, of.reason) == (6.0, 2, 4, None)
    none = Statistic.of(np.nan, 3, 2, Reason.FEW_ITEMS)
    assert (none.n_items, none.reason) == (3, Reason.FEW_ITEMS)
    with pytest.raises(ValueError, match="either a value or a reason"):
        Statistic(1.0, 3, 2, reason=Reason.FEW_ITEMS)
    with pytest.raises(ValueError, match="either a value or a reason"):
        Statistic(np.nan, 3, 2)
    less = of.less(Statistic(2.0, 3, 4, resampled=lambda weights: weights[:, 0]), n_raters=5)
    assert (less.value, less.n_items, less.n_raters, less.kind) == (4.0, 2, 5, "difference")
    assert less.limits == (-2.0, 2.0)
    assert less.resampled(np.ones((1, 3))).tolist() == [5.0]
    assert less.counted is of.counted
    nothing = of.less(none, n_raters=5)
    assert (nothing.reason, nothing.n_raters) == (Reason.FEW_ITEMS, 0)
    plain = of.without_interval(note="so")
    assert plain.note == "so" and np.isnan(plain.resampled(np.ones((1, 3)))).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": "metric"}, "level is one of nominal, ordinal, interval, ratio, found 'metric'"),
        ({"random": "judges"}, "random is one of prompts, prompts-and-judges"),
        ({"n_permutations": -1}, "found -1"),
        ({"min_shared": 1}, "share 2 items or more, found 1"),
        ({"epsilon": 1.0}, r"lies in \[0, 1\), found 1.0"),
        ({"epsilon": -0.1}, r"lies in \[0, 1\), found -0.1"),
    ],
)
def test_options_that_make_no_sense_are_refused(change: dict[str, object], message: str) -> None:
    """Each is named where the options are made, before anything is computed."""
    with pytest.raises(ValueError, match=message):
        AnalysisOptions(**change)  # type: ignore[arg-type]
    least = AnalysisOptions(n_permutations=0, min_shared=2, epsilon=0.0)
    assert (least.level, least.seed) == ("ordinal", 0)
