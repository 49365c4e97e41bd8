"""The messages between workers and the driver of a run: questions, notices and answers.

On a worker's side, what it shares with others is asked of the driver; questions of one moment go in
one letter.

The driver's cache, as a worker uses it.
"""

from __future__ import annotations

import asyncio
import logging
import platform
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar, NamedTuple, Protocol

from persona_panel.calls.budget import Budget, CallCounts, CapReached, Caps
from persona_panel.calls.journal import JournalEntry, ReplyChange
from persona_panel.calls.journaled_store import JournaledStore, Pages, unsent_folder
from persona_panel.calls.rate_limiter import RateLimiter
from persona_panel.graphs.context import Abort
from persona_panel.models.config import Price
from persona_panel.rubrics import ModelResponse, Usage

DRIVER = "driver"
"""The address of the driver's letters."""
ALIVE_S = 15.0
"""The interval, in seconds, at which a worker reports that it is alive."""
FROM_WORKER = "from_worker"
"""The key of a log record of the driver that comes from a worker."""
LOST_S = 90.0
"""The time, in seconds, after which a silent worker counts as lost."""
TAKE_OVER_S = 30.0
"""The time, in seconds, for which a worker is waited for that takes over the journals of a lost
one."""


class TakenForLost(Abort):
    """A worker was silent for too long: its leases are given to others."""


# Questions, each with its answer


class ClaimReply(NamedTuple):
    """A wanted reply. The answer is the reply, or None: this worker may ask the model for it, and
    others wait until it has stored the reply or given up the claim."""

    page: str
    key: bytes


class Store(NamedTuple):
    """Replies to be kept in the cache or dropped from it, by page and key. Answered with None once
    that is done; claims on them have ended then."""

    changes: Mapping[str, Mapping[bytes, ReplyChange]]


class Enter(NamedTuple):
    """A call of about `tokens` tokens that wants to start, with the same `about` as others about
    one text. Answered with None once the limits of the model allow it; `Leave` says that it is
    over."""

    model: str
    tokens: int
    about: Hashable = None


class Reserve(NamedTuple):
    """The most that a call may take. Answered with None where it is set aside, else with the cap
    that forbids it."""

    model: str
    most: Usage


class Begin(NamedTuple):
    """A worker that is about to read what others have left in its folder of journals, whose name is
    the same for all who share it. Answered with the time, by the driver's clock."""

    journals: str


class Synchronize(NamedTuple):
    """A request to wait. Answered with None once all earlier notices have been handled."""


# Notices, without an answer


class GiveUp(NamedTuple):
    """A claim that led to no reply."""

    page: str
    key: bytes


class Leave(NamedTuple):
    """A call that is over; `about` as in `Enter`."""

    model: str
    about: Hashable = None


class Succeeded(NamedTuple):
    """A call that succeeded."""

    model: str
    latency_s: float


class PushedBack(NamedTuple):
    """A call that began `age_s` seconds ago and met a 429, an overload or a time-out; or, where
    `no_descriptor`, whose process could open no further file."""

    model: str
    age_s: float
    no_descriptor: bool = False


class Pause(NamedTuple):
    """A provider's request for this many seconds without a call."""

    model: str
    seconds: float


class CountTokens(NamedTuple):
    """A call's number of tokens, as it was counted before and as it turned out."""

    model: str
    estimated: int
    actual: int


class Settle(NamedTuple):
    """A call that was made and took this, out of what was set aside for it (None: nothing was).
    `calls` is 0 where it failed before it was sent."""

    model: str
    reserved: Usage | None
    used: Usage
    calls: int = 1


class Alive(NamedTuple):
    """A sign of life from a worker that may have nothing else to say."""


class TookOver(NamedTuple):
    """The journals of workers in this folder that were lost before `began`, the answer to `Begin`,
    are now stored."""

    began: float


class LogLine(NamedTuple):
    """A line of a worker's log."""

    logger: str
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Letter:
    """All that a worker has to say at one time.

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
    """Answers to questions of one worker, by their numbers; an exception is raised where it was
    asked."""

    to: Sequence[tuple[int, Any]]


class Mailbox(Protocol):
    """The way in which letters reach the other side, as one side sees it."""

    def post(self, address: str, letter: Letter | Answers) -> None:
        """Send a letter, without waiting; letters of one sender to one address keep their order."""

    def fetch(self, address: str) -> Awaitable[Sequence[Any]]:
        """Return all letters to an address, once there is one. Raises Abort: the mailbox is
        gone."""

    def wait(self, address: str) -> Sequence[Any]:
        """Return all letters to an address, as `fetch` does, for a thread that may block."""


class Pigeonholes:
    """Letters by address, for one event loop: the parts of a mailbox."""

    def __init__(self) -> None:
        self._letters: dict[str, list[Any]] = {}
        self._come: dict[str, asyncio.Event] = {}

    def put(self, address: str, letter: Any) -> None:
        """Add a letter for an address."""
        self._letters.setdefault(address, []).append(letter)
        self._come.setdefault(address, asyncio.Event()).set()

    async def take(self, address: str) -> list[Any]:
        """Return all letters to an address, once there is one."""
        event = self._come.setdefault(address, asyncio.Event())
        await event.wait()
        event.clear()
        return self._letters.pop(address, [])


_GATHERED_S = 0.005
"""The time for which questions gather: a letter costs more than a question."""


class LeaseClient:
    """Sends questions and notices to the driver, in letters; belongs to one event loop.

    `take_counts` returns what calls have come to since it was last called.
    """

    def __init__(
        self, name: str, mailbox: Mailbox, take_counts: Callable[[], CallCounts | None]
    ) -> None:
        self._name = name
        self._mailbox = mailbox
        self._take_counts = take_counts
        self._loop = asyncio.get_running_loop()
        self._numbers = count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._questions: list[tuple[int, Any]] = []
        self._notices: list[Any] = []
        self._due: asyncio.TimerHandle | None = None
        self._gone: Exception | None = None

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Receive answers for as long as the block lasts."""
        tasks = [asyncio.create_task(work) for work in (self._listen(), self._say_alive())]
        try:
            yield
        finally:
            self._send()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def ask(self, question: Any) -> Any:
        """Ask the driver, and return its answer. Raises Abort: the run cannot go on."""
        if self._gone is not None:
            raise self._gone
        number = next(self._numbers)
        self._waiting[number] = answer = self._loop.create_future()
        self._questions.append((number, question))
        self._send_soon()
        return await answer

    def tell(self, notice: Any) -> None:
        """Notify the driver."""
        self._notices.append(notice)
        self._send_soon()

    def _send_soon(self) -> None:
        if self._due is None:
            self._due = self._loop.call_later(_GATHERED_S, self._send)

    def _send(self) -> None:
        self._due = None
        if not self._questions and not self._notices:
            return
        counts = self._take_counts()
        letter = Letter(self._name, self._notices, self._questions, self._name, counts)
        self._questions, self._notices = [], []
        self._mailbox.post(DRIVER, letter)

    async def _say_alive(self) -> None:
        while True:
            await asyncio.sleep(ALIVE_S)
            self.tell(Alive())

    async def _listen(self) -> None:
        try:
            while True:
                for answers in await self._mailbox.fetch(self._name):
                    for number, answer in answers.to:
                        self._answered(number, answer)
        except Exception as error:
            self._gone = error
            for number in list(self._waiting):
                self._answered(number, error)

    def _answered(self, number: int, value: Any) -> None:
        answer = self._waiting.pop(number)
        # The caller may be gone.
        if answer.done():
            return
        if isinstance(value, Exception):
            answer.set_exception(value)
        else:
            answer.set_result(value)


class LeasedLimiter(RateLimiter):
    """The driver's limiter of a model, as a worker uses it."""

    def __init__(self, client: LeaseClient, model: str, *, counts_tokens: bool) -> None:
        super().__init__()
        self._client = client
        self._model = model
        self._counts_tokens = counts_tokens

    @property
    def counts_tokens(self) -> bool:
        return self._counts_tokens

    def pause_for(self, seconds: float) -> None:
        self._client.tell(Pause(self._model, seconds))

    async def enter(self, tokens: int, about: Hashable = None) -> None:
        await self._client.ask(Enter(self._model, tokens, about))

    def leave(self, about: Hashable = None) -> None:
        self._client.tell(Leave(self._model, about))

    def succeeded(self, latency_s: float) -> None:
        self._client.tell(Succeeded(self._model, latency_s))

    def pushed_back(self, began: float) -> None:
        self._client.tell(PushedBack(self._model, time.monotonic() - began))

    def no_descriptor(self, began: float) -> None:
        self._client.tell(PushedBack(self._model, time.monotonic() - began, no_descriptor=True))

    def settle(self, estimated: int, actual: int) -> None:
        if self._counts_tokens:
            self._client.tell(CountTokens(self._model, estimated, actual))


class LeasedBudget(Budget):
    """The driver's budget, as a worker uses it."""

    def __init__(self, client: LeaseClient, caps: Caps, prices: Mapping[str, Price | None]) -> None:
        super().__init__(caps, prices)
        self._client = client

    async def reserve(self, model: str, most: Usage) -> Usage:
        # Without a cap the driver sets aside what `Enter` says.
        if not self.limited:
            return most
        self.reached = self.reached or await self._client.ask(Reserve(model, most))
        if self.reached is not None:
            raise CapReached(self.reached)
        return most

    def has_room_for(self, model: str, most: Usage) -> bool:
        """Return True unless a cap is known to be reached: the driver decides when the call is
        reserved."""
        return self.reached is None

    def settle(self, model: str, reserved: Usage | None, used: Usage, *, calls: int = 1) -> None:
        self._client.tell(Settle(model, reserved if self.limited else None, used, calls))


class LogToDriver(logging.Handler):
    """Hands the log records of this process to the driver, from any thread."""

    def __init__(self, client: LeaseClient, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(logging.WARNING)
        self._tell = client.tell
        self._loop = loop

    def emit(self, record: logging.LogRecord) -> None:
        if hasattr(record, FROM_WORKER):
            return
        notice = LogLine(record.name, record.levelno, record.getMessage())
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._tell, notice)


class ClusterStore(JournaledStore):
    """A `RemoteReplyStore` that holds nothing for long: replies are in a journal on this machine
    until the driver has them. What a killed worker has left, the next one on its machine sends.

    `location` is that of the driver's cache.
    """

    batch_s: ClassVar[float] = 0.02

    def __init__(self, location: str, name: str, client: LeaseClient, mailbox: Mailbox) -> None:
        super().__init__(unsent_folder(location))
        self._location = location
        # The writer has its own address: it waits for answers while the loop may wait for it.
        self._name, self._reply_to = name, f"{name}/writer"
        self._client = client
        self._mailbox = mailbox
        # By page and key; whether the reply was put, so that the driver ends the claim with it.
        self._claims: dict[tuple[str, bytes], bool] = {}

    @property
    def location(self) -> str:
        return self._location

    @property
    def journals(self) -> str:
        """Return a name for the folder of journals that no other folder on any machine has."""
        status = self._folder.stat()
        return f"{platform.node()}:{status.st_dev}:{status.st_ino}"

    def put_stored(self, page: str, key: bytes, stored: bytes) -> None:
        """Keep a reply; raises as `put`."""
        super().put_stored(page, key, stored)
        if (page, key) in self._claims:
            self._claims[page, key] = True

    async def read_ahead(self, page: str, key: bytes) -> None:
        """Do nothing: what the driver has comes with the claim."""

    @asynccontextmanager
    async def claimed(self, page: str, key: bytes) -> AsyncIterator[ModelResponse | None]:
        """Yield the reply, or None with the right to ask for it; see `SharedReplyStore`."""
        reply: ModelResponse | None = await self._client.ask(ClaimReply(page, key))
        if reply is not None:
            yield reply
            return
        self._claims[page, key] = False
        try:
            yield None
        finally:
            if not self._claims.pop((page, key)):
                self._client.tell(GiveUp(page, key))

    def entries(self) -> Iterator[JournalEntry]:
        """Return nothing: entries are the driver's to list."""
        return iter(())

    def _write(self, changes: Pages, *, again: bool = False) -> None:
        letter = Letter(self._name, (), [(0, Store(changes))], self._reply_to)
        self._mailbox.post(DRIVER, letter)
        for answers in self._mailbox.wait(self._reply_to):
            for _, answer in answers.to:
                if isinstance(answer, Exception):
                    raise answer

    def _read_page(self, page: str) -> Iterable[tuple[bytes, bytes]]:
        return ()

    def _close_database(self) -> None:
        """Do nothing: there is no database here."""

    def _unmoved(self, error: Exception) -> str:
        return (
            f"Answers on their way to the cache {self._location} are in a journal in "
            f"{self._folder}; the next worker on this machine sends them."
        )
