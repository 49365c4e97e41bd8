"""Rules learnt from people's ratings: rising functions, weights and subsets of judges."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from persona_panel.statistics.alignment import (
    AlignmentMethod,
    AlignmentRule,
    RatedItems,
    learnt_rule,
    weights_by_errors,
)

NONE = np.array([])


def rated(n: int = 40, judges: int = 4, seed: int = 0) -> RatedItems:
    """Items in five folds that count unequally; judges of unequal noise, whole ratings."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(4, 1, n)
    noise = np.linspace(0.3, 2, judges) * rng.normal(size=(n, judges))
    return RatedItems(
        np.round(truth[:, None] + noise),
        np.round(2 * truth + rng.normal(0, 0.5, n)) / 2,
        rng.choice([0.5, 1.0], n),
        np.arange(n) % 5,
    )


def test_the_rising_function_is_that_of_scikit_learn() -> None:
    """On the mean of the judges, with ties, weights, values between and beyond the learnt ones."""
    items = rated()
    rule = learnt_rule("isotonic", items, [0, 1, 2])
    assert rule is not None
    of = items.folds < 3
    mean = items.ratings.mean(axis=1)
    reference = IsotonicRegression(out_of_bounds="clip").fit(
        mean[of], items.people[of], items.weights[of]
    )
    new = np.random.default_rng(1).uniform(0, 9, (50, 4))
    assert rule.apply(new) == pytest.approx(reference.predict(new.mean(axis=1)))
    assert np.all(np.diff(rule.values) >= 0)


@pytest.mark.parametrize("penalty", [0.01, 1.0])
def test_weights_make_error_and_penalty_least(penalty: float) -> None:
    """As a general optimizer finds on the simplex; one judge has no weight."""
    errors = np.random.default_rng(3).normal(size=(30, 5)) * [1, 1, 2, 3, 1] + [0, 0, 0, 0, 2]
    matrix = errors.T @ errors / 30
    size = np.trace(matrix) / 5
    [found] = weights_by_errors(matrix, [penalty])
    expected = minimize(
        lambda w: w @ matrix @ w / size + penalty * np.sum((w - 0.2) ** 2),
        np.full(5, 0.2),
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        options={"ftol": 1e-14},
    ).x
    assert found == pytest.approx(expected, abs=1e-4)
    assert found.sum() == pytest.approx(1)


def test_judges_without_errors_have_equal_weights() -> None:
    """Where nobody errs, nothing speaks for one judge or another."""
    assert weights_by_errors(np.zeros((2, 2)), [0.1])[0].tolist() == [0.5, 0.5]


def test_the_subset_has_the_least_error() -> None:
    """Of judges of whom two are good, these two; no pair has a smaller error."""
    items = rated(200)
    noise = np.random.default_rng(2).normal(size=(200, 4)) * [2, 0.5, 2, 0.5]
    items.ratings[:] = items.people[:, None] + noise
    rule = learnt_rule("subset", items, range(5))
    assert rule is not None
    assert sorted(rule.weights.tolist()) == [0, 0, 0.5, 0.5]

    def error(judges: tuple[int, ...]) -> float:
        mean = items.ratings[:, list(judges)].mean(axis=1)
        return float(np.average((mean - items.people) ** 2, weights=items.weights))

    chosen = tuple(np.flatnonzero(rule.weights))
    assert chosen == min(combinations(range(4), 2), key=error)


def test_a_judge_with_contrary_errors_is_added_first() -> None:
    """The second judge is not the next best, who errs as the first does, but the one whose errors
    cancel the first one's."""
    items = rated(50, 3)
    error = np.random.default_rng(0).normal(size=50)
    items.ratings[:] = items.people[:, None] + error[:, None] * [1, -1.1, 1.05]
    rule = learnt_rule("subset", items, range(5))
    assert rule is not None
    assert rule.weights.tolist() == [0.5, 0.5, 0]


def test_good_judges_weigh_more() -> None:
    """Weights fall with the judges' noise, and do not depend on folds that are not learnt from."""
    items = rated(200)
    rule = learnt_rule("weights", items, [0, 1])
    assert rule is not None
    assert np.all(np.diff(rule.weights) <= 0)
    items.people[items.folds > 1] = 0
    again = learnt_rule("weights", items, [0, 1])
    assert again is not None
    assert again.weights.tolist() == rule.weights.tolist()


@pytest.mark.parametrize("method", ["weights", "subset"])
def test_incomplete_items_compare_no_judges(method: AlignmentMethod) -> None:
    """A judge who is right only on items that others left out gains nothing by them."""
    items = rated()
    learnt = learnt_rule(method, items, range(5))
    more = RatedItems(
        np.vstack([items.ratings, [[np.nan, np.nan, np.nan, 1.0]] * 10]),
        np.append(items.people, np.ones(10)),
        np.append(items.weights, np.ones(10)),
        np.append(items.folds, np.arange(10) % 5),
    )
    again = learnt_rule(method, more, range(5))
    assert learnt is not None
    assert again is not None
    assert again.weights == pytest.approx(learnt.weights)
    nothing = RatedItems(
        *(one[40:] for one in (more.ratings, more.people)), np.ones(10), more.folds[40:]
    )
    assert learnt_rule(method, nothing, range(5)) is None


def test_missing_ratings_are_not_imputed() -> None:
    """The weights of the other judges are divided by their sum; without any there is no score."""
    rule = AlignmentRule(np.array([0.5, 0.25, 0.25, 0.0]), NONE, NONE)
    given = np.array([[np.nan, 1, 4, 9], [2, np.nan, np.nan, 9], [np.nan, np.nan, np.nan, 9]])
    assert rule.apply(given) == pytest.approx([2.5, 2, np.nan], nan_ok=True)
    rising = AlignmentRule(rule.weights, np.array([2.0, 4.0]), np.array([1.0, 2.0]))
    assert rising.apply(given) == pytest.approx([1.25, 1, np.nan], nan_ok=True)


def test_a_method_that_does_not_exist_is_refused() -> None:
    """By a sentence that names those that do."""
    with pytest.raises(ValueError, match="isotonic, weights, subset, found 'median'"):
        learnt_rule("median", rated(), range(5))  # type: ignore[arg-type]
