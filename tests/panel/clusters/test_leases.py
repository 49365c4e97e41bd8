"""What workers share: limits, caps and replies, with four workers beside their driver."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import platformdirs
import pytest

from persona_panel import ConfigurationError, ModelConfig, PanelPlan, Persona, Response
from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.calls.caller import Caller
from persona_panel.calls.journal import Journal, ReplyChange, change_of, dropping, encoded
from persona_panel.clusters.lease_server import LeaseServer
from persona_panel.clusters.messages import (
    DRIVER,
    Begin,
    ClaimReply,
    ClusterStore,
    Enter,
    Letter,
    Store,
    TakenForLost,
    TookOver,
)
from persona_panel.clusters.parts import Assignment, JudgedPart, at_work
from persona_panel.files.responses import identified
from persona_panel.rubrics import ModelResponse, Rubric
from persona_panel.runs.executor import prepared
from persona_panel.testing import in_turn, ok, serving, status
from tests.helpers.cluster import LocalMailbox, parts, workers_of
from tests.helpers.judgments import PLAIN

PERSONAS = [
    Persona(id=name, label=name.title(), axis="own", description=f"You are {name}.")
    for name in ("ann", "bob")
]
RESPONSES = [
    identified(Response(id=f"r{i}", prompt="Why?", text=f"Text {i}.", system=f"s{i % 2}"))
    for i in range(60)
]
WORKERS = 4


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What workers leave behind is below tmp_path."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))


def plan_of(url: str, rubric: Rubric = PLAIN, **limits: float) -> PanelPlan:
    model = ModelConfig.model_validate({"model": "openai:stub", "base_url": url} | limits)
    return PanelPlan.of(PERSONAS, model, rubric)


async def judged(
    plan: PanelPlan, caps: Caps = NO_CAPS, *, dealt: bool = True
) -> tuple[Caller, list[JudgedPart]]:
    """What four workers make of the responses: each of a fourth of them, or all of all."""
    whole = [[(response,) for response in RESPONSES]] * WORKERS
    async with workers_of(plan, WORKERS, caps) as (caller, _, workers):
        given = parts(RESPONSES, WORKERS) if dealt else whole
        done = await asyncio.gather(
            *(worker.judge(part) for worker, part in zip(workers, given, strict=True))
        )
    return caller, done


def test_requests_per_minute_are_those_of_all_workers_together() -> None:
    """120 calls at 2,400 a minute take 3 s by four workers as by one, without a burst at first; the
    way of the first to the server may be half a second longer than that of the last."""
    with serving() as server:
        asyncio.run(judged(plan_of(server.base_url, requests_per_minute=2400)))
        times = sorted(call.at for call in server.calls)
    assert len(times) == 120
    assert 60 * (len(times) - 1) / (times[-1] - times[0] + 0.5) <= 2400


def test_tokens_per_minute_are_those_of_all_workers_together() -> None:
    """Calls go at the limit, without a burst at first."""
    limit = 130_000
    with serving() as server:
        caller, _ = asyncio.run(judged(plan_of(server.base_url, tokens_per_minute=limit)))
        times = sorted(call.at for call in server.calls)
    [used] = caller.counts.spent.values()
    assert 0 < 60 * (used.input + used.output) * 119 / 120 / (times[-1] - times[0] + 0.5) <= limit


def test_concurrency_is_that_of_all_workers_together() -> None:
    """Of a model that takes six calls at once, four workers make six at once and never seven."""
    with serving(latency_s=0.02) as server:
        asyncio.run(judged(plan_of(server.base_url, concurrency=6)))
        assert server.in_flight_max == 6


def test_a_cap_is_that_of_all_workers_together() -> None:
    """Under a cap of 50 calls, four workers make 50, all of which are counted; the other
    judgments say that the cap is reached."""
    with serving() as server:
        caller, done = asyncio.run(judged(plan_of(server.base_url), Caps(calls=50)))
        assert len(server.calls) == 50
    assert caller.budget.spending.calls == caller.counts.made == 50
    judgments = [judgment for one in done for judgment in one.judgments]
    assert Counter(one.status for one in judgments) == {"scored": 50, "skipped": 70}
    assert {one.error for one in judgments if one.error} == {"the cap of 50 calls is reached"}


def test_two_workers_that_ask_the_same_pay_once() -> None:
    """Four workers judge the same 60 texts at the same time: each call is made once."""
    with serving(latency_s=0.01) as server:
        caller, done = asyncio.run(judged(plan_of(server.base_url), dealt=False))
        assert len(server.calls) == caller.counts.made == 120
    assert caller.counts.cached == 360
    assert all(one.status == "scored" for each in done for one in each.judgments)


async def test_what_a_lost_worker_has_leased_goes_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker is lost with all slots of a model, claims, and calls that are paid for: another
    judges the same texts, and the lost calls count as made at the most that they may have
    taken. No worker replaces it, so that its claims end with time."""
    monkeypatch.setattr("persona_panel.clusters.lease_server.ALIVE_S", 0.05)
    monkeypatch.setattr("persona_panel.clusters.lease_server.TAKE_OVER_S", 0.05)
    with serving(lambda call, _: ok(), latency_s=1) as server:
        plan = plan_of(server.base_url, concurrency=2)
        async with workers_of(plan, 2, Caps(calls=1000)) as (caller, leases, (lost, other)):
            part = parts(RESPONSES[:4], 1)[0]
            losing = asyncio.create_task(lost.judge(part))
            while len(server.calls) < 2:  # noqa: ASYNC110 (the server is in a thread)
                await asyncio.sleep(0.01)
            await leases.lose("w0")
            assert caller.counts.estimated.calls == 2
            assert caller.counts.spent == caller.counts.estimated.usage != {}
            done = await asyncio.wait_for(other.judge(part), 20)
            losing.cancel()
            assert caller.budget.spending.calls == 2 + 8
    assert [one.status for one in done.judgments] == ["scored"] * 8
    # Set aside for an answer of unknown length, and not what the server has said.
    [used] = caller.budget.spending.usage.values()
    assert used.output > sum(one.usage.output for one in done.judgments)


@dataclass
class LostWorker:
    """The driver's side of a run in which a worker was lost that had claimed two replies, of which
    another asks for both; what letters at hand say, workers would."""

    server: LeaseServer
    mailbox: LocalMailbox
    assignment: Assignment
    answers: asyncio.Task[dict[int, Any]]

    async def ask(self, worker: str, question: Any) -> Any:
        self.mailbox.post(DRIVER, Letter(worker, (), [(0, question)], f"{worker}/one"))
        return (await fetched(self.mailbox, f"{worker}/one", 1))[0]

    async def answered(self, within_s: float) -> dict[int, Any] | None:
        """What the other has been told after so long; None while it waits."""
        done, _ = await asyncio.wait([self.answers], timeout=within_s)
        return self.answers.result() if done else None


KEPT = ModelResponse("Kept.")
CLAIMS = [ClaimReply("page", bytes([number]) * 32) for number in (1, 2)]


@asynccontextmanager
async def lost_worker() -> AsyncIterator[LostWorker]:
    """Both workers share a folder of journals, in which the first of the replies is."""
    plan = plan_of("http://localhost:1")
    async with prepared(plan, NO_CAPS) as caller:
        mailbox = LocalMailbox()
        async with LeaseServer(caller, mailbox).serving() as server:
            assignment = Assignment("third", plan, NO_CAPS, caller.store.location)
            store = ClusterStore(assignment.cache, "", cast(Any, None), mailbox)
            journals = store.journals
            store.close()
            answers = asyncio.create_task(fetched(mailbox, "other", 2))
            run = LostWorker(server, mailbox, assignment, answers)
            await run.ask("killed", Begin(journals))
            for claim in CLAIMS:
                assert await run.ask("killed", claim) is None
            leave_in_journal(*CLAIMS[0], encoded(KEPT, *CLAIMS[0]))
            mailbox.post(DRIVER, Letter("other", (), list(enumerate(CLAIMS)), "other"))
            yield run
            answers.cancel()


async def test_what_a_lost_worker_has_not_sent_is_not_asked_for_again() -> None:
    """A worker is killed with one of two replies in its journal, and another waits for both: once
    a third has begun on that machine, it gets the one and may ask for the other, and not before."""
    async with lost_worker() as run:
        await run.server.lose("killed")
        assert await run.answered(0.2) is None
        async with at_work(run.assignment, run.mailbox):
            assert await run.answered(5) == {0: replace(KEPT, cached=True), 1: None}


async def test_a_worker_of_another_machine_ends_no_claim_of_a_lost_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a worker finds that begins on another machine than the lost one's says nothing of what
    that one has left."""
    async with lost_worker() as run:
        await run.server.lose("killed")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
        async with at_work(run.assignment, run.mailbox):
            assert await run.answered(0.3) is None


async def test_who_looked_before_a_worker_was_lost_ends_none_of_its_claims() -> None:
    """A worker that looks for journals, a loss, and the word that it has looked: the claims stay
    until one has looked after the loss."""
    async with lost_worker() as run:
        journals = run.server._workers["killed"].journals
        began = await run.ask("third", Begin(journals))
        await run.server.lose("killed")
        run.mailbox.post(DRIVER, Letter("third", [TookOver(began)], (), "third"))
        assert await run.answered(0.3) is None
        began = await run.ask("third", Begin(journals))
        run.mailbox.post(DRIVER, Letter("third", [TookOver(began)], (), "third"))
        assert await run.answered(5) == {0: None, 1: None}


async def test_a_reply_that_is_stored_ends_the_claim_that_a_lost_worker_had() -> None:
    """Of two claims one ends with the reply that another sends from the journal, at once; one that
    was sent before the loss had ended its claim with the loss."""
    async with lost_worker() as run:
        first, second = (encoded(KEPT, *claim) for claim in CLAIMS)
        await run.ask("third", Store({CLAIMS[0].page: {CLAIMS[0].key: ReplyChange(first)}}))
        await run.server.lose("killed")
        await run.ask("third", Store({CLAIMS[1].page: {CLAIMS[1].key: ReplyChange(second)}}))
        kept = replace(KEPT, cached=True)
        assert await run.answered(5) == {0: kept, 1: kept}


async def test_a_worker_drops_its_own_reply_and_no_other() -> None:
    """A worker that drops late what it was served leaves alone what another has put since."""
    worse, better = replace(KEPT, text="Worse."), encoded(KEPT, *CLAIMS[0])
    page, key = CLAIMS[0]
    drop = change_of(dropping(encoded(worse, page, key)))
    async with lost_worker() as run:
        await run.ask("third", Store({page: {key: ReplyChange(encoded(worse, page, key))}}))
        await run.ask("third", Store({page: {key: drop}}))
        assert run.server._store.get(page, key) is None
        await run.ask("third", Store({page: {key: ReplyChange(better)}}))
        await run.ask("third", Store({page: {key: drop}}))
        assert run.server._store.get(page, key) == replace(KEPT, cached=True)


async def test_who_is_taken_for_lost_while_it_waits_is_told() -> None:
    """A worker that waits for an answer, is taken for lost and comes back, does not wait for ever:
    its question is answered with that."""
    async with lost_worker() as run:
        run.mailbox.post(DRIVER, Letter("back", (), [(0, CLAIMS[0])], "back"))
        await asyncio.sleep(0.1)
        await run.server.lose("back")
        told = await asyncio.wait_for(fetched(run.mailbox, "back", 1), 5)
        assert isinstance(told[0], TakenForLost)


def leave_in_journal(page: str, key: bytes, stored: bytes) -> None:
    """As a worker of this machine leaves it that is killed."""
    [folder] = Path(platformdirs.user_cache_dir("persona-panel"), "unsent").iterdir()
    journal = Journal(folder)
    journal.add(page, key, stored)
    journal.close()


async def fetched(mailbox: LocalMailbox, address: str, n: int) -> dict[int, Any]:
    """So many answers to an address, by number."""
    answers: dict[int, Any] = {}
    while len(answers) < n:
        for one in await mailbox.fetch(address):
            answers |= dict(one.to)
    return answers


async def test_what_a_silent_worker_has_leased_goes_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker that holds all slots of a model and says nothing more is taken for lost, and is told
    so should it ask again; one that only says that it is there is not."""
    monkeypatch.setattr("persona_panel.clusters.lease_server.ALIVE_S", 0.05)
    monkeypatch.setattr("persona_panel.clusters.lease_server.LOST_S", 0.6)
    monkeypatch.setattr("persona_panel.clusters.messages.ALIVE_S", 0.05)
    with serving(latency_s=0.25) as server:
        plan = plan_of(server.base_url, concurrency=2)
        enter = Enter(plan.models[0].id, 1)
        async with prepared(plan, NO_CAPS) as caller:
            mailbox = LocalMailbox()
            async with LeaseServer(caller, mailbox).serving():
                mailbox.post(DRIVER, Letter("silent", (), [(0, enter), (1, enter)], "silent"))
                assert len((await mailbox.fetch("silent"))[0].to) == 2
                assignment = Assignment("other", plan, NO_CAPS, caller.store.location)
                async with at_work(assignment, mailbox) as other:
                    judging = asyncio.create_task(other.judge(parts(RESPONSES[:4], 1)[0]))
                    await asyncio.sleep(0.2)
                    assert not server.calls
                    done = await asyncio.wait_for(judging, 20)
                mailbox.post(DRIVER, Letter("silent", (), [(2, enter)], "silent"))
                [[(number, said)]] = [one.to for one in await mailbox.fetch("silent")]
    assert [one.status for one in done.judgments] == ["scored"] * 8
    assert number == 2
    assert isinstance(said, TakenForLost)


async def test_what_a_provider_asks_to_wait_all_workers_wait() -> None:
    """After a 429 with Retry-After to the one call in flight, no worker calls for as long."""
    with serving(in_turn(status(429, retry_after=1), ok())) as server:
        plan = plan_of(server.base_url, concurrency=1)
        async with workers_of(plan, 2) as (_, _, workers):
            given = parts(RESPONSES[:2], 2)
            await asyncio.gather(
                *(worker.judge(part) for worker, part in zip(workers, given, strict=True))
            )
        first, second = (call.at for call in server.calls[:2])
    assert second - first >= 0.95


async def test_a_reply_that_did_not_come_is_asked_for_by_who_waits() -> None:
    """Two workers ask the same at once: the call of one fails for good, and the other, which has
    waited for it, makes its own."""
    with serving(in_turn(status(400), ok()), latency_s=0.2) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url)
        plan = PanelPlan.of(PERSONAS[:1], model, PLAIN)
        async with workers_of(plan, 2) as (_, _, workers):
            part = parts(RESPONSES[:1], 1)[0]
            judging = asyncio.gather(*(worker.judge(part) for worker in workers))
            done = await asyncio.wait_for(judging, 20)
        assert len(server.calls) == 2
    assert sorted(one.status for each in done for one in each.judgments) == ["failed", "scored"]


async def test_a_machine_that_cannot_keep_answers_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the folder for answers on their way cannot be made, a worker says which, and what to
    set."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ConfigurationError, match=r"kept in .*unsent.*set XDG_CACHE_HOME"):
        ClusterStore("cache", "one", cast(Any, None), LocalMailbox())
