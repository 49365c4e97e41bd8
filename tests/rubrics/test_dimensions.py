"""The elicitation `dimensions`, driven by scripted replies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from persona_panel.rubrics import (
    Abstention,
    Dimension,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Question,
    Rubric,
    Scale,
    elicitation_names,
    load_elicitation,
)
from persona_panel.rubrics.elicitations import dimensions
from persona_panel.rubrics.wording import fence_for
from tests.helpers.dialogues import played

CLARITY = Dimension(
    id="clarity",
    label="Clarity",
    definition="Terms are explained.",
    guiding_question="Could you restate it?",
    scale=Scale(min=1, max=10, low="muddled", high="lucid"),
)
DEPTH = Dimension(
    id="depth",
    label="Depth",
    definition="It goes below the surface.",
    guiding_question="Did it dig?",
    scale=Scale(min=0, max=5, low="shallow", high="deep"),
)
ABSTENTION = Abstention(definition="Declining is refusing.", guiding_question="Does it decline?")
RUBRIC = Rubric(
    id="two",
    label="Two",
    question="How good is it?",
    dimensions=(CLARITY, DEPTH),
    abstention=ABSTENTION,
)


def a_question(rubric: Rubric = RUBRIC, context: str | None = None) -> Question:
    """What a historian is asked about one response."""
    return Question(
        rubric=rubric,
        persona_label="Historian",
        persona_description="You ask when and where.",
        prompt="Is liberty one thing?",
        text="Liberty is many things.",
        context=context,
    )


def play(
    question: Question, replies: Sequence[ModelResponse | str]
) -> tuple[ParsedJudgment, list[ModelRequest]]:
    """The reading of a dialogue that gets these replies, all of them, and what it asked."""
    return played(dimensions.dialogue(question), replies)


GOOD = '{"clarity": 8, "depth": 0, "abstained": false}'


def test_is_found_by_name() -> None:
    """The elicitation is loaded by its file's name and needs no log-probabilities."""
    assert "dimensions" in elicitation_names()
    elicitation = load_elicitation("dimensions")
    assert elicitation is dimensions
    assert not elicitation.NEEDS_LOGPROBS


def test_an_unknown_name_is_a_key_error() -> None:
    """An elicitation that does not exist is refused by its name."""
    with pytest.raises(KeyError, match="telepathy"):
        load_elicitation("telepathy")


def test_the_prompt_holds_every_dimension() -> None:
    """Each dimension is put with its label, key, definition, question and the scale's ends."""
    _, (ask,) = play(a_question(), [GOOD])
    message = "".join(ask.blocks)
    for dimension in (CLARITY, DEPTH):
        assert f"{dimension.label} (`{dimension.id}`)" in message
        assert dimension.definition in message
        assert dimension.guiding_question in message
    assert "Whole number from 1 (muddled) to 10 (lucid)." in message
    assert "Whole number from 0 (shallow) to 5 (deep)." in message
    assert RUBRIC.question in message
    assert ABSTENTION.definition in message
    assert ABSTENTION.guiding_question in message


def test_the_texts_are_fenced() -> None:
    """Prompt, context and response stand each in a fence derived from all three."""
    _, (ask,) = play(a_question(context="Berlin's lecture."), [GOOD])
    mark = fence_for("Is liberty one thing?", "Liberty is many things.", "Berlin's lecture.")
    message = "".join(ask.blocks)
    assert f"<prompt {mark}>\nIs liberty one thing?\n</prompt {mark}>" in message
    assert f"<context {mark}>\nBerlin's lecture.\n</context {mark}>" in message
    assert f"<response {mark}>\nLiberty is many things.\n</response {mark}>" in message


def test_without_context_there_is_no_context() -> None:
    """A response without context is put without an empty one."""
    _, (ask,) = play(a_question(), [GOOD])
    assert "<context" not in "".join(ask.blocks)


def test_the_persona_comes_after_what_is_shared() -> None:
    """All that judges of a response share comes before the persona, in a block of its own."""
    _, (ask,) = play(a_question(), [GOOD])
    shared, own, _ = ask.blocks
    assert "Liberty is many things." in shared
    assert "Historian" not in shared
    assert "You ask when and where." not in shared
    assert "Historian" in own
    assert "You ask when and where." in own


def test_two_personas_share_the_first_block() -> None:
    """Another persona is asked in the same words up to its own block."""
    other = Question(RUBRIC, "Ethicist", "Who is hurt?", "Is liberty one thing?", "Many.")
    same = Question(RUBRIC, "Historian", "When?", "Is liberty one thing?", "Many.")
    (_, (one,)), (_, (two,)) = play(other, [GOOD]), play(same, [GOOD])
    assert one.system == two.system
    assert one.blocks[0] == two.blocks[0]
    assert one.blocks[1] != two.blocks[1]


@pytest.mark.parametrize(
    "draft", ["5, or rather 6?", '{"clarity": 1, "depth": 1}', "I cannot say {"]
)
def test_what_a_model_thinks_in_its_answer_is_not_read(draft: str) -> None:
    """A block at its beginning is no part of the answer, which is kept whole; a draft in it is
    never taken for one, also where the block has no end."""
    thought = f"\n<think>{draft}</think>\n"
    judgment, _ = play(a_question(), [f"{thought}{GOOD}"])
    assert judgment == replace(play(a_question(), [GOOD])[0], raw=f"{thought}{GOOD}")
    for unanswered in (thought, f"<think>{draft} {GOOD}"):
        assert play(a_question(), [unanswered] * 2)[0].status == "unparsed"


def test_persona_first() -> None:
    """The other layout has the same blocks, the persona's at the beginning."""
    question = a_question()
    _, (ask,) = play(question, [GOOD])
    _, (turned,) = play(replace(question, layout="persona-first"), [GOOD])
    shared, own, last = ask.blocks
    assert turned.blocks == (own, shared, last)


def test_the_schema() -> None:
    """The schema names every dimension with its scale's values, the flag, and nothing else."""
    _, (ask,) = play(a_question(), [GOOD])
    assert ask.schema == {
        "type": "object",
        "properties": {
            "clarity": {"type": "integer", "enum": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]},
            "depth": {"type": "integer", "enum": [0, 1, 2, 3, 4, 5]},
            "abstained": {"type": "boolean"},
        },
        "required": ["clarity", "depth", "abstained"],
        "additionalProperties": False,
    }
    assert ask.exchange == ()
    assert ask.top_logprobs == 0


def test_a_scored_answer() -> None:
    """A valid answer is scored as floats, 0 included, and its text is kept."""
    reading, _ = play(a_question(), [GOOD])
    assert reading.status == "scored"
    assert reading.scores == {"clarity": 8.0, "depth": 0.0}
    assert reading.abstained is False
    assert reading.raw == GOOD
    assert reading.error is None


@pytest.mark.parametrize(
    ("bad", "quoted"),
    [
        ('{"clarity": 11, "depth": 3, "abstained": false}', "clarity is 11, not a whole number"),
        ('{"clarity": 7.5, "depth": 3, "abstained": false}', "clarity is 7.5, not"),
        ('{"clarity": 7, "depth": 6, "abstained": false}', "depth is 6, not a whole number from 0"),
        ('{"clarity": 7, "depth": 3}', "these keys are missing: abstained"),
        ('{"clarity": 7, "depth": 3, "abstained": "maybe"}', "abstained is 'maybe'"),
        ('{"clarity": null, "depth": 3, "abstained": false}', "clarity is None"),
        ("Eight, I think.", "no complete JSON object"),
        ("  \n", "it is empty"),
    ],
)
def test_one_more_ask_quotes_what_was_wrong(bad: str, quoted: str) -> None:
    """An unusable answer is shown back once with its fault, on the same prompt, then read."""
    reading, (first, second) = play(a_question(), [bad, GOOD])
    assert reading.status == "scored"
    assert reading.scores == {"clarity": 8.0, "depth": 0.0}
    assert (second.system, second.blocks, second.schema) == (
        first.system,
        first.blocks,
        first.schema,
    )
    ((said, correction),) = second.exchange
    assert said == bad
    assert quoted in correction


def test_a_second_failure_is_unparsed() -> None:
    """After two unusable answers there is no score, and the last text and fault are kept."""
    bad = '{"clarity": 12, "depth": 3, "abstained": false}'
    reading, asks = play(a_question(), ["Eight.", bad])
    assert len(asks) == 2
    assert reading.status == "unparsed"
    assert reading.scores == {}
    assert reading.abstained is None
    assert reading.raw == bad
    assert reading.error is not None
    assert "clarity is 12" in reading.error


@pytest.mark.parametrize(
    ("reply", "raw"),
    [
        (ModelResponse("", refusal="I won't judge this."), "I won't judge this."),
        # What a content filter let through may even be a whole answer: it is still its refusal.
        (ModelResponse("", "content_filter", refusal="content_filter"), "content_filter"),
        (ModelResponse(GOOD, "content_filter", refusal="content_filter"), GOOD),
        (ModelResponse("I'm sorry, but I cannot rate this."), "I'm sorry, but I cannot rate this."),
    ],
    ids=["provider", "filter", "filter with text", "in words"],
)
def test_a_refusal_is_final(reply: ModelResponse, raw: str) -> None:
    """A model that declines, by field, filter or words, is refused and not asked again."""
    reading, asks = play(a_question(), [reply])
    assert len(asks) == 1
    assert reading.status == "refused"
    assert reading.scores == {}
    assert reading.abstained is None
    assert reading.raw == raw
    assert reading.error


def test_a_refusal_of_the_second_ask() -> None:
    """A model that declines when asked again is refused, not unparsed."""
    reading, asks = play(a_question(), ["Eight.", ModelResponse("", refusal="No.")])
    assert len(asks) == 2
    assert reading.status == "refused"


def test_a_rationale_may_say_i_cannot() -> None:
    """Words of refusal beside a valid answer are no refusal."""
    reading, _ = play(a_question(), [f"I cannot find fault with it. {GOOD}"])
    assert reading.status == "scored"


def test_an_answer_cut_off_is_truncated_and_not_asked_for_again() -> None:
    """Stopped at the token limit, even a complete object is not taken for the answer."""
    reading, asks = play(a_question(), [ModelResponse(GOOD, "length")])
    assert reading.status == "truncated"
    assert reading.scores == {}
    assert reading.raw == GOOD
    assert reading.error is not None
    assert "cut off" in reading.error
    assert len(asks) == 1


def test_abstained_with_nulls() -> None:
    """A response that declines needs no ratings: nulls are gaps, not faults."""
    reading, _ = play(a_question(), ['{"clarity": null, "depth": null, "abstained": true}'])
    assert reading.status == "abstained"
    assert reading.scores == {}
    assert reading.abstained is True


def test_abstained_with_scores() -> None:
    """Ratings given to a response that declines are kept beside the status."""
    reading, _ = play(a_question(), ['{"clarity": 1, "depth": null, "abstained": true}'])
    assert reading.status == "abstained"
    assert reading.scores == {"clarity": 1.0}


def test_without_abstention_nobody_is_asked() -> None:
    """A rubric without abstention has no such key, in the prompt, the schema or the reading."""
    rubric = RUBRIC.model_copy(update={"abstention": None})
    reading, (ask,) = play(a_question(rubric), ['{"clarity": 8, "depth": 5}'])
    assert reading.status == "scored"
    assert reading.abstained is None
    assert "abstained" not in "".join(ask.blocks)
    assert "abstained" not in json.dumps(dict(ask.schema or {}))


def test_not_assessable() -> None:
    """Where a rubric allows it, null leaves a dimension without an entry and the rest scored."""
    rubric = RUBRIC.model_copy(update={"not_assessable": True})
    reading, (ask,) = play(
        a_question(rubric), ['{"clarity": null, "depth": 4, "abstained": false}']
    )
    assert reading.status == "scored"
    assert reading.scores == {"depth": 4.0}
    assert "null" in "".join(ask.blocks)
    assert ask.schema is not None
    assert ask.schema["properties"]["depth"] == {
        "type": ["integer", "null"],
        "enum": [0, 1, 2, 3, 4, 5, None],
    }
