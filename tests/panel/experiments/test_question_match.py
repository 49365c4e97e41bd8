"""Matching with references and what it comes to, against calculation by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from persona_panel import InputError
from persona_panel.experiments.question_match import (
    LABELS,
    Match,
    Reference,
    label_kappa,
    match_quality,
    nearest,
    references_of,
)
from persona_panel.graphs import Response


def a_match(place: str, label: str | None, system: str = "s", error: str | None = None) -> Match:
    """A question on an intervention, matched to a reference with this label."""
    reference = None if label is None else Reference("ref", "Why?", label)
    return Match(place, f"q{id(reference)}", system, reference, error=error)


def test_the_nearest_at_or_above_the_threshold() -> None:
    """A similarity that equals the threshold suffices; of equal ones the first is taken."""
    table = [[0.1, 0.65, 0.3], [0.5, 0.5, 0.2], [0.64, 0.0, 0.1], [0.9, 0.9, 0.9]]
    assert nearest(table, 0.65) == [1, None, None, 0]
    assert nearest(table, 0.0) == [1, 0, 0, 0]
    assert nearest([[], []], 0.0) == [None, None]


@given(arrays("float64", (4, 3), elements=st.floats(-1, 1)), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_threshold_evaluates_no_more(table: list[list[float]], a: float, b: float) -> None:
    """What is matched at a threshold is matched to the same reference at any lower one."""
    low, high = nearest(table, min(a, b)), nearest(table, max(a, b))
    assert all(upper in (None, lower) for lower, upper in zip(low, high, strict=True))


def test_worth_by_hand() -> None:
    """Useful of three by intervention, its mean, and the share that is not evaluable."""
    labels = {"i1": ("useful", "useful", None), "i2": ("invalid", "useful", "unhelpful")}
    [one] = match_quality([a_match(place, label) for place, own in labels.items() for label in own])
    # 2/3 and 1/3; one of six has no reference
    assert one.by_intervention == pytest.approx({"i1": 2 / 3, "i2": 1 / 3})
    assert one.score == pytest.approx(0.5)
    assert one.labels == {"useful": 3, "unhelpful": 1, "invalid": 1}
    assert (one.not_evaluable, one.missing) == (1, 0)
    assert one.not_evaluable_share == pytest.approx(1 / 6)


def test_a_model_that_did_not_answer_leaves_a_gap() -> None:
    """A question without an answer is missing, not unevaluable, and its intervention unscored."""
    gap = a_match("i1", None, error="failed: HTTP 500")
    [one] = match_quality([a_match("i1", "useful"), gap, a_match("i2", "useful")])
    assert (one.not_evaluable, one.missing) == (0, 1)
    assert math.isnan(one.by_intervention["i1"])
    assert one.score == 1.0
    [lost] = match_quality([gap])
    assert math.isnan(lost.score)
    assert math.isnan(lost.not_evaluable_share)


def test_systems_are_kept_apart() -> None:
    """Each system's questions are its own, in the order in which systems appear."""
    found = match_quality([a_match("i", "invalid", "b"), a_match("i", "useful", "a")])
    assert [(one.system, one.score) for one in found] == [("b", 0.0), ("a", 1.0)]


def test_kappa_by_hand() -> None:
    """Cohen's κ of nominal labels over those that both give."""
    ours = ["useful", "useful", "unhelpful", "invalid", None, "useful"]
    human = ["useful", "invalid", "unhelpful", "invalid", "useful", None]
    # four shared: 3 agree, observed 3/4; ours 2/4, 1/4, 1/4 and human 1/4, 1/4, 2/4:
    # expected (2·1 + 1·1 + 1·2)/16 = 5/16; κ = (12/16 − 5/16)/(11/16) = 7/11
    found = label_kappa(ours, human)
    assert (found.value, found.n_items) == (pytest.approx(7 / 11), 4)
    # invalid for useful is no worse than unhelpful for useful: labels have no distance
    swapped = ["useful", "unhelpful", "unhelpful", "invalid", None, "useful"]
    assert label_kappa(swapped, swapped).value == pytest.approx(1.0)
    with pytest.raises(ValueError, match="not in tuple"):
        label_kappa(["helpful"], ["useful"])


def a_question(name: str, prompt_id: str = "i1", **metadata: str) -> Response:
    """A question about an intervention."""
    return Response(
        id=name, prompt="Ask.", text=f"{name}?", system="s", prompt_id=prompt_id,
        metadata=metadata,
    )  # fmt: skip


def test_references_by_intervention() -> None:
    """Labels are read in any dress and come out in ours."""
    labelled = [a_question("a", label="Useful"), a_question("b", "i2", label=" INVALID ")]
    found = references_of(labelled, [a_question("g")], ("refs", "gen"))
    assert found == {
        "i1": [Reference("a", "a?", "useful")],
        "i2": [Reference("b", "b?", "invalid")],
    }
    assert {each.label for own in found.values() for each in own} <= set(LABELS)


def test_bad_references_are_named_all_at_once() -> None:
    """A label that is missing or none of ours, and an intervention without any reference."""
    labelled = [a_question("a"), a_question("b", label="nice"), a_question("c", label="useful")]
    with pytest.raises(InputError) as refused:
        references_of(labelled, [a_question("g", "i9"), a_question("h", "i9")], ("refs", "gen"))
    told = [str(fault) for fault in refused.value.faults]
    assert len(told) == 3
    assert "refs: i1/a: label: found nothing; expected one of useful, unhelpful, invalid" in told[0]
    assert "'nice'" in told[1]
    assert "gen: prompt_id: found 'i9', of which there is no reference" in told[2]
