"""The elicitation `expected`, driven by scripted log-probabilities."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.rubrics import (
    Abstention,
    Dimension,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Position,
    Question,
    RealScale,
    Rubric,
    Scale,
    load_elicitation,
)
from persona_panel.rubrics.elicitations import expected
from persona_panel.rubrics.wording import fence_for
from tests.helpers.dialogues import played


def a_dimension(low: int, high: int, name: str = "clarity") -> Dimension:
    """A dimension with a scale from `low` to `high`."""
    return Dimension(
        id=name,
        label=name.title(),
        definition="Defined.",
        guiding_question=f"Is there {name}?",
        scale=Scale(min=low, max=high, low="poor", high="good"),
    )


def a_rubric(*dimensions: Dimension, abstention: bool = False) -> Rubric:
    """A rubric of these dimensions."""
    return Rubric(
        id="r",
        label="R",
        question="How good is it?",
        dimensions=dimensions,
        abstention=(
            Abstention(definition="Declining is refusing.", guiding_question="Does it decline?")
            if abstention
            else None
        ),
    )


ONE_TO_TEN = a_rubric(a_dimension(1, 10))
ONE_TO_FIVE = a_rubric(a_dimension(1, 5))


def at(*probabilities: Mapping[str, float]) -> ModelResponse:
    """A reply whose positions show these probabilities; it wrote the first token of each."""
    positions = tuple(
        Position(
            next(iter(shown)),
            tuple((token, math.log(p) if p else -math.inf) for token, p in shown.items()),
        )
        for shown in probabilities
    )
    return ModelResponse("".join(position.token for position in positions), logprobs=positions)


def play(rubric: Rubric, *replies: ModelResponse) -> tuple[ParsedJudgment, list[ModelRequest]]:
    """The reading of a dialogue that gets these replies, all of them, and what it asked."""
    dialogue = expected.dialogue(
        Question(
            rubric,
            "Historian",
            "You ask when.",
            "Is liberty one?",
            "It is many.",
            one_call_per_dimension=True,
        )
    )
    return played(dialogue, replies)


def answering(rubric: Rubric, answer: Callable[[ModelRequest], ModelResponse]) -> ParsedJudgment:
    """The reading of a dialogue in which a function replies."""
    dialogue = expected.dialogue(
        Question(
            rubric,
            "Historian",
            "You ask when.",
            "Is liberty one?",
            "It is many.",
            one_call_per_dimension=True,
        )
    )
    ask = next(dialogue)
    try:
        while True:
            ask = dialogue.send(answer(ask))
    except StopIteration as done:
        return done.value


def weights_of(reading: ParsedJudgment) -> dict[str, dict[str, float]]:
    """The weights that a reading keeps as its raw text."""
    return json.loads(reading.raw)


def test_is_found_by_name() -> None:
    """The elicitation says that it needs log-probabilities and gives no reasons, as its readings
    have none."""
    assert load_elicitation("expected").NEEDS_LOGPROBS
    assert not load_elicitation("expected").GIVES_REASONS
    reading, _ = play(ONE_TO_FIVE, at({"4": 1}))
    assert reading.rationale is None


@pytest.mark.parametrize("one_call_per_dimension", [True, False])
def test_any_number_in_a_range_cannot_be_weighed(one_call_per_dimension: bool) -> None:
    """Of a real scale there are no values to have probabilities: its rubric is not served, and a
    dialogue on it ends by saying so."""
    real = RealScale(min=0, max=1, low="none", high="all")
    rubric = a_rubric(a_dimension(1, 5).model_copy(update={"scale": real}))
    assert expected.serves(rubric) is not None
    question = Question(
        rubric, "Historian", "You ask when.", "Why?", "So.",
        one_call_per_dimension=one_call_per_dimension,
    )  # fmt: skip
    dialogue = expected.dialogue(question)
    with pytest.raises(TypeError, match="clarity may be any number in a range"):
        next(dialogue)
        dialogue.send(at({'{"clarity": 0.5}': 1}))


def test_the_mean_of_one_token_values() -> None:
    """A score is the mean of the values, weighted by their probabilities."""
    reading, (ask,) = play(ONE_TO_FIVE, at({"4": 0.5, "3": 0.25, "5": 0.25}))
    # 4 · 0.5 + 3 · 0.25 + 5 · 0.25 = 2 + 0.75 + 1.25
    assert reading.status == "scored"
    assert reading.scores == pytest.approx({"clarity": 4.0})
    assert reading.off_scale == pytest.approx({"clarity": 0.0})
    assert reading.abstained is None
    assert ask.top_logprobs > 0
    # No value from 1 to 5 begins another: one token says it all.
    assert ask.max_tokens == 1
    assert ask.prefill == ""


def test_what_is_off_the_scale_is_recorded_and_left_out() -> None:
    """Probability on no value of the scale has no part in the mean, and is reported."""
    reading, _ = play(ONE_TO_FIVE, at({"2": 0.5, "4": 0.3, "The": 0.1, "6": 0.06, "0": 0.04}))
    # On the scale lie 0.8: weights 0.625 and 0.375; 2 · 0.625 + 4 · 0.375 = 1.25 + 1.5
    assert reading.scores == pytest.approx({"clarity": 2.75})
    assert reading.off_scale == pytest.approx({"clarity": 0.2})
    assert weights_of(reading)["clarity"] == {"1": 0, "2": 0.625, "3": 0, "4": 0.375, "5": 0}


def test_what_was_not_shown_is_off_the_scale() -> None:
    """Probability that the model's short list leaves out counts as off the scale."""
    reading, _ = play(ONE_TO_FIVE, at({"1": 0.25, "2": 0.25}))
    # (1 + 2) / 2, and 1 - 0.5 was not shown
    assert reading.scores == pytest.approx({"clarity": 1.5})
    assert reading.off_scale == pytest.approx({"clarity": 0.5})


@pytest.mark.parametrize("mark", [" ", "\u2581", "\n", "  "])
def test_leading_space_tokens(mark: str) -> None:
    """A value with white space before it, however a tokenizer writes it, is that value."""
    reading, _ = play(ONE_TO_FIVE, at({"2": 0.4, f"{mark}2": 0.2, f"{mark}5": 0.4}))
    # 2 · 0.6 + 5 · 0.4
    assert reading.scores == pytest.approx({"clarity": 3.2})
    assert reading.off_scale == pytest.approx({"clarity": 0.0})


def test_ten_as_one_token() -> None:
    """Where 10 is a token of its own and 1 has no probability, nothing is followed up."""
    reading, (ask,) = play(ONE_TO_TEN, at({"10": 0.5, "8": 0.5}))
    assert reading.scores == pytest.approx({"clarity": 9.0})
    # 1 begins 10: a second token is asked for in case the answer begins so.
    assert ask.max_tokens == 2


def test_one_and_ten_by_the_second_position() -> None:
    """Where the model wrote the 1, its second position tells how often a 10 was meant."""
    reading, asks = play(ONE_TO_TEN, at({"1": 0.8, "9": 0.2}, {"0": 0.75, "<eos>": 0.25}))
    # 10: 0.8 · 0.75 = 0.6; 1: 0.8 · 0.25 = 0.2; 9: 0.2. Mean 6 + 0.2 + 1.8
    assert len(asks) == 1
    assert reading.scores == pytest.approx({"clarity": 8.0})
    assert reading.off_scale == pytest.approx({"clarity": 0.0})
    weights = weights_of(reading)["clarity"]
    assert (weights["1"], weights["9"], weights["10"]) == pytest.approx((0.2, 0.2, 0.6))


def test_one_and_ten_by_a_further_ask() -> None:
    """Where the model wrote another value, it is asked to go on from a 1."""
    reading, (first, second) = play(
        ONE_TO_TEN, at({"7": 0.6, "1": 0.4}, {"<eos>": 1.0}), at({"0": 0.5, "\n": 0.5})
    )
    # 7: 0.6; 10: 0.4 · 0.5 = 0.2; 1: 0.2. Mean 4.2 + 2 + 0.2
    assert reading.scores == pytest.approx({"clarity": 6.4})
    assert second.prefill == "1"
    assert second.blocks == first.blocks
    assert second.max_tokens == 1
    assert second.top_logprobs == first.top_logprobs


def test_one_written_but_nothing_after_it() -> None:
    """Where the reply ended with the 1 and showed no second position, it is asked for."""
    reading, (_, second) = play(ONE_TO_TEN, at({"1": 1.0}), at({"0": 0.25, " ": 0.75}))
    # 10 · 0.25 + 1 · 0.75
    assert reading.scores == pytest.approx({"clarity": 3.25})
    assert second.prefill == "1"


def test_ten_in_both_spellings() -> None:
    """A 10 in one token and a 10 in two add up."""
    reading, _ = play(ONE_TO_TEN, at({"1": 0.5, "10": 0.3, "5": 0.2}, {"0": 0.8, ".": 0.2}))
    # 10: 0.3 + 0.5 · 0.8 = 0.7; 1: 0.1; 5: 0.2. Mean 7 + 0.1 + 1
    assert reading.scores == pytest.approx({"clarity": 8.1})


def test_an_eleven_is_off_the_scale() -> None:
    """What goes on from 1 to no value of the scale is not counted as a 1."""
    reading, _ = play(ONE_TO_TEN, at({"1": 1.0}, {"0": 0.3, "<eos>": 0.2, "1": 0.1, "5": 0.4}))
    # On the scale: 10 with 0.3, 1 with 0.2. Mean (3 + 0.2) / 0.5; 11 and 15 are off: 0.5.
    assert reading.scores == pytest.approx({"clarity": 6.4})
    assert reading.off_scale == pytest.approx({"clarity": 0.5})


def test_a_negligible_start_is_not_followed_up() -> None:
    """A 1 below a hundredth of what is on the scale is left off it, without a call."""
    reading, asks = play(ONE_TO_TEN, at({"7": 0.995, "1": 0.005}))
    assert len(asks) == 1
    assert reading.scores == pytest.approx({"clarity": 7.0})
    assert reading.off_scale == pytest.approx({"clarity": 0.005})


def test_a_scale_from_0_to_5() -> None:
    """On another scale 0 is a value like the others, and 6 is none."""
    reading, (ask,) = play(
        a_rubric(a_dimension(0, 5)), at({"0": 0.4, "5": 0.4, "6": 0.15, "3": 0.05})
    )
    # On the scale 0.85: (0 + 2 + 0.15) / 0.85 = 2.15 / 0.85 = 2.529411…
    assert reading.scores == pytest.approx({"clarity": 2.15 / 0.85})
    assert reading.off_scale == pytest.approx({"clarity": 0.15})
    assert "score from 0 to 5" in ask.blocks[-1]


def test_a_scale_from_0_to_100_in_pieces() -> None:
    """A value of three digits is followed digit by digit."""
    reading, asks = play(
        a_rubric(a_dimension(0, 100)),
        at({"1": 0.5, "7": 0.5}, {"0": 1.0}),
        at({"0": 0.5, "<eos>": 0.5}),
        at({"<eos>": 1.0}),
    )
    # 1 then 0 (shown) then, asked from "10": 100 with 0.25, 10 with 0.25; 7 asked: ends, 0.5.
    # 25 + 2.5 + 3.5
    assert reading.scores == pytest.approx({"clarity": 31.0})
    assert [ask.prefill for ask in asks] == ["", "10", "7"]


def test_every_dimension_is_asked_in_turn() -> None:
    """Each dimension has a question, distinguished from its first token, on the same prompt."""
    rubric = a_rubric(a_dimension(1, 5), a_dimension(0, 5, "depth"))
    reading, (first, second) = play(rubric, at({"2": 1.0}), at({"0": 0.5, "1": 0.5}))
    assert reading.scores == pytest.approx({"clarity": 2.0, "depth": 0.5})
    assert set(reading.off_scale) == {"clarity", "depth"}
    assert first.blocks[:-1] == second.blocks[:-1]
    assert first.blocks[-1].startswith("A. Clarity")
    assert second.blocks[-1].startswith("B. Depth")


def test_the_prompt() -> None:
    """The response is fenced, the persona follows it, and every dimension's question is there."""
    rubric = a_rubric(a_dimension(1, 5), a_dimension(0, 5, "depth"), abstention=True)
    _, asks = play(rubric, at({"2": 1.0}), at({"0": 1.0}), at({"no": 1.0}))
    shared, own, _ = asks[0].blocks
    mark = fence_for("Is liberty one?", "It is many.")
    assert f"<response {mark}>\nIt is many.\n</response {mark}>" in shared
    assert "Is there clarity?" in shared
    assert "Is there depth?" in shared
    assert "Declining is refusing." in shared
    assert "Historian" not in shared
    assert "Historian" in own
    assert asks[2].blocks[-1].startswith("Last. Does it decline?")


@pytest.mark.parametrize(
    ("shown", "abstained", "share"),
    [
        ({"yes": 0.7, "no": 0.3}, True, 0.7),
        # Yes: 0.2 + 0.1; no: 0.6.
        ({"No": 0.6, " yes": 0.2, "YES": 0.1, "maybe": 0.1}, False, 1 / 3),
        # A tie is no yes.
        ({"no": 0.5, "yes": 0.5}, False, 0.5),
    ],
)
def test_abstention(shown: dict[str, float], abstained: bool, share: float) -> None:
    """A response abstains where yes outweighs no, in whatever spelling."""
    rubric = a_rubric(a_dimension(1, 5), abstention=True)
    reading, _ = play(rubric, at({"3": 1.0}), at(shown))
    assert reading.abstained is abstained
    assert reading.status == ("abstained" if abstained else "scored")
    assert reading.scores == pytest.approx({"clarity": 3.0})
    assert weights_of(reading)["abstained"]["yes"] == pytest.approx(share, abs=1e-6)


def test_a_yes_in_pieces() -> None:
    """A yes that a tokenizer splits is followed to its end."""
    rubric = a_rubric(a_dimension(1, 5), abstention=True)
    reading, asks = play(
        rubric, at({"3": 1.0}), at({"no": 0.4, "y": 0.6}), at({"es": 0.5, "ep": 0.5})
    )
    # yes: 0.6 · 0.5 = 0.3; no: 0.4; off: 0.3
    assert reading.abstained is False
    assert reading.off_scale["abstained"] == pytest.approx(0.3)
    assert asks[2].prefill == "y"


def test_without_log_probabilities_it_is_unparsed() -> None:
    """A number without its probabilities is not taken for a score."""
    reading, _ = play(ONE_TO_FIVE, ModelResponse("4"))
    assert reading.status == "unparsed"
    assert reading.scores == {}
    assert reading.raw == "4"
    assert reading.error is not None
    assert "log-probabilities" in reading.error


def test_nothing_on_the_scale_is_unparsed() -> None:
    """Where no value has any probability there is no mean, and none is made up."""
    reading, _ = play(ONE_TO_FIVE, at({"The": 0.9, "6": 0.1, "3": 0.0}))
    assert reading.status == "unparsed"
    assert reading.scores == {}
    assert reading.error is not None
    assert "probability" in reading.error


def test_a_later_gap_leaves_no_scores() -> None:
    """Where one dimension cannot be read, the judgment is unparsed as a whole."""
    rubric = a_rubric(a_dimension(1, 5), a_dimension(1, 5, "depth"))
    reading, _ = play(rubric, at({"4": 0.9, "The": 0.1}), at({"The": 1.0}))
    assert reading.status == "unparsed"
    assert reading.scores == {}
    assert reading.off_scale == pytest.approx({"clarity": 0.1})


def test_a_refusal() -> None:
    """A model that declines is refused, and its words are kept."""
    reading, asks = play(ONE_TO_FIVE, ModelResponse("I'd rather not.", refusal="content_filter"))
    assert len(asks) == 1
    assert reading.status == "refused"
    assert reading.scores == {}
    assert reading.raw == "I'd rather not."
    assert reading.error == "content_filter"


probabilities = st.dictionaries(
    st.sampled_from(["0", "1", "2", "3", "7", "9", "10", " 4", "\u25815", "The", "<eos>", "\n"]),
    st.floats(1e-12, 1.0),
    min_size=1,
    max_size=8,
)


@given(probabilities, probabilities, st.sampled_from([(1, 10), (0, 5), (1, 5), (0, 100)]))
def test_a_score_is_within_its_scale(
    first: dict[str, float], after: dict[str, float], ends: tuple[int, int]
) -> None:
    """Whatever the probabilities, weights sum to 1, or there are none, and scores fit the scale."""

    def answer(ask: ModelRequest) -> ModelResponse:
        shown = after if ask.prefill else first
        total = sum(shown.values())
        return at({token: p / total for token, p in shown.items()})

    low, high = ends
    reading = answering(a_rubric(a_dimension(low, high)), answer)
    if reading.status == "unparsed":
        assert reading.scores == {}
        return
    # Floating point may leave a weighted mean of equal values an ulp beyond them.
    assert low - 1e-12 <= reading.scores["clarity"] <= high + 1e-12
    assert -1e-12 <= reading.off_scale["clarity"] <= 1 + 1e-12
    weights = weights_of(reading)["clarity"]
    assert list(weights) == [str(value) for value in range(low, high + 1)]
    # The raw text rounds each of at most 101 weights to 6 places.
    assert sum(weights.values()) == pytest.approx(1.0, abs=101 * 5e-7)


@given(st.dictionaries(st.sampled_from("12345"), st.floats(1e-6, 1.0), min_size=1))
def test_scaling_all_probabilities_changes_no_score(shown: dict[str, float]) -> None:
    """A score depends on the values' shares alone, not on how much lies off the scale."""
    total = sum(shown.values())
    whole, _ = play(ONE_TO_FIVE, at({token: p / total for token, p in shown.items()}))
    half, _ = play(ONE_TO_FIVE, at({token: p / total / 2 for token, p in shown.items()}))
    assert half.scores == pytest.approx(whole.scores)
    assert half.off_scale["clarity"] == pytest.approx(0.5)
