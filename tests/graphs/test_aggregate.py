"""Aggregation: the verdict of a response, against calculation by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.graphs import Judgment, Verdict
from persona_panel.graphs.aggregate import aggregate, summarise
from persona_panel.rubrics import Rubric, Status
from tests.helpers.judgments import a_dimension, a_judgment

DIMENSIONS = ("clarity", "depth")


RUBRIC = Rubric(
    id="two", label="Two", question="How?", dimensions=tuple(map(a_dimension, DIMENSIONS))
)


def test_by_hand() -> None:
    """Means, standard deviations with n - 1, counts and composite are those of the formulas."""
    verdict = aggregate(
        [
            a_judgment("a", clarity=2, depth=9),
            a_judgment("b", clarity=4, depth=7),
            a_judgment("c", clarity=9, depth=5),
        ],
        RUBRIC,
    )
    # clarity: mean 15/3 = 5; squares 9 + 1 + 16 = 26; sd = sqrt(26/2) = sqrt(13)
    # depth: mean 21/3 = 7; squares 4 + 0 + 4 = 8; sd = sqrt(8/2) = 2
    # and the composite is 12/2 = 6
    assert (verdict.prompt_id, verdict.id, verdict.system) == ("p1", "r1", "human")
    clarity, depth = verdict.dimensions["clarity"], verdict.dimensions["depth"]
    assert (clarity.mean, clarity.sd, clarity.n) == pytest.approx((5.0, math.sqrt(13), 3))
    assert (depth.mean, depth.sd, depth.n) == pytest.approx((7.0, 2.0, 3))
    assert verdict.composite == pytest.approx(6.0)
    assert (verdict.n_judges, verdict.n_asked, verdict.abstain_share) == (3, 3, 0.0)


def test_a_composite_weighs_dimensions_alike() -> None:
    """The composite is the mean of the dimensions' means, however many rated each."""
    verdict = aggregate([a_judgment("a", clarity=1, depth=8), a_judgment("b", clarity=3)], RUBRIC)
    # clarity (1 + 3) / 2 = 2 by two; depth 8 by one; (2 + 8) / 2, not (1 + 3 + 8) / 3
    assert verdict.composite == pytest.approx(5.0)
    assert verdict.dimensions["depth"].n == 1
    assert math.isnan(verdict.dimensions["depth"].sd)
    assert verdict.n_judges == 2


def test_where_nobody_rated_there_is_no_number() -> None:
    """A dimension without a rating is NaN, and so is the composite: nothing is imputed."""
    verdict = aggregate([a_judgment("a", clarity=4), a_judgment("b", clarity=6)], RUBRIC)
    assert verdict.dimensions["clarity"].mean == pytest.approx(5.0)
    assert math.isnan(verdict.dimensions["depth"].mean)
    assert math.isnan(verdict.dimensions["depth"].sd)
    assert verdict.dimensions["depth"].n == 0
    assert math.isnan(verdict.composite)


@pytest.mark.parametrize("status", ["refused", "unparsed", "failed", "skipped", "abstained"])
def test_only_scored_judgments_count(status: Status) -> None:
    """A judgment of any other status adds no rating, even where it carries numbers."""
    verdict = aggregate(
        [
            a_judgment("a", clarity=4, depth=4),
            a_judgment("b", status, None, clarity=10, depth=10),
        ],
        RUBRIC,
    )
    assert verdict.composite == pytest.approx(4.0)
    assert [summary.n for summary in verdict.dimensions.values()] == [1, 1]
    assert (verdict.n_judges, verdict.n_asked) == (1, 2)


def test_abstain_share_is_of_those_that_answered() -> None:
    """Judges that gave no answer are no part of the share that says it declines."""
    verdict = aggregate(
        [
            a_judgment("a", clarity=4, depth=4),
            a_judgment("b", "abstained", True),
            a_judgment("c", clarity=6, depth=6),
            a_judgment("d", "abstained", True, clarity=1, depth=1),
            a_judgment("e", "failed", None),
            a_judgment("f", "refused", None),
        ],
        RUBRIC,
    )
    # b and d of a, b, c, d; the means are of a and c
    assert verdict.abstain_share == pytest.approx(0.5)
    assert verdict.composite == pytest.approx(5.0)
    assert (verdict.n_judges, verdict.n_asked) == (2, 6)


def test_nobody_answered() -> None:
    """A response that no judge reached has a verdict without numbers, and says so."""
    verdict = aggregate([a_judgment("a", "failed", None), a_judgment("b", "skipped", None)], RUBRIC)
    assert math.isnan(verdict.composite)
    assert math.isnan(verdict.abstain_share)
    assert (verdict.n_judges, verdict.n_asked) == (0, 2)


def test_summaries_of_few() -> None:
    """No rating has no mean, one rating has no spread, two have both."""
    none, one, two = summarise([]), summarise([7]), summarise([4, 6])
    assert math.isnan(none.mean)
    assert math.isnan(none.sd)
    assert none.n == 0
    assert (one.mean, one.n) == (7.0, 1)
    assert math.isnan(one.sd)
    # squares 1 + 1 = 2, over n - 1 = 1
    assert (two.mean, two.sd, two.n) == pytest.approx((5.0, math.sqrt(2), 2))


judgments = st.lists(
    st.tuples(
        st.sampled_from(["scored", "scored", "abstained", "refused", "unparsed", "failed"]),
        st.dictionaries(st.sampled_from(DIMENSIONS), st.floats(1, 10)),
    ),
    min_size=1,
    max_size=12,
).map(
    lambda drawn: [
        a_judgment(f"p{number}", status, {"scored": False, "abstained": True}.get(status), **scores)
        for number, (status, scores) in enumerate(drawn)
    ]
)


@given(judgments, st.data())
def test_order_does_not_matter(given_judgments: list[Judgment], data: st.DataObject) -> None:
    """Judgments that arrive in another order give the same verdict to the last bit."""
    shuffled = data.draw(st.permutations(given_judgments))
    # repr: NaN differs from itself but is written alike.
    one, other = aggregate(given_judgments, RUBRIC), aggregate(shuffled, RUBRIC)
    assert repr(one) == repr(other)


@given(judgments)
def test_bounds(given_judgments: list[Judgment]) -> None:
    """A mean lies within its ratings, and no count exceeds the judges that scored."""
    verdict: Verdict = aggregate(given_judgments, RUBRIC)
    assert verdict.n_judges <= verdict.n_asked == len(given_judgments)
    for name, summary in verdict.dimensions.items():
        output_rubric = [
            j.scores[name] for j in given_judgments if j.status == "scored" and name in j.scores
        ]
        assert summary.n == len(output_rubric) <= verdict.n_judges
        assert math.isnan(summary.mean) == (not output_rubric)
        assert math.isnan(summary.sd) == (len(output_rubric) < 2)
        if output_rubric:
            assert min(output_rubric) - 1e-9 <= summary.mean <= max(output_rubric) + 1e-9
