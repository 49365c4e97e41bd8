"""Log-probabilities that cannot be: named, and not weighed. `persona_panel.rubrics.probabilities`."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.rubrics import ModelResponse, ParsedJudgment, Position, Scale, load_elicitation
from persona_panel.rubrics.elicitation import Question
from tests.helpers.judgments import PLAIN

LOG = math.log
# No value begins another.
SCALE = Scale(min=1, max=9, low="not", high="very")
RUBRIC = PLAIN.model_copy(
    update={"dimensions": (PLAIN.dimensions[0].model_copy(update={"scale": SCALE}),)}
)
TOKENS = [str(n) for n in range(1, 10)]


def reading(position: Position, elicitation: str = "expected") -> ParsedJudgment:
    """What comes of an answer that is this one token, to each question."""
    dialogue = load_elicitation(elicitation).dialogue(
        Question(RUBRIC, "", "", "Why?", "Text.", one_call_per_dimension=True)
    )
    try:
        next(dialogue)
        while True:
            dialogue.send(ModelResponse(position.token, logprobs=(position,)))
    except StopIteration as end:
        parsed: ParsedJudgment = end.value
        return parsed


@pytest.mark.parametrize(
    ("position", "why"),
    [
        (Position("7", (("7", -0.1), ("8", -0.1), ("6", -0.1))), "sum to 2.71"),
        (Position("7", (("7", 0.5), ("8", -1.0))), "is 0.5, not a number up to 0"),
        (Position("7", (("7", math.nan),)), "is nan, not a number up to 0"),
        (Position("7", (("7", math.inf),)), "is inf, not a number up to 0"),
        (Position("7", (("7", "-1"),)), "not a number up to 0"),  # type: ignore[arg-type]
        (Position("7", (("7", -0.5),), 0.5), "is 0.5, not a number up to 0"),
        (Position(7, ((7, -0.5),)), "is 7, not text"),  # type: ignore[arg-type]
        (Position("7", (("7", -0.5), ("8", -1.0)), -3.0), "two probabilities, 0.0498 and 0.607"),
        (Position("5", (("7", -1.5), ("8", -1.6)), -0.7), "not among its most probable tokens"),
    ],
)
@pytest.mark.parametrize("elicitation", ["expected", "yes-no"])
def test_odd_log_probabilities_are_named_and_not_scored(
    position: Position, why: str, elicitation: str
) -> None:
    """Each by itself makes the judgment unparsed, with the reason."""
    got = reading(position, elicitation)
    assert got.status == "unparsed"
    assert why in str(got.error)
    assert not got.scores


@given(
    st.lists(st.floats(0.001, 1), min_size=9, max_size=9),
    st.floats(0, 0.3),
    st.sampled_from([2, 3, 6]),
)
def test_what_real_servers_write_is_weighed(
    shares: list[float], other: float, decimals: int
) -> None:
    """Distributions rounded to two decimals or more, with what is off the scale, -9999 for the very
    improbable and the written token beside the others, are scored as their mean."""
    total = sum(shares) / (1 - other)
    probabilities = [share / total for share in shares]
    top = [(t, round(LOG(p), decimals)) for t, p in zip(TOKENS, probabilities, strict=True)]
    top.append(("x", -9999.0))
    got = reading(Position("4", tuple(top), top[3][1]))
    mean = sum(int(t) * p for t, p in zip(TOKENS, probabilities, strict=True)) / (1 - other)
    assert got.status == "scored"
    assert got.scores["clarity"] == pytest.approx(mean, abs=0.1)


@given(st.floats(1.06, 9.0))
def test_more_than_one_in_all_is_never_scored(total: float) -> None:
    """However the excess is spread over the tokens."""
    top = tuple((token, LOG(total / 9)) for token in TOKENS)
    assert reading(Position("7", top)).status == "unparsed"


def test_a_token_that_is_written_though_improbable_is_weighed() -> None:
    """One that was drawn and is below the most probable ones counts by its own probability."""
    top = (("7", LOG(0.5)), ("8", LOG(0.3)))
    got = reading(Position("2", top, LOG(0.2)))
    assert got.scores["clarity"] == pytest.approx(0.5 * 7 + 0.3 * 8 + 0.2 * 2)


def test_a_pair_that_comes_twice_counts_once() -> None:
    """And two tokens of the same text, as some tokenizers have them, both count."""
    twice = (("7", LOG(0.5)), ("7", LOG(0.5)), ("8", LOG(0.5)))
    assert reading(Position("7", twice, LOG(0.5))).scores["clarity"] == pytest.approx(7.5)
    alike = (("7", LOG(0.5)), ("7", LOG(0.25)), ("8", LOG(0.25)))
    assert reading(Position("7", alike, LOG(0.5))).scores["clarity"] == pytest.approx(7.25)
