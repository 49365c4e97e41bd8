"""Answers that can be taken back: those of a connection that has carried one nobody asked for.

HTTP/1.1 has nothing that ties an answer to its request but their order on a connection. A stray one
that comes while an answer is awaited is taken for it, and each later request on that connection
gets the answer to the one before. That is seen only when an answer too many is left over. So each
connection knows which requests took its answers since it was opened, and all of these are taken
back then: nothing tells which are right.

Whoever asks says so by `taking`, and is told by `TakenAnswer.keep` of what is taken back later.
Connections are looked at while they are idle, and by `look_for_strays` before results are final.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakMethod, WeakSet

UNASKED = (
    "the server sent an answer that no request asked for, on the connection from which this one "
    "came: it may be another request's"
)
MOST_ANSWERS = 1_000
"""The most answers of a connection: all are remembered for as long as it is open."""
_MARGIN = 1.25
_SHORTEST_USUAL_S = 0.02
_HASTY = 4
"""How many times as quick as usual an answer is that was perhaps made for no request."""
_LONGEST_LOOK_S, _LONGEST_HASTY_LOOK_S, _LONGEST_STRAY_LOOK_S = 0.25, 0.5, 2.0
"""The most seconds for which results wait for an answer too many: in general, after an answer that
came in a fraction of the usual time, and where a server has sent such."""
_LOOKS = 4


class TakenAnswer:
    """An answer that a request is about to take, or has taken. `doubt`: why it may be another
    request's; None where nothing says so; `connection`: which it came on; None where that cannot be
    seen."""

    __slots__ = ("_callback", "_what", "connection", "doubt")

    def __init__(self) -> None:
        self.doubt: str | None = None
        self.connection: TakenAnswers | None = None
        self._callback: WeakMethod[Callable[[Any, str], None]] | None = None
        self._what: Any = None

    def keep(self, callback: WeakMethod[Callable[[Any, str], None]], what: Any) -> None:
        """Have `callback` called with `what` and the reason once the answer is taken back, as long
        as its object lives; at once where it has been by now."""
        self._callback, self._what = callback, what
        if self.doubt is not None:
            self._tell(self.doubt)

    def take_back(self, doubt: str) -> None:
        """Tell who uses the answer why it may be another request's."""
        if self.doubt is None:
            self.doubt = doubt
            self._tell(doubt)

    def take_back_all(self, doubt: str) -> None:
        """Take back this answer and all others of its connection."""
        self.take_back(doubt)
        if self.connection is not None:
            self.connection.take_back(doubt)

    def _tell(self, doubt: str) -> None:
        if self._callback is not None and (callback := self._callback()) is not None:
            callback(self._what, doubt)


_taking: ContextVar[TakenAnswer | None] = ContextVar("taking", default=None)


@contextmanager
def taking() -> Iterator[TakenAnswer]:
    """Ask within the block; what it gives stands for the answer that is then taken."""
    taken = TakenAnswer()
    token = _taking.set(taken)
    try:
        yield taken
    finally:
        _taking.reset(token)


def being_taken() -> TakenAnswer | None:
    """Return the answer that whoever runs here asks for; None where it cannot be taken back."""
    return _taking.get()


class TakenAnswers:
    """The answers that came on one connection since it was opened. `doubt`: why any of them may be
    another request's; None where nothing says so."""

    __slots__ = ("_taken", "doubt")

    def __init__(self) -> None:
        self._taken: list[TakenAnswer] = []
        self.doubt: str | None = None

    @property
    def is_full(self) -> bool:
        """Return whether no more can be remembered."""
        return len(self._taken) >= MOST_ANSWERS

    def add(self, taken: TakenAnswer | None) -> None:
        """Note that an answer has come on the connection."""
        if taken is None:
            return
        taken.connection = self
        if self.doubt is not None:
            taken.take_back(self.doubt)
        elif not self._taken or self._taken[-1] is not taken:
            self._taken.append(taken)

    def take_back(self, doubt: str = UNASKED) -> None:
        """Take back all answers, and those that are still to come."""
        self.doubt = self.doubt or doubt
        taken, self._taken = self._taken, []
        for each in taken:
            each.take_back(doubt)


@dataclass(slots=True)
class AnswerTimes:
    """The times in which a server answers, which say when an answer too many would have come.
    `has_strays`: it has sent answers that no request asked for."""

    has_strays: bool = False
    last_at: float | None = field(default=None, init=False)
    longest_s: float = field(default=0.0, init=False)
    _usual_s: float = field(default=0.0, init=False)
    _hasty_at: float = field(default=float("-inf"), init=False)

    def add(self, seconds: float, now: float) -> bool:
        """Note an answer that has come now; return whether it came so much sooner than others that
        it may have been made for no request."""
        is_hasty = seconds < self._usual_s / _HASTY and self._usual_s >= _SHORTEST_USUAL_S
        if is_hasty:
            self._hasty_at = now
        # The first of a server is no measure: it opens a connection, too.
        self._usual_s += 0.1 * (seconds - self._usual_s) if self._usual_s else seconds
        self.longest_s = max(self.longest_s, seconds)
        self.last_at = now
        return is_hasty

    def left_s(self, now: float) -> float:
        """Return for how many seconds from now an answer too many may still come."""
        if self.last_at is None:
            return 0.0
        late_s = _MARGIN * self.longest_s + 0.01
        last, most = self.last_at, _LONGEST_LOOK_S
        if self.has_strays:
            most = _LONGEST_STRAY_LOOK_S
        elif now - self._hasty_at < late_s:
            most = _LONGEST_HASTY_LOOK_S
        return last + min(late_s, most) - now


class Watcher(Protocol):
    """Connections that can be looked at, all of one event loop. `times`: how their servers
    answer."""

    @property
    def times(self) -> AnswerTimes: ...

    def look_for_strays(self) -> None:
        """Look at the connections that no request uses, and take back the answers of those on which
        something waits."""

    def is_here(self) -> bool:
        """Return whether they can be looked at from the running event loop."""


_watchers: WeakSet[Any] = WeakSet()


def watch(watcher: Watcher) -> None:
    """Have `look_for_strays` look at these connections, too."""
    _watchers.add(watcher)


async def look_for_strays() -> None:
    """Look at all connections that no request uses, as soon as an answer too many would be there:
    after as long as their servers take, and a fraction of a second at most unless one of them has
    sent such before."""
    here: list[Watcher] = [watcher for watcher in _watchers if watcher.is_here()]
    for _ in range(_LOOKS):
        if (wait_s := _left_s(here)) > 0:
            await asyncio.sleep(wait_s)
        for watcher in here:
            watcher.look_for_strays()
        # A server that has just been found out is waited for longer.
        if _left_s(here) <= 0:
            return


def _left_s(watchers: list[Watcher]) -> float:
    now = time.monotonic()
    return max((watcher.times.left_s(now) for watcher in watchers), default=0.0)
