"""The comparative mode: the responses to a prompt are compared with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from persona_panel.calls.endpoint import estimated_tokens, tokens_in
from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.files.response_batch import Batch, as_async
from persona_panel.graphs import Response, Verdict
from persona_panel.graphs.comparative import comparative_graph
from persona_panel.graphs.context import GraphContext
from persona_panel.graphs.judging import run_dialogue
from persona_panel.graphs.questions import ComparisonTask
from persona_panel.plan.panel_plan import PanelPlan
from persona_panel.rubrics import Calls, ModelRequest, load_comparing
from persona_panel.rubrics.comparison import MOST
from persona_panel.runs.judging.cost_estimate import (
    CachedReplies,
    CostEstimate,
    ModelEstimate,
    PredictedCalls,
    context_from,
)
from persona_panel.runs.judging.preflight import longest_persona


@dataclass(frozen=True, slots=True)
class Comparative:
    """See `persona_panel.runs.judging.mode.Mode`. A unit is all responses to a prompt."""

    plan: PanelPlan

    def check(self, batch: Batch) -> None:
        """Name every prompt whose responses cannot be compared with each other, or do not fit
        together into a model's context.

        Raises:
            InputError: there are some.
        """
        _refuse_uncomparable(batch)
        _refuse_too_long_together(self.plan, batch)

    def units(self, batch: Batch) -> AsyncIterator[tuple[Response, ...]]:
        """All responses to a prompt at a time."""
        return as_async(_by_prompt(batch))

    def streamed_units(
        self, responses: AsyncIterator[Response]
    ) -> AsyncIterator[tuple[Response, ...]]:
        """None: a stream does not say how many responses a prompt has.

        Raises:
            ConfigurationError: always.
        """
        raise ConfigurationError(
            f"the elicitation {self.plan.models[0].elicitation!r} compares the responses to a "
            "prompt, and a stream does not say how many there are; use score() instead of "
            "astream()"
        )

    def estimate(self, batch: Batch, predicted: PredictedCalls) -> list[CostEstimate]:
        """By model, in the panel's order.

        Raises:
            InputError: a prompt's responses cannot be compared with each other.
        """
        _refuse_uncomparable(batch)
        return _estimates(self.plan, batch, predicted)

    def first_requests(self, responses: Sequence[Response]) -> Iterator[ModelRequest]:
        """What each judge is asked about responses to one prompt."""
        for model in self.plan.models:
            for task in _tasks_of(self.plan, model.id, responses):
                yield model.request_for(task)

    async def judge(self, keys: Sequence[str], context: GraphContext) -> list[Verdict]:
        """The verdicts on the responses to a prompt, in the order of their ids."""
        done: Mapping[str, Any] = await comparative_graph().ainvoke(
            cast(Any, {"responses": tuple(keys)}), context=context
        )
        verdicts: list[Verdict] = done["verdicts"]
        return verdicts


def _by_prompt(batch: Batch) -> Iterator[tuple[Response, ...]]:
    """All responses to a prompt at a time, as soon as the last of them has come.

    None is held longer than that.
    """
    sizes = Counter(item.prompt_id for item in batch.items)
    held: dict[str, list[Response]] = {}
    for response in batch:
        prompt_id = str(response.prompt_id)
        held.setdefault(prompt_id, []).append(response)
        if len(held[prompt_id]) == sizes[prompt_id]:
            yield tuple(held.pop(prompt_id))


def _tasks_of(
    plan: PanelPlan, model: str, responses: Sequence[Response]
) -> Iterator[ComparisonTask]:
    """What all judges of a model are asked."""
    [bound] = [one for one in plan.models if one.id == model]
    for judge in (judge for judge in plan.judges if judge.model == model):
        persona = plan.personas_by_id[judge.persona]
        yield from bound.comparison_tasks(plan.rubric, persona, judge, responses, plan.seed)


def _refuse_uncomparable(batch: Batch) -> None:
    """Refuse prompts that have a single response or too many, or come in versions."""
    faults = []
    if batch.versions is not None:
        found = "responses to several versions of a prompt (field condition)"
        expected = "one version, or an elicitation that rates each response by itself"
        faults.append(Fault(file=batch.versions, found=found, expected=expected))
    for responses in _by_prompt(batch):
        n = len(responses)
        if not 2 <= n <= MOST:
            faults.append(
                Fault(
                    file=str(responses[0].prompt_id),
                    field="prompt_id",
                    found=f"{n} response{'s' if n > 1 else ''} to the prompt",
                    expected=f"2 to {MOST}, to be compared with each other",
                )
            )
    if faults:
        raise InputError(faults)


def _refuse_too_long_together(plan: PanelPlan, batch: Batch) -> None:
    """Refuse prompts whose responses do not fit together into a model's context."""
    faults = []
    persona = longest_persona(plan.personas)
    longest_of = {judge.model: judge for judge in plan.judges if judge.persona == persona.id}
    limited = [(bound, bound.context_window) for bound in plan.models]
    for responses in _by_prompt(batch) if any(window for _, window in limited) else ():
        for bound, window in limited:
            if window is None:
                continue
            judge = longest_of[bound.id]
            longest = max(
                bound.comparison_tasks(plan.rubric, persona, judge, responses, plan.seed),
                key=_task_tokens,
            )
            needed = estimated_tokens(bound.request_for(longest))
            if needed > window:
                named = ", ".join(sorted(response.id for response in longest.responses))
                faults.append(
                    Fault(
                        file=str(responses[0].prompt_id),
                        field="responses",
                        found=f"about {needed:,} tokens with the question for {named} together",
                        expected=f"at most {window:,}, the context of {bound.id}: leave out or "
                        "shorten responses, leave this model out, or set its context_window in a "
                        "panel file if it takes more",
                    )
                )
    if faults:
        raise InputError(faults)


def _estimates(plan: PanelPlan, batch: Batch, predicted: PredictedCalls) -> list[CostEstimate]:
    cached = CachedReplies(plan.models, predicted)
    context = context_from(cached, plan)
    parts = {bound.id: ModelEstimate(bound) for bound in plan.models}
    for responses in _by_prompt(batch):
        cached.next_response()
        for part in parts.values():
            part.next_response()
        for judge in plan.judges:
            part = parts[judge.model]
            elicitation = load_comparing(part.bound.elicitation)
            missing_of: set[str] = set()
            persona = plan.personas_by_id[judge.persona]
            for task in part.bound.comparison_tasks(
                plan.rubric, persona, judge, responses, plan.seed
            ):
                dialogue = elicitation.dialogue(task.comparison)
                _, missing = cached.of(run_dialogue(dialogue, judge, task.responses[0], context))
                if missing is None or not predicted.is_new(missing.page, missing.key):
                    continue
                missing_of |= {response.id for response in task.responses}
                tokens = elicitation.tokens(len(task.responses))
                part.add_requests(missing.request, Calls.just(1, tokens))
            part.judgments += len(missing_of)
    for part in parts.values():
        part.of = len(batch) * sum(judge.model == part.bound.id for judge in plan.judges)
    return [part.estimate() for part in parts.values()]


def _task_tokens(task: ComparisonTask) -> int:
    return sum(
        tokens_in(response.text) + tokens_in(response.context or "") for response in task.responses
    )
