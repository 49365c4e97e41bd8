"""The elicitation `justified`, driven by scripted replies."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.rubrics import (
    Dimension,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Rubric,
    Scale,
)
from persona_panel.rubrics.elicitations import justified
from persona_panel.rubrics.wording import fence_for
from tests.rubrics.scripted import play_dialogue

RUBRIC = Rubric(
    id="two",
    label="Two",
    question="How good is it?",
    dimensions=tuple(
        Dimension(
            id=name,
            label=name.title(),
            definition="Defined.",
            guiding_question=f"Is there {name}?",
            scale=Scale(min=1, max=10, low="poor", high="good"),
        )
        for name in ("clarity", "depth")
    ),
)
GOOD = '{"clarity": 8, "depth": 3}'
SCORES = {"clarity": 8.0, "depth": 3.0}


def play(replies: Sequence[ModelResponse | str]) -> tuple[ParsedJudgment, list[ModelRequest]]:
    """The reading of a dialogue that gets these replies, all of them, and what it asked."""
    return play_dialogue(justified, RUBRIC, replies)


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        (f"<scratchpad>It is clear.</scratchpad>\n{GOOD}", "It is clear."),
        (f"<scratchpad>\nIt is clear.\n</scratchpad>\n```json\n{GOOD}\n```", "It is clear."),
        (f"<SCRATCHPAD>It is clear.</ scratchpad >{GOOD}", "It is clear."),
        (f"It is clear.</scratchpad>{GOOD}", "It is clear."),
        (f"<scratchpad>It is clear.\n{GOOD}", "It is clear."),
        (f"<scratchpad>It is clear.\n{GOOD}</scratchpad>", "It is clear."),
        (f"It is clear.\n\n```json\n{GOOD}\n```", "It is clear."),
        (f'<scratchpad>First {{"clarity": 2, "depth": 2}}.</scratchpad>{GOOD}', None),
        (GOOD, None),
    ],
)
def test_reasons_and_ratings(text: str, reasons: str | None) -> None:
    """Ratings are read behind the reasons, however the scratchpad is marked; a draft in it is
    none."""
    reading, _ = play([text])
    assert reading.status == "scored"
    assert reading.scores == SCORES
    assert reading.raw == text
    if "First" in text:
        reasons = 'First {"clarity": 2, "depth": 2}.'
    assert reading.rationale == reasons


def test_reasons_may_say_cannot() -> None:
    """A reason that sounds like declining is no refusal where ratings follow."""
    reading, _ = play([f"<scratchpad>I cannot find a source.</scratchpad>{GOOD}"])
    assert reading.status == "scored"


def test_ratings_alone_are_asked_for_again_and_the_reasons_kept() -> None:
    """Where reasons came with ratings that cannot be used, the second answer needs none."""
    reading, (first, second) = play(
        ['<scratchpad>It is clear.</scratchpad>{"clarity": 80, "depth": 3}', GOOD]
    )
    assert reading.scores == SCORES
    assert reading.rationale == "It is clear."
    assert second.blocks == first.blocks
    assert "clarity is 80" in second.exchange[0][1]


@pytest.mark.parametrize(
    "bad",
    [
        f"It is clear. {GOOD} Or rather {GOOD.replace('8', '7')}",
        f"<scratchpad>a</scratchpad><scratchpad>b</scratchpad>{GOOD}",
        f"<scratchpad>a</scratchpad>b</scratchpad>{GOOD}",
        f"<scratchpad>a<scratchpad>b</scratchpad>{GOOD}",
        "<scratchpad>It is clear.</scratchpad>",
        "<scratchpad>It is cl",
    ],
)
def test_what_cannot_be_read(bad: str) -> None:
    """Contradictory, doubled or missing answers are unparsed after one more ask."""
    reading, asks = play([bad, bad])
    assert (reading.status, reading.scores, reading.raw) == ("unparsed", {}, bad)
    assert len(asks) == 2


def test_refusals_and_limits() -> None:
    """Neither a refusal nor an answer at the token limit is asked for again."""
    assert play(["I'm sorry, I can't judge this."])[0].status == "refused"
    assert play([ModelResponse("", refusal="content_filter")])[0].status == "refused"
    reading, asks = play([ModelResponse("<scratchpad>It", finish_reason="length")])
    assert (reading.status, len(asks)) == ("truncated", 1)


def test_the_prompt() -> None:
    """There is room for reasons, the response is fenced and the persona stands behind it."""
    _, (ask,) = play([GOOD])
    shared, own, last = ask.blocks
    mark = fence_for("Is liberty one?", "It is many.")
    assert f"<response {mark}>\nIt is many.\n</response {mark}>" in shared
    assert "Is there depth?" in shared
    assert "Historian" in own
    assert "scratchpad" in last
    assert ask.max_tokens == 2048
    assert justified.output_rubric(RUBRIC) is RUBRIC


@given(st.text(st.characters(exclude_characters="{}<>", codec="utf-8"), max_size=80))
def test_any_reasons(reasons: str) -> None:
    """Whatever the reasons say, the ratings behind them are read, and the reasons kept."""
    reading, _ = play([f"<scratchpad>{reasons}</scratchpad>{GOOD}"])
    assert reading.scores == SCORES
    assert (reading.rationale or "") in reasons
