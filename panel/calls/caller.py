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
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from graphs import Judge, Response
from graphs.judging import Unanswered
from panel.calls.cache import ReplyCache, key_of
from panel.calls.gate import Gate
from panel.models.speaker import CallError, Speaker
from rubrics import Ask, Reply, Usage

ATTEMPTS = 6
"""How often one call is tried."""
TOTAL_S = 600.0
"""How long one call may take with all its attempts and waits, in seconds."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0
_GIVE_UP_AFTER = 5
"""Calls in a row, each tried to the end, after which a model counts as dead."""


@dataclass(slots=True)
class Line:
    """A model as the caller knows it: how to reach it, its gate, and how it is doing."""

    speaker: Speaker
    gate: Gate
    timeout_s: float | None
    one_by_one: bool = False
    """Whether the judges of a response must speak one after the other."""
    dead: str | None = None
    lost_in_a_row: int = 0


@dataclass(slots=True)
class Tally:
    """What the calls of one run have come to: `spent` is what was used by the calls made."""

    made: int = 0
    cached: int = 0
    spent: dict[str, Usage] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)


class Caller:
    """Answers asks for one run."""

    def __init__(self, lines: Mapping[str, Line], cache: ReplyCache, *, seed: int = 0) -> None:
        self._lines = lines
        self._cache = cache
        # Jitter needs no secrecy, and a seed keeps a run's schedule repeatable.
        self._random = random.Random(seed)
        self.tally = Tally()
        self._turns: WeakValueDictionary[object, asyncio.Lock] = WeakValueDictionary()

    async def ask(self, judge: Judge, ask: Ask) -> Reply:
        """A reply to an ask, from the cache or from the model.

        Raises:
            Unanswered: `failed` with the last fault, or `skipped` where the model has
                been given up.
        """
        line = self._lines[judge.model]
        key = key_of(line.speaker.parameters, ask, judge.replicate)
        if (kept := self._cache.get(key)) is not None:
            self.tally.cached += 1
            return kept
        return await self._call(judge.model, line, ask, key)

    def turn(self, judge: Judge, response: Response) -> AbstractAsyncContextManager[object]:
        """Held while a judge speaks; only an embedded model makes the others wait."""
        if not self._lines[judge.model].one_by_one:
            return nullcontext()
        key = (judge.model, response.prompt_id, response.id)
        return self._turns.setdefault(key, asyncio.Lock())

    async def forget(self, judge: Judge, asks: Sequence[Ask]) -> None:
        """Do not serve the replies to these asks again: they led to no result."""
        parameters = self._lines[judge.model].speaker.parameters
        await self._cache.forget(key_of(parameters, ask, judge.replicate) for ask in asks)

    async def _call(self, model: str, line: Line, ask: Ask, key: str) -> Reply:
        started = time.monotonic()

        def is_worth_another(error: BaseException) -> bool:
            return isinstance(error, CallError) and error.kind == "transient"

        def wait(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            asked_for = error.retry_after if isinstance(error, CallError) else None
            if asked_for is not None:
                return asked_for + self._random.uniform(0, 0.25)
            longest = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2**state.attempt_number)
            return self._random.uniform(longest / 2, longest)

        def out_of_time(state: RetryCallState) -> bool:
            return time.monotonic() - started + state.upcoming_sleep > TOTAL_S

        retrying = AsyncRetrying(
            retry=retry_if_exception(is_worth_another),
            wait=wait,
            stop=lambda state: stop_after_attempt(ATTEMPTS)(state) or out_of_time(state),
            reraise=True,
        )
        try:
            reply: Reply = await retrying(self._attempt, model, line, ask, key)
        except CallError as error:
            self._note_loss(line, error)
            tries = retrying.statistics.get("attempt_number", 1)
            often = f" (tried {tries} times)" if tries > 1 else ""
            raise Unanswered("failed", f"{error}{often}") from None
        line.lost_in_a_row = 0
        return reply

    async def _attempt(self, model: str, line: Line, ask: Ask, key: str) -> Reply:
        tokens = estimated_tokens(ask)
        async with line.gate.passage(tokens):
            if line.dead is not None:
                raise Unanswered("skipped", f"{model} is no longer asked: {line.dead}")
            self.tally.made += 1
            started = time.monotonic()
            try:
                async with asyncio.timeout(line.timeout_s):
                    reply = await line.speaker.reply(ask)
            except TimeoutError:
                error = CallError(f"no answer within {line.timeout_s:g} s", kind="transient")
                self.tally.faults[str(error)] += 1
                raise error from None
            except CallError as error:
                self.tally.faults[_fault_name(error)] += 1
                if error.retry_after is not None and error.kind == "transient":
                    line.gate.hold(error.retry_after)
                raise
            self.tally.spent[model] = self.tally.spent.get(model, Usage()) + reply.usage
            line.gate.settle(tokens, reply.usage.input + reply.usage.output)
            reply = replace(reply, latency_s=time.monotonic() - started)
            # The slot is held until the reply is on disk: a crash loses no more calls
            # than may be in flight.
            await self._cache.put(key, reply)
            return reply

    def _note_loss(self, line: Line, error: CallError) -> None:
        if error.kind == "permanent":
            line.dead = str(error)
        elif error.kind == "transient":
            line.lost_in_a_row += 1
            if line.lost_in_a_row >= _GIVE_UP_AFTER:
                line.dead = f"{line.lost_in_a_row} calls in a row were lost, the last to: {error}"


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
