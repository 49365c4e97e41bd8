"""Many dialogues with one model, through the cache, the gate, the retries and the caps."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import orjson

from graphs.judging import Abort, Unanswered
from panel.calls.budget import Budget, Caps
from panel.calls.cache import ReplyCache, default_folder
from panel.calls.caller import Caller, Line
from panel.calls.gate import shared_gate
from panel.config import ModelConfig
from panel.errors import ConfigurationError, RunStopped
from panel.models.catalogue import price_of
from panel.models.specs import speaker_for
from panel.models.weights import ENGINES
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
    embedded = model.provider == "local"
    price = model.price or price_of(model.model)
    if caps.usd is not None and price is None:
        raise ConfigurationError(
            f"the price of {model.model} is not known, so a cap in dollars cannot be kept: "
            "cap calls or tokens"
        )
    speaker = speaker_for(model, False)
    gate = shared_gate(
        orjson.dumps(speaker.parameters, option=orjson.OPT_SORT_KEYS),
        ENGINES if embedded else model.concurrency,
        model.requests_per_minute,
        model.tokens_per_minute,
    )
    line = Line(speaker, gate, timeout_s=None if embedded else model.timeout)
    cache = ReplyCache(default_folder())
    try:
        caller = Caller({model.model: line}, cache, Budget(caps, {model.model: price}))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_hold(caller, model.model, each)) for each in dialogues]
        return [task.result() for task in tasks]
    except* Abort as stopped:
        raise RunStopped(str(stopped.exceptions[0])) from None
    finally:
        await speaker.aclose()
        cache.close()


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
        await caller.forget(asks, page)
        return Answer(None, f"unparsed: {error}")
    finally:
        dialogue.close()
