"""The way from an ask to a reply: the cache first, then the gate, the model, the retries.

Everything that a judge can be told in place of a reply is decided here; what an
answer means is not.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple
from weakref import WeakValueDictionary

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from graphs import Judge, Response
from graphs.judging import Abort, Unanswered
from panel.calls.budget import Budget, CapReached
from panel.calls.cache import ReplyCache, default_folder, key_of, page_of
from panel.calls.gate import Gate
from panel.models.speaker import CallError, Speaker
from rubrics import Ask, Reply, Usage

ATTEMPTS = 6
"""How often one call is tried."""
TOTAL_S = 600.0
"""How long one call may take with all its attempts and waits, in seconds."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0
_MINUTE_S = 60.0
"""What most quotas are counted by: a call refused for one must outlast it."""
_SILENCE_S = 3.0
"""How long a server that has never answered is tried."""
_GIVE_UP_AFTER = 5
"""Calls in a row, each tried to the end, after which a model counts as dead."""
_PUSHING_BACK = frozenset({408, 429, 503, 504, 529})
"""What a provider answers when it is asked too much at once."""
_PAGES_IN_MIND = 64
_NO_TURN = nullcontext()
_NOTHING = Usage()


@dataclass(slots=True)
class Line:
    """A model as the caller knows it: how to reach it, its gate, and how it is doing."""

    speaker: Speaker
    gate: Gate
    one_by_one: bool = False
    """Whether the judges of a response must speak one after the other."""
    dead: str | None = None
    died: asyncio.Event = field(default_factory=asyncio.Event)
    lost_in_a_row: int = 0
    answered: bool = False
    silent_since: float | None = None

    def give_up(self, why: str) -> None:
        """Ask this model no more; whoever waits to try again learns of it at once."""
        self.dead = self.dead or why
        self.died.set()


@dataclass(slots=True)
class Tally:
    """What the calls of one run have come to: `spent` is what was used by the calls made."""

    made: int = 0
    cached: int = 0
    spent: dict[str, Usage] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)


class _Entry(NamedTuple):
    """Where a reply is kept."""

    page: str
    key: bytes


class Caller:
    """Answers asks for one run."""

    def __init__(
        self, lines: Mapping[str, Line], cache: ReplyCache, budget: Budget, *, seed: int = 0
    ) -> None:
        self._lines = lines
        self._cache = cache
        self._budget = budget
        # Jitter needs no secrecy, and a seed keeps a run's schedule repeatable.
        self._random = random.Random(seed)
        self.tally = Tally()
        self._unkept: Exception | None = None
        self._under_way: dict[_Entry, asyncio.Event] = {}
        # Judges of one response follow each other: its page is worked out for the first.
        self.page = lru_cache(_PAGES_IN_MIND)(self._page)
        self._turns: WeakValueDictionary[object, asyncio.Lock] = WeakValueDictionary()

    async def ask(self, model: str, ask: Ask, page: str, replicate: int = 1) -> Reply:
        """A reply to an ask, from the cache or from the model.

        Replies of one `page` (see `page`) are looked up together.

        Raises:
            Unanswered: `failed` with the last fault, and with the cap that forbade another
                try, or `skipped` where the model has been given up or a cap is reached.
            Abort: this reply or another could not be kept.
        """
        line = self._lines[model]
        entry = _Entry(page, key_of(ask, replicate))
        while True:
            if (kept := self._cache.get(*entry)) is not None:
                self.tally.cached += 1
                return kept
            if (under_way := self._under_way.get(entry)) is None:
                break
            # The same words are on their way already: two equal texts are paid for once.
            await under_way.wait()
        self._under_way[entry] = done = asyncio.Event()
        try:
            try:
                reply = await self._attempt(model, line, ask, entry)
            except CallError as error:
                reply = await self._try_again(model, line, ask, entry, error)
            except CapReached as cap:
                raise Unanswered("skipped", str(cap)) from None
        finally:
            del self._under_way[entry]
            done.set()
        line.lost_in_a_row = 0
        return reply

    def _page(self, model: str, *subject: str | None) -> str:
        """Where the replies of a model about a subject are kept."""
        return page_of(self._lines[model].speaker.parameters, *subject)

    def turn(self, judge: Judge, response: Response) -> AbstractAsyncContextManager[object]:
        """Held while a judge speaks; only an embedded model makes the others wait."""
        if not self._lines[judge.model].one_by_one:
            return _NO_TURN
        key = (judge.model, response.prompt_id, response.id)
        return self._turns.setdefault(key, asyncio.Lock())

    def forget(self, asks: Sequence[Ask], page: str, replicate: int = 1) -> None:
        """Do not serve the replies to these asks again: they led to no result."""
        try:
            self._cache.forget(page, [key_of(ask, replicate) for ask in asks])
        except Exception as error:
            raise _unwritable(error) from None

    async def _try_again(
        self, model: str, line: Line, ask: Ask, entry: _Entry, fault: CallError
    ) -> Reply:
        """What becomes of a call whose first attempt met `fault`."""
        started = time.monotonic()
        last, tries = fault, 0

        async def attempt() -> Reply:
            nonlocal last, tries
            tries += 1
            if tries == 1:
                raise fault
            try:
                return await self._attempt(model, line, ask, entry)
            except CallError as error:
                last = error
                raise

        def is_worth_another(error: BaseException) -> bool:
            return isinstance(error, CallError) and error.kind == "transient"

        def wait(state: RetryCallState) -> float:
            if last.retry_after is not None:
                return last.retry_after + self._random.uniform(0, 0.25)
            n = state.attempt_number
            if last.status == 429:
                # 1 s at most at first; all waits together, at the least, 70 s.
                longest = min(_MINUTE_S, _FIRST_WAIT_S / 2 * 4**n)
            else:
                longest = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2**n)
            return self._random.uniform(longest / 2, longest)

        def out_of_time(state: RetryCallState) -> bool:
            return time.monotonic() - started + state.upcoming_sleep > TOTAL_S

        async def sleep(seconds: float) -> None:
            with suppress(TimeoutError):
                await asyncio.wait_for(line.died.wait(), seconds)

        retrying = AsyncRetrying(
            sleep=sleep,
            retry=retry_if_exception(is_worth_another),
            wait=wait,
            stop=lambda state: stop_after_attempt(ATTEMPTS)(state) or out_of_time(state),
            reraise=True,
        )
        try:
            reply: Reply = await retrying(attempt)
        except CallError as error:
            self._note_loss(line, error)
            often = f" (tried {tries} times)" if tries > 1 else ""
            raise Unanswered("failed", f"{error}{often}") from None
        except CapReached as cap:
            # The attempt that the cap stopped was none.
            often = "once" if tries == 2 else f"{tries - 1} times"
            why = f"{last} (tried {often}, and not again: {cap})"
            raise Unanswered("failed", why) from None
        return reply

    async def _attempt(self, model: str, line: Line, ask: Ask, entry: _Entry) -> Reply:
        limited = self._budget.limited
        tokens = estimated_tokens(ask) if limited or line.gate.counts_tokens else 0
        # Also before the gate: there is nothing to wait for, and a slow one has a long queue.
        _require_alive(model, line)
        async with line.gate.passage(tokens):
            _require_alive(model, line)
            # The run takes a moment to end: nothing is paid for that cannot be kept.
            if self._unkept is not None:
                raise _unwritable(self._unkept)
            if limited:
                reply = await self._send_within_budget(model, line, ask, tokens)
            else:
                reply = await self._send(model, line, ask)
            if spent := reply.usage.input + reply.usage.output:
                line.gate.settle(tokens, spent)
            # On disk before the slot is free: a crash loses no more calls than may be in flight.
            try:
                self._cache.put(*entry, reply)
            except Exception as error:
                self._unkept = error
                raise _unwritable(error) from None
            return reply

    async def _send_within_budget(self, model: str, line: Line, ask: Ask, tokens: int) -> Reply:
        read = tokens - ask.max_tokens // 2
        most = Usage(input=read, output=ask.max_tokens, written=read)
        reserved = await self._budget.reserve(model, most)
        used = Usage()
        try:
            reply = await self._send(model, line, ask)
            # A provider that does not say what a call took may have taken all of it.
            used = reply.usage if reply.usage.input + reply.usage.output else most
        finally:
            await self._budget.settle(model, reserved, used)
        return reply

    async def _send(self, model: str, line: Line, ask: Ask) -> Reply:
        """One attempt, counted."""
        self.tally.made += 1
        began = time.monotonic()
        try:
            reply = await line.speaker.reply(ask)
        except TimeoutError as late:
            said = str(late) or "no answer in time"
            self._mind_silence(line, said)
            line.gate.pushed_back(began)
            self.tally.faults["timeout"] += 1
            raise CallError(said, kind="transient") from None
        except CallError as error:
            self.tally.faults[_fault_name(error)] += 1
            if error.status is None and error.kind == "transient":
                self._mind_silence(line, str(error))
            self._heed(line, error, began)
            raise
        line.answered = True
        line.gate.succeeded(reply.latency_s)
        self.tally.spent[model] = self.tally.spent.get(model, _NOTHING) + reply.usage
        return reply

    def _mind_silence(self, line: Line, fault: str) -> None:
        """Give up a server that is not there sooner than one that has been.

        Whoever waits for it holds up the other models of the same response.
        """
        line.silent_since = line.silent_since or time.monotonic()
        silence = time.monotonic() - line.silent_since
        if not line.answered and silence > _SILENCE_S:
            line.give_up(
                f"it has not answered once, and was tried for {silence:.0f} s, the last time: "
                f"{fault}"
            )

    def _heed(self, line: Line, error: CallError, began: float) -> None:
        """Hold back where the provider asks for it, and as long as it has said."""
        if error.status in _PUSHING_BACK:
            line.gate.pushed_back(began)
        if error.retry_after is None or error.kind != "transient":
            return
        if error.retry_after > TOTAL_S:
            line.give_up(f"it wants to be left alone for {error.retry_after:,.0f} s ({error})")
        else:
            line.gate.hold(error.retry_after)

    def _note_loss(self, line: Line, error: CallError) -> None:
        if error.kind == "permanent":
            line.give_up(str(error))
        elif error.kind == "transient":
            line.lost_in_a_row += 1
            if line.lost_in_a_row >= _GIVE_UP_AFTER:
                line.give_up(f"{line.lost_in_a_row} calls in a row were lost, the last to: {error}")


def _unwritable(error: Exception) -> Abort:
    """Going on without the cache would mean to pay for what a rerun must pay for again."""
    return Abort(
        f"the cache {default_folder()} cannot be written ({error}); see that there is "
        "space and permission, then run the same command again"
    )


def _require_alive(model: str, line: Line) -> None:
    if line.dead is not None:
        raise Unanswered("skipped", f"{model} is no longer asked: {line.dead}")


def estimated_tokens(ask: Ask) -> int:
    """About how many tokens a call takes, with half of its answer's allowance."""
    texts = [ask.system, *ask.blocks, ask.prefill]
    texts += [text for turn in ask.exchange for text in turn]
    return sum(map(tokens_in, texts)) + ask.max_tokens // 2


def tokens_in(text: str) -> int:
    """About how many tokens a text has: four ASCII characters to one, or one other."""
    if text.isascii():
        return len(text) // 4
    ascii_only = len(text.encode("ascii", "ignore"))
    return ascii_only // 4 + len(text) - ascii_only


def _fault_name(error: CallError) -> str:
    return f"HTTP {error.status}" if error.status is not None else error.kind
