"""Many dialogues with one model, through the cache, the gate, the retries and the caps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from persona_panel.calls.budget import Caps
from persona_panel.calls.cache import key_of, open_reply_store, page_of
from persona_panel.calls.caller import Caller
from persona_panel.files.errors import RunStopped
from persona_panel.graphs.context import Abort, Answered, Unanswered, without_corrected
from persona_panel.models.config import ModelConfig
from persona_panel.planning.bound_models import BoundModel
from persona_panel.planning.panel_plan import refuse_repeats
from persona_panel.rubrics import Calls, ModelRequest, ModelResponse
from persona_panel.rubrics.replies import Unreadable
from persona_panel.runs.judging.cost_estimate import (
    CostEstimate,
    ModelEstimate,
    PredictedCalls,
    refuse_unpriced,
)
from persona_panel.runs.judging.model_access import open_caller

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class QuestionReply(Generic[T]):
    """The result of one dialogue: a value, or why there is none."""

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
    times = replicates or [1] * len(dialogues)
    async with answering(model, caps, max(times, default=1)) as held:
        return await held.answers(dialogues, times)


class Answering:
    """Dialogues with one model under common caps, one batch after another."""

    def __init__(self, caller: Caller, model: str) -> None:
        self._caller = caller
        self._model = model

    async def answers(
        self,
        dialogues: Sequence[Generator[ModelRequest, ModelResponse, T]],
        replicates: Sequence[int] | None = None,
    ) -> list[QuestionReply[T]]:
        """Get answers to a further batch, as `persona_panel.experiments.questions.calling.answers`
        does.

        Raises:
            RunStopped: a reply could not be kept.
        """
        times = replicates or [1] * len(dialogues)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(hold(self._caller, self._model, each, time))
                    for each, time in zip(dialogues, times, strict=True)
                ]
            return [task.result() for task in tasks]
        except* Abort as stopped:
            raise RunStopped(str(stopped.exceptions[0])) from None


@asynccontextmanager
async def answering(
    model: ModelConfig, caps: Caps, most_replicates: int = 1
) -> AsyncIterator[Answering]:
    """Share the limits of a model, and what may be spent, among several batches of dialogues.

    Raises:
        ConfigurationError: as `answers`.
    """
    bound = _bound(model)
    refuse_unpriced([bound], caps)
    refuse_repeats([bound], most_replicates)
    async with open_caller({bound.id: bound}, caps) as caller:
        yield Answering(caller, bound.id)


def estimate_answers(
    model: ModelConfig,
    dialogues: Sequence[Generator[ModelRequest, ModelResponse, Any]],
    tokens: int,
    replicates: Sequence[int] | None = None,
) -> CostEstimate:
    """Estimate the cost of these dialogues, the cache counted in, without a call.

    Each is taken to end with the first answer that the cache does not have, of about `tokens`
    tokens; `judgments` are dialogues. `replicates` as for `answers`.

    Raises:
        ConfigurationError: the model cannot be had.
    """
    with foreseeing(model) as foreseen:
        foreseen.answers(dialogues, tokens, replicates)
        return foreseen.part.estimate()


class Foreseen:
    """The estimated cost of several batches of dialogues with a model; calls nothing.

    Attributes:
        part: what was counted so far.
    """

    def __init__(self, part: ModelEstimate, predicted: PredictedCalls) -> None:
        self.part = part
        self._predicted = predicted

    def answers(
        self,
        dialogues: Sequence[Generator[ModelRequest, ModelResponse, T]],
        tokens: int,
        replicates: Sequence[int] | None = None,
    ) -> list[QuestionReply[T]]:
        """Count in a batch, as `estimate_answers` does. A dialogue has the value that it comes to
        with the replies in the cache; where one is missing, none and no error."""
        times = replicates or [1] * len(dialogues)
        return [self._answer(each, tokens, n) for each, n in zip(dialogues, times, strict=True)]

    def _answer(
        self, dialogue: Generator[ModelRequest, ModelResponse, T], tokens: int, time: int
    ) -> QuestionReply[T]:
        part = self.part
        part.of += 1
        part.next_response()
        try:
            request = next(dialogue)
            page = page_of(part.bound.client.parameters, *request.blocks[:1])
            while (reply := self._predicted.reply(page, key_of(request, time))) is not None:
                request = dialogue.send(reply)
            if self._predicted.is_new(page, key_of(request, time)):
                part.judgments += 1
                part.add_requests(request, Calls.just(1, tokens))
        except StopIteration as done:
            return QuestionReply(done.value)
        except Unreadable as error:
            return QuestionReply(None, f"unparsed: {error}")
        finally:
            dialogue.close()
        return QuestionReply(None)


@contextmanager
def foreseeing(model: ModelConfig) -> Iterator[Foreseen]:
    """Estimate the cost of several batches of dialogues that follow from each other.

    Raises:
        ConfigurationError: the model cannot be had.
    """
    part = ModelEstimate(_bound(model))
    with closing(open_reply_store()) as cache:
        yield Foreseen(part, PredictedCalls(cache))


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
    answered: list[Answered] = []
    page = ""
    try:
        request = next(dialogue)
        # What the dialogues about one text begin with; their replies are kept side by side.
        page = caller.page(model, *request.blocks[:1])
        while True:
            reply = await caller.complete(model, request, page, time)
            answered.append((request, reply))
            request = dialogue.send(reply)
    except StopIteration as done:
        return QuestionReply(done.value)
    except Unanswered as error:
        return QuestionReply(None, f"{error.status}: {error}")
    except Abort:
        raise
    # One odd answer must not bring down the other dialogues, whatever is in it.
    except Exception as error:
        caller.forget(without_corrected(answered), page, time)
        unreadable = isinstance(error, Unreadable)
        why = f"unparsed: {error}" if unreadable else f"failed: {type(error).__name__}: {error}"
        return QuestionReply(None, why)
    finally:
        dialogue.close()
