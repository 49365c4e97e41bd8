"""Servers that go away and come back, or start late: `persona_panel.calls.endpoint`, over real
ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import persona_panel.calls.endpoint as module
from persona_panel import Panel, Response
from persona_panel.calls import endpoint as lines
from persona_panel.calls.budget import NO_CAPS, Budget
from persona_panel.calls.caller import Caller
from persona_panel.calls.endpoint import Endpoint
from persona_panel.calls.in_flight import InFlightLimit
from persona_panel.calls.rate_limiter import RateLimiter
from persona_panel.calls.stores.disk import DiskReplyStore
from persona_panel.graphs.context import Unanswered
from persona_panel.models.client import CallError
from persona_panel.rubrics import ModelRequest, ModelResponse
from persona_panel.runs import model_access
from persona_panel.testing import (
    Answer,
    ScriptedModel,
    always,
    in_turn,
    ok,
    reset,
    serving,
    stall,
    status,
)
from tests.helpers.langchain_chats import OpenAICompatible
from tests.helpers.ports import free_port

MODEL = "openai:stub"


def ask(number: int) -> ModelRequest:
    return ModelRequest(system="You judge.", blocks=("Read this. ", f"Rate it, number {number}."))


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call is lost after some 30 ms, unless its server is given longer."""
    for name, value in (("_FIRST_WAIT_S", 0.005), ("_LONGEST_WAIT_S", 0.01), ("ATTEMPTS", 3)):
        monkeypatch.setattr(module, name, value)
    for name, value in (("_SILENCE_S", 0.01), ("_FIRST_PROBE_S", 0.01), ("_LONGEST_PROBE_S", 0.05)):
        monkeypatch.setattr(lines, name, value)


@asynccontextmanager
async def calling(
    port: int, folder: Path, patience_s: float, timeout_s: float = 5.0
) -> AsyncIterator[tuple[Caller, Endpoint]]:
    """A caller of whatever is at that port, now or later."""
    model = OpenAICompatible(
        model="stub", base_url=f"http://127.0.0.1:{port}/v1", timeout_s=timeout_s
    )
    line = Endpoint(model, RateLimiter(8), patience_s=patience_s)
    cache = DiskReplyStore(folder)
    try:
        yield Caller({MODEL: line}, cache, Budget(NO_CAPS, {MODEL: None})), line
    finally:
        await model.aclose()
        cache.close()


async def outcome(caller: Caller, number: int) -> ModelResponse | Unanswered:
    try:
        return await caller.complete(MODEL, ask(number), "page")
    except Unanswered as error:
        return error


async def outcomes(caller: Caller, *numbers: int) -> list[ModelResponse | Unanswered]:
    return await asyncio.gather(*(outcome(caller, number) for number in numbers))


@pytest.mark.parametrize("answered_before", [True, False])
async def test_an_outage_is_outlasted(answered_before: bool, tmp_path: Path) -> None:
    """Calls that meet a server which is gone, or has not started yet, are answered once it is
    there, far beyond what a single call is tried for; each reaches it once."""
    port = free_port()
    async with calling(port, tmp_path, patience_s=30) as (caller, line):
        if answered_before:
            with serving(always(ok("7")), port=port):
                assert isinstance(await outcome(caller, 0), ModelResponse)
        waiting = asyncio.create_task(outcomes(caller, *range(1, 21)))
        await asyncio.sleep(0.5)
        assert line.down
        assert line.dead is None
        with serving(always(ok("7")), port=port) as server:
            replies = await asyncio.wait_for(waiting, 20)
            assert [type(reply) for reply in replies] == [ModelResponse] * 20
            assert len(server.calls) == 20
        assert not line.down


async def test_a_server_that_hangs_is_outlasted(tmp_path: Path) -> None:
    """Nor do calls that time out lose a judgment while the patience lasts."""
    script = in_turn(ok("7"), *[stall(60)] * 12, ok("8"))
    with serving(script) as server:
        async with calling(server.port, tmp_path, patience_s=30, timeout_s=0.1) as (caller, _):
            await outcome(caller, 0)
            replies = await asyncio.wait_for(outcomes(caller, *range(1, 5)), 20)
    assert [type(reply) for reply in replies] == [ModelResponse] * 4


@pytest.mark.parametrize("code", [500, 502, 503, 429])
async def test_a_model_that_has_answered_is_given_time(code: int, tmp_path: Path) -> None:
    """A server behind a proxy, or one that is overloaded, says so instead of being silent."""
    script = in_turn(ok("7"), *[status(code)] * 40, ok("8"))
    with serving(script) as server:
        async with calling(server.port, tmp_path, patience_s=30) as (caller, _):
            await outcome(caller, 0)
            replies = await asyncio.wait_for(outcomes(caller, *range(1, 9)), 20)
    assert [type(reply) for reply in replies] == [ModelResponse] * 8


@pytest.mark.parametrize("patience", [None, 2.0])
async def test_where_nothing_listens_on_this_machine_it_is_soon_given_up(
    patience: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody has said for how long a server is waited for; else for so long."""
    monkeypatch.setenv("PERSONA_PANEL_CACHE", str(tmp_path))
    monkeypatch.setattr(model_access, "REFUSED_S", 0.2)
    model = f"openai:stub@http://127.0.0.1:{free_port()}/v1"
    panel = Panel("disciplinary", model, "scrub", patience=patience)
    began = time.monotonic()
    run = await panel.ascore([Response(id="r", prompt="p", text="t", system="s")])
    took_s = time.monotonic() - began
    reason, _ = run.commonest_reason("skipped") or ("", 0)
    assert "start the server, or correct the address" in reason
    assert ("a higher patience waits for a server that is starting" in reason) == (patience is None)
    assert (patience or 0.2) <= took_s < (patience or 0.2) + 1.5


async def test_who_answered_before_is_waited_for(tmp_path: Path) -> None:
    """Where nothing listens any more on this machine."""
    port = free_port()
    async with calling(port, tmp_path, patience_s=30) as (caller, line):
        line.refused_s = 0.05
        with serving(always(ok("7")), port=port):
            await outcome(caller, 0)
        waiting = asyncio.create_task(outcome(caller, 1))
        await asyncio.sleep(0.5)
        assert line.down
        with serving(always(ok("7")), port=port):
            assert isinstance(await asyncio.wait_for(waiting, 20), ModelResponse)


async def test_patience_ends(tmp_path: Path) -> None:
    """A model that was tried for as long as a user allows is skipped from then on, and says for how
    long and what the last try met."""
    with serving(in_turn(ok("7"), reset())) as server:
        async with calling(server.port, tmp_path, patience_s=0.3) as (caller, _):
            await outcome(caller, 0)
            errors = await asyncio.wait_for(outcomes(caller, *range(1, 9)), 20)
            made = len(server.calls)
            errors += await outcomes(caller, 9)
    assert {error.status for error in errors if isinstance(error, Unanswered)} == {"skipped"}
    assert len(errors) == 9
    assert all("it has not answered in 0 s; last error: http" in str(e) for e in errors)
    assert len(server.calls) == made


@pytest.mark.parametrize("code", [401, 404])
async def test_who_answers_that_it_never_will_is_given_up_at_once(
    code: int, tmp_path: Path
) -> None:
    """Patience is for silence: a wrong key or address costs one call, whatever the patience."""
    with serving(always(status(code))) as server:
        async with calling(server.port, tmp_path, patience_s=1000) as (caller, _):
            error = await asyncio.wait_for(outcome(caller, 1), 20)
            assert isinstance(error, Unanswered)
            later = await outcome(caller, 2)
        assert isinstance(later, Unanswered)
        assert later.status == "skipped"
        assert len(server.calls) == 1


async def test_a_wrong_key_ends_an_outage(tmp_path: Path) -> None:
    """Who waits for a server that comes back with a 401 learns of it."""
    port = free_port()
    async with calling(port, tmp_path, patience_s=1000) as (caller, _):
        waiting = asyncio.create_task(outcomes(caller, *range(4)))
        await asyncio.sleep(0.1)
        with serving(always(status(401)), port=port):
            errors = await asyncio.wait_for(waiting, 20)
    assert sorted(e.status for e in errors if isinstance(e, Unanswered)) == [
        "failed", "skipped", "skipped", "skipped",
    ]  # fmt: skip


async def test_one_that_always_fails_does_not_take_the_model_for_dead(tmp_path: Path) -> None:
    """Calls take turns in trying whether a server is back: one text that it cannot take fails
    alone."""

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        return status(500) if "number 1." in payload["messages"][1]["content"] else ok("7")

    with serving(script) as server:
        async with calling(server.port, tmp_path, patience_s=30) as (caller, line):
            await outcome(caller, 0)
            poisoned = asyncio.create_task(outcome(caller, 1))
            async with asyncio.timeout(20):
                while not line.down:  # noqa: ASYNC110 (a state, and no event)
                    await asyncio.sleep(0.005)
                others = await outcomes(caller, 2, 3)
                for number in range(4, 100):
                    if poisoned.done():
                        break
                    await outcome(caller, number)
                lost = await poisoned
    assert [type(reply) for reply in others] == [ModelResponse] * 2
    assert isinstance(lost, Unanswered)
    assert lost.status == "failed"


async def test_cancelled_in_an_outage_others_go_on(tmp_path: Path) -> None:
    """Whoever was trying whether the server is back may be cancelled: the next one tries."""
    port = free_port()
    async with calling(port, tmp_path, patience_s=30) as (caller, line):
        tasks = [asyncio.create_task(outcome(caller, number)) for number in range(5)]
        await asyncio.sleep(0.2)
        for task in tasks[:4]:
            task.cancel()
        with serving(always(ok("7")), port=port):
            assert isinstance(await asyncio.wait_for(tasks[4], 20), ModelResponse)
        assert line.limiter._slots.free == 8


async def test_late_answers_are_no_outage(tmp_path: Path) -> None:
    """Answers that take far longer than a silence, after a fault each, are waited for."""
    script = in_turn(*[reset()] * 4, stall(0.5))
    with serving(script) as server:
        async with calling(server.port, tmp_path, patience_s=0.2) as (caller, _):
            replies = await asyncio.wait_for(outcomes(caller, *range(4)), 20)
    assert [type(reply) for reply in replies] == [ModelResponse] * 4


async def test_a_retry_after_that_is_longer_than_the_patience_is_kept(tmp_path: Path) -> None:
    """What a provider asks for is not counted as silence: it is asked again after it."""
    script = in_turn(ok("7"), status(429, retry_after=0.6), ok("8"))
    with serving(script) as server:
        async with calling(server.port, tmp_path, patience_s=0.1) as (caller, _):
            await outcome(caller, 0)
            reply = await asyncio.wait_for(outcome(caller, 1), 20)
    assert isinstance(reply, ModelResponse)
    assert reply == replace(reply, text="8")


@pytest.mark.parametrize("asked_to_wait", [False, True])
async def test_a_long_wait_does_not_hold_up_other_work(
    asked_to_wait: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that was waiting to be repeated when its server went away counts from then on as one
    that waits for the server, so that its response's place is lent; a wait that the provider
    asked for is kept all the same."""
    script = in_turn(ok("7"), status(503, retry_after=600.0 if asked_to_wait else None))
    limit = InFlightLimit(1)
    with serving(script) as server:
        async with calling(server.port, tmp_path, patience_s=1000) as (caller, endpoint):

            async def work() -> None:
                async with limit.slot():
                    await outcome(caller, 1)

            await outcome(caller, 0)
            with monkeypatch.context() as long:
                for name in ("_FIRST_WAIT_S", "_LONGEST_WAIT_S"):
                    long.setattr(module, name, 600.0)
                first = asyncio.create_task(work())
                while len(server.calls) < 2:  # noqa: ASYNC110 (the server's state)
                    await asyncio.sleep(0.005)
            endpoint.unavailable.set()
            await asyncio.wait_for(limit.enter(), 5)
            await asyncio.sleep(0.3)
            assert (len(server.calls) == 2) == asked_to_wait
            first.cancel()


async def test_what_this_process_cannot_open_is_no_fault_of_the_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Calls for which no file could be opened are repeated, with fewer in flight; the server is not
    said to be gone."""
    lack = CallError("too many open files", kind="transient", no_descriptor=True)
    endpoint = Endpoint(ScriptedModel([lack] * 5 + ["7"]), RateLimiter(), patience_s=30)
    with closing(DiskReplyStore(tmp_path)) as cache:
        caller = Caller({MODEL: endpoint}, cache, Budget(NO_CAPS, {MODEL: None}))
        assert await outcome(caller, 0) == ModelResponse("7")
    assert caller.counts.faults == {"too many open files": 5}
    assert not endpoint.unavailable.is_set()
    assert caplog.messages == []
