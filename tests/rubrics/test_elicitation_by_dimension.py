"""A judgment in one call a dimension."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from persona_panel.rubrics import (
    Abstention,
    CategoryScale,
    Dimension,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Question,
    Rubric,
    Scale,
    calls_by_dimension,
    dialogue_of,
    load_elicitation,
)

RUBRIC = Rubric(
    id="three",
    label="Three",
    question="How good is it?",
    dimensions=(
        *(
            Dimension(id=name, label=name, definition=f"Of {name}.", guiding_question="Is it?",
                      scale=Scale(min=1, max=5, low="no", high="yes"))
            for name in ("clarity", "depth")
        ),
        Dimension(id="tone", label="tone", definition="Of tone.", guiding_question="Which?",
                  scale=CategoryScale(values={"warm": "w", "cold": "c"})),
    ),
    abstention=Abstention(definition="Declining.", guiding_question="Does it decline?"),
)  # fmt: skip


def played(
    answer: Callable[[str], str], elicitation: str = "dimensions"
) -> tuple[ParsedJudgment, list[ModelRequest]]:
    """What a dialogue by dimensions comes to, and its requests."""
    asks = []
    dialogue = dialogue_of(
        load_elicitation(elicitation),
        Question(RUBRIC, "H", "You ask.", "Why?", "So."),
        one_dimension_per_call=True,
    )
    try:
        request = next(dialogue)
        while True:
            asks.append(request)
            text = "".join(request.blocks)
            request = dialogue.send(ModelResponse(answer(text)))
    except StopIteration as done:
        return done.value, asks


def rating(text: str) -> str:
    """A good answer to whatever dimension is asked for."""
    if "(`tone`)" in text:
        return '{"tone": "cold"}'
    name = "clarity" if "(`clarity`)" in text else "depth"
    return json.dumps({name: 4} | ({"abstained": False} if "abstained" in text else {}))


def test_each_call_sees_one_dimension() -> None:
    """There is a call for each dimension, none holds another's definition, the abstention is asked
    with the first, and the reading has all of them."""
    reading, asks = played(rating)
    assert reading.status == "scored"
    assert (reading.scores, reading.labels) == ({"clarity": 4, "depth": 4}, {"tone": "cold"})
    assert reading.abstained is False
    texts = ["".join(ask.blocks) for ask in asks]
    for text, own in zip(texts, ("clarity", "depth", "tone"), strict=True):
        assert [name for name in ("clarity", "depth", "tone") if f"Of {name}." in text] == [own]
    assert ["Declining." in text for text in texts] == [True, False, False]
    assert json.loads(reading.raw)["tone"] == '{"tone": "cold"}'
    calls = calls_by_dimension(load_elicitation("dimensions"), RUBRIC)
    assert (calls.fewest, calls.most, calls.reckoned) == (1, 3, 3)


def test_reasons_are_put_together() -> None:
    """An elicitation that gives reasons gives them for each dimension."""
    reading, _ = played(lambda text: "<scratchpad>Fine.</scratchpad>" + rating(text), "justified")
    assert reading.rationale == "clarity: Fine.\ndepth: Fine.\ntone: Fine."


def test_an_abstention_ends_it() -> None:
    """A response that declines is not asked about any further."""
    reading, asks = played(lambda text: '{"clarity": null, "abstained": true}')
    assert (reading.status, len(asks)) == ("abstained", 1)


@pytest.mark.parametrize("answer", ["nonsense", '{"depth": 9}'])
def test_one_unreadable_dimension_is_no_judgment(answer: str) -> None:
    """A dimension whose answer cannot be read twice ends it: the judgment is unparsed, names the
    dimension, and rates nothing in part."""
    reading, asks = played(lambda text: answer if "(`depth`)" in text else rating(text))
    assert (reading.status, reading.scores, len(asks)) == ("unparsed", {}, 3)
    assert str(reading.error).startswith("depth: ")
