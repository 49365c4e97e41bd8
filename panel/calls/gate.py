"""One model's gate: how many calls may be in flight, how fast, and when to hold back.

Requests per minute are asyncio-throttle's work; tokens per minute, concurrency and
a provider's Retry-After stand beside it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from weakref import WeakKeyDictionary

from asyncio_throttle.throttler import Throttler

from panel.calls.allowance import FIRST, Allowance


class Gate:
    """Lets calls through, one model's limits kept, first come first served.

    `concurrency` counts calls in flight; None, the gate finds out how many the provider
    takes (see `Allowance`). The other two are per minute, None meaning no limit. A gate
    belongs to the event loop it is first used in.
    """

    def __init__(
        self,
        concurrency: int | None = None,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        self._allowance = Allowance() if concurrency is None else None
        self._open = concurrency or FIRST
        self._slots = asyncio.Semaphore(self._open)
        self._taken_away = 0
        # Throttler wakes every waiter at each poll and lets late comers overtake: so
        # only one waits at a time. A short period spreads a minute's quota.
        self._turn = asyncio.Lock()
        self._throttle: Throttler | None = None
        if requests_per_minute is not None:
            burst = max(1, int(requests_per_minute / 60))
            period = burst * 60 / requests_per_minute
            self._throttle = Throttler(burst, period, retry_interval=min(0.05, period / 4))
        self._tokens = None if tokens_per_minute is None else _Bucket(tokens_per_minute)
        self._open_again = 0.0

    def hold(self, seconds: float) -> None:
        """Let nothing through for this long: the provider has asked for it."""
        self._open_again = max(self._open_again, time.monotonic() + seconds)

    @property
    def counts_tokens(self) -> bool:
        """Whether `passage` needs to know how large a call is."""
        return self._tokens is not None

    def passage(self, tokens: int) -> AbstractAsyncContextManager[None]:
        """Wait until a call of about `tokens` tokens may go, and count it while it runs."""
        return _Passage(self, tokens)

    async def enter(self, tokens: int) -> None:
        await self._slots.acquire()
        try:
            if self._tokens is None and self._throttle is None and self._is_open():
                return
            async with self._turn:
                if self._tokens is not None:
                    await self._tokens.take(tokens)
                if self._throttle is not None:
                    await self._throttle.acquire()  # type: ignore[no-untyped-call]
                await self._until_open()
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        if self._taken_away:
            self._taken_away -= 1
        else:
            self._slots.release()

    def succeeded(self, latency_s: float) -> None:
        """Told of each call that came back well."""
        if self._allowance is not None:
            self._allowance.succeeded(time.monotonic(), latency_s, all_in_use=self._slots.locked())
            self._follow(self._allowance.calls)

    def pushed_back(self, began: float) -> None:
        """Told of each call, begun at `began`, that met a 429, an overload or a time-out."""
        if self._allowance is not None:
            self._allowance.pushed_back(time.monotonic(), began)
            self._follow(self._allowance.calls)

    def _follow(self, calls: int) -> None:
        while self._open < calls:
            self._open += 1
            self.leave()
        # Calls in flight run to their end: their slots are taken away when they do.
        self._taken_away += self._open - calls
        self._open = calls

    def _is_open(self) -> bool:
        return not self._turn.locked() and time.monotonic() >= self._open_again

    async def _until_open(self) -> None:
        # Another call may have moved the hour while this one slept.
        pause = self._open_again - time.monotonic()
        if pause > 0:
            await asyncio.sleep(pause)
            await self._until_open()

    def settle(self, estimated: int, actual: int) -> None:
        """Correct the tokens counted for a call by what the provider reported."""
        if self._tokens is not None:
            self._tokens.give(estimated - actual)


class _Passage:
    """A call's way through; a class, since a generator costs each call twice as much."""

    __slots__ = ("_gate", "_tokens")

    def __init__(self, gate: Gate, tokens: int) -> None:
        self._gate = gate
        self._tokens = tokens

    async def __aenter__(self) -> None:
        await self._gate.enter(self._tokens)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._gate.leave()


class _Bucket:
    """Fills at `per_minute` / 60 a second, holds ten seconds' worth, starts full."""

    def __init__(self, per_minute: float) -> None:
        self._rate = per_minute / 60
        self._size = self._rate * 10
        self._level = self._size
        self._seen = time.monotonic()

    def _refill(self) -> None:
        now = time.monotonic()
        self._level = min(self._size, self._level + (now - self._seen) * self._rate)
        self._seen = now

    async def take(self, tokens: int) -> None:
        # A call larger than the bucket goes when it is full, and leaves a debt.
        needed = min(float(tokens), self._size)
        self._refill()
        while self._level < needed:
            await asyncio.sleep((needed - self._level) / self._rate)
            self._refill()
        self._level -= tokens

    def give(self, tokens: int) -> None:
        self._level += tokens


_gates: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, Gate]] = WeakKeyDictionary()


def shared_gate(
    key: Hashable,
    concurrency: int | None,
    requests_per_minute: float | None,
    tokens_per_minute: float | None,
) -> Gate:
    """The gate of this model and these limits in the running loop; one for all that ask."""
    gates = _gates.setdefault(asyncio.get_running_loop(), {})
    limits = (key, concurrency, requests_per_minute, tokens_per_minute)
    if limits not in gates:
        gates[limits] = Gate(concurrency, requests_per_minute, tokens_per_minute)
    return gates[limits]
