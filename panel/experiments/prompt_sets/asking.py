"""The way from a step's dialogues to their answers: by models, or for an estimate by none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from persona_panel.calls.cache import key_of, page_of
from persona_panel.calls.caller import Caller
from persona_panel.experiments.questions.calling import QuestionReply, hold
from persona_panel.graphs.context import Abort
from persona_panel.plan.bound_models import BoundModel
from persona_panel.rubrics import Calls, ModelRequest, ModelResponse
from persona_panel.rubrics.replies import Unreadable
from persona_panel.runs.judging.cost_estimate import CostEstimate, ModelEstimate, PredictedCalls

T = TypeVar("T")

OnProgress = Callable[[str, int, int], None]
"""Told of a step: its name, how many of its dialogues are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class ModelDialogue(Generic[T]):
    """A dialogue with a model; `hoped` is an answer as it should be, for an estimate."""

    model: str
    dialogue: Generator[ModelRequest, ModelResponse, T]
    hoped: str


class HoldDialogues(Protocol):
    """Holds the dialogues of a step, and gives what comes of each, in their order."""

    async def __call__(
        self, step: str, dialogues: Sequence[ModelDialogue[T]]
    ) -> list[QuestionReply[T]]: ...


@dataclass(frozen=True, slots=True)
class CalledModels:
    """Holds dialogues with models, as many at a time as they take.

    Raises:
        Abort: a reply could not be kept.
    """

    caller: Caller
    on_progress: OnProgress

    async def __call__(
        self, step: str, dialogues: Sequence[ModelDialogue[T]]
    ) -> list[QuestionReply[T]]:
        done, n = 0, len(dialogues)
        self.on_progress(step, 0, n)

        async def one(wanted: ModelDialogue[T]) -> QuestionReply[T]:
            nonlocal done
            reply = await hold(self.caller, wanted.model, wanted.dialogue)
            done += 1
            self.on_progress(step, done, n)
            return reply

        try:
            async with asyncio.TaskGroup() as tasks:
                held = [tasks.create_task(one(wanted)) for wanted in dialogues]
        except* Abort as group:
            raise group.exceptions[0] from None
        return [task.result() for task in held]


class EstimatedAnswers:
    """Answers dialogues from the cache, and as hoped where it has nothing; counts these calls."""

    def __init__(self, models: Mapping[str, BoundModel], predicted: PredictedCalls) -> None:
        self._parts = {name: ModelEstimate(bound) for name, bound in models.items()}
        self._predicted = predicted

    async def __call__(
        self, step: str, dialogues: Sequence[ModelDialogue[T]]
    ) -> list[QuestionReply[T]]:
        return [self._held(wanted) for wanted in dialogues]

    def estimates(self) -> list[CostEstimate]:
        """What the calls would take, by model; `judgments` are calls."""
        return [part.estimate() for part in self._parts.values()]

    def _held(self, wanted: ModelDialogue[T]) -> QuestionReply[T]:
        part, dialogue = self._parts[wanted.model], wanted.dialogue
        part.next_response()
        part.of += 1
        page = ""
        try:
            request = next(dialogue)
            page = page_of(part.bound.client.parameters, *request.blocks[:1])
            while True:
                key = key_of(request, 1)
                reply = self._predicted.reply(page, key)
                if reply is None:
                    reply = ModelResponse(wanted.hoped)
                    if self._predicted.is_new(page, key):
                        part.judgments += 1
                        part.add_requests(request, Calls.just(1, part.count(wanted.hoped)))
                request = dialogue.send(reply)
        except StopIteration as done:
            return QuestionReply(done.value)
        except Unreadable as error:
            return QuestionReply(None, f"unparsed: {error}")
        finally:
            dialogue.close()


def is_pending(reply: QuestionReply[T]) -> bool:
    """Whether there is no answer that another run could bring: the call failed or was not made."""
    return reply.error is not None and reply.error.partition(":")[0] in ("failed", "skipped")
