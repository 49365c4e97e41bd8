"""A rubric of mixed scales: how it is asked, and how its answers are read."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.rubrics import (
    CategoryScale,
    Dimension,
    ModelResponse,
    ParsedJudgment,
    Position,
    Question,
    RealScale,
    Rubric,
    Scale,
)
from persona_panel.rubrics.elicitations import dimensions, expected
from persona_panel.rubrics.replies import Unreadable, read_label, read_score


def a_dimension(name: str, scale: Any, family: str | None = None) -> Dimension:
    """A dimension with this scale."""
    return Dimension(
        id=name, label=name.title(), definition="d.", guiding_question="g?", scale=scale,
        family=family,
    )  # fmt: skip


DEPTH = a_dimension("depth", Scale(min=1, max=3, low="flat", high="deep"), "Form")
FORCE = a_dimension("force", RealScale(min=0, max=1, low="none", high="all"), "Form")
WORTH = a_dimension(
    "worth", CategoryScale(values={"Useful": "it helps", "not critical": "no"}), "Matter"
)
MIXED = Rubric(
    id="mixed", label="Mixed", question="How?", dimensions=(DEPTH, FORCE, WORTH),
    not_assessable=True,
)  # fmt: skip
GOOD = '{"depth": 2, "force": 0.25, "worth": "useful"}'


def read(rubric: Rubric, *replies: str | ModelResponse) -> tuple[ParsedJudgment, list[Any]]:
    """The reading of `dimensions` after these replies, and what was asked."""
    dialogue = dimensions.dialogue(Question(rubric, "Historian", "You ask when.", "Q?", "Text."))
    asks = [next(dialogue)]
    for reply in replies:
        try:
            asks.append(dialogue.send(ModelResponse(reply) if isinstance(reply, str) else reply))
        except StopIteration as done:
            return done.value, asks
    raise AssertionError("the dialogue wants more")


def test_each_scale_is_put_in_its_own_words() -> None:
    """Ranges say whether decimals are allowed, categories what each means, families head theirs."""
    _, (ask,) = read(MIXED, GOOD)
    message = "".join(ask.blocks)
    assert "Whole number from 1 (flat) to 3 (deep)." in message
    assert "Any number from 0 (none) to 1 (all), decimals included." in message
    assert "One of: `Useful` (it helps); `not critical` (no)." in message
    assert message.index("Form:") < message.index("1. Depth") < message.index("2. Force")
    assert message.count("Form:") == 1
    assert message.index("Matter:") < message.index("3. Worth")


def test_ordered_categories_are_said_to_be() -> None:
    """A judge is told that the list of an ordered scale rises."""
    scale = CategoryScale(ordered=True, values={"low": "little", "high": "much"})
    rubric = Rubric(id="o", label="O", question="?", dimensions=(a_dimension("d", scale),))
    _, (ask,) = read(rubric, '{"d": "high"}')
    assert "One of, from the lowest to the highest: `low` (little)" in "".join(ask.blocks)


def test_the_schema_follows_the_scale() -> None:
    """Whole numbers and names are listed, reals are bounded, and null is one more where allowed."""
    _, (ask,) = read(MIXED, GOOD)
    assert ask.schema["properties"] == {
        "depth": {"type": ["integer", "null"], "enum": [1, 2, 3, None]},
        "force": {"type": ["number", "null"], "minimum": 0.0, "maximum": 1.0},
        "worth": {"type": ["string", "null"], "enum": ["Useful", "not critical", None]},
    }


def test_numbers_and_labels_are_kept_apart() -> None:
    """Scores hold the numbers, labels the categories in the rubric's spelling."""
    reading, _ = read(MIXED, '{"depth": "3/3", "force": ".5 / 1", "worth": "NOT_CRITICAL"}')
    assert reading.status == "scored"
    assert reading.scores == {"depth": 3.0, "force": 0.5}
    assert reading.labels == {"worth": "not critical"}


def test_what_cannot_be_assessed_is_in_neither() -> None:
    """A null leaves the dimension out, whatever its scale."""
    reading, _ = read(MIXED, '{"depth": null, "force": null, "worth": null}')
    assert (reading.status, reading.scores, reading.labels) == ("scored", {}, {})


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ('{"depth": 2, "force": 1.01, "worth": "useful"}', "force is 1.01, not a number from 0"),
        ('{"depth": 2, "force": -0.1, "worth": "useful"}', "force is -0.1"),
        ('{"depth": 2, "force": NaN, "worth": "useful"}', "force is nan"),
        ('{"depth": 2, "force": true, "worth": "useful"}', "force is True"),
        ('{"depth": 2, "force": "70%", "worth": "useful"}', "force is '70%'"),
        ('{"depth": 2, "force": "7/10", "worth": "useful"}', "force is '7/10'"),
        ('{"depth": 2.5, "force": 0.5, "worth": "useful"}', "depth is 2.5, not a whole number"),
        ('{"depth": 2, "force": 0.5, "worth": "very useful"}', "not one of Useful, not critical"),
        ('{"depth": 2, "force": 0.5, "worth": 0}', "worth is 0, not one of"),
        ('{"depth": 2, "force": 0.5, "worth": ["useful"]}', "worth is "),
    ],
)
def test_what_is_not_on_the_scale_is_asked_for_again(answer: str, wrong: str) -> None:
    """Nothing is clipped, rounded or guessed: the re-ask quotes what is wrong."""
    reading, asks = read(MIXED, answer, GOOD)
    assert wrong in asks[1].exchange[0][1]
    assert reading.labels == {"worth": "Useful"}


@given(st.floats(0, 1), st.sampled_from([json.dumps, repr, lambda x: json.dumps(f" {x:.17f} ")]))
def test_any_real_on_the_scale_is_read(value: float, written: Any) -> None:
    """A real is read as written, bare or in quotes, to the last digit that text has."""
    said = json.loads(written(value))
    assert read_score(said, FORCE) == pytest.approx(value, abs=1e-15)


@given(st.floats(allow_nan=True, allow_infinity=True) | st.text(max_size=8) | st.booleans())
def test_a_real_is_on_the_scale_or_refused(value: object) -> None:
    """Whatever a model writes, what is read lies between the ends."""
    with suppress(Unreadable):
        assert 0 <= read_score(value, FORCE) <= 1


def test_a_scale_is_read_as_what_it_is() -> None:
    """Asking for the number of a category, or the category of a number, is an error."""
    with pytest.raises(Unreadable, match="worth has categories"):
        read_score(1, WORTH)
    with pytest.raises(Unreadable, match="depth has numbers"):
        read_label("useful", DEPTH)


# expected


def at(probabilities: dict[str, float]) -> ModelResponse:
    """A reply that shows these probabilities at its one token."""
    top = tuple((token, math.log(p)) for token, p in probabilities.items())
    return ModelResponse(next(iter(probabilities)), logprobs=(Position(top[0][0], top),))


def weigh(rubric: Rubric, replies: Sequence[ModelResponse]) -> tuple[ParsedJudgment, list[str]]:
    """The reading of `expected` after these replies, and its questions."""
    dialogue = expected.dialogue(
        Question(rubric, "Historian", "You ask when.", "Q?", "Text.", one_call_per_dimension=True)
    )
    asked = [next(dialogue).blocks[-1]]
    try:
        for reply in replies:
            asked.append(dialogue.send(reply).blocks[-1])
    except StopIteration as done:
        return done.value, asked
    raise AssertionError("the dialogue wants more")


NAMED = Rubric(id="n", label="N", question="How?", dimensions=(DEPTH, WORTH))


def test_expected_takes_the_most_probable_category() -> None:
    """Categories are asked for by number: no mean is taken, and the shares are kept as text."""
    reading, asked = weigh(NAMED, [at({"3": 0.5, "1": 0.5}), at({"2": 0.6, "1": 0.2, "x": 0.2})])
    assert asked[1] == "B. Worth: 1 Useful, 2 not critical. The number of one of these:"
    # depth: 3 × .5 + 1 × .5; of the category .6 / .8 is on the second, .2 on no category
    assert reading.scores == {"depth": pytest.approx(2.0)}
    assert reading.labels == {"worth": "not critical"}
    assert json.loads(reading.raw)["worth"] == {"Useful": 0.25, "not critical": 0.75}
    assert reading.off_scale["worth"] == pytest.approx(0.2)


def test_a_tie_of_categories_is_no_answer() -> None:
    """Two categories of equal probability are not decided by their order."""
    reading, _ = weigh(NAMED, [at({"3": 1.0}), at({"1": 0.5, "2": 0.5})])
    assert reading.status == "unparsed"
    assert "equally probable" in (reading.error or "")


def test_expected_cannot_serve_reals() -> None:
    """Each elicitation says whether a rubric is for it, and if not, what of it is not."""
    assert expected.serves(NAMED) is None
    assert "force may be any number" in (expected.serves(MIXED) or "")
    assert dimensions.serves(MIXED) is None
