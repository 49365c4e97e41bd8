"""A batch through a graph: as many responses at once as there is room for, verdicts as they come.

In which order the judges of a response are asked is the graph's business, and what may be
in flight at a model its gate's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from itertools import count
from typing import Any

from graphs import Response, Verdict
from graphs.judging import Means

Unit = tuple[Response, ...]
"""What a graph reads in one go: a response, or all responses to a prompt, two at least."""


async def one_by_one(responses: AsyncIterator[Response]) -> AsyncIterator[Unit]:
    """Each response as a unit of its own."""
    async for response in responses:
        yield (response,)


async def read(
    units: AsyncIterator[Unit],
    graph: Any,
    means: Means,
    texts: dict[str, Response],
    at_once: int,
) -> AsyncGenerator[Verdict, None]:
    """The verdicts on all units, in the order in which they are finished.

    Units are taken only as fast as they are read, `at_once` of them. `texts` is where
    `means` looks a response up by its key; it holds those that are being read.
    """
    numbers = count()

    async def judged(unit: Unit) -> list[Verdict]:
        # Numbers: two ids joined could be two others, and a stream may repeat itself.
        keys = tuple(str(next(numbers)) for _ in unit)
        texts.update(zip(keys, unit, strict=True))
        given = {"response": keys[0]} if len(keys) == 1 else {"responses": keys}
        done: dict[str, Any] = await graph.ainvoke(given, context=means)
        for key in keys:
            del texts[key]
        verdicts: list[Verdict] = done["verdicts"] if "verdicts" in done else [done["verdict"]]
        return verdicts

    # Taken apart from the reading, so that no verdict waits for a slow source.
    room = asyncio.Semaphore(at_once)
    reading: set[asyncio.Task[list[Verdict]]] = set()
    finished: asyncio.Queue[asyncio.Task[Any]] = asyncio.Queue()

    async def take() -> None:
        while True:
            await room.acquire()
            try:
                unit = await anext(units)
            except StopAsyncIteration:
                return
            task = asyncio.create_task(judged(unit))
            reading.add(task)
            task.add_done_callback(finished.put_nowait)

    taking = asyncio.create_task(take())
    taking.add_done_callback(finished.put_nowait)
    more = True
    try:
        while more or reading:
            task = await finished.get()
            result = task.result()
            if task is taking:
                more = False
            else:
                reading.remove(task)
                room.release()
                for verdict in result:
                    yield verdict
    finally:
        for task in (taking, *reading):
            task.cancel()
        await asyncio.gather(taking, *reading, return_exceptions=True)
