"""Limits that leave room for thinking: what a model is asked with, and when it is asked again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.calls.budget import Caps
from persona_panel.calls.endpoint import AnswerLimit, input_tokens
from persona_panel.models.config import REASONING_TOKENS
from persona_panel.rubrics import ModelRequest
from persona_panel.testing import Answer, Script, always, in_turn, ok, status, thinking
from tests.helpers.callers import ASK, MODEL, CallerAt, ask, caller_at

PLAIN = ASK.max_tokens
WITH_ROOM = PLAIN + REASONING_TOKENS
RAISED = PLAIN + 4 * REASONING_TOKENS


def limits(at: CallerAt) -> list[int]:
    return [call.payload["max_tokens"] for call in at.server.calls]


@given(st.integers(1, 4000), st.integers(0, 100_000), st.integers(512, 200_000))
def test_room_never_takes_from_the_answer_nor_leaves_the_context(
    answer: int, room: int, window: int
) -> None:
    """A limit is the answer's own at least, and beyond that no more than the context has left."""
    request = ModelRequest("", ("word " * 100,), max_tokens=answer)
    limit = AnswerLimit(reasoning=room, context_window=window)
    asked = limit.applied_to(request).max_tokens
    assert answer <= asked <= answer + room
    assert asked == answer or asked + input_tokens(request) <= window


def test_a_request_for_probabilities_keeps_its_limit() -> None:
    """It reads the first tokens of an answer: neither room nor a limit of the user's is for it."""
    request = ModelRequest("", ("?",), top_logprobs=5, max_tokens=1)
    for limit in (AnswerLimit(reasoning=99), AnswerLimit(fixed=50)):
        assert limit.applied_to(request) is request
        assert limit.raised(request, request) is None


async def test_a_model_that_reasons_is_asked_with_room(tmp_path: Path) -> None:
    """One call is enough where it is known that the model thinks."""
    async with caller_at(always(thinking(2000, "7")), tmp_path) as at:
        at.line.answer_limit = AnswerLimit(reasoning=REASONING_TOKENS)
        reply = await at.ask(ASK)
    assert (reply.text, reply.usage.reasoning, limits(at)) == ("7", 2000, [WITH_ROOM])


async def test_a_model_that_turns_out_to_reason_is_asked_once_more(tmp_path: Path) -> None:
    """Thinking took all of the first limit: the second has room, and so have all calls after it.
    Both calls count, and the reply that is kept says what both took."""
    async with caller_at(always(thinking(2000, "7")), tmp_path) as at:
        first = await at.ask(ask(1))
        await at.ask(ask(2))
        spent = at.caller.counts.spent[MODEL]
        kept = await at.ask(ask(1))
    assert limits(at) == [PLAIN, WITH_ROOM, WITH_ROOM]
    assert first.usage.reasoning == PLAIN + 2000
    assert spent.reasoning == PLAIN + 2000 + 2000
    assert (kept.cached, kept.usage) == (True, first.usage)


async def test_a_reply_s_reasoning_tokens_tell_that_a_model_reasons(tmp_path: Path) -> None:
    """It was in time with its answer; the next one may think for longer."""
    async with caller_at(always(thinking(30, "7")), tmp_path) as at:
        await at.ask(ask(1))
        await at.ask(ask(2))
    assert limits(at) == [PLAIN, WITH_ROOM]


async def test_a_server_that_reports_no_thinking(tmp_path: Path) -> None:
    """An answer without text at its limit tells as much; the room that was enough stays."""

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        return ok("7") if payload["max_tokens"] > 2000 else ok("", finish_reason="length")

    async with caller_at(script, tmp_path) as at:
        await at.ask(ask(1))
        await at.ask(ask(2))
    assert limits(at) == [PLAIN, WITH_ROOM, WITH_ROOM]


async def test_a_limit_is_raised_once(tmp_path: Path) -> None:
    """An answer that a higher limit cuts off, too, is what there is."""
    async with caller_at(always(thinking(1_000_000)), tmp_path) as at:
        reply = await at.ask(ask(1))
        await at.ask(ask(2))
    assert (reply.finish_reason, reply.text) == ("length", "")
    assert limits(at) == [PLAIN, WITH_ROOM, WITH_ROOM, RAISED]


async def test_a_cut_answer_that_is_of_use_is_not_asked_for_again(tmp_path: Path) -> None:
    """A target's answer is judged as it is, unless it has only been thought about."""
    async with caller_at(always(ok("Half a", finish_reason="length")), tmp_path) as at:
        await at.caller.complete(MODEL, ask(1), "page", cut_is_usable=True)
        assert limits(at) == [PLAIN]
        await at.caller.complete(MODEL, ask(2), "page", cut_is_usable=False)
        assert limits(at) == [PLAIN, PLAIN, WITH_ROOM]
    async with caller_at(always(thinking(2000, "7")), tmp_path / "other") as at:
        await at.caller.complete(MODEL, ask(1), "page", cut_is_usable=True)
    assert limits(at) == [PLAIN, WITH_ROOM]


@pytest.mark.parametrize(
    "limit",
    [
        AnswerLimit(fixed=PLAIN),
        AnswerLimit(adjustable=False),
        AnswerLimit(context_window=PLAIN),
    ],
    ids=["the user's own", "not the request's", "no context left"],
)
async def test_a_limit_that_cannot_be_raised(tmp_path: Path, limit: AnswerLimit) -> None:
    """The same limit would cut the same answer off: it is not asked for again."""
    async with caller_at(always(thinking(2000)), tmp_path) as at:
        at.line.answer_limit = limit
        assert (await at.ask(ASK)).finish_reason == "length"
    assert limits(at) == [PLAIN]


@pytest.mark.parametrize("caps", [Caps(tokens=5_000), Caps(calls=1)], ids=["tokens", "calls"])
async def test_a_cap_forbids_the_higher_limit_and_not_the_run(tmp_path: Path, caps: Caps) -> None:
    """The answer that was cut off is what there is, and no cap counts as reached by that."""
    async with caller_at(always(thinking(2000)), tmp_path, caps=caps) as at:
        assert (await at.ask(ASK)).finish_reason == "length"
        assert at.caller.budget.reached is None
    assert limits(at) == [PLAIN]


async def test_a_fixed_limit_is_sent_in_place_of_the_request_s(tmp_path: Path) -> None:
    """As the user says, and refused by the server it is a fault, not silently made smaller."""
    async with caller_at(in_turn(ok("7"), status(400)), tmp_path) as at:
        at.line.answer_limit = AnswerLimit(fixed=50_000)
        await at.ask(ask(1))
        assert (await at.outcome(ask(2))).status == "failed"
    assert limits(at) == [50_000, 50_000]


def _small_context() -> Script:
    said = {"error": {"message": "This model's maximum context length is 4096 tokens", "code": 400}}
    return lambda number, payload: (
        status(400, body=said) if payload["max_tokens"] > 4096 else ok("7")
    )


async def test_a_server_whose_context_is_too_small_for_the_room(tmp_path: Path) -> None:
    """It is asked without room, and so from then on."""
    async with caller_at(_small_context(), tmp_path) as at:
        at.line.answer_limit = AnswerLimit(reasoning=REASONING_TOKENS)
        assert (await at.ask(ask(1))).text == "7"
        await at.ask(ask(2))
    assert limits(at) == [WITH_ROOM, PLAIN, PLAIN]


async def test_a_higher_limit_that_the_server_refuses(tmp_path: Path) -> None:
    """What was cut off is what there is: no judgment fails for the second call."""
    script = in_turn(thinking(2000), status(400, body="max_tokens is too large"))
    async with caller_at(script, tmp_path) as at:
        reply = await at.ask(ASK)
    assert (reply.finish_reason, limits(at)) == ("length", [PLAIN, WITH_ROOM])
