"""The mean of all judges beside the judge who is best elsewhere."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np
import pytest

from persona_panel.statistics import Reason, ensemble_distance


def test_the_best_judge_is_chosen_on_other_prompts() -> None:
    """On every other prompt, from the first, A is best, and only there: on the rest its squared
    distances are 4, 9, 4, 4 and 4, those of B 0, the panel's a quarter of A's."""
    people = np.full(10, 3.0)
    ratings = np.array([
        [3.0, 5], [5, 3], [3, 5], [6, 3], [3, 5], [1, 3], [3, 5], [5, 3], [3, 5], [1, 3]
    ])  # fmt: skip
    found = ensemble_distance(ratings, people)
    assert found.chosen == 0
    assert found.best == pytest.approx(sqrt(25 / 5))
    assert found.ensemble == pytest.approx(sqrt(25 / 4 / 5))
    # Differences 3, 6.75, 3, 3 and 3: mean 3.75, standard error 0.75, t(4) = 2.776.
    assert found.difference.value == pytest.approx(3.75)
    assert found.difference.high == pytest.approx(3.75 + 2.7764 * 0.75, abs=1e-3)
    assert (found.difference.n, found.n_items) == (5, 5)


def test_responses_of_one_prompt_count_once() -> None:
    """Prompts with one and three items: each weighs the same."""
    prompts = ["p0", "p1", "p1", "p1", *(f"p{n}" for n in range(2, 10))]
    ratings = np.tile([1.0, 3.0], (12, 1))
    ratings[1] = [4, 9]
    found = ensemble_distance(ratings, np.zeros(12), prompts)
    assert found.chosen == 0
    # On p1 (16 + 1 + 1) / 3 = 6, on p3, p5, p7 and p9 1.
    assert found.best == pytest.approx(sqrt((6 + 4) / 5))
    assert (found.difference.n, found.n_items) == (5, 7)


def test_what_people_or_a_judge_left_out_does_not_enter() -> None:
    """One judge, or nine prompts, are too few to choose from."""
    people, ratings = np.arange(11.0), np.ones((11, 2))
    people[3], ratings[5, 0] = nan, nan
    found = ensemble_distance(ratings, people)
    assert found.difference.reason is Reason.FEW_TO_CHOOSE_THE_BEST
    assert found.n_items == 9
    assert ensemble_distance(ratings[:, :1], people).difference.reason is Reason.FEW_RATERS
    with pytest.raises(ValueError, match="3 people's ratings"):
        ensemble_distance([[1.0], [2]], [1.0, 2, 3])
