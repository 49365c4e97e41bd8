"""What a run says of ratings that are missing."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from persona_panel import Ratings, RunWithPeople
from persona_panel.analyses.answers import answers_of
from persona_panel.analyses.score import score_result
from persona_panel.results.conclusions.score import on_missing
from persona_panel.rubrics import Composite
from persona_panel.statistics.missing import DifferenceBounds, MissingRatings
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
    *_, settle = answers_of(run_of(ratings, ("elm", "oak")))
    assert settle.sentence == (
        "Which system is best by the panel's scores is shown at the 5 % level. "
        "Still open: what personas add and "
        "how the panel compares with people."
    )
    [remark] = remarks_on(ratings)
    assert remark.startswith(HOLDS) and remark.endswith(
        " points above oak over all 12 prompts and judges."
    )


def test_what_missing_ratings_could_undo_is_said_with_its_figures() -> None:
    """A third of elm's ratings is missing: how much lower they would have to be, and between what
    the difference is, as in the table; that they are missing of one system stands with the best."""
    run = run_of(one_side(scores(1.2)), ("elm", "oak"))
    result = score_result(run)
    [table] = [each for each in result.tables if each.name == "missing_bounds"]
    [row] = table.rows
    assert (
        f"{TIPS}{row['tips_at'].value:.2f} points lower than the rest; however they were, the "
        f"difference is between {row['worst'].value:.2f} and {row['best'].value:.2f} over all "
        "12 prompts and judges."
    ).replace("-", "−") in result.remarks
    assert MISSING in result.remarks
    best, trust, *_, settle = answers_of(run)
    assert settle.sentence == (
        "First make the missing judgments (12 of 72). Score the same responses again. Missing "
        "ratings could undo which system is best. Still open: whether judges agree enough, what "
        "personas add and how the panel compares with people."
    )
    assert best.sentence.endswith(f" {MISSING} Which system is best may depend on them.")
    assert trust.limits == ["Agreement does not show that ratings are right."]


def test_a_lead_outside_its_bounds_is_not_said_without_them() -> None:
    """Elm leads by 3, 2.5 and 2.5 on three prompts and is not rated on two more, where oak has 7.5:
    its lead of 2.67 is of three prompts; over all five it is between (8 − 13)/5 and (8 + 5)/5."""
    elm, oak = [4, 3.5, 4, np.nan, np.nan], [1, 1, 1.5, 7.5, 7.5]
    ratings = np.repeat(np.stack([elm, oak], axis=1)[:, :, None], 2, axis=2)
    run = run_of(ratings, ("elm", "oak"))
    bounds = (
        "however they were, the difference is between −1.00 and 2.60 over all 5 prompts and judges."
    )
    best = answers_of(run)[0].sentence
    assert best.startswith("elm is significantly ahead: 2.67 points above oak")
    assert best.endswith(f" The missing ratings can undo this: {bounds}")
    [remark] = [each for each in score_result(run).remarks if each.startswith(TIPS)]
    assert remark.endswith(f" points lower than the rest; {bounds}")
    assert "can undo" not in answers_of(run_of(one_side(scores(1.2)), ("elm", "oak")))[0].sentence


@pytest.mark.parametrize(
    ("tips_at", "said"),
    [
        (0.0, f"{TIPS}as near to the rest as the scale allows".replace(" if ", " even if ")),
        (
            inf,
            "elm would be significantly ahead of oak however much lower the differences that are "
            "missing were, but perhaps not if some of them were much higher than others",
        ),
    ],
)
def test_what_undoes_a_lead_is_said_where_it_is_no_number_of_points(
    tips_at: float, said: str
) -> None:
    """Nothing at all undoes it, or spread alone does."""
    board = run_of(scores(1.2), ("elm", "oak")).leaderboard()
    bounds = DifferenceBounds("elm", "oak", 1.2, 12, 0.5, 1.5, tips_at, holds=False)
    missing = MissingRatings({"elm": 0.1, "oak": 0.1}, 1.0, 1.0, False, (bounds,))
    assert list(on_missing(missing, board, " points")) == [
        f"{said}; however they were, the difference is between 0.50 and 1.50 over all 12 "
        "prompts and judges."
    ]


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
    assert MISSING not in best.sentence
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
