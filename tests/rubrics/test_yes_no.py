"""The elicitation `yes-no`, driven by scripted log-probabilities."""

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
    Composite,
    Dimension,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Position,
    RealScale,
    Rubric,
    Scale,
    load_elicitation,
)
from persona_panel.rubrics.elicitations import yes_no
from persona_panel.rubrics.rubric import Reliable
from persona_panel.rubrics.wording import fence_for
from tests.rubrics.scripted import play_dialogue

TEN = Scale(min=1, max=10, low="poor", high="good")


def a_dimension(
    name: str, question: str = "Is it so?", scale: Scale | RealScale | CategoryScale = TEN
) -> Dimension:
    """A dimension with this question."""
    return Dimension(
        id=name, label=name.title(), definition="Defined.", guiding_question=question, scale=scale
    )


def a_rubric(
    *dimensions: Dimension, abstention: bool = False, composite: Composite | None = None
) -> Rubric:
    """A rubric of these dimensions."""
    asked = Abstention(definition="Declining is refusing.", guiding_question="Does it decline?")
    return Rubric(
        id="r",
        label="R",
        question="How good is it?",
        dimensions=dimensions,
        abstention=asked if abstention else None,
        composite=composite,
    )


TWO = a_rubric(a_dimension("clarity", "Is it clear?"), a_dimension("depth", "Does it dig?"))


def at(probabilities: Mapping[str, float]) -> ModelResponse:
    """A reply of one token with these probabilities."""
    top = tuple((token, math.log(p)) for token, p in probabilities.items())
    return ModelResponse(top[0][0], logprobs=(Position(top[0][0], top),))


def play(rubric: Rubric, *replies: ModelResponse) -> tuple[ParsedJudgment, list[ModelRequest]]:
    """The reading of a dialogue that gets these replies, all of them, and what it asked."""
    return play_dialogue(yes_no, rubric, replies)


def test_is_found_by_name() -> None:
    """The file yes_no.py is the elicitation yes-no, and needs log-probabilities."""
    assert load_elicitation("yes-no") is yes_no
    assert yes_no.NEEDS_LOGPROBS


def test_the_share_of_yes() -> None:
    """A score is the probability of yes among yes and no, in whatever spelling."""
    reading, (first, second) = play(
        TWO,
        at({"Yes": 0.5, " yes": 0.1, "No": 0.2, "Perhaps": 0.2}),
        at({"no": 0.75, "YES": 0.25}),
    )
    # 0.6 / 0.8; 0.25 / 1
    assert reading.status == "scored"
    assert reading.scores == pytest.approx({"clarity": 0.75, "depth": 0.25})
    assert reading.off_scale == pytest.approx({"clarity": 0.2, "depth": 0.0})
    assert json.loads(reading.raw) == {"clarity": {"yes": 0.75}, "depth": {"yes": 0.25}}
    assert first.blocks[:-1] == second.blocks[:-1]
    assert first.blocks[-1] == "A. Is it clear? Answer yes or no."
    assert second.blocks[-1] == "B. Does it dig? Answer yes or no."
    assert yes_no.calls(TWO) == (2, 8, 2, 1)


def test_calls_of_a_model_that_spells() -> None:
    """Where every beginning of yes and no is as probable as any other, each is followed up: that
    takes all the calls that a model asked apart is estimated to take."""
    # After y comes e, after ye s, after n o; ye is reached twice, by the same ask.
    beginnings = at({"y": 0.25, "ye": 0.25, "n": 0.25, "Perhaps": 0.25})
    after_y, after_ye, after_n = at({"e": 1.0}), at({"s": 1.0}), at({"o": 1.0})
    reading, asks = play(TWO, *[beginnings, after_y, after_ye, after_ye, after_n] * 2)
    assert reading.status == "scored"
    assert [ask.prefill for ask in asks[:5]] == ["", "y", "ye", "ye", "n"]
    assert len({repr(ask) for ask in asks}) == 8
    assert yes_no.calls(TWO, one_call_per_dimension=True) == (2, 8, 8, 1)


def test_scores_are_rated_from_0_to_1() -> None:
    """Tables and files are told that the scale is no longer the rubric's."""
    output_rubric = yes_no.output_rubric(TWO)
    assert [dimension.id for dimension in output_rubric.dimensions] == ["clarity", "depth"]
    assert all(dimension.scale == yes_no.PROBABILITY for dimension in output_rubric.dimensions)


@pytest.mark.parametrize(("yes", "abstained"), [(0.7, True), (0.3, False), (0.5, False)])
def test_abstention(yes: float, abstained: bool) -> None:
    """A response abstains where yes outweighs no; that is no score."""
    rubric = a_rubric(a_dimension("clarity"), abstention=True)
    reading, asks = play(rubric, at({"yes": 1.0}), at({"yes": yes, "no": 1 - yes}))
    assert reading.abstained is abstained
    assert reading.status == ("abstained" if abstained else "scored")
    assert reading.scores == {"clarity": 1.0}
    assert asks[1].blocks[-1] == "Last. Does it decline? Answer yes or no."


def test_the_prompt() -> None:
    """The response is fenced, the persona follows, the definitions are told."""
    _, (ask, _) = play(TWO, at({"yes": 1.0}), at({"no": 1.0}))
    shared, own, _ = ask.blocks
    mark = fence_for("Is liberty one?", "It is many.")
    assert f"<response {mark}>\nIt is many.\n</response {mark}>" in shared
    assert "- Depth: Defined." in shared
    assert "Historian" in own


def test_what_is_no_answer() -> None:
    """Without probabilities, or none on yes or no, the judgment is unparsed; a refusal is one."""
    assert play(TWO, ModelResponse("Yes"))[0].status == "unparsed"
    reading, _ = play(TWO, at({"yes": 1.0}), at({"Maybe": 1.0}))
    assert (reading.status, reading.scores) == ("unparsed", {})
    assert play(TWO, ModelResponse("", refusal="content_filter"))[0].status == "refused"


@pytest.mark.parametrize(
    ("rubric", "why"),
    [
        (
            a_rubric(a_dimension("kind", scale=CategoryScale(values={"a": "A.", "b": "B."}))),
            "no category of kind",
        ),
        (a_rubric(a_dimension("size", "How large is it?")), "question of size"),
        (a_rubric(a_dimension("size", "If all were false, what share is lost?")), "of size"),
        (
            a_rubric(
                a_dimension("clarity"),
                composite=Composite(
                    mean_of=("clarity",),
                    reliable_where=Reliable(dimension="clarity", at_least=5),
                ),
            ),
            "clarity 5 or more",
        ),
    ],
)
def test_rubrics_that_it_cannot_serve(rubric: Rubric, why: str) -> None:
    """Categories, questions without a yes or no, and bounds on another scale are refused."""
    said = yes_no.serves(rubric)
    assert said is not None
    assert why in said


@pytest.mark.parametrize(
    "question", ["Is it clear what is argued, and how?", "Do you agree: it is good?"]
)
def test_rubrics_that_it_can_serve(question: str) -> None:
    """A what or how within a question is not its answer."""
    assert yes_no.serves(a_rubric(a_dimension("clarity", question))) is None


@given(
    st.dictionaries(
        st.sampled_from(["yes", "no", " Yes", "No", "maybe", "\n"]), st.floats(1e-9, 1), min_size=1
    )
)
def test_a_score_is_a_probability(shown: dict[str, float]) -> None:
    """Whatever the probabilities, a score lies in 0 to 1, or there is none."""
    total = sum(shown.values())
    reading, _ = play(
        a_rubric(a_dimension("clarity")), at({token: p / total for token, p in shown.items()})
    )
    if reading.status == "scored":
        assert 0 <= reading.scores["clarity"] <= 1
    else:
        assert not {token.strip().lower() for token in shown} & {"yes", "no"}
