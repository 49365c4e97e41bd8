"""Scores that the severity of judges does not move, where they rated some systems of a prompt."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from persona_panel.statistics.core.means import PairedScores, within_judges

NAN = float("nan")


def by_least_squares(ratings: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The systems of one prompt `(systems, judges)` by weighted least squares on an indicator of
    each system and of each judge, about their mean."""
    s, j = np.nonzero(~np.isnan(ratings))
    design = np.hstack([np.eye(len(ratings))[s], np.eye(ratings.shape[1])[j]])
    root = np.sqrt(weights[j])
    found = np.linalg.lstsq(design * root[:, None], ratings[s, j] * root, rcond=None)[0]
    systems = found[: len(ratings)]
    return np.asarray(systems - systems.mean())


def test_where_judges_rated_some_systems_differences_are_by_least_squares() -> None:
    """On a prompt of which three judges rated three systems with gaps, the scores' differences, and
    how much they change as a judge counts more, are those of a regression on systems and judges;
    a complete prompt keeps its means."""
    ratings = np.random.default_rng(2).normal(6, 1, (2, 3, 4))
    ratings[0, 0, 0] = ratings[0, 1, 1] = ratings[0, 2, 2] = ratings[0, 2, 3] = NAN
    terms = ratings[..., None]
    with np.errstate(all="ignore"):
        scores = np.nanmean(ratings, axis=2)
    paired = PairedScores(scores, np.zeros(ratings.shape))
    found = within_judges(paired, terms, 1.0 - np.isnan(terms))
    weights = np.ones(4)
    expected = by_least_squares(ratings[0], weights)
    assert found.scores[0] - found.scores[0].mean() == pytest.approx(expected)
    assert found.scores[1] == pytest.approx(scores[1])
    assert found.influence is not None and found.apart is not None
    assert not found.apart.any()
    for judge in range(4):
        more = weights + 1e-6 * np.eye(4)[judge]
        moved = (by_least_squares(ratings[0], more) - expected) / 1e-6
        own = found.influence[0, :, judge]
        assert own - own.mean() == pytest.approx(moved, abs=1e-4)


@pytest.mark.parametrize("by_term", [False, True])
def test_choices_of_judges_are_solved_together_as_each_alone(by_term: bool) -> None:
    """Where whole judgments are missing, and where terms of one are; without each judge in turn."""
    rng = np.random.default_rng(3)
    ratings = rng.normal(6, 1, (5, 3, 6, 2))
    ratings[rng.random((5, 3, 6, 2 if by_term else 1)).repeat(2 - by_term, axis=3) < 0.65] = NAN
    chosen = ~np.eye(6, dtype=bool)
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        each = [np.nanmean(ratings[:, :, own], axis=2).mean(axis=2) for own in chosen]
    shares = 1.0 - np.isnan(ratings)
    found = within_judges(PairedScores(np.array(each)), ratings, shares, chosen)
    assert found.apart is not None and found.apart.any()
    for place, own in enumerate(chosen):
        alone = within_judges(PairedScores(each[place]), ratings[:, :, own], shares[:, :, own])
        assert np.allclose(found.scores[place], alone.scores, equal_nan=True)
        assert alone.apart is not None and np.array_equal(found.apart[place], alone.apart)
