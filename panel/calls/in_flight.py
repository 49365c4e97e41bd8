"""Responses at work at a time, and their calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from itertools import count

MOST_WAITING = 1_000
"""The most responses that may wait for a server beyond those at work: some 50 KB each."""


class InFlightLimit:
    """A number of slots, `at_once`; those of work that only waits are lent, `most_waiting` at
    most.
    """

    def __init__(self, at_once: int, most_waiting: int = MOST_WAITING) -> None:
        self._at_once = at_once
        self._slots = asyncio.Semaphore(at_once)
        self._lendable = most_waiting
        self._owed = 0
        self._numbers = count()

    async def enter(self) -> None:
        """Wait for a slot, and take it."""
        await self._slots.acquire()

    def leave(self) -> None:
        """Give a slot back."""
        if self._owed:
            self._owed -= 1
        else:
            self._slots.release()

    def widen(self, at_once: int) -> None:
        """Have at least so many slots from now on."""
        while self._at_once < at_once:
            self._at_once += 1
            self.leave()

    @contextmanager
    def work(self) -> Iterator[None]:
        """Count the calls of the current task, and of those that it starts, to the same slot."""
        token = work_in_flight.set(_CallsOfOneSlot(self, next(self._numbers)))
        try:
            yield
        finally:
            work_in_flight.reset(token)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Take a slot for as long as the block lasts, and count the calls made in it to this
        slot.
        """
        await self.enter()
        try:
            with self.work():
                yield
        finally:
            self.leave()

    def _lend(self) -> bool:
        if not self._lendable:
            return False
        self._lendable -= 1
        self.leave()
        return True

    def _take_back(self) -> None:
        # Nobody is sent away: the next slot that gets free is not given on.
        self._lendable += 1
        self._owed += 1


class _CallsOfOneSlot:
    """The calls of one slot: how many are under way, and how many of those wait.

    A block in it is a call under way; not an object of its own, as every call comes through here.
    """

    __slots__ = ("_lent", "_limit", "_under_way", "_waiting", "number")

    def __init__(self, limit: InFlightLimit, number: int) -> None:
        self._limit = limit
        self.number = number
        self._under_way = self._waiting = 0
        self._lent = False

    def __enter__(self) -> None:
        self._under_way += 1
        if self._waiting or self._lent:
            self.lend_or_take_back()

    def __exit__(self, *error: object) -> None:
        self._under_way -= 1
        if self._waiting or self._lent:
            self.lend_or_take_back()

    def wait(self, calls: int) -> None:
        """Count so many calls more, or fewer, that can do nothing but wait."""
        self._waiting += calls
        self.lend_or_take_back()

    def lend_or_take_back(self) -> None:
        """Lend the slot where all of its calls wait, and take it back where they no longer do."""
        only_waits = 0 < self._waiting == self._under_way
        if only_waits and not self._lent:
            self._lent = self._limit._lend()
        elif self._lent and not only_waits:
            self._lent = False
            self._limit._take_back()


class _Waiting:
    """A call that can do nothing but wait, for as long as a block lasts."""

    __slots__ = ("_work",)

    def __init__(self, work: _CallsOfOneSlot) -> None:
        self._work = work

    def __enter__(self) -> None:
        self._work.wait(1)

    def __exit__(self, *error: object) -> None:
        self._work.wait(-1)


_OF_NO_SLOT: AbstractContextManager[None] = nullcontext()
work_in_flight: ContextVar[_CallsOfOneSlot | None] = ContextVar("work_in_flight", default=None)
"""The slot of the work that this code is run for; None outside of any."""


def call_under_way() -> AbstractContextManager[None]:
    """Count a call on behalf of the current work."""
    return work_in_flight.get() or _OF_NO_SLOT


def waiting_for_a_server() -> AbstractContextManager[None]:
    """Count that a call under way can do nothing but wait."""
    work = work_in_flight.get()
    return _OF_NO_SLOT if work is None else _Waiting(work)
