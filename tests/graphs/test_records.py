"""The records that graphs work with: fixed once they are made, and empty of what nobody said."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast

import pytest
from pydantic import BaseModel, ValidationError

from persona_panel.graphs import Judge, Judgment, Response
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.graphs.framing import Condition, Contrast, FramedResponse, Framings, Prompt
from persona_panel.graphs.records import without_texts
from persona_panel.graphs.sweeping import TargetAnswer
from persona_panel.rubrics import Usage

CONDITION = Condition(id="rude", label="Rude", instruction="Be rude.")


@pytest.mark.parametrize(
    "record",
    [
        Response(id="r", prompt="Why?", text="So.", system="s"),
        Prompt(id="p", text="Why?"),
        CONDITION,
        Contrast(id="c", label="C", plus=("rude",), minus=("rude",)),
        Framings(id="f", label="F", conditions=(CONDITION,)),
        FramedResponse(prompt_id="p", prompt="Why?", condition="rude", system="s", text="So."),
        Deliberation(rounds=1),
    ],
    ids=lambda record: type(record).__name__,
)
def test_what_was_checked_stays_as_it_was_checked(record: BaseModel) -> None:
    """No field of a checked record can be set, and a field that it does not know is refused."""
    field = next(iter(type(record).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(record, field, getattr(record, field))
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        type(record).model_validate({**record.model_dump(), "colour": "red"})


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (Response(id="r", prompt="Why?", text="So.", system="s"), "text"),
        (Response(id="r", prompt="Why?", text="So.", system="s"), "prompt"),
        (Prompt(id="p", text="So."), "text"),
        (Condition(id="rude", label="Rude", instruction="So."), "instruction"),
        (
            FramedResponse(prompt_id="p", prompt="Why?", condition="c", system="s", text="So."),
            "text",
        ),
    ],
)
def test_a_text_is_kept_as_it_is_given_and_none_is_blank(record: BaseModel, field: str) -> None:
    """A text with blank ends stays so, and one of blanks alone is refused."""
    given = record.model_dump()
    assert getattr(record, field) == given[field] in ("So.", "Why?")
    spaced = type(record).model_validate({**given, field: " So. \n"})
    assert getattr(spaced, field) == " So. \n"
    with pytest.raises(ValidationError, match=field):
        type(record).model_validate({**given, field: " \n"})


def test_a_judgment_without_a_call_took_nothing() -> None:
    """What a judgment is not told it has none of: no ratings, no tokens, no time, no reasons."""
    judgment = Judgment("p", "r", "s", Judge("ann", "m", "dimensions"), "skipped")
    assert (judgment.round, judgment.judge.replicate) == (1, 1)
    assert (judgment.usage, judgment.latency_s, judgment.cached) == (Usage(), 0.0, False)
    assert not (judgment.scores or judgment.labels or judgment.off_scale or judgment.comparisons)
    assert judgment.abstained is judgment.rationale is judgment.changed_because is None


def test_a_judgment_without_its_texts_has_all_else() -> None:
    """Raw text and rationale apart, each field has the value that it had."""
    # Whatever its type, a value that no other field has.
    judgment = Judgment(*cast(Any, [field.name for field in fields(Judgment)]))
    assert without_texts(judgment, keep_rationale=True) == replace(judgment, raw="")
    assert without_texts(judgment, keep_rationale=False) == replace(
        judgment, raw="", rationale=None
    )


def test_a_target_that_was_not_asked_took_nothing() -> None:
    """A text that was there already has no tokens, no time and no fault to its name."""
    answer = TargetAnswer("p", "s", "rude", "Why?", "So.", "scored")
    assert (answer.usage, answer.latency_s, answer.cached) == (Usage(), 0.0, False)
    assert (answer.cut_off, answer.error) == (False, None)


def test_peers_are_anonymous_unless_asked_for_by_name() -> None:
    """Nothing but the rounds said, peers show each other scores without names, and no rule ends
    the deliberation early."""
    rules = Deliberation(rounds=1)
    assert (rules.reveal, rules.named) == ("scores", False)
    assert rules.stop_when is rules.spread_above is None
