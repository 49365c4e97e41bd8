"""Categories and composites in a verdict, against calculation by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.aggregate import aggregate, count
from persona_panel.rubrics import CategoryScale, Composite, Dimension, RealScale, Rubric

UNIT = RealScale(min=0, max=1, low="none", high="all")
NAMES = ("useful", "unhelpful", "invalid")


def a_rubric(*numeric: str, named: bool = False, **composite: Any) -> Rubric:
    """A rubric of dimensions from 0 to 1 and, where `named`, one of categories."""
    scales: dict[str, Any] = dict.fromkeys(numeric, UNIT)
    if named:
        scales["worth"] = CategoryScale(values=dict.fromkeys(NAMES, "m"))
    return Rubric(
        id="r",
        label="R",
        question="?",
        dimensions=tuple(
            Dimension(id=name, label=name, definition="d", guiding_question="g", scale=scale)
            for name, scale in scales.items()
        ),
        composite=Composite(**composite) if composite else None,
    )


def said(persona: str, label: str | None = None, **scores: float) -> Judgment:
    """What a persona said of one response."""
    return Judgment(
        "p", "r", "human", Judge(persona, "m", "dimensions"), "scored", scores=scores,
        labels={} if label is None else {"worth": label},
    )  # fmt: skip


CRITIQUE = a_rubric(
    "strength", "centrality", "clarity",
    product_of=("strength", "centrality"),
    reliable_where={"dimension": "clarity", "at_least": 0.5},
)  # fmt: skip


def test_a_product_is_each_judges_own() -> None:
    """Two judges that split one verdict differently over its factors agree on the product."""
    verdict = aggregate(
        [
            said("a", strength=1.0, centrality=0.2, clarity=1.0),
            said("b", strength=0.2, centrality=1.0, clarity=0.5),
        ],
        CRITIQUE,
    )
    # .2 for both; the product of the means would be .6 × .6 = .36
    assert verdict.composite == pytest.approx(0.2)
    assert verdict.dimensions["strength"].mean == pytest.approx(0.6)
    assert verdict.n_unreliable == 0


def test_an_unclear_critique_is_marked_and_not_counted() -> None:
    """Who finds it unclear is left out of the composite and counted; means stay as they are."""
    verdict = aggregate(
        [
            said("a", strength=0.5, centrality=0.8, clarity=0.9),
            said("b", strength=1.0, centrality=1.0, clarity=0.49),
            said("c", strength=0.5, clarity=0.7),
            said("d", strength=0.1, centrality=1.0),
        ],
        CRITIQUE,
    )
    # b is unreliable, c has no product, d did not rate clarity: (.4 + .1) / 2
    assert verdict.composite == pytest.approx(0.25)
    assert (verdict.n_judges, verdict.n_unreliable) == (4, 1)
    assert verdict.dimensions["centrality"].n == 3
    alone = aggregate([said("b", strength=1.0, centrality=1.0, clarity=0.0)], CRITIQUE)
    assert math.isnan(alone.composite)
    assert alone.n_unreliable == 1


def test_categories_have_a_majority_and_counts_and_no_mean() -> None:
    """The label that most gave, every category's count and share; the composite is of numbers."""
    rubric = a_rubric("force", named=True)
    verdict = aggregate(
        [said("a", "useful", force=0.2), said("b", "useful", force=0.4), said("c", "invalid")],
        rubric,
    )
    worth = verdict.labels["worth"]
    assert (worth.majority, worth.n) == ("useful", 3)
    assert worth.counts == {"useful": 2, "unhelpful": 0, "invalid": 1}
    assert worth.shares == pytest.approx({"useful": 2 / 3, "unhelpful": 0, "invalid": 1 / 3})
    assert "worth" not in verdict.dimensions
    assert verdict.composite == pytest.approx(0.3)


def test_a_tie_has_no_majority() -> None:
    """Where two categories share the first place there is none, and the counts say which."""
    tied = count(["useful", "invalid"], NAMES)
    assert tied.majority is None
    assert tied.counts == {"useful": 1, "unhelpful": 0, "invalid": 1}
    nobody = count([], NAMES)
    assert (nobody.majority, nobody.n) == (None, 0)
    assert all(math.isnan(share) for share in nobody.shares.values())


def test_a_share_is_of_those_that_chose() -> None:
    """A composite may be the share of one category; without numbers or rule there is none."""
    judgments = [said("a", "useful"), said("b", "invalid"), said("c", "useful"), said("d")]
    ruled = a_rubric(named=True, share_of={"dimension": "worth", "value": "useful"})
    assert aggregate(judgments, ruled).composite == pytest.approx(2 / 3)
    assert math.isnan(aggregate(judgments[3:], ruled).composite)
    assert math.isnan(aggregate(judgments, a_rubric(named=True)).composite)


def test_a_mean_may_be_of_some_dimensions() -> None:
    """What the rule does not name is rated and shown, and does not count."""
    rubric = a_rubric("overall", "style", mean_of=("overall",))
    verdict = aggregate([said("a", overall=0.4, style=1.0), said("b", overall=0.8)], rubric)
    assert verdict.composite == pytest.approx(0.6)
    assert verdict.dimensions["style"].n == 1


@given(st.lists(st.sampled_from(NAMES), max_size=9), st.randoms())
def test_counts_do_not_depend_on_order(labels: list[str], random: Any) -> None:
    """Counts add up, and a majority has strictly more than every other category."""
    shuffled = random.sample(labels, len(labels))
    found = count(labels, NAMES)
    assert found == count(shuffled, NAMES)
    assert sum(found.counts.values()) == found.n == len(labels)
    if found.majority is not None:
        most = found.counts[found.majority]
        assert all(n < most for name, n in found.counts.items() if name != found.majority)
