"""What a run says of ratings that are missing."""

from __future__ import annotations

import numpy as np
import pytest

from persona_panel import Ratings, RunWithPeople
from persona_panel.analyses.answers import answers_of
from persona_panel.analyses.score import score_result
from persona_panel.rubrics import Composite
from tests.helpers.gate_runs import run_of
from tests.helpers.judgments import PLAIN

MISSING = "Ratings are missing of elm more than of oak (33 % and 0 % of them)."
HOLDS = "That elm is the best holds however the missing ratings would have been: at worst it is "
TIPS = "elm would not be significantly ahead of oak if the differences that are missing were "


def scores(lead: float, seed: int = 0) -> np.ndarray:
    """Twelve prompts, elm ahead of oak by so much, three judges."""
    rng = np.random.default_rng(seed)
    ratings = 5 + rng.normal(0, 0.5, (12, 2, 3)) + np.array([lead, 0.0])[:, None]
    return np.asarray(ratings.clip(1, 10), dtype=float)


def one_side(ratings: np.ndarray) -> np.ndarray:
    """One rating of elm is missing on each prompt."""
    ratings[np.arange(12), 0, np.arange(12) % 3] = np.nan
    return ratings


def remarks_on(ratings: np.ndarray) -> list[str]:
    """What is remarked on them beside their number."""
    result = score_result(run_of(ratings, ("elm", "oak")))
    return [each for each in result.remarks if each.startswith((HOLDS, TIPS, "Ratings are"))]


def test_what_holds_however_the_missing_ratings_were_is_said() -> None:
    """One rating of 72 is missing, and elm is ahead by 3."""
    ratings = scores(3)
    ratings[0, 0, 0] = np.nan
    [remark] = remarks_on(ratings)
    assert remark.startswith(HOLDS) and remark.endswith(" points above oak.")


def test_what_missing_ratings_could_undo_is_said_with_its_figures() -> None:
    """A third of elm's ratings is missing: how much lower they would have to be, and between what
    the difference is, as in the table; that they are missing of one system limits trust."""
    run = run_of(one_side(scores(1.2)), ("elm", "oak"))
    result = score_result(run)
    [table] = [each for each in result.tables if each.name == "missing_bounds"]
    [row] = table.rows
    assert (
        f"{TIPS}{row['tips_at'].value:.2f} points lower than the rest; however they were, the "
        f"difference is between {row['worst'].value:.2f} and {row['best'].value:.2f}."
    ).replace("-", "−") in result.remarks
    assert MISSING in result.remarks
    _, trust, *_ = answers_of(run)
    assert f"{MISSING} Which system is best may depend on them." in trust.sentence
    assert trust.limits == [f"{MISSING} Which system is best may depend on them."]


def test_what_missing_ratings_leave_open_is_of_the_panel_where_people_lead() -> None:
    """Two people rate oak three points above elm, which the panel has first: what is said of the
    missing ratings is said of the panel alone, as a remark and as a limit of trust."""
    run = run_of(one_side(scores(1.2)), ("elm", "oak"))
    rated = np.tile([4.0, 7.0], 12) + np.random.default_rng(1).normal(0, 0.5, 24)
    names = tuple(dimension.id for dimension in run.rubric.numeric)
    shape = 24, 2, len(names)
    items = tuple(item.id for item in run.items)
    humans = Ratings(
        np.broadcast_to(rated[:, None, None], shape), items, ("ann", "bo"), names, ("human",) * 2
    )
    people = RunWithPeople.of(run, humans)
    best, trust, *_ = answers_of(run, people)
    assert best.sentence.startswith("By the ratings of 2 people: oak is significantly ahead")
    assert f"{MISSING} Which system is best by the panel alone may depend on them." in trust.limits
    remarks = score_result(run, people=people).remarks
    alone = TIPS.replace("of oak if", "of oak by the panel alone if")
    assert [each.startswith(alone) for each in remarks].count(True) == 1
    assert not [each for each in remarks if each.startswith((TIPS, HOLDS))]
    whole = scores(3)
    whole[0, 0, 0] = np.nan
    run = run_of(whole, ("elm", "oak"))
    remarks = score_result(run, people=RunWithPeople.of(run, humans)).remarks
    alone = HOLDS.replace("the best", "the best by the panel alone")
    assert [each.startswith(alone) for each in remarks].count(True) == 1


def test_what_is_missing_of_weak_texts_is_said() -> None:
    """Of each prompt one text is weak, now of elm and now of oak, and a judge leaves it out."""
    ratings = scores(0)
    weak = np.arange(12) % 2
    ratings[np.arange(12), weak] -= 3
    ratings[np.arange(12), weak, 1] = np.nan
    assert remarks_on(ratings) == [
        "Ratings are missing more often where the other judges rate lower."
    ]


@pytest.mark.parametrize("reliable", [True, False])
def test_nothing_is_said_where_nothing_can_be(reliable: bool) -> None:
    """Neither of whole ratings, nor where the rubric leaves ratings out itself."""
    if not reliable:
        assert remarks_on(scores(1)) == []
        return
    rule = Composite(mean_of=("clarity",), reliable_where={"dimension": "clarity", "at_least": 2})
    rubric = PLAIN.model_copy(update={"composite": rule})
    run = run_of(one_side(scores(1.2)), ("elm", "oak"), rubric)
    assert run.missing_ratings() is None
