"""One model's limits: how many calls may be in flight, how fast, and when to hold back.

Requests per minute are asyncio-throttle's work; tokens per minute, concurrency and
a provider's Retry-After stand beside it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable
from weakref import WeakKeyDictionary

from asyncio_throttle.throttler import Throttler

from panel.calls.adaptive_concurrency import (
    INITIAL_CONCURRENCY,
    MAX_CONCURRENCY,
    AdaptiveConcurrency,
)
from panel.calls.state import LimiterState


class RateLimiter:
    """Lets calls through, one model's limits kept, first come first served.

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
        self._slots = asyncio.Semaphore(self._open)
        self._taken_away = 0
        # Throttler wakes every waiter at each poll and lets late comers overtake: so
        # only one waits at a time. A short period spreads a minute's quota.
        self._turn = asyncio.Lock()
        self._throttle: Throttler | None = None
        self._period_s = 0.0
        self._let_through_at = 0.0
        if requests_per_minute is not None:
            burst = max(1, int(requests_per_minute / 60))
            period = burst * 60 / requests_per_minute
            self._period_s = period
            self._throttle = Throttler(burst, period, retry_interval=min(0.05, period / 4))
        self._tokens = None if tokens_per_minute is None else _Bucket(tokens_per_minute)
        self._paused_until = 0.0
        self._waiting = 0

    def pause_for(self, seconds: float) -> None:
        """Let nothing through for this long: the provider has asked for it."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    @property
    def most_in_flight(self) -> int:
        """How many calls may be in flight at most."""
        return self._most

    @property
    def counts_tokens(self) -> bool:
        """Whether `enter` needs to know how large a call is."""
        return self._tokens is not None

    async def enter(self, tokens: int) -> None:
        """Wait until a call of about `tokens` tokens may go, and count it from then on."""
        await self._slots.acquire()
        try:
            if (
                self._tokens is None
                and self._throttle is None
                and not self._turn.locked()
                and time.monotonic() >= self._paused_until
            ):
                return
            self._waiting += 1
            try:
                async with self._turn:
                    if self._tokens is not None:
                        await self._tokens.take(tokens)
                    if self._throttle is not None:
                        await self._throttle.acquire()  # type: ignore[no-untyped-call]
                        self._let_through_at = time.monotonic()
                    await self._until_open()
            finally:
                self._waiting -= 1
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """A call that was let through has ended."""
        if self._taken_away:
            self._taken_away -= 1
        else:
            self._slots.release()

    def succeeded(self, latency_s: float) -> None:
        """Told of each call that came back well."""
        if self._finds_out or self._open < self._most:
            self._adaptive.succeeded(time.monotonic(), latency_s, all_in_use=self._slots.locked())
            self._follow(self._adaptive.calls)

    def pushed_back(self, began: float) -> None:
        """Told of each call, begun at `began`, that met a 429, an overload or a time-out."""
        if self._finds_out:
            self.no_descriptor(began)

    def no_descriptor(self, began: float) -> None:
        """Told of each call, begun at `began`, for which this process could open no file."""
        self._adaptive.pushed_back(time.monotonic(), began)
        self._follow(self._adaptive.calls)

    def _follow(self, calls: int) -> None:
        while self._open < calls:
            self._open += 1
            self.leave()
        # Calls in flight run to their end: their slots are taken away when they do.
        self._taken_away += self._open - calls
        self._open = calls

    async def _until_open(self) -> None:
        # Another call may have prolonged the pause while this one slept.
        pause = self._paused_until - time.monotonic()
        if pause > 0:
            await asyncio.sleep(pause)
            await self._until_open()

    def state(self, now: float) -> LimiterState:
        """What is let through now."""
        # What the semaphore counts anyway: a count of our own would cost every call.
        taken = self._open + self._taken_away - self._slots._value
        paused_s = max(0.0, self._paused_until - now)
        opens_in_s = 0.0
        if self._waiting:
            quota_at = self._let_through_at + self._period_s if self._throttle else 0.0
            tokens_at = self._tokens.enough_at if self._tokens else 0.0
            opens_in_s = max(paused_s, quota_at - now, tokens_at - now)
        return LimiterState(taken - self._waiting, self._waiting, opens_in_s, paused_s)

    def settle(self, estimated: int, actual: int) -> None:
        """Correct the tokens counted for a call by what the provider reported."""
        if self._tokens is not None:
            self._tokens.give(estimated - actual)


class _Bucket:
    """Fills at `per_minute` / 60 a second, holds ten seconds' worth, starts full."""

    def __init__(self, per_minute: float) -> None:
        self._rate = per_minute / 60
        self._size = self._rate * 10
        self._level = self._size
        self._seen = time.monotonic()
        self.enough_at = 0.0
        """When whoever waits is to look again."""

    def _refill(self) -> None:
        now = time.monotonic()
        self._level = min(self._size, self._level + (now - self._seen) * self._rate)
        self._seen = now

    async def take(self, tokens: int) -> None:
        # A call larger than the bucket goes when it is full, and leaves a debt.
        needed = min(float(tokens), self._size)
        self._refill()
        while self._level < needed:
            wait_s = (needed - self._level) / self._rate
            self.enough_at = self._seen + wait_s
            await asyncio.sleep(wait_s)
            self._refill()
        self._level -= tokens

    def give(self, tokens: int) -> None:
        self._level += tokens


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
    """The limiter of this model and these limits in the running loop; one for all that ask.

    `most` is that of whoever asks first: what is left of this machine differs from one run to
    the next, and a model has one limiter.
    """
    limiters = _limiters.setdefault(asyncio.get_running_loop(), {})
    limits = (key, concurrency, requests_per_minute, tokens_per_minute)
    if limits not in limiters:
        limiters[limits] = RateLimiter(concurrency, requests_per_minute, tokens_per_minute, most)
    return limiters[limits]
