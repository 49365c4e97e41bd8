"""How much is worked on at a time, not counting what only waits for a server that is down.

Whoever works on a response takes a slot; the calls that are made on its behalf
count themselves, and say when they wait. Where all of its calls do, its slot is lent to the
next response, so that one model's outage does not hold up the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar

MOST_WAITING = 1_000
"""How many responses may wait for a server beyond those at work: some 50 KB each."""


class InFlightLimit:
    """Has `at_once` slots, and lends those of work that only waits, `most_waiting` at most."""

    def __init__(self, at_once: int, most_waiting: int = MOST_WAITING) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._lendable = most_waiting
        self._owed = 0

    async def enter(self) -> None:
        """Wait for a slot, and take it."""
        await self._slots.acquire()

    def leave(self) -> None:
        """Give a slot back."""
        if self._owed:
            self._owed -= 1
        else:
            self._slots.release()

    @contextmanager
    def work(self) -> Iterator[None]:
        """What the current task and those that it starts call for, belongs to one slot."""
        token = _current.set(_CallsOfOneSlot(self))
        try:
            yield
        finally:
            _current.reset(token)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """A slot for as long as the block lasts, and the calls made in it."""
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

    __slots__ = ("_lent", "_limit", "_under_way", "_waiting")

    def __init__(self, limit: InFlightLimit) -> None:
        self._limit = limit
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
        """So many calls more, or fewer, can do nothing but wait."""
        self._waiting += calls
        self.lend_or_take_back()

    def lend_or_take_back(self) -> None:
        """Lend the slot where all of its calls wait, and take it back where they do no longer."""
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
_current: ContextVar[_CallsOfOneSlot | None] = ContextVar("_current", default=None)


def call_under_way() -> AbstractContextManager[None]:
    """Counts a call on behalf of the current work."""
    return _current.get() or _OF_NO_SLOT


def waiting_for_a_server() -> AbstractContextManager[None]:
    """Counts that a call under way can do nothing but wait."""
    work = _current.get()
    return _OF_NO_SLOT if work is None else _Waiting(work)
