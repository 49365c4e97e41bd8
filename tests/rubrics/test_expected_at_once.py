"""The elicitation `expected` in one call, driven by scripted tokens and log-probabilities."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.rubrics import (
    Abstention,
    CategoryScale,
    Dimension,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Position,
    Question,
    Rubric,
    Scale,
)
from persona_panel.rubrics.elicitations import expected
from persona_panel.rubrics.wording import fence_for
from tests.rubrics.scripted import play_dialogue


def a_dimension(name: str, scale: Scale | CategoryScale) -> Dimension:
    """A dimension on this scale."""
    return Dimension(
        id=name,
        label=name.title(),
        definition="Defined.",
        guiding_question=f"Is there {name}?",
        scale=scale,
    )


def one_to(most: int) -> Scale:
    """A scale that begins with 1."""
    return Scale(min=1, max=most, low="poor", high="good")


def a_rubric(*dimensions: Dimension, abstention: bool = False, gaps: bool = False) -> Rubric:
    """A rubric of these dimensions."""
    asked = Abstention(definition="Declining is refusing.", guiding_question="Does it decline?")
    return Rubric(
        id="r",
        label="R",
        question="How good is it?",
        dimensions=dimensions,
        abstention=asked if abstention else None,
        not_assessable=gaps,
    )


TEN = a_rubric(a_dimension("clarity", one_to(10)))
TWO = a_rubric(a_dimension("clarity", one_to(5)), a_dimension("depth", one_to(10)))
KINDS = CategoryScale(values={"useful": "It helps.", "unhelpful": "Not.", "invalid": "Wrong."})


def written(*tokens: str | Mapping[str, float]) -> ModelResponse:
    """A reply of these tokens: a text is certain, of a mapping the first was written."""
    positions = []
    for token in tokens:
        shown = {token: 1.0} if isinstance(token, str) else token
        top = tuple((one, math.log(p) if p else -math.inf) for one, p in shown.items())
        positions.append(Position(next(iter(shown)), top))
    return ModelResponse(
        "".join(position.token for position in positions), logprobs=tuple(positions)
    )


def play(rubric: Rubric, *replies: ModelResponse) -> tuple[ParsedJudgment, list[ModelRequest]]:
    """The reading of a dialogue that gets these replies, all of them, and what it asked."""
    return play_dialogue(expected, rubric, replies)


def test_every_number_is_weighed_where_it_stands() -> None:
    """One call gives each dimension the mean of its own place in the object."""
    reading, (ask,) = play(
        TWO,
        written(
            '{"clarity":',
            {" 4": 0.5, " 3": 0.25, " 5": 0.25},
            ', "depth":',
            {" 9": 0.6, " 10": 0.2, " 2": 0.2},
            "}",
        ),
    )
    # 4 · 0.5 + 3 · 0.25 + 5 · 0.25 = 4; 9 · 0.6 + 10 · 0.2 + 2 · 0.2 = 7.8
    assert reading.status == "scored"
    assert reading.scores == pytest.approx({"clarity": 4.0, "depth": 7.8})
    assert reading.off_scale == pytest.approx({"clarity": 0.0, "depth": 0.0})
    assert ask.top_logprobs == 20
    assert ask.schema is None
    assert ask.prefill == ""
    assert json.loads(reading.raw)["depth"]["9"] == pytest.approx(0.6)


def test_calls() -> None:
    """At once it is one call, and at most one more, of the scale to 10, whose 1 may begin a 10.
    Apart it is at most one for a scale to 5, two for one to 10, whose 1
    may begin a 10, and four for the abstention, where y, ye and n may begin a word."""
    rubric = a_rubric(*TWO.dimensions, abstention=True)
    assert expected.calls(rubric)[:3] == (1, 2, 1)
    assert expected.calls(rubric, one_call_per_dimension=True) == (3, 1 + 2 + 4, 1 + 2 + 4, 2)


def test_what_is_on_no_value_is_off_the_scale() -> None:
    """Values beyond the scale, words and what the server did not show are told as off it."""
    reading, _ = play(
        TEN, written('{"clarity": ', {"7": 0.5, "9": 0.25, "11": 0.1, "high": 0.05}, "}")
    )
    # On the scale 0.75: (3.5 + 2.25) / 0.75 = 7.666…; off it 0.25, of which 0.1 was not shown.
    assert reading.scores == pytest.approx({"clarity": 5.75 / 0.75})
    assert reading.off_scale == pytest.approx({"clarity": 0.25})


def test_a_ten_of_two_tokens_that_was_written() -> None:
    """Where the model wrote 1 and then 0, the place of the 0 shows how the 1 goes on."""
    reading, _ = play(
        TEN, written('{"clarity": ', {"1": 0.8, "5": 0.2}, {"0": 0.75, "}": 0.2, "5": 0.05}, "}")
    )
    # 10: 0.8 · 0.75 = 0.6; 1: 0.8 · 0.2 = 0.16; 15 is off: 0.04; 5: 0.2. On the scale 0.96.
    assert reading.scores == pytest.approx({"clarity": (6.0 + 0.16 + 1.0) / 0.96})
    assert reading.off_scale == pytest.approx({"clarity": 0.04})


def test_a_one_that_was_not_written_beside_a_whole_ten() -> None:
    """A tokenizer that has 10 as a token means 1 by 1: no further call is made."""
    reading, asks = play(TEN, written('{"clarity": ', {"7": 0.5, "10": 0.3, "1": 0.2}, "}"))
    # 3.5 + 3 + 0.2
    assert reading.scores == pytest.approx({"clarity": 6.7})
    assert len(asks) == 1


def test_a_one_that_was_not_written_is_asked_about() -> None:
    """Where a 1 may become a 10 and the text did not go there, the model goes on from it."""
    reading, (first, second) = play(
        TEN,
        written('{"clarity": ', {"9": 0.6, "1": 0.4}, "}"),
        written({"0": 0.5, "}": 0.25, "7": 0.25}),
    )
    # 9: 0.6; 10: 0.2; 1: 0.1; 17 is off: 0.1. (5.4 + 2 + 0.1) / 0.9
    assert reading.scores == pytest.approx({"clarity": 7.5 / 0.9})
    assert second.prefill == '{"clarity": 1'
    assert second.blocks == first.blocks
    assert second.max_tokens == 1


def test_three_digits_are_asked_about_one_by_one() -> None:
    """From a 1 that was not written to 10, from there to 100: each ask goes on from the last."""
    rubric = a_rubric(a_dimension("clarity", Scale(min=0, max=100, low="poor", high="good")))
    reading, asks = play(
        rubric,
        written('{"clarity": ', {"7": 0.5, "1": 0.5}, "}"),
        written({"0": 0.5, "}": 0.5}),
        written({"0": 0.5, "}": 0.5}),
    )
    # 7: 0.5; 1: 0.25; 10: 0.125; 100: 0.125. 3.5 + 0.25 + 1.25 + 12.5
    assert reading.scores == pytest.approx({"clarity": 17.5})
    assert [ask.prefill for ask in asks] == ["", '{"clarity": 1', '{"clarity": 10']


def test_a_server_that_does_not_go_on() -> None:
    """Where the answer to that begins anew, the 1 is left off the scale and no value gets it."""
    reading, _ = play(
        TEN, written('{"clarity": ', {"9": 0.6, "1": 0.4}, "}"), written('{"', "clarity")
    )
    assert reading.scores == pytest.approx({"clarity": 9.0})
    assert reading.off_scale == pytest.approx({"clarity": 0.4})


def test_a_negligible_one_is_not_asked_about() -> None:
    """Below a hundredth of what is on the scale no call is worth it."""
    reading, asks = play(TEN, written('{"clarity": ', {"9": 0.995, "1": 0.005}, "}"))
    assert len(asks) == 1
    assert reading.scores == pytest.approx({"clarity": 9.0})


@pytest.mark.parametrize(
    "tokens",
    [
        ('{"clarity":', {" 7": 0.5, " 8": 0.5}, "}"),
        ('{"clarity":', " ", {"7": 0.5, "8": 0.5}, "}"),
        ('{"clarity', '":', {" 7": 0.5, "8": 0.5}, "\n}"),
        ('{"clarity', {'":7': 0.5, '":8': 0.5}, "}"),
        ('{"clarity": "', {"7": 0.5, "8": 0.5}, '"}'),
        ('{"clarity":', {' "7': 0.5, ' "8': 0.5}, '"}'),
        ('{"clarity": ', {"7}": 0.5, "8}": 0.5}),
        ("I weighed it. ```json\n", '{"Clarity"', ": ", {"7": 0.5, "8": 0.5}, "/10}", "```"),
        ('{"clarity":', {"\u01207": 0.5, "\u01208": 0.5}, "}"),
        ('{"clarity":', {"\u25817": 0.5, "\u25818": 0.5}, "}"),
    ],
)
def test_however_the_tokens_fall(tokens: tuple[str | Mapping[str, float], ...]) -> None:
    """A value is found with a space, a quote or punctuation in its token, or none."""
    reply = written(*tokens)
    plain = reply.text.replace("\u0120", " ").replace("\u2581", " ")
    reading, _ = play(TEN, ModelResponse(plain, logprobs=reply.logprobs))
    assert reading.error is None
    assert reading.scores == pytest.approx({"clarity": 7.5})


def test_categories() -> None:
    """Of categories the most probable is taken, whichever was written, its name in pieces."""
    rubric = a_rubric(a_dimension("usefulness", KINDS))
    reading, (ask,) = play(
        rubric, written('{"usefulness": "', {"un": 0.4, "use": 0.6}, "helpful", '"}')
    )
    assert reading.labels == {"usefulness": "useful"}
    assert reading.scores == {}
    weights = json.loads(reading.raw)["usefulness"]
    assert weights == pytest.approx({"useful": 0.6, "unhelpful": 0.4, "invalid": 0.0})
    assert ask.prefill == ""


def test_categories_of_several_words() -> None:
    """Names that begin with the same word are followed past it."""
    scale = CategoryScale(values={"not critical": "a", "not relevant": "b", "critical": "c"})
    rubric = a_rubric(a_dimension("kind", scale))
    reading, _ = play(
        rubric,
        written('{"kind": "', {"not": 0.9, "critical": 0.1}, {" rel": 0.7, " cr": 0.3}, 'evant"}'),
    )
    weights = json.loads(reading.raw)["kind"]
    assert weights == pytest.approx({"not critical": 0.27, "not relevant": 0.63, "critical": 0.1})


@pytest.mark.parametrize(("true", "abstained"), [(0.7, True), (0.2, False), (0.5, False)])
def test_abstention(true: float, abstained: bool) -> None:
    """A response abstains where true outweighs false, whichever was written."""
    rubric = a_rubric(TWO.dimensions[0], abstention=True)
    reading, _ = play(
        rubric,
        written('{"clarity":', " 3", ', "abstained":', {" false": 1 - true, " true": true}, "}"),
    )
    assert reading.abstained is abstained
    assert reading.status == ("abstained" if abstained else "scored")


def test_not_assessable() -> None:
    """A null that is more probable than all ratings leaves a gap; a lesser one lies off the
    scale."""
    rubric = a_rubric(*TWO.dimensions, gaps=True)
    reading, _ = play(
        rubric,
        written(
            '{"clarity":',
            {" null": 0.75, " 3": 0.25},
            ', "depth":',
            {" 4": 0.5, " 6": 0.25, " null": 0.25},
            "}",
        ),
    )
    # (4 · 0.5 + 6 · 0.25) / 0.75
    assert reading.scores == pytest.approx({"depth": 3.5 / 0.75})
    assert reading.off_scale == pytest.approx({"clarity": 0.75, "depth": 0.25})


def test_an_unreadable_object_is_asked_for_once_more() -> None:
    """What cannot be read is shown back once, and the second answer is weighed."""
    reading, (first, second) = play(
        TEN, written("Seven."), written('{"clarity": ', {"7": 0.5, "8": 0.5}, "}")
    )
    assert reading.scores == pytest.approx({"clarity": 7.5})
    assert second.blocks == first.blocks
    ((shown, correction),) = second.exchange
    assert shown == "Seven."
    assert "no complete JSON object" in correction


def test_without_log_probabilities_it_is_unparsed() -> None:
    """An object without probabilities is not taken for weighed scores."""
    reading, _ = play(TEN, ModelResponse('{"clarity": 7}'))
    assert (reading.status, reading.scores) == ("unparsed", {})
    assert reading.error is not None
    assert "log-probabilities" in reading.error


def test_tokens_of_another_text() -> None:
    """Tokens that do not hold the object that the text holds are not read."""
    reading, _ = play(TEN, ModelResponse('{"clarity": 7}', logprobs=written("nothing").logprobs))
    assert (reading.status, reading.scores) == ("unparsed", {})


def test_a_refusal() -> None:
    """A model that declines is refused, and its words are kept."""
    reading, _ = play(TEN, ModelResponse("I'd rather not.", refusal="content_filter"))
    assert (reading.status, reading.raw) == ("refused", "I'd rather not.")


def test_the_prompt() -> None:
    """The response is fenced, the persona follows it, and the whole rubric is there."""
    _, (ask,) = play(TWO, written('{"clarity": ', "3", ', "depth": ', "3", "}"))
    shared, own, _ = ask.blocks
    mark = fence_for("Is liberty one?", "It is many.")
    assert f"<response {mark}>\nIt is many.\n</response {mark}>" in shared
    assert "Is there depth?" in shared
    assert "Historian" in own


@given(
    st.dictionaries(
        st.sampled_from(["1", "2", "7", "10", " 7", "0", "x", "7}"]),
        st.floats(1e-9, 1.0),
        min_size=1,
    ),
    st.dictionaries(st.sampled_from(["0", "}", ",", "5", "{"]), st.floats(1e-9, 1.0), min_size=1),
)
def test_a_score_is_within_its_scale(shown: dict[str, float], after: dict[str, float]) -> None:
    """Whatever the probabilities, a score lies on its scale and shares sum to 1."""

    def normal(values: dict[str, float]) -> dict[str, float]:
        return {token: p / sum(values.values()) for token, p in values.items()}

    # The 7 is what was written, so that there is an object to read.
    shown = {"7": shown.get("7", 0.5)} | shown
    dialogue = expected.dialogue(Question(TEN, "H", "You.", "Is it?", "It is."))
    next(dialogue)
    reply = written('{"clarity":', normal(shown), "}")
    try:
        while True:
            dialogue.send(reply)
            reply = written(normal(after))
    except StopIteration as done:
        reading = done.value
    assert 1 - 1e-9 <= reading.scores["clarity"] <= 10 + 1e-9
    assert 0 <= reading.off_scale["clarity"] <= 1
    assert sum(json.loads(reading.raw)["clarity"].values()) == pytest.approx(1, abs=1e-5)
