"""A worker's side: what it shares with others, asked of the driver, what is asked at one moment
together."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any

from persona_panel.calls.budget import Budget, CapReached, Caps
from persona_panel.calls.call_counts import CallCounts
from persona_panel.calls.rate_limiter import RateLimiter
from persona_panel.clusters.messages import (
    ALIVE_S,
    DRIVER,
    FROM_WORKER,
    Alive,
    CountTokens,
    Enter,
    Leave,
    Letter,
    Mailbox,
    Pause,
    PushedBack,
    Reserve,
    Settle,
    Succeeded,
    Told,
)
from persona_panel.models.catalogue import Price
from persona_panel.rubrics import Usage

_GATHERED_S = 0.005
"""How long questions gather: a letter costs more than a question."""


class LeaseClient:
    """Asks the driver and tells it, in letters; belongs to one event loop.

    `take_counts` gives what calls have come to since it was last called.
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
        """Answers come for as long as the block lasts."""
        tasks = [asyncio.create_task(work) for work in (self._listen(), self._say_alive())]
        try:
            yield
        finally:
            self._send()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def ask(self, question: Any) -> Any:
        """The driver's answer.

        Raises:
            Abort: the run cannot go on.
        """
        if self._gone is not None:
            raise self._gone
        number = next(self._numbers)
        self._waiting[number] = answer = self._loop.create_future()
        self._questions.append((number, question))
        self._send_soon()
        return await answer

    def tell(self, notice: Any) -> None:
        """Have the driver know."""
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
                    for number, said in answers.to:
                        self._answered(number, said)
        except Exception as error:
            self._gone = error
            for number in list(self._waiting):
                self._answered(number, error)

    def _answered(self, number: int, said: Any) -> None:
        answer = self._waiting.pop(number)
        # Whoever asked may be gone.
        if answer.done():
            return
        if isinstance(said, Exception):
            answer.set_exception(said)
        else:
            answer.set_result(said)


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

    async def enter(self, tokens: int) -> None:
        await self._client.ask(Enter(self._model, tokens))

    def leave(self) -> None:
        self._client.tell(Leave(self._model))

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
        """Whether nothing is known against it: the driver decides when it is reserved."""
        return self.reached is None

    def settle(self, model: str, reserved: Usage | None, used: Usage, *, calls: int = 1) -> None:
        self._client.tell(Settle(model, reserved if self.limited else None, used, calls))


class LogToDriver(logging.Handler):
    """Hands what this process logs to the driver, from whatever thread."""

    def __init__(self, client: LeaseClient, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(logging.WARNING)
        self._tell = client.tell
        self._loop = loop

    def emit(self, record: logging.LogRecord) -> None:
        if hasattr(record, FROM_WORKER):
            return
        notice = Told(record.name, record.levelno, record.getMessage())
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._tell, notice)
