"""From an ask to a reply, over a real server: `persona_panel.calls.caller`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import persona_panel.calls.endpoint as module
from persona_panel.calls import endpoint as lines
from persona_panel.calls.budget import NO_CAPS, Budget, Caps
from persona_panel.calls.caller import Caller
from persona_panel.calls.endpoint import Endpoint, estimated_tokens, tokens_in
from persona_panel.calls.rate_limiter import RateLimiter
from persona_panel.calls.stores.disk import DiskReplyStore
from persona_panel.graphs import Judge, Response
from persona_panel.graphs.context import Unanswered
from persona_panel.models.client import Capabilities, ModelClient
from persona_panel.models.config import Price
from persona_panel.rubrics import ModelRequest, ModelResponse, Usage
from persona_panel.testing import (
    Answer,
    always,
    in_turn,
    ok,
    raw,
    reset,
    stall,
    status,
    truncated,
)
from tests.helpers.callers import ASK, MODEL, PAGE, ask, caller_at
from tests.helpers.langchain_chats import OpenAICompatible

JUDGE = Judge(persona="law", model=MODEL, elicitation="dimensions")
AS_SHIPPED = module.ATTEMPTS


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST_WAIT_S", 0.005)
    monkeypatch.setattr(module, "_LONGEST_WAIT_S", 0.02)
    monkeypatch.setattr(module, "ATTEMPTS", 3)


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 (it comes about in another thread)
            await asyncio.sleep(0.005)


def has_all_slots(limiter: RateLimiter, count: int) -> bool:
    return limiter._slots.free == count


# Trying again


@pytest.mark.parametrize(
    "fault", [status(500), status(503), status(408), reset(), truncated()], ids=lambda _: ""
)
async def test_what_may_pass_is_tried_again(fault: Any, tmp_path: Path) -> None:
    """After a fault that may pass, the second attempt's answer is the reply."""
    async with caller_at(in_turn(fault, ok("7")), tmp_path) as at:
        reply = await at.ask(ASK)
    assert reply.text == "7"
    assert len(at.server.calls) == at.caller.counts.made == 2
    assert sum(at.caller.counts.faults.values()) == 1


async def test_retry_after_is_honoured(tmp_path: Path) -> None:
    """After a 429 with Retry-After the next attempt comes no sooner than it says, and a call
    beside it is held back too."""
    script = in_turn(status(429, retry_after=0.4), ok("7"))
    async with caller_at(script, tmp_path) as at:
        first = asyncio.create_task(at.ask(ask(1)))
        await until(lambda: at.caller.counts.faults)
        await asyncio.gather(first, at.ask(ask(2)))
    refused, *others = [call.at for call in at.server.calls]
    assert len(others) == 2
    assert all(0.38 < other - refused < 2 for other in others)
    assert at.caller.counts.faults == {"HTTP 429": 1}


async def test_attempts_are_capped(tmp_path: Path) -> None:
    """A server that only fails is asked as often as allowed, and the judgment says so."""
    async with caller_at(always(status(500)), tmp_path) as at:
        error = await at.outcome()
    assert error.status == "failed"
    assert "scripted 500" in str(error)
    assert "(tried 3 times)" in str(error)
    assert len(at.server.calls) == 3
    assert at.caller.counts.faults == {"HTTP 500": 3}


async def test_a_call_is_tried_six_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a test says otherwise, that is how often, as the documentation has it."""
    monkeypatch.setattr(module, "ATTEMPTS", AS_SHIPPED)
    async with caller_at(always(status(500)), tmp_path) as at:
        assert "(tried 6 times)" in str(await at.outcome())
    assert len(at.server.calls) == 6


@pytest.mark.parametrize(
    ("code", "calls"), [(408, 5), (429, 5), (503, 5), (504, 5), (529, 5), (500, 8), (502, 8)]
)
async def test_what_says_too_much_makes_fewer_calls(code: int, calls: int, tmp_path: Path) -> None:
    """After one overload or time-out that the server tells of, 70 % of 8 calls may be in flight;
    a plain fault of the server's leaves all 8."""
    limiter = RateLimiter()
    async with caller_at(in_turn(status(code), *[ok("7")] * 4), tmp_path, limiter=limiter) as at:
        # Slots in use are taken away as calls end: a few have to.
        for number in range(4):
            await at.ask(ask(number))
        taken = [asyncio.create_task(limiter.enter(0)) for _ in range(9)]
        await asyncio.sleep(0.01)
        assert sum(task.done() for task in taken) == calls
        for task in taken:
            task.cancel()


async def test_waits_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wait is about twice the one before."""
    monkeypatch.setattr(module, "_FIRST_WAIT_S", 0.1)
    monkeypatch.setattr(module, "_LONGEST_WAIT_S", 10)
    async with caller_at(always(status(500)), tmp_path) as at:
        await at.outcome()
    first, second = (after.at - before.at for before, after in pairwise(at.server.calls))
    # Between half and the whole of 0.2 s and of 0.4 s.
    assert 0.09 < first < 0.35
    assert 0.19 < second < 0.6


async def test_a_minute_s_quota_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider that refuses for a minute and does not say for how long (429 without
    Retry-After) gets every call in the end; here a minute is 0.6 s."""
    for name, seconds in (("_FIRST_WAIT_S", 0.005), ("_LONGEST_WAIT_S", 0.3), ("_MINUTE_S", 0.6)):
        monkeypatch.setattr(module, name, seconds)
    monkeypatch.setattr(module, "ATTEMPTS", 6)
    began = time.monotonic()

    def script(number: int, payload: Mapping[str, Any]) -> Any:
        return status(429) if time.monotonic() - began < 0.6 else ok("7")

    async with caller_at(script, tmp_path) as at:
        replies = await asyncio.gather(*(at.ask(ask(number)) for number in range(20)))
    assert {reply.text for reply in replies} == {"7"}


async def test_a_call_has_a_last_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the next attempt would come after all the time a call may take, it is not made."""
    monkeypatch.setattr(module, "TOTAL_S", 0.5)
    async with caller_at(always(status(429, retry_after=0.45)), tmp_path) as at:
        error = await asyncio.wait_for(at.outcome(), 5)
    assert error.status == "failed"
    assert len(at.server.calls) <= 2


async def test_a_rejected_call_is_not_tried_again(tmp_path: Path) -> None:
    """A 400 says that this call never will succeed, and nothing about the next."""
    async with caller_at(in_turn(status(400), ok("7")), tmp_path) as at:
        error = await at.outcome()
        assert error.status == "failed"
        assert "tried" not in str(error)
        assert len(at.server.calls) == 1
        assert (await at.ask(ask(2))).text == "7"


async def test_a_call_that_takes_too_long_is_tried_again(tmp_path: Path) -> None:
    """An answer that does not come within the timeout is lost, and the next one counts."""
    async with caller_at(in_turn(stall(3), ok("7")), tmp_path, timeout_s=0.2) as at:
        assert (await at.ask(ASK)).text == "7"
    assert at.caller.counts.faults == {"timeout": 1}
    assert at.caller.counts.made == 2


async def test_a_call_that_always_takes_too_long_says_how_long(tmp_path: Path) -> None:
    """The error of a lost call names the timeout."""
    async with caller_at(always(stall(3)), tmp_path, timeout_s=0.1) as at:
        assert "no answer within 0.1 s" in str(await at.outcome())


# Giving up


async def test_a_bad_key_ends_the_model(tmp_path: Path) -> None:
    """After a 401 later calls are skipped with the reason and the server sees none of them."""
    async with caller_at(always(status(401)), tmp_path) as at:
        assert (await at.outcome(ask(1))).status == "failed"
        later = [await at.outcome(ask(number)) for number in range(2, 12)]
    assert {error.status for error in later} == {"skipped"}
    assert all("openai:stub is no longer called" in str(error) for error in later)
    assert all("scripted 401" in str(error) for error in later)
    assert len(at.server.calls) == at.caller.counts.made == 1


async def test_a_model_given_up_is_skipped_without_waiting(tmp_path: Path) -> None:
    """Skipping takes no turn at the gate: at six calls a minute 20 would take over three."""
    limiter = RateLimiter(4, requests_per_minute=6)
    async with caller_at(always(status(401)), tmp_path, limiter=limiter) as at:
        await at.outcome(ask(0))
        async with asyncio.timeout(5):
            later = await asyncio.gather(*(at.outcome(ask(number)) for number in range(1, 21)))
    assert {error.status for error in later} == {"skipped"}


async def test_a_kept_reply_outlives_the_model(tmp_path: Path) -> None:
    """What was paid for is still served when its model has been given up."""
    async with caller_at(in_turn(ok("7"), status(401)), tmp_path) as at:
        await at.ask(ask(1))
        await at.outcome(ask(2))
        assert (await at.ask(ask(1))).text == "7"


async def test_a_model_that_loses_every_call_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After several calls in a row that were all lost, the rest are skipped."""
    monkeypatch.setattr(lines, "_GIVE_UP_AFTER", 3)
    async with caller_at(always(status(500)), tmp_path) as at:
        outcomes = [await at.outcome(ask(number)) for number in range(5)]
    assert [error.status for error in outcomes] == ["failed"] * 3 + ["skipped"] * 2
    assert "3 requests in a row failed" in str(outcomes[-1])
    assert len(at.server.calls) == 9  # three calls of three attempts


async def test_a_server_that_is_not_there_is_given_up_with_the_reason(tmp_path: Path) -> None:
    """Once a server was silent for long enough, judgments say so, and what the last try met."""
    async with caller_at(always(reset()), tmp_path) as at:
        at.line.patience_s = 0.0
        error = await at.outcome()
    assert error.status == "skipped"
    assert "it never answered" in str(error)
    assert f"last error: {at.server.base_url}: " in str(error)


async def test_a_success_in_between_keeps_a_model_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lost calls count towards giving up only in a row."""
    monkeypatch.setattr(lines, "_GIVE_UP_AFTER", 2)
    monkeypatch.setattr(module, "ATTEMPTS", 1)
    script = in_turn(status(500), ok("7"), status(500), ok("8"))
    async with caller_at(script, tmp_path) as at:
        await at.outcome(ask(1))
        await at.ask(ask(2))
        await at.outcome(ask(3))
        assert (await at.ask(ask(4))).text == "8"


async def test_who_waits_to_try_again_learns_that_the_model_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that waits for its second attempt does not wait on when another's 401 came."""
    monkeypatch.setattr(module, "_FIRST_WAIT_S", 30)
    monkeypatch.setattr(module, "_LONGEST_WAIT_S", 60)
    async with caller_at(in_turn(status(500), status(401)), tmp_path) as at:
        waiting = asyncio.create_task(at.outcome(ask(1)))
        await until(lambda: at.caller.counts.faults)
        await at.outcome(ask(2))
        assert (await asyncio.wait_for(waiting, 5)).status == "skipped"
    assert len(at.server.calls) == 2


async def test_a_provider_that_wants_hours_is_given_up(tmp_path: Path) -> None:
    """A Retry-After longer than any call may take ends the model instead of the user's day."""
    async with caller_at(always(status(429, retry_after=7200)), tmp_path) as at:
        first = await asyncio.wait_for(at.outcome(ask(1)), 5)
        second = await asyncio.wait_for(at.outcome(ask(2)), 5)
    assert first.status in ("failed", "skipped")
    assert second.status == "skipped"
    assert "7,200 s" in str(second)
    assert len(at.server.calls) == 1


# What is kept


async def test_a_kept_reply_is_not_asked_again(tmp_path: Path) -> None:
    """The second time, and in the next run, a reply comes from the disk and is marked so."""
    async with caller_at(always(ok("7")), tmp_path) as at:
        first = await at.ask(ASK)
        second = await at.ask(ASK)
        assert not first.cached
        assert second == replace(first, cached=True)
        assert len(at.server.calls) == 1
        assert (at.caller.counts.made, at.caller.counts.cached) == (1, 1)


async def test_a_replicate_is_a_call_of_its_own(tmp_path: Path) -> None:
    """The same words asked a second time on purpose are not answered with the first reply."""
    async with caller_at(always(ok("7")), tmp_path) as at:
        await at.ask(ASK)
        await at.ask(ASK)
        assert len(at.server.calls) == 1
        await at.ask(ASK, 2)
        assert len(at.server.calls) == 2


async def test_what_is_forgotten_is_asked_again(tmp_path: Path) -> None:
    """A reply that led to no result is paid for anew."""
    async with caller_at(in_turn(ok("what?"), ok("7")), tmp_path) as at:
        reply = await at.ask(ASK)
        at.caller.forget([(ASK, reply)], PAGE)
        again = await at.ask(ASK)
    assert (again.text, again.cached) == ("7", False)


async def test_what_came_in_place_of_what_is_forgotten_is_not_asked_again(tmp_path: Path) -> None:
    """Two judges were served one reply that led to no result: the second to say so leaves the
    reply alone that the first has got since."""
    async with caller_at(in_turn(ok("what?"), ok("7")), tmp_path) as at:
        reply = await at.ask(ASK)
        served = await at.ask(ASK)
        assert served.cached
        at.caller.forget([(ASK, reply)], PAGE)
        await at.ask(ASK)
        at.caller.forget([(ASK, served)], PAGE)
        again = await at.ask(ASK)
    assert (again.text, again.cached) == ("7", True)


async def test_a_lost_call_is_not_kept(tmp_path: Path) -> None:
    """A failure is no result: the next time the model is asked."""
    async with caller_at(in_turn(status(400), ok("7")), tmp_path) as at:
        await at.outcome()
        assert (await at.ask(ASK)).text == "7"


# What is counted


async def test_calls_and_usage_are_counted(tmp_path: Path) -> None:
    """Every attempt counts as a call, tokens only where a reply reported them."""
    spent = {"prompt_tokens": 10, "completion_tokens": 2}
    async with caller_at(in_turn(status(500), ok("7", usage=spent)), tmp_path) as at:
        await asyncio.gather(*(at.ask(ask(number)) for number in range(4)))
        await at.ask(ask(0))
    tally = at.caller.counts
    assert (tally.made, tally.cached) == (len(at.server.calls), 1) == (5, 1)
    assert tally.spent == {MODEL: Usage(input=40, output=8)}
    assert tally.faults == {"HTTP 500": 1}


async def test_a_cap_skips_what_would_pass_it(tmp_path: Path) -> None:
    """With a cap of two calls the third is skipped, and what is kept still comes."""
    async with caller_at(always(ok("7")), tmp_path, caps=Caps(calls=2)) as at:
        await at.ask(ask(1))
        await at.ask(ask(2))
        error = await at.outcome(ask(3))
        assert error.status == "skipped"
        assert "cap of 2 calls" in str(error)
        assert (await at.ask(ask(1))).cached
    assert len(at.server.calls) == 2


@pytest.mark.parametrize("calls", [1, 2])
async def test_a_cap_does_not_hide_what_went_wrong(calls: int, tmp_path: Path) -> None:
    """A call that a cap forbids to try again has failed, and the reason has what the server said
    last and the cap; one that was never made is skipped for the cap alone."""
    faults = [status(500, body=f"fault {n}") for n in range(1, 4)]
    async with caller_at(in_turn(*faults), tmp_path, caps=Caps(calls=calls)) as at:
        first = await at.outcome(ask(1))
        second = await at.outcome(ask(2))
    assert first.status == "failed"
    assert f"fault {calls} (" in str(first)
    assert f"the cap of {calls} calls is reached" in str(first)
    assert ("tried 2 times" in str(first)) == (calls == 2)
    assert (second.status, str(second)) == ("skipped", f"the cap of {calls} calls is reached")
    assert len(at.server.calls) == calls


async def test_a_reply_knows_how_long_it_took(tmp_path: Path) -> None:
    """A reply's latency is its last attempt's, without the waiting before."""
    slow = stall(0.2)
    async with caller_at(in_turn(status(429, retry_after=0.5), slow), tmp_path) as at:
        reply = await at.ask(ASK)
    assert 0.19 < reply.latency_s < 0.5


def test_tokens_are_estimated_from_every_part_of_an_ask() -> None:
    """Four ASCII characters count as one token, any other as one itself, and half of what
    the answer may take is added."""
    assert tokens_in("abcd" * 10) == 10
    assert tokens_in("判断abcd") == 3
    whole = ModelRequest(
        "a" * 40, ("b" * 40, "c" * 40), (("d" * 40, "e" * 40),), "f" * 40, max_tokens=100
    )
    assert estimated_tokens(whole) == 60 + 50


# Slots


async def test_no_more_calls_are_in_flight_than_the_gate_allows(tmp_path: Path) -> None:
    """The server never sees more calls at once than the gate's concurrency."""
    async with caller_at(always(stall(0.03)), tmp_path, limiter=RateLimiter(3)) as at:
        await asyncio.gather(*(at.ask(ask(number)) for number in range(15)))
    assert at.server.in_flight_max == 3


async def test_a_call_that_waits_to_try_again_holds_no_slot(tmp_path: Path) -> None:
    """While one call waits after a fault, another uses the only slot."""
    limiter = RateLimiter(1)

    def script(number: int, payload: Mapping[str, Any]) -> Any:
        return status(500) if number == 0 else ok("7")

    async with caller_at(script, tmp_path, limiter=limiter) as at:
        await asyncio.gather(*(at.ask(ask(number)) for number in range(4)))
        assert has_all_slots(limiter, 1)


@pytest.mark.parametrize("caps", [NO_CAPS, Caps(calls=3), Caps(tokens=2500)], ids=str)
async def test_cancellation_leaves_no_slot_taken(caps: Caps, tmp_path: Path) -> None:
    """Calls cancelled in flight and in the queue give everything back: the next goes at once,
    also where a cap counts what is in flight."""
    limiter = RateLimiter(2)
    script = in_turn(stall(30), stall(30), ok("7"))
    async with caller_at(script, tmp_path, limiter=limiter, timeout_s=60, caps=caps) as at:
        calls = [
            asyncio.create_task(at.ask(replace(ask(number), max_tokens=500))) for number in range(6)
        ]
        await until(lambda: len(at.server.calls) == 2)
        for call in calls:
            call.cancel()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {asyncio.CancelledError}
        assert has_all_slots(limiter, 2)
        async with asyncio.timeout(5):
            assert (await at.ask(ASK)).text == "7"
        # The two that were sent may have been answered: they count as what they may have taken.
        assert at.caller.counts.estimated.calls == 2
        assert at.caller.counts.estimated.usage[MODEL].output == 1000


class Broken:
    """A user's own model with a bug in it."""

    parameters: Mapping[str, Any] = {"model": "broken"}
    capabilities = Capabilities()

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.asked = 0

    async def complete(self, ask: ModelRequest) -> ModelResponse:
        self.asked += 1
        raise self.error

    async def aclose(self) -> None: ...


async def test_an_error_nobody_foresaw_comes_out_as_it_is(tmp_path: Path) -> None:
    """A bug in a model is neither retried nor hidden, takes no slot and ends no model."""
    broken = Broken(ZeroDivisionError("a bug"))
    client: ModelClient = broken
    limiter = RateLimiter(1)
    cache = DiskReplyStore(tmp_path)
    line = Endpoint(client, limiter)
    caller = Caller({MODEL: line}, cache, Budget(NO_CAPS, {}))
    for _ in range(3):
        with pytest.raises(ZeroDivisionError, match="a bug"):
            await caller.complete(MODEL, ASK, PAGE)
    cache.close()
    assert broken.asked == 3
    assert has_all_slots(limiter, 1)
    assert line.dead is None


class Given:
    """A user's own model, which gives this reply, and counts its calls among its parameters."""

    def __init__(self, reply: ModelResponse) -> None:
        self.given = reply
        self.asked = 0
        self.capabilities = Capabilities()

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"asked": self.asked}

    async def complete(self, ask: ModelRequest) -> ModelResponse:
        self.asked += 1
        return self.given

    async def aclose(self) -> None: ...


@pytest.mark.parametrize(
    "reply",
    [
        ModelResponse("7 \ud83d"),
        ModelResponse("7", usage=Usage(10**30)),
        ModelResponse("7", refusal="\ud83d"),
    ],
)
async def test_a_reply_that_cannot_be_kept_is_a_failure_of_its_own(
    reply: ModelResponse, tmp_path: Path
) -> None:
    """A reply that JSON cannot hold fails with that reason, and the next one is kept: nothing is
    wrong with the cache."""
    given = Given(reply)
    limiter = RateLimiter(1)
    cache = DiskReplyStore(tmp_path)
    caller = Caller({MODEL: Endpoint(given, limiter)}, cache, Budget(NO_CAPS, {}))
    with pytest.raises(Unanswered, match="the reply cannot be stored: ") as caught:
        await caller.complete(MODEL, ASK, PAGE)
    assert caught.value.status == "failed"
    given.given = ModelResponse("7")
    for _ in range(2):
        assert (await caller.complete(MODEL, ASK, PAGE)).text == "7"
    cache.close()
    assert given.asked == 2
    assert has_all_slots(limiter, 1)


async def test_a_model_is_the_same_for_a_whole_run(tmp_path: Path) -> None:
    """A model of a user's own that changes with each call finds what it has said in this run."""
    given = Given(ModelResponse("7"))
    cache = DiskReplyStore(tmp_path)
    caller = Caller({MODEL: Endpoint(given, RateLimiter(1))}, cache, Budget(NO_CAPS, {}))
    for subject in ("a text", "another", "a text", "another"):
        await caller.complete(MODEL, ASK, caller.page(MODEL, subject))
    caller.page.cache_clear()
    await caller.complete(MODEL, ASK, caller.page(MODEL, "a text"))
    cache.close()
    assert given.asked == 2


async def test_a_timeout_of_the_model_s_own_is_a_lost_call(tmp_path: Path) -> None:
    """A TimeoutError without a word is tried again, and then a failure that says what it was."""
    cache = DiskReplyStore(tmp_path)
    broken = Broken(TimeoutError())
    caller = Caller({MODEL: Endpoint(broken, RateLimiter(1))}, cache, Budget(NO_CAPS, {}))
    with pytest.raises(Unanswered, match="no answer in time"):
        await caller.complete(MODEL, ASK, PAGE)
    assert broken.asked == 3
    cache.close()


# Turns


async def test_only_an_embedded_model_makes_judges_take_turns(tmp_path: Path) -> None:
    """One by one, the judges of a response wait for each other, those of another do not; with
    a served model nobody waits."""
    response = Response(id="r1", prompt="Why?", text="Because.", system="alder", prompt_id="p1")
    other = response.model_copy(update={"id": "r2"})
    async with caller_at(always(ok()), tmp_path) as at:
        served = at.caller.exclusive(JUDGE, response), at.caller.exclusive(JUDGE, response)
        async with asyncio.timeout(1), served[0], served[1]:
            pass
        at.line.one_judge_at_a_time = True
        async with at.caller.exclusive(JUDGE, response):
            async with asyncio.timeout(1), at.caller.exclusive(JUDGE, other):
                pass
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05), at.caller.exclusive(JUDGE, response):
                    pass


async def test_two_equal_asks_under_way_are_one_call(tmp_path: Path) -> None:
    """Ten judges that ask the same at once pay once, and get the same words."""
    async with caller_at(always(ok("7")), tmp_path, latency_s=0.1) as at:
        replies = await asyncio.gather(*(at.ask(ASK) for _ in range(10)))
        assert len(at.server.calls) == 1
    assert {reply.text for reply in replies} == {"7"}
    assert sum(reply.cached for reply in replies) == 9


async def test_a_call_that_failed_is_tried_by_whoever_waited_for_it(tmp_path: Path) -> None:
    """Who waits for another's call is not told that it failed, but makes its own."""
    async with caller_at(in_turn(status(400), ok("7")), tmp_path, latency_s=0.1) as at:
        first, second = await asyncio.gather(at.ask(ASK), at.ask(ASK), return_exceptions=True)
    assert isinstance(first, Unanswered)
    assert isinstance(second, ModelResponse)


async def test_a_provider_that_does_not_say_what_it_took_is_counted_in_full(
    tmp_path: Path,
) -> None:
    """With a cap of tokens, calls without usage count as the most that they may have come to:
    one of about 500 tokens fits under 600, and no second."""
    silent = ok("7", usage={})
    small = replace(ASK, max_tokens=500)
    async with caller_at(always(silent), tmp_path, caps=Caps(tokens=600)) as at:
        await at.ask(small)
        error = await at.outcome(replace(small, blocks=("Another.",)))
    assert error.status == "skipped"
    assert len(at.server.calls) == 1


def odd_usage(read: int, cached: int, written: int) -> dict[str, Any]:
    details = {"cached_tokens": cached}
    return {"prompt_tokens": read, "completion_tokens": written, "prompt_tokens_details": details}


ODD = {
    "negative input": odd_usage(-600_000_000, 0, 10),
    "negative output": odd_usage(20, 0, -600_000_000),
    "more cached than read": odd_usage(20, 2_000_000_000, 10),
    "negative cached": odd_usage(20, -2_000_000_000, 10),
}


@pytest.mark.parametrize("usage", ODD.values(), ids=ODD)
@pytest.mark.parametrize("caps", [Caps(usd=0.05), Caps(tokens=5_000)], ids=str)
async def test_no_cap_is_defeated_by_what_a_server_says_it_used(
    usage: dict[str, Any], caps: Caps, tmp_path: Path
) -> None:
    """Whatever the server reports, what is counted grows with each call and a cap is reached; the
    odd usage is named once."""
    # At $10 a million $0.05 are 5,000 tokens; a call takes 20 or more.
    price = Price(input=10, cached_input=10, output=10)
    async with caller_at(always(ok("7", usage=usage)), tmp_path, caps=caps, price=price) as at:
        outcomes = await asyncio.gather(
            *(at.ask(ask(number)) for number in range(300)), return_exceptions=True
        )
        spent = at.caller.counts.spent[MODEL]
    skipped = [one for one in outcomes if isinstance(one, Unanswered)]
    assert {one.status for one in skipped} == {"skipped"}
    assert 0 < len(at.server.calls) == len(outcomes) - len(skipped)
    assert 0 <= spent.cached <= spent.input
    assert 3_000 < spent.input + spent.output <= 5_000
    assert list(at.caller.counts.odd) == [MODEL]


UNUSABLE = {
    "no choices": raw({"choices": [], "usage": odd_usage(5000, 0, 500)}),
    "no message": raw({"choices": [{}], "usage": odd_usage(5000, 0, 500)}),
    "an error inside": raw({"error": {"message": "broke"}, "usage": odd_usage(5000, 0, 500)}),
    "a status": status(500, body={"error": {"message": "x"}, "usage": odd_usage(5000, 0, 500)}),
}


@pytest.mark.parametrize("answer", UNUSABLE.values(), ids=UNUSABLE)
async def test_what_an_unusable_body_reports_is_spent(answer: Answer, tmp_path: Path) -> None:
    """Without an answer, bodies that report 5,500 tokens each reach a cap of 20,000 by the
    fourth."""
    async with caller_at(always(answer), tmp_path, caps=Caps(tokens=20_000)) as at:
        for number in range(6):
            await at.outcome(replace(ask(number), max_tokens=100))
    assert len(at.server.calls) == 4
    assert at.caller.counts.spent[MODEL] == Usage(20_000, 0, 2_000)


@pytest.mark.parametrize(
    "fault", [stall(30), reset(), truncated(), raw("<html>It works!</html>")],
    ids=["late", "reset", "half a body", "a web page"],
)  # fmt: skip
@pytest.mark.parametrize("caps", [Caps(tokens=1_100), NO_CAPS], ids=str)
async def test_a_call_of_which_nobody_knows_what_it_took_counts_as_its_estimate(
    fault: Answer, caps: Caps, tmp_path: Path
) -> None:
    """Under 1,100 tokens two calls of some 500 each fit, and no third; with and without a cap they
    are told of as estimated."""
    small = replace(ASK, max_tokens=500)
    async with caller_at(always(fault), tmp_path, caps=caps, timeout_s=0.5) as at:
        error = await at.outcome(small)
    assert error.status == "failed"
    n = len(at.server.calls)
    assert n == (3 if caps == NO_CAPS else 2)
    assert at.caller.counts.estimated.calls == n
    assert at.caller.counts.estimated.usage == at.caller.counts.spent
    assert at.caller.counts.spent[MODEL].output == 500 * n


async def test_a_refused_connection_is_no_call(tmp_path: Path) -> None:
    """Attempts at a server that refuses to connect use up no cap on calls."""
    async with caller_at(always(ok("7")), tmp_path, caps=Caps(calls=2)) as at:
        at.line.client = OpenAICompatible(model="stub", base_url="http://127.0.0.1:1/v1")
        error = await at.outcome()
        await at.line.client.aclose()
    assert error.status == "failed"
    assert (at.caller.counts.made, at.caller.budget.spending.calls) == (0, 0)
    assert at.caller.counts.unsent > 2
    assert at.server.calls == []


async def test_a_call_that_was_refused_or_never_sent_costs_nothing(tmp_path: Path) -> None:
    """An error status without usage, and a server that cannot be reached, are no tokens."""
    async with caller_at(in_turn(status(429), status(400)), tmp_path, caps=Caps(tokens=2000)) as at:
        assert (await at.outcome()).status == "failed"
        gone = OpenAICompatible(model="stub", base_url="http://127.0.0.1:1/v1", timeout_s=5)
        at.line.client = gone
        assert (await at.outcome(ask(2))).status == "failed"
        await gone.aclose()
    assert at.caller.counts.made == 2
    assert at.caller.counts.unsent > 1
    assert at.caller.counts.spent == {}
    assert at.caller.counts.estimated.calls == 0
