"""What workers and the driver of a run say to each other: questions, notices and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from persona_panel.calls.call_counts import CallCounts
from persona_panel.calls.changes import Change
from persona_panel.graphs.context import Abort
from persona_panel.rubrics import Usage

DRIVER = "driver"
"""The address of the driver's letters."""
ALIVE_S = 15.0
"""How often a worker says that it is there."""
FROM_WORKER = "from_worker"
"""What a record of the driver's log has that a worker has told."""
LOST_S = 90.0
"""How long a worker that says nothing is waited for."""
TAKE_OVER_S = 30.0
"""How long a worker is waited for that takes over the journals of one that is lost."""


class TakenForLost(Abort):
    """A worker was silent for too long: what it had leased is given to others."""


# Questions, each with its answer


class ClaimReply(NamedTuple):
    """A reply that is wanted. The answer is the reply, or None: this worker may ask the model for
    it, and others wait until it has stored the reply or given the claim up."""

    page: str
    key: bytes


class Store(NamedTuple):
    """Replies to be kept in the cache and dropped, by page and key. Answered with None once they
    are; claims on them have ended then."""

    changes: Mapping[str, Mapping[bytes, Change]]


class Enter(NamedTuple):
    """A call of about `tokens` tokens that wants to go. Answered with None once the limits of the
    model allow it; `Leave` says that it is over."""

    model: str
    tokens: int


class Reserve(NamedTuple):
    """What a call may take at most. Answered with None where it is set aside, else with the cap
    that forbids it."""

    model: str
    most: Usage


class Begin(NamedTuple):
    """A worker that is about to look what others have left in its folder of journals, whose name is
    the same for all who share it. Answered with the moment, by the driver's clock."""

    journals: str


class Synchronize(NamedTuple):
    """Answered with None once all that was said before is taken in."""


# Notices, without an answer


class GiveUp(NamedTuple):
    """A claim that led to no reply."""

    page: str
    key: bytes


class Leave(NamedTuple):
    """A call is over."""

    model: str


class Succeeded(NamedTuple):
    """A call came back well."""

    model: str
    latency_s: float


class PushedBack(NamedTuple):
    """A call that began `age_s` seconds ago met a 429, an overload or a time-out; or where
    `no_descriptor`, its process could open no further file."""

    model: str
    age_s: float
    no_descriptor: bool = False


class Pause(NamedTuple):
    """The provider asks for this many seconds without a call."""

    model: str
    seconds: float


class CountTokens(NamedTuple):
    """A call that was counted as so many tokens took so many."""

    model: str
    estimated: int
    actual: int


class Settle(NamedTuple):
    """A call was made and took this, of what was set aside for it (None: nothing was). `calls` is 0
    where it failed before it was sent."""

    model: str
    reserved: Usage | None
    used: Usage
    calls: int = 1


class Alive(NamedTuple):
    """A worker is there, though it may have nothing to say."""


class TookOver(NamedTuple):
    """What workers had left in the folder of journals that were lost before the moment `began`, the
    answer to `Begin`, is stored."""

    began: float


class Told(NamedTuple):
    """A line of a worker's log."""

    logger: str
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Letter:
    """What a worker has to say at a time.

    Attributes:
        worker: its name.
        notices: in the order in which they were made; all come before the questions.
        questions: with numbers that the answers bear.
        reply_to: where answers go.
        counts: what calls have come to since the last letter, None for nothing.
    """

    worker: str
    notices: Sequence[Any]
    questions: Sequence[tuple[int, Any]]
    reply_to: str
    counts: CallCounts | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """To questions of one worker, by their numbers; an exception is raised where it was asked."""

    to: Sequence[tuple[int, Any]]


class Mailbox(Protocol):
    """How letters reach the other side, as one side sees it."""

    def post(self, address: str, letter: Letter | Answers) -> None:
        """Send it, without waiting; letters of one sender to one address keep their order."""

    def fetch(self, address: str) -> Awaitable[Sequence[Any]]:
        """All letters to an address, once there is one.

        Raises:
            Abort: the mailbox is gone.
        """

    def wait(self, address: str) -> Sequence[Any]:
        """As `fetch`, for a thread that may block."""


class Pigeonholes:
    """Letters by address, for one event loop: what a mailbox is made of."""

    def __init__(self) -> None:
        self._letters: dict[str, list[Any]] = {}
        self._come: dict[str, asyncio.Event] = {}

    def put(self, address: str, letter: Any) -> None:
        """Leave a letter."""
        self._letters.setdefault(address, []).append(letter)
        self._come.setdefault(address, asyncio.Event()).set()

    async def take(self, address: str) -> list[Any]:
        """All letters to an address, once there is one."""
        event = self._come.setdefault(address, asyncio.Event())
        await event.wait()
        event.clear()
        return self._letters.pop(address, [])
