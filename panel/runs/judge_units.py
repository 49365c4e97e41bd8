"""Units through a graph: as many at once as there is room for, verdicts as they come.

In which order the judges of a response are asked is the graph's business, and what may be
in flight at a model its rate limiter's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from itertools import count
from typing import Any

from persona_panel.calls.rate_limiter import InFlightLimit
from persona_panel.graphs import Response, Verdict
from persona_panel.graphs.context import GraphContext
from persona_panel.runs.judging.mode import Mode


async def judge_units(
    units: AsyncIterator[tuple[Response, ...]],
    mode: Mode,
    context: GraphContext,
    texts: dict[str, Response],
    at_once: int,
) -> AsyncGenerator[Verdict, None]:
    """The verdicts on all units, in the order in which they are finished.

    Units are taken only as fast as they are judged, `at_once` of them, beside those that wait for
    nothing but a server that is down. `texts` is where `context` looks a response up by its key;
    it holds those that are being judged.
    """
    numbers = count()

    async def judged(unit: tuple[Response, ...]) -> list[Verdict]:
        # Numbers: two ids joined could be two others, and a stream may repeat itself.
        keys = tuple(str(next(numbers)) for _ in unit)
        texts.update(zip(keys, unit, strict=True))
        with limit.work():
            verdicts = await mode.judge(keys, context)
        for key in keys:
            del texts[key]
        return verdicts

    # Taken apart from the reading, so that no verdict waits for a slow source.
    limit = InFlightLimit(at_once)
    reading: set[asyncio.Task[list[Verdict]]] = set()
    finished: asyncio.Queue[asyncio.Task[Any]] = asyncio.Queue()

    async def take_units() -> None:
        while True:
            await limit.enter()
            try:
                unit = await anext(units)
            except StopAsyncIteration:
                return
            task = asyncio.create_task(judged(unit))
            reading.add(task)
            task.add_done_callback(finished.put_nowait)

    taking = asyncio.create_task(take_units())
    taking.add_done_callback(finished.put_nowait)
    more = True
    try:
        while more or reading:
            task = await finished.get()
            verdicts: list[Verdict] | None = task.result()
            if verdicts is None:
                more = False
            else:
                reading.remove(task)
                limit.leave()
                for verdict in verdicts:
                    yield verdict
    finally:
        for task in (taking, *reading):
            task.cancel()
        await asyncio.gather(taking, *reading, return_exceptions=True)
