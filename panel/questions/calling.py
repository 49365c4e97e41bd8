"""Many dialogues with one model, through the cache, the gate, the retries and the caps."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from graphs.judging import Abort, Unanswered
from panel.calling import calling
from panel.calls.budget import Caps
from panel.calls.caller import Caller
from panel.config import ModelConfig
from panel.errors import RunStopped
from panel.models.specs import speaker_for
from panel.preflight import refuse_unpriced
from panel.seating import Seat
from rubrics import Ask, Reply
from rubrics.replies import Unreadable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What came of one dialogue: a value, or why there is none."""

    value: T | None
    error: str | None = None


async def answers(
    model: ModelConfig, dialogues: Sequence[Generator[Ask, Reply, T]], caps: Caps
) -> list[Answer[T]]:
    """Hold every dialogue with the model, as many at a time as it takes; in the given order.

    An answer that could not be read is asked for again by the next run; all others come
    from the cache then.

    Raises:
        ConfigurationError: the model cannot be had, or has no known price where `caps` are
            in dollars.
        RunStopped: a reply could not be kept.
    """
    # Nobody judges here: how a judge would be asked is of no consequence.
    seat = Seat(model.model, model, speaker_for(model), "dimensions", "shared-prefix")
    refuse_unpriced([seat], caps)
    try:
        async with calling({seat.id: seat}, caps, None) as caller, asyncio.TaskGroup() as group:
            tasks = [group.create_task(_hold(caller, seat.id, each)) for each in dialogues]
        return [task.result() for task in tasks]
    except* Abort as stopped:
        raise RunStopped(str(stopped.exceptions[0])) from None


async def _hold(caller: Caller, model: str, dialogue: Generator[Ask, Reply, T]) -> Answer[T]:
    asks: list[Ask] = []
    page = ""
    try:
        ask = next(dialogue)
        # What the dialogues about one text begin with; their replies are kept side by side.
        page = caller.page(model, *ask.blocks[:1])
        while True:
            asks.append(ask)
            ask = dialogue.send(await caller.ask(model, ask, page))
    except StopIteration as done:
        return Answer(done.value)
    except Unanswered as error:
        return Answer(None, f"{error.status}: {error}")
    except Unreadable as error:
        caller.forget(asks, page)
        return Answer(None, f"unparsed: {error}")
    finally:
        dialogue.close()
