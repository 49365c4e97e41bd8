"""The elicitations that ask for one number, `holistic` and `unguided`, by scripted replies."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import pytest

from persona_panel.rubrics import (
    Abstention,
    CategoryScale,
    Dimension,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    RealScale,
    Rubric,
    Scale,
)
from persona_panel.rubrics.elicitations import holistic, unguided
from persona_panel.rubrics.wording import fence_for, output_rubric, serves
from tests.rubrics.scripted import play_dialogue

ONE_TO_TEN = Scale(min=1, max=10, low="very poor", high="excellent")
KINDS = CategoryScale(values={"useful": "It helps.", "invalid": "It does not."})


def a_rubric(**scales: Scale | RealScale | CategoryScale) -> Rubric:
    """A rubric with a dimension on each scale, which asks for abstentions."""
    return Rubric(
        id="r",
        label="R",
        question="How well is liberty reasoned about?",
        dimensions=tuple(
            Dimension(
                id=name,
                label=name.title(),
                definition=f"The definition of {name}.",
                guiding_question=f"Is there {name}?",
                scale=scale,
            )
            for name, scale in scales.items()
        ),
        abstention=Abstention(definition="Declining.", guiding_question="Does it decline?"),
    )


RUBRIC = a_rubric(clarity=ONE_TO_TEN, depth=ONE_TO_TEN)
BOTH = pytest.mark.parametrize("elicitation", [holistic, unguided])


def play(
    elicitation: ModuleType, replies: Sequence[ModelResponse | str], rubric: Rubric = RUBRIC
) -> tuple[ParsedJudgment, list[ModelRequest]]:
    """The reading of a dialogue that gets these replies, all of them, and what it asked."""
    return play_dialogue(elicitation, rubric, replies)


@BOTH
def test_a_number_is_the_rating_of_the_whole(elicitation: ModuleType) -> None:
    """The number comes under the single dimension `overall`, without an abstention."""
    reading, _ = play(elicitation, ["**Score:** 7/10"])
    assert reading.status == "scored"
    assert reading.scores == {"overall": 7.0}
    assert reading.abstained is None
    assert reading.raw == "**Score:** 7/10"
    output_rubric = elicitation.output_rubric(RUBRIC)
    assert [dimension.id for dimension in output_rubric.dimensions] == ["overall"]
    assert output_rubric.dimensions[0].scale == ONE_TO_TEN
    assert output_rubric.abstention is None


def test_the_rubric_is_in_view_of_holistic() -> None:
    """Every dimension is in its prompt, with the ends of the scale."""
    _, (ask,) = play(holistic, ["7"])
    words = "".join(ask.blocks)
    for expected in ("How well is liberty reasoned about?", "The definition of depth.", "1 (very"):
        assert expected in words


def test_nothing_of_the_rubric_is_in_view_of_unguided() -> None:
    """Neither its question, nor a dimension, nor what the ends of its scale mean."""
    _, (ask,) = play(unguided, ["7"])
    words = "".join(ask.blocks)
    for unwanted in ("reasoned about", "clarity", "Clarity", "depth", "very poor", "excellent"):
        assert unwanted not in words
    assert "from 1, for the worst, to 10, for the best" in words


@BOTH
def test_the_prompt(elicitation: ModuleType) -> None:
    """The response is fenced and the persona comes after what judges share."""
    _, (ask,) = play(elicitation, ["7"])
    shared, own, _ = ask.blocks
    mark = fence_for("Is liberty one?", "It is many.")
    assert f"<response {mark}>\nIt is many.\n</response {mark}>" in shared
    assert "Historian" not in shared
    assert "Historian" in own


@BOTH
@pytest.mark.parametrize("bad", ["7 or 8", "11", "Seven", ""])
def test_one_more_ask(elicitation: ModuleType, bad: str) -> None:
    """What cannot be read is shown back once; what still cannot is unparsed with its text."""
    reading, (first, second) = play(elicitation, [bad, "8"])
    assert reading.scores == {"overall": 8.0}
    assert second.blocks == first.blocks
    assert second.exchange[0][0] == bad
    reading, asks = play(elicitation, [bad, "8 or 9"])
    assert (reading.status, reading.scores, reading.raw) == ("unparsed", {}, "8 or 9")
    assert len(asks) == 2


@BOTH
def test_refusals(elicitation: ModuleType) -> None:
    """A model that declines, by its provider's word or its own, is refused and not asked again."""
    filtered = ModelResponse("", refusal="content_filter")
    for reply in (filtered, ModelResponse("I'm sorry, but I cannot rate this.")):
        reading, asks = play(elicitation, [reply])
        assert (reading.status, reading.scores) == ("refused", {})
        assert len(asks) == 1


@BOTH
def test_a_cut_off_number_is_not_read(elicitation: ModuleType) -> None:
    """A 1 at the token limit may have been a 10."""
    reading, asks = play(elicitation, [ModelResponse("1", finish_reason="length")])
    assert (reading.status, reading.scores, len(asks)) == ("truncated", {}, 1)


def test_the_scale_is_the_one_that_dimensions_share() -> None:
    """Where what its ends mean differs, the ends of the whole have words of their own."""
    other = Scale(min=1, max=10, low="shallow", high="deep")
    (dimension,) = output_rubric(a_rubric(clarity=ONE_TO_TEN, depth=other)).dimensions
    assert isinstance(dimension.scale, Scale)
    assert (dimension.scale.min, dimension.scale.max) == (1, 10)
    assert dimension.scale.low not in ("very poor", "shallow")


def test_categories_beside_numbers_do_not_count() -> None:
    """A dimension of categories has no scale to share, and leaves the others theirs."""
    (dimension,) = output_rubric(a_rubric(clarity=ONE_TO_TEN, kind=KINDS)).dimensions
    assert dimension.scale == ONE_TO_TEN


def test_the_rubrics_own_overall() -> None:
    """A rubric that has an `overall` of its own is asked for that one, whatever the others."""
    three = Scale(min=1, max=3, low="low", high="high")
    rubric = a_rubric(clarity=ONE_TO_TEN, overall=three)
    assert output_rubric(rubric).dimensions == (rubric.dimensions[1],)


@pytest.mark.parametrize(
    ("rubric", "why"),
    [
        (a_rubric(clarity=ONE_TO_TEN, depth=RealScale(min=1, max=10, low="l", high="h")), "differ"),
        (a_rubric(kind=KINDS), "categories"),
    ],
)
def test_rubrics_without_a_scale_for_one_number(rubric: Rubric, why: str) -> None:
    """They cannot be served, and it is said why."""
    for said in (serves(rubric), holistic.serves(rubric), unguided.serves(rubric)):
        assert said is not None
        assert why in said
    with pytest.raises(ValueError, match=why):
        output_rubric(rubric)


def test_a_real_scale() -> None:
    """On a scale of real numbers any number is asked for and read."""
    rubric = a_rubric(clarity=RealScale(min=0, max=1, low="none", high="all"))
    reading, (ask,) = play(unguided, ["0.35"], rubric)
    assert reading.scores == {"overall": 0.35}
    assert "any number from 0" in "".join(ask.blocks)
