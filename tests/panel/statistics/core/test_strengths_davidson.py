"""Bradley and Terry's model, and Davidson's for ties, against published figures, the package choix,
statsmodels' regression of the same likelihood, and what can be worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import optimize

from persona_panel.statistics import Reason
from persona_panel.statistics.core.strengths import DavidsonFit, WinCounts
from tests.helpers.extras import needs_extra

Matrix = Sequence[Sequence[float]]

BASEBALL = (
    (0, 7, 9, 7, 7, 9, 11),
    (6, 0, 7, 5, 11, 9, 9),
    (4, 6, 0, 7, 7, 8, 12),
    (6, 8, 6, 0, 6, 7, 10),
    (6, 2, 6, 7, 0, 7, 12),
    (4, 4, 5, 6, 6, 0, 6),
    (2, 4, 1, 3, 1, 7, 0),
)
"""Agresti (1990), "Categorical Data Analysis", table 10.10: games won by Milwaukee, Detroit,
Toronto, New York, Boston, Cleveland and Baltimore against each other, 1987."""


def counted(wins: Matrix, ties: Matrix | None = None) -> WinCounts:
    table = np.array([wins], dtype=float)
    return WinCounts(table, np.zeros_like(table) if ties is None else np.array([ties], float))


def strengths_of(counts: WinCounts) -> tuple[np.ndarray, float]:
    """The fitted log-strengths and log ν."""
    parameters = DavidsonFit.of(counts).parameters
    return parameters[:-1], parameters[-1]


def symmetric(upper: np.ndarray) -> np.ndarray:
    """The upper triangle, mirrored."""
    above = np.triu(upper, 1)
    return above + above.T


def test_published_strengths() -> None:
    """The strengths of baseball teams are those that the R package BradleyTerry2 prints for
    these games in its vignette, relative to Baltimore."""
    found, _ = strengths_of(counted(BASEBALL))
    published = [1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839, 0.0]
    assert found - found[-1] == pytest.approx(published, abs=5e-5)
    assert found.mean() == pytest.approx(0, abs=1e-9)


@needs_extra("test", "choix")
def test_without_ties_it_is_choix() -> None:
    """On random tournaments the strengths are those of choix, to eight decimals."""
    import choix

    rng = np.random.default_rng(0)
    for n_systems in (2, 3, 6, 9):
        wins = rng.integers(1, 9, (n_systems, n_systems)) * (1 - np.eye(n_systems, dtype=int))
        data = [(a, b) for a, b in np.argwhere(wins) for _ in range(wins[a, b])]
        found, ties = strengths_of(counted(wins.tolist()))
        assert found == pytest.approx(
            choix.ilsr_pairwise(n_systems, data, max_iter=1000, tol=1e-12), abs=1e-8
        )
        assert ties == -math.inf


def test_with_ties_it_is_the_loglinear_model() -> None:
    """With ties strengths and ν are those of the Poisson regression that has the same likelihood
    (Fienberg & Larntz 1976), fitted by statsmodels."""
    rng = np.random.default_rng(1)
    for n_systems in (3, 4, 7):
        wins = rng.integers(1, 9, (n_systems, n_systems)).astype(float)
        ties = symmetric(rng.integers(0, 6, (n_systems, n_systems)))
        ties[0, 1] = ties[1, 0] = 3
        pairs = np.transpose(np.triu_indices(n_systems, 1))
        rows, counts = [], []
        for place, (a, b) in enumerate(pairs):
            for first, second, tie, n in (
                (1, 0, 0, wins[a, b]),
                (0, 1, 0, wins[b, a]),
                (0.5, 0.5, 1, ties[a, b]),
            ):
                row = np.zeros(n_systems + 1 + len(pairs))
                row[a], row[b], row[n_systems], row[n_systems + 1 + place] = first, second, tie, 1
                rows.append(row)
                counts.append(n)
        # The first system's strength is 0 there.
        model = sm.GLM(counts, np.array(rows)[:, 1:], family=sm.families.Poisson())
        fitted = model.fit(tol=1e-12, maxiter=200).params
        found, log_ties = strengths_of(counted(wins.tolist(), ties.tolist()))
        assert found - found[0] == pytest.approx([0, *fitted[: n_systems - 1]], abs=1e-7)
        assert log_ties == pytest.approx(fitted[n_systems - 1], abs=1e-7)


def test_two_systems_by_hand() -> None:
    """Of two systems the model has as many parameters as outcomes: 6 wins, 2 losses and 4 ties are
    fitted as they are, log-strengths ± log(6 / 2) / 2 and ν = 4 / √(6 · 2)."""
    found, ties = strengths_of(counted([[0, 6], [2, 0]], [[0, 4], [4, 0]]))
    assert found == pytest.approx([math.log(3) / 2, -math.log(3) / 2])
    assert ties == pytest.approx(math.log(4 / math.sqrt(12)))


@pytest.mark.parametrize(
    ("wins", "ties", "reason"),
    [
        # The first two are never compared with the last two.
        ([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], None, Reason.NOT_CONNECTED),
        # Two equals above two equals.
        ([[0, 1, 1, 1], [1, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 0]], None, Reason.NEVER_LOST),
        # Never a loss: with ties, too, the better is the more probable the better it is.
        ([[0, 5], [0, 0]], [[0, 5], [5, 0]], Reason.NEVER_LOST),
        ([[0, 0], [0, 0]], [[0, 5], [5, 0]], Reason.ALL_TIES),
        # The third has only ties, and the others tell how rare those are among unequals.
        ([[0, 1, 0], [1, 0, 0], [0, 0, 0]], [[0, 0, 1], [0, 0, 1], [1, 1, 0]], None),
        # A beats B, B beats C, C beats A.
        ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], None, None),
    ],
)
def test_when_there_are_no_finite_strengths(
    wins: Matrix, ties: Matrix | None, reason: Reason | None
) -> None:
    """What keeps the likelihood from having a maximum is named, and nothing else is."""
    assert counted(wins, ties).why_none() == reason


def test_finite_strengths_are_where_the_likelihood_has_its_maximum() -> None:
    """On random tables of three systems: without a reason no parameters of a general optimiser are
    more likely than the fit; where some systems never lost, the likelihood rises for as long as
    the parameters may grow."""
    above, rng, found = np.triu_indices(3, 1), np.random.default_rng(3), set()
    for _ in range(40):
        won, lost, even = rng.integers(0, 3, (3, 3)).astype(float)
        wins, ties = np.zeros((2, 3, 3))
        wins[above], wins.T[above], ties[above], ties.T[above] = won, lost, even, even
        counts, observed = counted(wins.tolist(), ties.tolist()), np.stack([won, lost, even])

        def unlikelihood(parameters: np.ndarray, counts: np.ndarray = observed) -> float:
            strengths = np.append(0, parameters[:2])
            half = (strengths[above[0]] - strengths[above[1]]) / 2
            logits = np.stack([half, -half, np.full(3, parameters[2])])
            return float(np.sum(counts * (np.log(np.exp(logits).sum(axis=0)) - logits)))

        def most(bound: float, unlikelihood: Callable[..., float] = unlikelihood) -> float:
            bounds = [(-bound, bound)] * 3
            return -float(optimize.minimize(unlikelihood, np.zeros(3), bounds=bounds).fun)

        reason = counts.why_none()
        found.add(reason)
        if reason is None and even.any():
            fit, ties_fitted = strengths_of(counts)
            own = np.append(fit[1:] - fit[0], ties_fitted)
            assert -unlikelihood(own) >= most(10) - 1e-6
        elif reason is Reason.NEVER_LOST:
            assert most(9) - most(6) > 1e-3
    assert found >= {None, Reason.NEVER_LOST}


def test_without_each_is_a_newton_step() -> None:
    """What the parameters are without a prompt is, of many prompts, close to what a fit of the
    others gives: nearer by far than the parameters of all."""
    rng = np.random.default_rng(2)
    wins = rng.integers(0, 6, (40, 4, 4)).astype(float)
    ties = np.array([symmetric(rng.integers(0, 3, (4, 4))) for _ in range(40)]).astype(float)
    clusters = WinCounts(wins, ties)
    fit = DavidsonFit.of(clusters)
    stepped = fit.without_each(clusters)
    for left_out in range(40):
        others = np.arange(40) != left_out
        again = DavidsonFit.of(WinCounts(wins[others], ties[others])).parameters
        apart = np.abs(fit.parameters - again).max()
        assert np.abs(stepped[left_out] - again).max() < 0.1 * apart


def test_without_a_prompt_that_connects_there_is_none() -> None:
    """Where one prompt alone compares the third system, its strength without that prompt is
    undefined, and not a number of any size."""
    wins = np.zeros((3, 3, 3))
    wins[:, 0, 1] = wins[:, 1, 0] = 1
    wins[0, 2, 0] = wins[0, 0, 2] = 1
    clusters = WinCounts(wins, np.zeros_like(wins))
    found = DavidsonFit.of(clusters).without_each(clusters)
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1:, :-1]).all()
