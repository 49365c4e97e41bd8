"""The elicitation `verbatim` and its template, by scripted replies."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from persona_panel.rubrics import JudgePrompt, Question, Rubric
from persona_panel.rubrics.elicitation import Calls
from persona_panel.rubrics.elicitations import verbatim
from persona_panel.rubrics.rubric import Abstention
from tests.helpers.dialogues import played
from tests.helpers.embedded import PLAIN

WHOLE = {"min": 1, "max": 10, "low": "bad", "high": "good"}
CATEGORIES = {"kind": "category", "values": {"useful": "It helps.", "not useful": "It does not."}}
BASE: dict[str, Any] = {
    "prompt": "{question}\n---\n{text}\n---\nRate it.",
    "read": {"regex": r"\[\[(\d+)\]\]"},
    "scale": WHOLE,
    "example": "So: [[5]]",
}


def rubric_of(**change: Any) -> Rubric:
    """The plain rubric, asked by a template; None leaves a part of it out."""
    document = {name: part for name, part in (BASE | change).items() if part is not None}
    return PLAIN.model_copy(update={"template": JudgePrompt.model_validate(document)})


def question_of(rubric: Rubric, **change: Any) -> Question:
    asked = Question(rubric, "Historian", "You ask when.", "Is liberty one?", "It is many.")
    return replace(asked, **change)


def sent(rubric: Rubric, **change: Any) -> tuple[str, str]:
    """The system message and the user's, as a model gets them."""
    request = next(verbatim.dialogue(question_of(rubric, **change)))
    return request.system, "".join(request.blocks)


def test_the_words_are_the_templates() -> None:
    """Nothing stands before, between or behind the words but the fields' values; without a system
    message there is none."""
    assert sent(rubric_of()) == ("", "Is liberty one?\n---\nIt is many.\n---\nRate it.")


def test_every_field() -> None:
    """The persona's description, the context and the rubric's dimensions stand where the template
    has them, in the system message too; a judge without a persona or a context has nothing
    there."""
    rubric = rubric_of(prompt="<{context}> {text} {dimensions}", system="Be: {persona}")
    system, user = sent(rubric, context="A law.")
    assert system == "Be: You ask when."
    assert user.startswith("<A law.> It is many. 1. Clarity (`clarity`): How it is. Is it? ")
    assert "\n2. Depth (`depth`): " in user
    assert PLAIN.question not in user
    system, user = sent(rubric, persona_description="")
    assert (system, user[:14]) == ("Be: ", "<> It is many.")


@pytest.mark.parametrize(
    "text",
    [
        "{question} {persona} {nothing} {",
        "{{text}} }} {0} {} {text!r} %s $text \\1 \\g<0>",
        "Größe 🙂 \u202eعربى\u0000 \ufdd0",
        "{text}",
    ],
)
def test_what_stands_in_a_text_is_no_field(text: str) -> None:
    """Braces, names of fields and signs of other template languages in a text are sent as they
    are; so are those in the question."""
    _, user = sent(rubric_of(), text=text, prompt=f"Q {text}")
    assert user == f"Q {text}\n---\n{text}\n---\nRate it."


def test_braces_of_the_template() -> None:
    """A brace that is no field is itself, and a field's name in two pairs is the name in one."""
    rubric = rubric_of(prompt='{text} {"a": {"b": 1}} {{text}} {1,2} {} {{"c": 2}} {')
    assert sent(rubric)[1] == 'It is many. {"a": {"b": 1}} {text} {1,2} {} {{"c": 2}} {'


def test_a_long_text() -> None:
    """A text of 100,000 words is sent whole, within a second."""
    text = "{text} word " * 50_000
    started = time.process_time()
    assert sent(rubric_of(), text=text)[1].count(text) == 1
    assert time.process_time() - started < 1


def test_what_judges_share_comes_first() -> None:
    """The words before the persona are a block of their own, the same for every judge."""
    rubric = rubric_of(prompt="{{persona}} {text} As {persona}: rate.")
    request = next(verbatim.dialogue(question_of(rubric)))
    assert request.blocks == ("{persona} It is many. As ", "You ask when.: rate.")


def test_what_peers_say_comes_last() -> None:
    """In a deliberation the judge reads its peers below the template's words."""
    words = sent(rubric_of())[1]
    assert sent(rubric_of(), peer_feedback="They say 3.")[1] == f"{words}\n\nThey say 3."


RULES = pytest.mark.parametrize(
    ("change", "reply", "rating"),
    [
        ({}, "It is [[7]], truly [[7]].", 7.0),
        (
            {"scale": WHOLE | {"kind": "real"}, "read": {"regex": r"\[\[([\d.]+)\]\]"}},
            "[[7.5]]",
            7.5,
        ),
        ({"read": {"json": "$.score"}, "example": '{"score": 3}'}, 'Well: {"score": "8"}', 8.0),
        (
            {"read": {"json": "$.all[1].score"}, "example": '{"all": [0, {"score": 3}]}'},
            '```json\n{"all": [0, {"score": 4,},]}\n```',
            4.0,
        ),
        ({"read": {"labels": {"A": 1, "B": 9}}, "example": "A"}, "I prefer it.\n\n**b.**", 9.0),
        (
            {"read": {"regex": "Verdict: (.+)"}, "scale": CATEGORIES, "example": "Verdict: useful"},
            "Verdict: Not_Useful",
            "not useful",
        ),
        (
            {"read": {"labels": {"y": "useful", "n": "not useful"}}, "scale": CATEGORIES}
            | {"example": "n"},
            "Y",
            "useful",
        ),
    ],
)


@RULES
def test_an_answer_is_read_by_the_rule(
    change: dict[str, Any], reply: str, rating: float | str
) -> None:
    """Each rule finds the rating of the response as a whole."""
    rubric = rubric_of(**change)
    assert verbatim.serves(rubric) is None
    reading, asks = played(verbatim.dialogue(question_of(rubric)), [reply])
    assert {**reading.scores, **reading.labels} == {"overall": rating}
    assert (reading.status, reading.raw, len(asks)) == ("scored", reply, 1)


@pytest.mark.parametrize(
    ("change", "reply", "error"),
    [
        ({}, "[[7]] or [[8]]", "two ratings"),
        ({}, "7", "nothing"),
        ({}, "[[11]]", "overall is '11', not a whole number from 1 to 10"),
        ({"read": {"json": "$.a"}, "example": '{"a": 1}'}, '{"b": 1}', "nothing at $.a"),
        ({"read": {"json": "$.a"}, "example": '{"a": 1}'}, '{"a": 1} {"a": 2}', "two things"),
        ({"read": {"json": "$.a"}, "example": '{"a": 1}'}, "5", "no complete JSON object"),
        ({"read": {"labels": {"A": 1, "B": 2}}, "example": "A"}, "A or B", "one of A, B"),
    ],
)
def test_an_answer_that_the_rule_cannot_read(
    change: dict[str, Any], reply: str, error: str
) -> None:
    """Of several ratings none is chosen, none is rounded or guessed, and nothing is asked that the
    template does not ask."""
    reading, asks = played(verbatim.dialogue(question_of(rubric_of(**change))), [reply])
    assert (reading.status, len(asks)) == ("unparsed", 1)
    assert error in str(reading.error)


@pytest.mark.timeout(30)
def test_a_search_that_takes_exponential_time_is_given_up() -> None:
    """An expression that tries every way to split a text ends no run: the answer is unparsed."""
    rubric = rubric_of(read={"regex": r"(?:(?:a|aa)+)+x(\d)"}, example="ax4")
    reading, asks = played(verbatim.dialogue(question_of(rubric)), ["a" * 60 + "yx3"])
    assert (reading.status, len(asks)) == ("unparsed", 1)
    assert "was not searched to the end within 1 second" in str(reading.error)


def test_a_refusal() -> None:
    """A judge that declines has refused."""
    reading, _ = played(verbatim.dialogue(question_of(rubric_of())), ["I cannot rate this."])
    assert reading.status == "refused"


@pytest.mark.parametrize(
    ("read", "reply"),
    [
        ({"json": "$.scores.{dimension}"}, '{"scores": {"clarity": 8, "depth": 3}}'),
        ({"regex": r"{dimension}=(\d+)"}, "clarity=8, depth=3"),
    ],
)
def test_the_rubrics_dimensions(read: dict[str, str], reply: str) -> None:
    """Without a scale of its own a template rates the rubric's dimensions, each on its scale."""
    rubric = rubric_of(read=read, scale=None, example=reply)
    assert verbatim.serves(rubric) is None
    assert verbatim.output_rubric(rubric).dimensions == PLAIN.dimensions
    reading, _ = played(verbatim.dialogue(question_of(rubric)), [reply])
    assert reading.scores == {"clarity": 8, "depth": 3}


def test_no_template_asks_whether_a_response_abstains() -> None:
    """The rubric's question stays unasked, so that its answer is no part of the ratings."""
    abstention = Abstention(definition="It declines.", guiding_question="Does it?")
    asked = rubric_of(read={"json": "$.{dimension}"}, scale=None, example='{"clarity": 1}')
    rubric = asked.model_copy(update={"abstention": abstention})
    assert verbatim.output_rubric(rubric) == asked


def test_a_call_is_planned_with_the_examples_length() -> None:
    """Two characters a token, and one more: "So: [[5]]" has nine characters."""
    assert verbatim.calls(rubric_of()) == Calls(fewest=1, most=1, reckoned=1, tokens=5)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"example": "5"}, "does not read its example"),
        ({"example": "[[0]]"}, "does not read its example: overall is '0'"),
        ({"read": {"labels": {"A": 1, "B": 11}}, "example": "A"}, "overall is 11"),
        ({"scale": None}, "several dimensions"),
        ({"scale": CATEGORIES}, "not one of useful, not useful"),
    ],
)
def test_a_rule_that_does_not_fit(change: dict[str, Any], why: str) -> None:
    """A rule that cannot read its own example, or not into ratings of the rubric, serves none; nor
    does a rubric without a template."""
    assert why in str(verbatim.serves(rubric_of(**change)))
    assert "--prompt" in str(verbatim.serves(PLAIN))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"prompt": "{text} {answer}"}, r"the field \{answer\}; one of \{text\}, \{question\}"),
        ({"system": "{Persona}", "prompt": "{text}"}, r"the field \{Persona\}"),
        ({"prompt": "{question}"}, r"no field \{text\}"),
        ({"prompt": "{{text}}"}, r"no field \{text\}"),
        ({"prompt": ""}, r"no field \{text\}"),
        ({"read": {}}, "no rule; exactly one of json, regex, labels"),
        ({"read": {"json": "$.a", "regex": "(a)"}}, "json and regex; exactly one"),
        ({"read": {"json": "score"}}, "pattern"),
        ({"read": {"regex": "[[(a)"}}, "a regular expression"),
        ({"read": {"regex": "(a)(b)"}}, "2 groups"),
        ({"read": {"labels": {"A": 1, " a.": 2}}}, "labels that differ in case"),
        ({"example": " "}, "pattern"),
    ],
)
def test_a_template_that_is_none(change: dict[str, Any], fault: str) -> None:
    """What is wrong with a template is said of its part."""
    with pytest.raises(ValidationError, match=fault):
        rubric_of(**change)


def test_a_rubric_is_recorded_with_its_template() -> None:
    """What a run records of a rubric has the template, from which the same is read back; without
    one there is no mention of it, as in older runs."""
    rubric = rubric_of()
    assert Rubric.model_validate(rubric.model_dump(mode="json")) == rubric
    assert "template" not in PLAIN.model_dump(mode="json")
