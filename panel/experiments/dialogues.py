"""Jobs of dialogues with models, one batch of them after another: followed through the cache for an
estimate, or held through the cache, the gate, the retries and the caps."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.calls.cache import key_of, page_of
from persona_panel.calls.caller import Caller
from persona_panel.graphs.context import Abort, Answered, Unanswered, without_corrected
from persona_panel.models.config import ModelConfig
from persona_panel.planning.bound_models import BoundModel, bind_writers
from persona_panel.rubrics import ModelRequest, ModelResponse, Status
from persona_panel.rubrics.replies import Unreadable
from persona_panel.runs.cost_estimate import CostEstimate, ModelEstimate, PredictedCalls
from persona_panel.runs.execution import CALLED, Execution
from persona_panel.runs.job import Job, predicted_calls

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class DialogueReply(Generic[T]):
    """The result of one dialogue: a value, or why there is none."""

    value: T | None
    error: str | None = None

    @property
    def is_pending(self) -> bool:
        """Return whether another run could bring the answer: the call failed or was not made."""
        return self.error is not None and self.error.partition(":")[0] in ("failed", "skipped")


@dataclass(frozen=True, slots=True)
class ModelDialogue(Generic[T]):
    """A dialogue with the model of a name: `steps` yields what it is asked and is sent its answers,
    `time` (from 1 on) sets replies apart that are asked for several times. Where the cache does not
    say, an estimate takes the answer to be of `tokens` and the dialogue to come to `expected`, or
    the answer to be `hoped`."""

    model: str
    steps: Generator[ModelRequest, ModelResponse, T]
    tokens: int = 0
    expected: T | None = None
    hoped: str | None = None
    time: int = 1


@dataclass(frozen=True, slots=True)
class DialogueStep:
    """The beginning of a step: its name, and how many dialogues it has, by model."""

    name: str
    by_model: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DialogueDone:
    """The end of a dialogue; `cached` where it took no call."""

    model: str
    status: Status
    cached: bool


class HoldDialogues(Protocol):
    """Holds the dialogues of a step, and gives what comes of each, in their order."""

    async def __call__(
        self, step: str, dialogues: Sequence[ModelDialogue[T]]
    ) -> list[DialogueReply[T]]:
        """Hold them, as many at a time as the models take."""


class DialogueJob(Job[R]):
    """A job that holds dialogues. An answer that could not be read is asked for again by the next
    run; all others come from the cache then."""

    what = "calls"

    @abstractmethod
    async def made(self, hold: HoldDialogues) -> R:
        """Return what comes of the dialogues, which are held by `hold`; wait for nothing else."""

    def estimate(self) -> list[CostEstimate]:
        """Estimate the cost by model, the cache counted in, without a call; `judgments` are
        dialogues."""
        with predicted_calls() as predicted:
            foreseen = _ForeseenDialogues(self.models, predicted)
            try:
                self.made(foreseen).send(None)
            except StopIteration:
                return [part.estimate() for part in foreseen.parts.values()]
        raise RuntimeError("dialogues that are answered from the cache wait for nothing")

    async def run(
        self,
        caps: Caps = NO_CAPS,
        execution: Execution = CALLED,
        on_event: Callable[[Any], None] | None = None,
    ) -> R:
        async with self.calling(caps, execution) as caller, self.asking(caller, execution):
            return await self.held_by(caller, on_event)

    async def held_by(self, caller: Caller, on_event: Callable[[Any], None] | None) -> R:
        """Return what comes of the dialogues, held by a caller that is open."""
        return await self.made(_CalledDialogues(caller, on_event))


def models_of(model: ModelConfig) -> dict[str, BoundModel]:
    """Return the model of a job that has one, by its name. Raises ConfigurationError where it
    cannot be had."""
    return {bound.id: bound for bound in bind_writers([model], "model")}


class _CalledDialogues:
    """Holds dialogues with models; raises Abort where a reply could not be kept."""

    def __init__(self, caller: Caller, on_event: Callable[[Any], None] | None) -> None:
        self._caller, self._on_event = caller, on_event or (lambda event: None)

    async def __call__(
        self, step: str, dialogues: Sequence[ModelDialogue[T]]
    ) -> list[DialogueReply[T]]:
        self._on_event(DialogueStep(step, Counter(dialogue.model for dialogue in dialogues)))
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._held(dialogue)) for dialogue in dialogues]
        except* Abort as stopped:
            raise stopped.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _held(self, dialogue: ModelDialogue[T]) -> DialogueReply[T]:
        caller, model = self._caller, dialogue.model
        steps, time = dialogue.steps, dialogue.time
        answered: list[Answered] = []
        page = ""
        status: Status = "scored"
        try:
            request = next(steps)
            # What the dialogues about one text begin with; their replies are kept side by side.
            page = caller.page(model, *request.blocks[:1])
            while True:
                reply = await caller.complete(model, request, page, time)
                answered.append((request, reply))
                request = steps.send(reply)
        except StopIteration as done:
            return DialogueReply(done.value)
        except Unanswered as error:
            status = error.status
            return DialogueReply(None, f"{status}: {error}")
        except Abort:
            raise
        # One odd answer must not bring down the other dialogues, whatever is in it.
        except Exception as error:
            caller.forget(without_corrected(answered), page, time)
            unread = isinstance(error, Unreadable)
            status, why = ("unparsed", "") if unread else ("failed", f"{type(error).__name__}: ")
            return DialogueReply(None, f"{status}: {why}{error}")
        finally:
            steps.close()
            cached = bool(answered) and all(reply.cached for _, reply in answered)
            self._on_event(DialogueDone(model, status, cached))


class _ForeseenDialogues:
    """Answers dialogues from the cache, else as is expected, and counts these calls by model."""

    def __init__(self, models: Mapping[str, BoundModel], predicted: PredictedCalls) -> None:
        self.parts = {name: ModelEstimate(bound) for name, bound in models.items()}
        self._predicted = predicted

    async def __call__(
        self, step: str, dialogues: Sequence[ModelDialogue[T]]
    ) -> list[DialogueReply[T]]:
        return [self._followed(dialogue) for dialogue in dialogues]

    def _followed(self, dialogue: ModelDialogue[T]) -> DialogueReply[T]:
        part, steps = self.parts[dialogue.model], dialogue.steps
        part.of += 1
        part.next_response()
        try:
            request = next(steps)
            page = page_of(part.bound.client.parameters, *request.blocks[:1])
            while True:
                reply = self._predicted.reply(page, key_of(request, dialogue.time))
                if reply is None:
                    hoped = dialogue.hoped
                    tokens = dialogue.tokens if hoped is None else part.count(hoped)
                    part.add_new(self._predicted, page, request, tokens, dialogue.time)
                    if hoped is None:
                        return DialogueReply(dialogue.expected)
                    reply = ModelResponse(hoped)
                request = steps.send(reply)
        except StopIteration as done:
            return DialogueReply(done.value)
        except Unreadable as error:
            return DialogueReply(None, f"unparsed: {error}")
        finally:
            steps.close()
