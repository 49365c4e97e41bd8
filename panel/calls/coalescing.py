"""Questions of coroutines that a thread asks for them, those of one moment together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

_MOST_AT_ONCE = 500

Q = TypeVar("Q", bound=Hashable)


class Coalesced(Generic[Q]):
    """Has `ask` answer questions, in order and in a thread, all at once that have come while it
    answered those before. Equal questions that wait are asked once.

    `thread` runs whatever else must not happen at the same time.
    """

    def __init__(self, ask: Callable[[Sequence[Q]], Sequence[Any]], name: str) -> None:
        self._ask = ask
        self.thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._waiting: dict[Q, asyncio.Future[Any]] = {}
        self._asking: asyncio.Task[None] | None = None

    async def answer(self, question: Q) -> Any:
        """What `ask` says; what it raises is raised for each question that it was asked."""
        loop = asyncio.get_running_loop()
        if (answer := self._waiting.get(question)) is None:
            answer = self._waiting[question] = loop.create_future()
        if self._asking is None:
            self._asking = loop.create_task(self._ask_all(loop))
        # Another may wait for the same.
        return await asyncio.shield(answer)

    async def _ask_all(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while self._waiting:
                asked = list(self._waiting.items())[:_MOST_AT_ONCE]
                for question, _ in asked:
                    del self._waiting[question]
                questions = [question for question, _ in asked]
                try:
                    found = await loop.run_in_executor(self.thread, self._ask, questions)
                except Exception as error:
                    for _, answer in asked:
                        answer.set_exception(error)
                        # Read once: whoever asked may be gone.
                        answer.exception()
                else:
                    for (_, answer), said in zip(asked, found, strict=True):
                        answer.set_result(said)
        finally:
            self._asking = None
