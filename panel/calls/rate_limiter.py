"""The limits of a model, the calls in flight, and the state of a run's calls.

asyncio-throttle keeps the requests of each minute within their limit; tokens per minute, even
spacing, concurrency and a provider's Retry-After are kept here.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from weakref import WeakKeyDictionary

from asyncio_throttle.throttler import Throttler

from persona_panel.calls.in_flight import work_in_flight
from persona_panel.rubrics import Usage


@dataclass(frozen=True, slots=True)
class LimiterState:
    """The state of a model's limits; the limiter may be shared with other runs of a loop.

    Attributes:
        in_flight: calls that are at the provider.
        waiting: calls that have a slot and wait for a quota per minute, or for the end of what the
            provider has asked to wait.
        opens_in_s: seconds until the next of these may go, as far as that is known; 0 where none
            waits.
        paused_s: seconds left of what the provider has asked to wait (Retry-After), else 0.
    """

    in_flight: int = 0
    waiting: int = 0
    opens_in_s: float = 0.0
    paused_s: float = 0.0


@dataclass(frozen=True, slots=True)
class EndpointState:
    """The state of a model; seconds are counted from the moment of reading.

    Attributes:
        retries: attempts beyond the first so far, of all calls.
        last_fault: the last fault of a call that may be tried again; empty, there was none.
        retry_in_s: when each call that waits for another attempt makes it, the soonest first.
        failed: calls that failed for good, after all their attempts.
        down_s: how long nothing but faults has come; None, the model is not down.
        probe_in_s: while it is down, when it is next tried; 0, that is under way.
        dead: why it is called no more; None, it is.
        unanswered_s: for how long a model that never answered has been called; 0, it did answer.
        timeout_s: how long a call to it waits for its answer; 0, that is not known.
    """

    limits: LimiterState = LimiterState()
    retries: int = 0
    retry_in_s: tuple[float, ...] = ()
    failed: int = 0
    down_s: float | None = None
    probe_in_s: float = 0.0
    dead: str | None = None
    unanswered_s: float = 0.0
    timeout_s: float = 0.0
    last_fault: str = ""


@dataclass(frozen=True, slots=True)
class CallsState:
    """The state of a run's calls. `endpoints`: by model, those of which answers are wanted;
    `spent`: what each model has used in this run, as `CallCounts.spent`; `usd`: what that cost,
    None where the price is not known."""

    endpoints: Mapping[str, EndpointState]
    spent: Mapping[str, Usage]
    usd: Mapping[str, float | None]


INITIAL_CONCURRENCY = 8
"""Calls in flight to begin with."""
MAX_CONCURRENCY = 256
"""The most calls in flight, unless a user sets more."""
_CUT = 0.7
_SLOWER = 3.0
_AGAIN_S = 30.0


class AdaptiveConcurrency:
    """A number of calls in flight that rises until the provider pushes back.

    It doubles with each round of calls until the first push back (a 429, an overload, a
    time-out), which cuts it to 70 %. From there it rises by one a round up to 90 % of
    what was too much, or what it began with, and only after 30 quiet seconds beyond: errors that
    come whatever is in flight would else sink it to one. It does not rise while calls take three
    times as long as the quickest ones: then they queue at the provider.

    `most` is never passed; to begin with it allows `first`.
    """

    def __init__(self, first: int = INITIAL_CONCURRENCY, most: int = MAX_CONCURRENCY) -> None:
        self.calls = self._first = min(first, most)
        self._most = most
        self._ceiling = math.inf
        self._pushed_back_at = -math.inf
        self._quickest = math.inf
        self._usual = math.nan
        self._well = 0

    def succeeded(self, now: float, latency_s: float, *, all_in_use: bool) -> None:
        """Note that a call came back well; `all_in_use`: more would have been made, had there been
        room."""
        self._quickest = min(self._quickest, latency_s)
        known = not math.isnan(self._usual)
        self._usual = 0.9 * self._usual + 0.1 * latency_s if known else latency_s
        if not all_in_use or self._usual > _SLOWER * self._quickest:
            return
        if now - self._pushed_back_at > _AGAIN_S:
            highest = float(self._most)
        else:
            highest = min(self._most, max(0.9 * self._ceiling, self._first))
        self._well += 1
        # One more for each call doubles a round; one for each round of calls is one a round.
        if self._well >= (1 if math.isinf(self._ceiling) else self.calls):
            self._well = 0
            if self.calls + 1 <= highest:
                self.calls += 1

    def pushed_back(self, now: float, began: float) -> None:
        """Note that a call that began at `began` met a 429, an overload or a time-out.

        Calls that were in flight together count as one push back.
        """
        if began < self._pushed_back_at:
            return
        self._ceiling = self.calls
        self._pushed_back_at = now
        self.calls = max(1, int(self.calls * _CUT))
        self._well = 0


_SPREAD_S = 1.5
"""The most seconds by which the ways of two calls to the server may differ: one that opens a
connection, on a busy machine, and one on an open connection."""
_PERIOD_S = 60 + _SPREAD_S
"""The seconds within which calls go out, so that they arrive within more than a minute."""
_LATE_S = 1.0
_LATE_TOKENS_S = 10.0
"""The most seconds by which waiting calls may fall behind an even spacing and still make up for
it.
"""
_LOOK_S = 0.05
"""The seconds after which a waiting call looks again: the answers of other calls may let it go
earlier."""


_MOST_KEPT = 16
"""The most calls in flight with which each may have a slot of the server's: local servers have
four, or some more where somebody wants it."""


class _Slots:
    """Slots for calls in flight. One that gets free goes to the work that began first, so that this
    is done first.

    With `by_text` it goes to a call about the same text first, where one waits: a server that keeps
    what it read last in each of its own slots need not read it again. With many slots as many texts
    would be begun before any is done.
    """

    def __init__(self, free: int) -> None:
        self.free = free
        self.by_text = True
        self._waiting: dict[Hashable, _Queue] = {}
        # The texts that wait, and some that no longer do, by the number of the work.
        self._by_work: list[tuple[float, int, Hashable, _Queue]] = []
        self._numbers = count()

    def locked(self) -> bool:
        """Return whether a call would have to wait."""
        return not self.free or bool(self._waiting)

    async def acquire(self, about: Hashable) -> None:
        """Wait for a slot, and take it."""
        if not self.locked():
            self.free -= 1
            return
        slot = asyncio.get_running_loop().create_future()
        if (queue := self._waiting.get(about)) is None:
            queue = self._waiting[about] = deque()
            work = work_in_flight.get()
            number = math.inf if work is None else work.number
            heappush(self._by_work, (number, next(self._numbers), about, queue))
        queue.append(slot)
        try:
            await slot
        except asyncio.CancelledError:
            if not slot.cancelled():
                self.release(about)
            elif slot in queue:
                queue.remove(slot)
                self._leave_out(about, queue)
            raise

    def release(self, about: Hashable = None) -> None:
        """Give a slot back; `about`: what the call was about that had it."""
        self.free += 1
        if queue := next(iter(self._waiting.values()), None):
            loop = queue[0].get_loop()
            # Whoever asks next about the same text begins to wait in the next turn of the loop.
            loop.call_soon(loop.call_soon, self._hand_on, about)

    def _hand_on(self, about: Hashable) -> None:
        while self.free and self._waiting:
            if not self.by_text or about not in self._waiting:
                about = self._first()
            queue = self._waiting[about]
            slot = queue.popleft()
            self._leave_out(about, queue)
            if not slot.done():
                self.free -= 1
                slot.set_result(None)
                return

    def _first(self) -> Hashable:
        """Return the text of the work that began first of those that wait."""
        while True:
            _, _, about, queue = self._by_work[0]
            if self._waiting.get(about) is queue:
                return about
            heappop(self._by_work)

    def _leave_out(self, about: Hashable, queue: _Queue) -> None:
        if not queue:
            del self._waiting[about]


_Queue = deque[asyncio.Future[None]]


class RateLimiter:
    """A gate that lets calls through within a model's limits: those of the work that began first,
    and while they are few, as on a server with slots, those about one text after each other, as
    `_Slots` has it.

    `concurrency` counts calls in flight, `most` of them at most; None, the limiter finds out how
    many the provider takes (see `AdaptiveConcurrency`). The other two are per minute; None, no
    limit. A limiter belongs to the event loop it is first used in.
    """

    def __init__(
        self,
        concurrency: int | None = None,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        most: int = MAX_CONCURRENCY,
    ) -> None:
        self._finds_out = concurrency is None
        self._most = min(concurrency or most, most)
        self._adaptive = AdaptiveConcurrency(concurrency or INITIAL_CONCURRENCY, self._most)
        self._open = self._adaptive.calls
        self._slots = _Slots(self._open)
        self._slots.by_text = self._open <= _MOST_KEPT
        self._taken_away = 0
        # Throttler wakes every waiter at each poll and lets late comers overtake: so
        # only one waits at a time.
        self._turn = asyncio.Lock()
        self._requests = None if requests_per_minute is None else _Requests(requests_per_minute)
        self._tokens = None if tokens_per_minute is None else _Tokens(tokens_per_minute)
        self._paused_until = 0.0
        self._waiting = 0

    def pause_for(self, seconds: float) -> None:
        """Let nothing through for this long: the provider has asked for it."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    @property
    def counts_tokens(self) -> bool:
        """Return whether `enter` needs to know how large a call is."""
        return self._tokens is not None

    async def enter(self, tokens: int, about: Hashable = None) -> None:
        """Wait until a call of about `tokens` tokens may go, and count it from then on; `about` is
        the same for calls about one text."""
        await self._slots.acquire(about)
        try:
            queued = self._turn.locked()
            if not (queued or self._tokens or self._requests or self._pause_s > 0):
                return
            self._waiting += 1
            try:
                async with self._turn:
                    await self._let_through(tokens, queued)
            finally:
                self._waiting -= 1
        except BaseException:
            self.leave(about)
            raise

    async def _let_through(self, tokens: int, queued: bool) -> None:
        while True:
            # A call that is held back for long is no longer of the minute that it was counted in.
            if (pause := self._pause_s) > 0:
                await asyncio.sleep(pause)
                continue
            if self._tokens is not None:
                await self._tokens.take(tokens, queued)
            if self._requests is not None:
                await self._requests.take(queued)
            if self._pause_s <= 0:
                return

    @property
    def _pause_s(self) -> float:
        return self._paused_until - time.monotonic()

    def leave(self, about: Hashable = None) -> None:
        """Note that a call that was let through has ended."""
        if self._taken_away:
            self._taken_away -= 1
        else:
            self._slots.release(about)

    def succeeded(self, latency_s: float) -> None:
        """Note that a call came back well."""
        if self._finds_out or self._open < self._most:
            self._adaptive.succeeded(time.monotonic(), latency_s, all_in_use=self._slots.locked())
            self._follow(self._adaptive.calls)

    def pushed_back(self, began: float) -> None:
        """Note that a call, begun at `began`, met a 429, an overload or a time-out."""
        if self._finds_out:
            self.no_descriptor(began)

    def no_descriptor(self, began: float) -> None:
        """Note that this process could open no file for a call begun at `began`."""
        self._adaptive.pushed_back(time.monotonic(), began)
        self._follow(self._adaptive.calls)

    def _follow(self, calls: int) -> None:
        while self._open < calls:
            self._open += 1
            self.leave()
        # Calls in flight run to their end: their slots are taken away when they do.
        self._taken_away += self._open - calls
        self._open = calls
        self._slots.by_text = calls <= _MOST_KEPT

    def state(self, now: float) -> LimiterState:
        """Return the state of the limits."""
        taken = self._open + self._taken_away - self._slots.free
        paused_s = max(0.0, self._paused_until - now)
        opens_in_s = 0.0
        if self._waiting:
            opens_at = (limit.opens_at for limit in (self._requests, self._tokens) if limit)
            opens_in_s = max(paused_s, max(opens_at, default=0.0) - now)
        return LimiterState(taken - self._waiting, self._waiting, opens_in_s, paused_s)

    def settle(self, estimated: int, actual: int) -> None:
        """Correct the tokens counted for a call by what the provider reported."""
        if self._tokens is not None:
            self._tokens.correct(estimated, actual)


class _Spacing:
    """An even stream: so many units every `_PERIOD_S`. Nothing is saved up while nobody waits, so
    that there is no burst, neither at first nor after a rest."""

    def __init__(self, per_period: float, late_s: float) -> None:
        self._each_s = _PERIOD_S / per_period
        self._late_s = late_s
        self.next_at = -math.inf

    async def take(self, units: float, queued: bool) -> None:
        """Wait until the units before are through, and take some; `queued`: after waiting behind
        others."""
        while (now := time.monotonic()) < self.next_at:
            queued = True
            await asyncio.sleep(min(_LOOK_S, self.next_at - now))
        began = max(self.next_at, now - self._late_s) if queued else now
        self.next_at = began + units * self._each_s

    def give(self, units: float) -> None:
        self.next_at -= units * self._each_s


class _Requests:
    """A gate that lets `per_minute` requests through in any minute, evenly spaced."""

    def __init__(self, per_minute: float) -> None:
        most = max(1, int(per_minute))
        # Of less than one a minute, one in as many minutes as it takes.
        period = _PERIOD_S * max(1.0, 1 / per_minute)
        self._throttle = Throttler(most, period, retry_interval=0.01)
        self._spacing = _Spacing(most * _PERIOD_S / period, _LATE_S)

    @property
    def opens_at(self) -> float:
        """The time at which a waiting call may go, as far as it is known."""
        return self._spacing.next_at

    async def take(self, queued: bool) -> None:
        await self._spacing.take(1, queued)
        await self._throttle.acquire()  # type: ignore[no-untyped-call]


class _Tokens:
    """A gate that lets calls of `per_minute` tokens through in any minute, evenly spaced. A call of
    more tokens goes alone, and the next ones wait for the minutes that it takes."""

    def __init__(self, per_minute: float) -> None:
        self._most = per_minute
        self._spacing = _Spacing(per_minute, _LATE_TOKENS_S)
        self._taken = 0
        # The calls of the last period, each with its moment and tokens.
        self._calls: deque[tuple[float, int]] = deque()

    @property
    def opens_at(self) -> float:
        """The time at which a waiting call may go, as far as it is known."""
        full = self._calls and self._taken >= self._most
        return max(self._spacing.next_at, self._calls[0][0] + _PERIOD_S if full else 0.0)

    async def take(self, tokens: int, queued: bool) -> None:
        await self._spacing.take(tokens, queued)
        while True:
            now = self._forget()
            if not self._calls or self._taken + tokens <= self._most:
                break
            await asyncio.sleep(min(_LOOK_S, self._calls[0][0] + _PERIOD_S - now))
        self._calls.append((now, tokens))
        self._taken += tokens

    def correct(self, estimated: int, actual: int) -> None:
        """Correct the count of a call by the tokens that it really took."""
        self._spacing.give(estimated - actual)
        # Of calls of one size in flight at once, any stands for any other.
        for place in range(len(self._calls) - 1, -1, -1):
            at, tokens = self._calls[place]
            if tokens == estimated:
                self._calls[place] = at, actual
                self._taken += actual - estimated
                return

    def _forget(self) -> float:
        """Drop the calls that are older than the period; returns the time."""
        now = time.monotonic()
        while self._calls and now - self._calls[0][0] >= _PERIOD_S:
            self._taken -= self._calls.popleft()[1]
        return now


_limiters: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, RateLimiter]] = (
    WeakKeyDictionary()
)


def shared_rate_limiter(
    key: Hashable,
    concurrency: int | None,
    requests_per_minute: float | None,
    tokens_per_minute: float | None,
    most: int = MAX_CONCURRENCY,
) -> RateLimiter:
    """Return the limiter of this model and these limits in the running loop, the same for all that
    ask.

    `most` is that of whoever asks first: what is left of this machine differs from one run to
    the next, and a model has one limiter.
    """
    limiters = _limiters.setdefault(asyncio.get_running_loop(), {})
    limits = (key, concurrency, requests_per_minute, tokens_per_minute)
    if limits not in limiters:
        limiters[limits] = RateLimiter(concurrency, requests_per_minute, tokens_per_minute, most)
    return limiters[limits]
