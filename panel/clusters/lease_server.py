"""The driver's side: what workers share is leased to them from the driver's own caller."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, NamedTuple

from persona_panel.calls.budget import CallCounts, CapReached, Estimated, unrecorded, unwritable
from persona_panel.calls.cache import RemoteReplyStore, SharedReplyStore
from persona_panel.calls.caller import Caller
from persona_panel.calls.journal import ReplyChange, decoded
from persona_panel.clusters.messages import (
    ALIVE_S,
    DRIVER,
    FROM_WORKER,
    LOST_S,
    TAKE_OVER_S,
    Alive,
    Answers,
    Begin,
    ClaimReply,
    CountTokens,
    Enter,
    GiveUp,
    Leave,
    Letter,
    LogLine,
    Mailbox,
    Pause,
    PushedBack,
    Reserve,
    Settle,
    Store,
    Succeeded,
    Synchronize,
    TakenForLost,
    TookOver,
)
from persona_panel.graphs.context import Abort
from persona_panel.models.client import NOTHING
from persona_panel.rubrics import ModelResponse, Usage

_Entry = tuple[str, bytes]


@dataclass(slots=True)
class _Held:
    """A worker's leases, waiting questions, place of its journal and time of its last letter;
    without a cap `open` has the approximate tokens of its calls in flight, as heaps by model."""

    slots: Counter[str] = field(default_factory=Counter)
    reserved: list[tuple[str, Usage]] = field(default_factory=list)
    open: dict[str, list[int]] = field(default_factory=dict)
    claims: dict[_Entry, AbstractAsyncContextManager[Any]] = field(default_factory=dict)
    waiting: set[asyncio.Task[None]] = field(default_factory=set)
    storing: set[asyncio.Task[None]] = field(default_factory=set)
    journals: str = ""
    heard: float = field(default_factory=time.monotonic)


class _LeftClaim(NamedTuple):
    """A claim of a lost worker, the place of its journal, and the time when it was lost."""

    shared: AbstractAsyncContextManager[Any]
    journals: str
    lost: float


class LeaseServer:
    """Answers the letters of workers, by the limits, the budget and the cache of a caller.

    Two workers that ask for the same reply at once have one call made. A worker that is lost has
    its slots given to others; what its calls in flight may have cost counts as spent. Its claims go
    to others once a new worker has taken over the journals on its machine, where replies may be
    that it had not sent yet, or after `TAKE_OVER_S`. `failure`: has an exception once the run
    cannot go on, and never a result."""

    def __init__(self, caller: Caller, mailbox: Mailbox) -> None:
        self._caller = caller
        self._store = caller.store
        self._shared = self._store if isinstance(self._store, SharedReplyStore) else None
        self._mailbox = mailbox
        self._workers: dict[str, _Held] = {}
        self._lost: set[str] = set()
        self._claimed: dict[_Entry, asyncio.Event] = {}
        self._claims_left: dict[_Entry, _LeftClaim] = {}
        self._outbox: dict[str, list[tuple[int, Any]]] = {}
        self._settling: set[asyncio.Task[None]] = set()
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[LeaseServer]:
        """Answer letters for as long as the block lasts."""
        tasks = [asyncio.create_task(work) for work in (self._listen(), self._lose_silent())]
        try:
            yield self
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for worker in list(self._workers):
                await self.lose(worker)
            for entry in list(self._claims_left):
                await self._end_left_claim(entry)
            await asyncio.gather(*self._settling, return_exceptions=True)
            if not self.failure.done():
                self.failure.cancel()
            elif not self.failure.cancelled():
                self.failure.exception()

    async def lose(self, worker: str) -> None:
        """Take back the leases of a worker that is gone: its calls in flight may have been
        answered, which is not known."""
        self._lost.add(worker)
        held = self._workers.pop(worker, _Held())
        for task in held.waiting:
            task.cancel()
        # Keep what was paid for.
        await asyncio.gather(*held.waiting, *held.storing, return_exceptions=True)
        for model, n in held.slots.items():
            for _ in range(n):
                self._caller.endpoints[model].limiter.leave()
        for model, most in held.reserved:
            self._settle(model, most, most)
            unknown = CallCounts(spent={model: most}, estimated=Estimated(1, {model: most}))
            add_counts(self._caller.counts, unknown)
        now = time.monotonic()
        for entry, shared in held.claims.items():
            self._claims_left[entry] = _LeftClaim(shared, held.journals, now)
        # Those who wait get the error where the cache cannot be read.
        with suppress(Abort):
            for entry in held.claims:
                if await self._kept(entry) is not None:
                    await self._end_left_claim(entry)

    async def _listen(self) -> None:
        try:
            while True:
                for letter in await self._mailbox.fetch(DRIVER):
                    self._take(letter)
        except Exception as error:
            self._fail(error)

    async def _lose_silent(self) -> None:
        """Take back the leases of workers that have been silent for too long: not every engine
        reports their end, and not every lost worker is replaced on its machine."""
        try:
            while True:
                await asyncio.sleep(ALIVE_S)
                now = time.monotonic()
                for worker, held in list(self._workers.items()):
                    if now - held.heard > LOST_S:
                        await self.lose(worker)
                for entry, left in list(self._claims_left.items()):
                    if now - left.lost >= TAKE_OVER_S:
                        await self._end_left_claim(entry)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self.failure.done():
            self.failure.set_exception(error)

    def _take(self, letter: Letter) -> None:
        if letter.counts is not None:
            add_counts(self._caller.counts, letter.counts)
        notices, questions = letter.notices, letter.questions
        if letter.worker in self._lost:
            # What it had leased is settled; but for calls that nothing was set aside for, and for
            # replies.
            held = _Held()
            notices = [
                notice
                for notice in notices
                if isinstance(notice, Settle) and notice.reserved is None
            ]
        else:
            held = self._workers.setdefault(letter.worker, _Held())
            held.heard = time.monotonic()
        for notice in notices:
            self._note(held, notice)
        for number, question in questions:
            if letter.worker in self._lost and not isinstance(question, Store):
                self._put_out(letter.reply_to, number, _silent())
                continue
            task = asyncio.create_task(self._answer(letter.reply_to, held, number, question))
            tasks = held.storing if isinstance(question, Store) else held.waiting
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    def _note(self, held: _Held, notice: Any) -> None:
        if isinstance(notice, Settle):
            if notice.reserved is not None:
                held.reserved.remove((notice.model, notice.reserved))
            self._settle(*notice)
        elif isinstance(notice, GiveUp):
            shared = held.claims.pop((notice.page, notice.key), None)
            if shared is not None:
                self._later(self._end_claim((notice.page, notice.key), shared))
        elif isinstance(notice, TookOver):
            for entry, left in self._claims_left.items():
                if left.journals == held.journals and left.lost < notice.began:
                    self._later(self._end_left_claim(entry))
        elif isinstance(notice, LogLine):
            logger = logging.getLogger(notice.logger)
            logger.log(notice.level, "%s", notice.text, extra={FROM_WORKER: True})
        elif not isinstance(notice, Alive):
            self._note_call(held, notice)

    def _note_call(self, held: _Held, notice: Any) -> None:
        limiter = self._caller.endpoints[notice.model].limiter
        match notice:
            case Leave(model, about):
                held.slots[model] -= 1
                limiter.leave(about)
                if opened := held.open.get(model):
                    # The message does not say which call has ended: the sum left is rather too
                    # large.
                    self._caller.budget.close(model, _most(heappop(opened)))
            case Succeeded(_, latency_s):
                limiter.succeeded(latency_s)
            case PushedBack(_, age_s, no_descriptor):
                push_back = limiter.no_descriptor if no_descriptor else limiter.pushed_back
                push_back(time.monotonic() - age_s)
            case Pause(_, seconds):
                limiter.pause_for(seconds)
            case CountTokens(_, estimated, actual):
                limiter.settle(estimated, actual)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    def _settle(self, model: str, reserved: Usage | None, used: Usage, calls: int = 1) -> None:
        try:
            self._caller.budget.settle(model, reserved, used, calls=calls)
        except OSError as error:
            self._fail(unrecorded(error))

    async def _answer(self, reply_to: str, held: _Held, number: int, question: Any) -> None:
        try:
            answer = await self._answered(held, question)
        except asyncio.CancelledError:
            # It may be alive, and wait for the answer.
            answer = _silent()
        except Exception as error:
            answer = error
        self._put_out(reply_to, number, answer)

    def _put_out(self, reply_to: str, number: int, answer: Any) -> None:
        if reply_to not in self._outbox:
            self._outbox[reply_to] = []
            # What is answered in the same moment goes together.
            asyncio.get_running_loop().call_soon(self._send, reply_to)
        self._outbox[reply_to].append((number, answer))

    def _send(self, reply_to: str) -> None:
        self._mailbox.post(reply_to, Answers(self._outbox.pop(reply_to)))

    async def _answered(self, held: _Held, question: Any) -> Any:
        match question:
            case ClaimReply(page, key):
                return await self._claim(held, (page, key))
            case Store(changes):
                await self._keep(held, changes)
            case Enter(model, tokens, about):
                limiter, budget = self._caller.endpoints[model].limiter, self._caller.budget
                await limiter.enter(tokens, about)
                if not budget.limited:
                    try:
                        budget.open(model, _most(tokens))
                    except OSError as error:
                        limiter.leave(about)
                        raise unrecorded(error) from None
                    heappush(held.open.setdefault(model, []), tokens)
                held.slots[model] += 1
            case Reserve(model, most):
                try:
                    await self._caller.budget.reserve(model, most)
                except CapReached as cap:
                    return str(cap)
                except OSError as error:
                    raise unrecorded(error) from None
                held.reserved.append((model, most))
            case Begin(journals):
                held.journals = journals
                return time.monotonic()
            case Synchronize():
                if self._settling:
                    await asyncio.wait(set(self._settling))
        return None

    async def _claim(self, held: _Held, entry: _Entry) -> ModelResponse | None:
        while True:
            if (kept := await self._kept(entry)) is not None:
                return kept
            if (ended := self._claimed.get(entry)) is None:
                break
            await ended.wait()
        self._claimed[entry] = asyncio.Event()
        shared = AsyncExitStack()
        try:
            if self._shared is not None:
                # Other runs may use the same cache.
                kept = await shared.enter_async_context(self._shared.claimed(*entry))
        except BaseException:
            await self._end_claim(entry, shared)
            raise
        if kept is not None:
            await self._end_claim(entry, shared)
            return kept
        held.claims[entry] = shared
        return None

    async def _kept(self, entry: _Entry) -> ModelResponse | None:
        if isinstance(self._store, RemoteReplyStore):
            await self._store.read_ahead(*entry)
        return self._store.get(*entry)

    async def _keep(self, held: _Held, changes: Mapping[str, Mapping[bytes, ReplyChange]]) -> None:
        for page, changed in changes.items():
            for key, change in changed.items():
                try:
                    for gone in map(decoded, change.dropped):
                        if gone is not None:
                            self._store.forget(page, key, gone)
                    if change.stored and (reply := decoded(change.stored)) is not None:
                        self._store.put(page, key, reply)
                except Exception as error:
                    raise unwritable(self._store, error) from None
                if (shared := held.claims.pop((page, key), None)) is not None:
                    await self._end_claim((page, key), shared)
                await self._end_left_claim((page, key))

    async def _end_left_claim(self, entry: _Entry) -> None:
        """Let others take a claim that a lost worker has left, unless they may already."""
        if (left := self._claims_left.pop(entry, None)) is not None:
            await self._end_claim(entry, left.shared)

    async def _end_claim(self, entry: _Entry, shared: AbstractAsyncContextManager[Any]) -> None:
        self._claimed.pop(entry).set()
        with suppress(Abort):
            await shared.__aexit__(None, None, None)


def _most(tokens: int) -> Usage:
    """Return the most that a call of about `tokens` tokens (`estimated_tokens`) may take."""
    return Usage(input=tokens, output=2 * tokens, written=tokens)


def _silent() -> TakenForLost:
    return TakenForLost(f"this worker was silent for {LOST_S:.0f} s")


def add_counts(counts: CallCounts, more: CallCounts) -> None:
    """Add calls that were made elsewhere to the counts of a run."""
    counts.made += more.made
    counts.unsent += more.unsent
    counts.cached += more.cached
    counts.taken_back += more.taken_back
    counts.faults.update(more.faults)
    counts.estimated.calls += more.estimated.calls
    for into, usage in ((counts.spent, more.spent), (counts.estimated.usage, more.estimated.usage)):
        for model, used in usage.items():
            into[model] = into.get(model, NOTHING) + used
    for model, odd in more.odd.items():
        counts.odd.setdefault(model, odd)
    for model, names in more.answered_by.items():
        for name, asked in names.items():
            counts.add_name(model, name, asked)
    for model, sent in more.sent.items():
        counts.add_sent(model, sent)
