"""The way from seats to models: a line to each, and what the judging graph needs to call them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import orjson

from graphs import Judge, Judgment, Response
from graphs.deliberation import Deliberation
from graphs.judging import Means
from panel.calls.budget import Budget, Caps
from panel.calls.cache import ReplyCache, default_folder
from panel.calls.caller import Caller, Line
from panel.calls.gate import shared_gate
from panel.models.weights import ENGINES
from panel.seating import Seat
from personas import Persona
from rubrics import Ask, Reply, Rubric

T = TypeVar("T")

_users: Counter[tuple[asyncio.AbstractEventLoop, int]] = Counter()
"""How many runs of a loop use a speaker, by its id: whoever leaves last closes it."""


@asynccontextmanager
async def calling(
    seats: Mapping[str, Seat], caps: Caps, concurrency: int | None
) -> AsyncIterator[Caller]:
    """A caller of these models by these names, within the caps."""
    cache = ReplyCache(default_folder())
    loop = asyncio.get_running_loop()
    speakers = [(loop, id(seat.speaker)) for seat in seats.values()]
    _users.update(speakers)
    budget = Budget(caps, {name: seat.price for name, seat in seats.items()})
    try:
        yield Caller(
            {name: _line(seat, concurrency) for name, seat in seats.items()}, cache, budget
        )
    finally:
        for speaker, seat in zip(speakers, seats.values(), strict=True):
            _users[speaker] -= 1
            # Another run of this loop may be in the middle of a call.
            if not _users[speaker]:
                del _users[speaker]
                await seat.speaker.aclose()
        cache.close()


def concurrency_of(seat: Seat, otherwise: int | None) -> int | None:
    """How many calls may be in flight; None: as many as the provider takes, which is found
    out."""
    return ENGINES if seat.embedded else seat.config.concurrency or otherwise


def judging_means(
    rubric: Rubric,
    seats: Sequence[Seat],
    personas: Sequence[Persona],
    judges: Sequence[Judge],
    texts: Mapping[str, Response],
    caller: Caller,
    tell: Callable[[Judgment], None],
    *,
    deliberation: Deliberation | None,
    seed: int,
) -> Means:
    """What the judging graph needs. `texts` may grow while it runs."""

    async def ask(judge: Judge, response: Response, ask: Ask) -> Reply:
        return await caller.ask(judge.model, ask, page(judge, response), judge.replicate)

    def forget(judge: Judge, response: Response, asks: Sequence[Ask]) -> None:
        caller.forget(asks, page(judge, response), judge.replicate)

    def page(judge: Judge, response: Response) -> str:
        return caller.page(judge.model, response.prompt, response.text, response.context)

    return Means(
        rubric=rubric,
        layout=seats[0].layout,
        deliberation=deliberation,
        seed=seed,
        apart=frozenset(seat.id for seat in seats if seat.apart),
        personas={persona.id: persona for persona in personas},
        judges=judges,
        responses=texts,
        ask=ask,
        turn=caller.turn,
        forget=forget,
        tell=tell,
    )


def _line(seat: Seat, concurrency: int | None) -> Line:
    config = seat.config
    return Line(
        speaker=seat.speaker,
        gate=shared_gate(
            orjson.dumps(seat.speaker.parameters, option=orjson.OPT_SORT_KEYS),
            concurrency_of(seat, concurrency),
            config.requests_per_minute,
            config.tokens_per_minute,
        ),
        one_by_one=seat.embedded,
    )


def in_a_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run it to its end, also where a loop runs already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # A notebook's loop is already running here: the work gets one of its own, beside it.
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()

    async def told() -> T:
        task = asyncio.ensure_future(work)
        started.set_result((asyncio.get_running_loop(), task))
        return await task

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(asyncio.run, told())
        try:
            return running.result()
        except KeyboardInterrupt:
            # Else leaving the block would wait for all that is still to be paid for.
            loop, task = started.result()
            loop.call_soon_threadsafe(task.cancel)
            raise
