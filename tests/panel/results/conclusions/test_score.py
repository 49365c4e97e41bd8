"""Sentences on what a run lacks."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from persona_panel.results.conclusions import score
from persona_panel.results.conclusions.score import Judged, few_judged, limits, nothing_judged
from persona_panel.statistics import Estimate
from persona_panel.statistics.core.means import FEW_OFF_AN_END
from persona_panel.statistics.core.ranking import Leaderboard, rank_systems
from persona_panel.statistics.core.sampled_mean import sampled_mean
from persona_panel.statistics.missing import DifferenceBounds, MissingRatings

WHOLE = Judged(n_judges=6, n_personas=3, n_models=2, expected=60, scored=60)


def test_nothing_judged_gives_the_reasons_alone() -> None:
    """No judgment was scored: first why, without what followed from that, then how they ended."""
    failed = replace(
        WHOLE,
        scored=0,
        missing={"failed": 8, "skipped": 52},
        reasons={"failed": "the server answered 401", "skipped": "it is no longer called"},
    )
    assert nothing_judged(failed) == (
        "Nothing could be scored: the server answered 401. None of 60 judgments was scored "
        "(8 failed, 52 skipped): nothing can be concluded."
    )
    capped = replace(failed, missing={"skipped": 60}, reasons={"skipped": "the cap is reached"})
    assert str(nothing_judged(capped)).startswith(
        "Nothing could be scored: the cap is reached. None of 60 "
    )
    assert nothing_judged(WHOLE) is None


def test_many_missing_are_counted() -> None:
    """A twentieth missing is said, by reason; less is left to the end of what is printed."""
    many = replace(WHOLE, scored=57, missing={"failed": 2, "refused": 1})
    assert few_judged(many, "composites") == [
        "3 of 60 judgments are missing (2 failed, 1 refused): composites are means of those that "
        "are there."
    ]
    assert few_judged(replace(WHOLE, scored=58, missing={"failed": 2}), "composites") == []


@pytest.mark.parametrize(
    ("judges", "says"),
    [
        ((1, 1, 1), ["There is one judge."]),
        ((5, 5, 1), ["All judges are of one model."]),
        ((3, 1, 3), ["All judges have the same persona, or none."]),
        ((6, 3, 2), []),
    ],
)
def test_what_all_judges_have_in_common_is_said(
    judges: tuple[int, int, int], says: list[str]
) -> None:
    """One judge, one model or one persona: what no interval includes."""
    n_judges, n_personas, n_models = judges
    judged = replace(WHOLE, n_judges=n_judges, n_personas=n_personas, n_models=n_models)
    assert limits(judged) == says


def declining(*of_system: tuple[int, int]) -> Leaderboard:
    """Systems with so many abstentions and judgments on each of five prompts."""
    n = len(of_system)
    table = [[5.0 + i + 0.1 * ((p + i) % 3) for i in range(n)] for p in range(5)]
    names = [name for _ in table for name in "ABCDEF"[:n]]
    prompts = [f"p{i}" for i, line in enumerate(table) for _ in line]
    values = np.array(table).ravel()
    counts = np.array([pair for _ in range(5) for pair in of_system])
    return rank_systems(names, prompts, values, np.empty((len(values), 0)), [], abstentions=counts)


def test_a_system_that_declines_is_named() -> None:
    """Of C 3 of 4 judgments on each of five prompts are abstentions: why it is not ranked, and what
    its mean rests on; more than three such systems are counted."""
    assert score.declining(declining((0, 4), (0, 4), (3, 4))) == [
        "C is not ranked: 15 of its 20 judgments are abstentions (the response declines to "
        "answer); its mean of 7.10 rests on 5."
    ]
    assert score.declining(declining((0, 4), *[(3, 4)] * 4)) == [
        "4 systems are not ranked: more than half of the judgments of each are abstentions (the "
        "response declines to answer)."
    ]


def board(lead: float = 3.0) -> Leaderboard:
    """A is as far ahead of B, and B of C, on each of eight prompts."""
    rows = [(s, f"p{p}", lead * (2 - i) + 0.1 * ((3 * p + i) % 4))
            for p in range(8) for i, s in enumerate("ABC")]  # fmt: skip
    values = np.array([value for *_, value in rows])
    return rank_systems(
        [row[0] for row in rows], [row[1] for row in rows], values, np.empty((24, 0)), []
    )


HELD = DifferenceBounds("A", "B", 3.0, 8, 2.0, 4.0, inf, True)
UNTESTED = MissingRatings({"A": 0.25, "B": 0.0, "C": 0.1}, 0.5, 0.5, False, (HELD,))
OVER = " over all 8 prompts and judges."


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, "That A is the best holds however the missing ratings would have been: at worst it is "
             "2.00 points above B" + OVER),
        ({"tips_at": inf, "holds": False},
         "A would be significantly ahead of B however much lower the differences that are missing "
         "were, but perhaps not if some of them were much higher than others; however they were, "
         "the difference is between 2.00 and 4.00" + OVER),
        ({"tips_at": 0.0, "holds": False, "worst": -1.0},
         "A would not be significantly ahead of B even if the differences that are missing were as "
         "near to the rest as the scale allows; however they were, the difference is between −1.00 "
         "and 4.00" + OVER),
        ({"tips_at": 1.5, "holds": False},
         "A would not be significantly ahead of B if the differences that are missing were 1.50 "
         "points lower than the rest; however they were, the difference is between 2.00 and 4.00"
         + OVER),
    ],
)  # fmt: skip
def test_how_far_missing_ratings_could_undo_a_lead_is_said(
    change: dict[str, float], expected: str
) -> None:
    """Whether it holds, or from what departure on it does not; of another ranking that leads, by
    the panel alone."""
    missing = replace(UNTESTED, bounds=(replace(HELD, **change),))  # type: ignore[arg-type]
    assert list(score.on_missing(missing, board(), " points")) == [expected]
    [of_panel] = score.on_missing(missing, board(), " points", people_lead=True)
    assert of_panel.replace(" by the panel alone", "") == expected != of_panel
    assert list(score.on_missing(None, board(), "")) == []
    assert list(score.on_missing(missing, board(0.0), "")) == []


def test_of_several_leads_the_one_that_is_undone_first_counts() -> None:
    """Of the best system alone."""
    nearest = DifferenceBounds("A", "C", 3.0, 8, -2.0, 4.0, 0.5, False)
    other = DifferenceBounds("B", "C", 3.0, 8, -2.0, 4.0, 0.1, False)
    missing = replace(UNTESTED, bounds=(HELD, nearest, other))
    assert score.weakest_lead(missing, board()) is nearest
    assert score.weakest_lead(missing, board(0.0)) is None
    assert score.weakest_lead(replace(missing, bounds=(other,)), board()) is None


def test_what_ratings_are_missing_is_said_where_it_is_shown() -> None:
    """At a tenth of the usual level, as one of ten claims; the reversal, where the lead is open."""
    shown = "Ratings are missing of A more than of B (25 % and 0 % of them)."
    lower = "Ratings are missing more often where the other judges rate lower."
    for p, is_said in ((0.0049, True), (0.005, False)):
        of_systems = replace(UNTESTED, p_system=p)
        assert list(score.on_systems(of_systems)) == [shown] * is_said
        of_scores = replace(UNTESTED, p_scores=p, lower=True, bounds=())
        assert list(score.on_missing(of_scores, board(), "")) == [lower] * is_said
        assert not list(score.on_missing(replace(of_scores, lower=False), board(), ""))
        open_ = replace(of_systems, bounds=(replace(HELD, tips_at=1.0, holds=False),))
        for people, alone in ((False, ""), (True, " by the panel alone")):
            assert (
                list(score.can_be_reversed(open_, board(), people_lead=people))
                == [f"{shown} Which system is best{alone} may depend on them."] * is_said
            )
        assert not list(score.can_be_reversed(of_systems, board()))
    assert not list(score.can_be_reversed(None, board()))


@pytest.mark.parametrize(
    ("value", "holds", "is_said"),
    [(3.0, False, False), (4.1, False, True), (1.9, False, True), (4.1, True, False),
     (4.0, False, False), (2.0, False, False)],
)  # fmt: skip
def test_a_lead_outside_its_bounds_can_be_undone(value: float, holds: bool, is_said: bool) -> None:
    """As some prompts or judges have no ratings of both."""
    missing = replace(UNTESTED, bounds=(replace(HELD, value=value, holds=holds),))
    assert (
        list(score.beyond_bounds(missing, board()))
        == [
            "The missing ratings can undo this: however they were, the difference is between 2.00 "
            "and 4.00 over all 8 prompts and judges."
        ]
        * is_said
    )
    assert not list(score.beyond_bounds(None, board()))


def test_intervals_that_may_not_cover_are_named() -> None:
    """By kind: few prompts near the end of the scale, and a few that lie far from the others."""
    near, far = [9.0] * 3 + [8.5] * 5, [2.0] * 2 + [8.0, 8.2, 8.1, 7.9, 8.3, 8.0, 8.1, 8.2]
    means = {}
    for name, values in (("near", near), ("far", far), ("far too", far), ("usual", range(2, 9))):
        sampled = sampled_mean(np.array(values, dtype=float), limits=(1, 9))
        low, high = sampled.interval()
        means[name] = Estimate(sampled.mean, low, high, sampled=sampled)
    means["nothing"] = Estimate(nan, reason="few")
    assert list(score.on_coverage(means)) == [
        "near: few prompts, mean less than a tenth of the scale from its end. Coverage of such "
        "95 % intervals may be far below 95 %: rare prompts with a much different mean would "
        "change it.",
        "far, far too: a few prompts lie far from the others. Coverage of such 95 % intervals may "
        "be above 95 %, up to 100 %.",
    ]


def test_figures_with_a_caution_are_named() -> None:
    """Only where there is an interval."""
    alphas = {"depth": Estimate(0.3, 0.1, 0.5, caution=FEW_OFF_AN_END),
              "style": Estimate(0.3, 0.1, 0.5),
              "rest": Estimate(nan, reason="few", caution=FEW_OFF_AN_END)}  # fmt: skip
    assert list(score.on_coverage(alphas)) == [
        "depth: too few ratings differ from the highest, or from the lowest, that were given. "
        "Coverage of such 95 % intervals may be 78 to 93 %: those that miss often lie below the "
        "true value."
    ]


def test_the_table_of_missing_ratings_has_the_bounds() -> None:
    """And why nothing tips; for programs the p-values, None where nothing could differ."""
    bounds = [HELD, replace(HELD, tips_at=nan, holds=False), replace(HELD, holds=False),
              replace(HELD, tips_at=1.5, holds=False)]  # fmt: skip
    missing = replace(UNTESTED, p_system=nan, bounds=tuple(bounds))
    table, facts = score.missing_table(missing)
    assert [(row["worst"].value, row["best"].value) for row in table.rows] == [(2.0, 4.0)] * 4
    assert [row["holds"] for row in table.rows] == [True, False, False, False]
    assert [row["tips_at"].reason for row in table.rows] == [
        "it is significant however the missing ratings would have been",
        "it is not significant", "no number of points undoes it", None,
    ]  # fmt: skip
    assert table.rows[3]["tips_at"].value == 1.5
    assert all(row[end].exact for row in table.rows for end in ("worst", "best", "tips_at"))
    assert (table.when, table.sides) == ("full", ("a", "b"))
    assert list(facts.rows) == [{"p_system": None, "p_scores": 0.5}]
    assert list(score.missing_table(None)) == []
