"""Many dialogues with one model, through the cache, the gate, the retries and the caps."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from graphs.context import Abort, Unanswered
from panel.calls.budget import Caps
from panel.calls.cache import key_of, open_reply_store, page_of
from panel.calls.caller import Caller
from panel.errors import RunStopped
from panel.judging.cost_estimate import CostEstimate, ModelEstimate, PredictedCalls
from panel.judging.model_access import open_caller
from panel.judging.preflight import refuse_unpriced
from panel.models.config import ModelConfig
from panel.plan.bound_models import BoundModel
from panel.plan.checks import refuse_repeats
from rubrics import Calls, ModelRequest, ModelResponse
from rubrics.replies import Unreadable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class QuestionReply(Generic[T]):
    """What came of one dialogue: a value, or why there is none."""

    value: T | None
    error: str | None = None


async def answers(
    model: ModelConfig,
    dialogues: Sequence[Generator[ModelRequest, ModelResponse, T]],
    caps: Caps,
    replicates: Sequence[int] | None = None,
) -> list[QuestionReply[T]]:
    """Hold every dialogue with the model, as many at a time as it takes; in the given order.

    `replicates` says for each dialogue for which time it is held, from 1 on: replies of another
    time are not taken for it. Without them each is held once.

    An answer that could not be read is asked for again by the next run; all others come from the
    cache then.

    Raises:
        ConfigurationError: the model cannot be had, gives the same answer each time, or has no
            known price where `caps` are in dollars.
        RunStopped: a reply could not be kept.
    """
    bound = _bound(model)
    refuse_unpriced([bound], caps)
    times = replicates or [1] * len(dialogues)
    refuse_repeats([bound], max(times, default=1))
    try:
        async with (
            open_caller({bound.id: bound}, caps) as caller,
            asyncio.TaskGroup() as group,
        ):
            tasks = [
                group.create_task(hold(caller, bound.id, each, time))
                for each, time in zip(dialogues, times, strict=True)
            ]
        return [task.result() for task in tasks]
    except* Abort as stopped:
        raise RunStopped(str(stopped.exceptions[0])) from None


def estimate_answers(
    model: ModelConfig,
    dialogues: Sequence[Generator[ModelRequest, ModelResponse, Any]],
    tokens: int,
    replicates: Sequence[int] | None = None,
) -> CostEstimate:
    """What holding these dialogues would take, the cache counted in; calls nothing.

    Each is taken to end with the first answer that the cache does not have, of about `tokens`
    tokens; `judgments` are dialogues. `replicates` as for `answers`.

    Raises:
        ConfigurationError: the model cannot be had.
    """
    part = ModelEstimate(_bound(model))
    parameters = part.bound.client.parameters
    with closing(open_reply_store()) as cache:
        predicted = PredictedCalls(cache)
        for dialogue, time in zip(dialogues, replicates or [1] * len(dialogues), strict=True):
            part.of += 1
            part.next_response()
            with suppress(StopIteration, Unreadable):
                request = next(dialogue)
                page = page_of(parameters, *request.blocks[:1])
                while (reply := predicted.reply(page, key_of(request, time))) is not None:
                    request = dialogue.send(reply)
                if predicted.is_new(page, key_of(request, time)):
                    part.judgments += 1
                    part.add_requests(request, Calls.just(1, tokens))
            dialogue.close()
    return part.estimate()


def _bound(model: ModelConfig) -> BoundModel:
    # Nobody judges here: how a judge would be asked is of no consequence.
    return BoundModel(model.id, model, "dimensions", "shared-prefix")


async def hold(
    caller: Caller, model: str, dialogue: Generator[ModelRequest, ModelResponse, T], time: int = 1
) -> QuestionReply[T]:
    """Hold a dialogue with one of a caller's models, for which time as for `answers`.

    Raises:
        Abort: a reply could not be kept.
    """
    requests: list[ModelRequest] = []
    page = ""
    try:
        request = next(dialogue)
        # What the dialogues about one text begin with; their replies are kept side by side.
        page = caller.page(model, *request.blocks[:1])
        while True:
            reply = await caller.complete(model, request, page, time)
            requests.append(request)
            request = dialogue.send(reply)
    except StopIteration as done:
        return QuestionReply(done.value)
    except Unanswered as error:
        return QuestionReply(None, f"{error.status}: {error}")
    except Abort:
        raise
    # One odd answer must not bring down the other dialogues, whatever is in it.
    except Exception as error:
        caller.forget(requests, page, time)
        unreadable = isinstance(error, Unreadable)
        why = f"unparsed: {error}" if unreadable else f"failed: {type(error).__name__}: {error}"
        return QuestionReply(None, why)
    finally:
        dialogue.close()
