"""The modes of judging and what a run needs of each: pointwise, one response at a time, and
comparative, all responses to a prompt.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import attrgetter
from types import ModuleType
from typing import Any, Protocol, cast

from persona_panel.calls.endpoint import estimated_tokens, tokens_in
from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.files.outputs import own_ids
from persona_panel.files.responses import Batch, as_async
from persona_panel.graphs import Judge, Judgment, Response, Verdict
from persona_panel.graphs.context import GraphContext
from persona_panel.graphs.deliberation import (
    Deliberation,
    StoppingRuleError,
    latest_judgments,
    may_revise,
    peer_name,
    should_continue,
)
from persona_panel.graphs.dialogues import ask_judge, ask_revision, run_dialogue, verdict_of_kept
from persona_panel.graphs.records import ComparisonTask, question_of
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.rubrics import (
    Calls,
    ModelRequest,
    Rubric,
    Usage,
    calls_by_dimension,
    load_comparing,
    load_elicitation,
)
from persona_panel.rubrics.comparison import MOST
from persona_panel.rubrics.wording import REASON_TOKENS, Peer, peer_feedback
from persona_panel.runs.cost_estimate import (
    CachedReplies,
    CostEstimate,
    MissingReply,
    ModelEstimate,
    PredictedCalls,
    context_from,
    longest_persona,
)
from persona_panel.runs.judgment_lines import judgment_key


class PointwiseEstimator:
    """A panel's reading of responses one by one, followed through the cache."""

    def __init__(self, plan: PanelPlan, predicted: PredictedCalls) -> None:
        models, rubric = plan.models, plan.rubric
        self._cached = CachedReplies(models, predicted)
        self._context = context_from(self._cached, plan)
        self._predicted = predicted
        self._parts = {bound.id: ModelEstimate(bound) for bound in models}
        self._calls = {
            bound.id: (
                calls_by_dimension(elicitation, rubric, bound.one_call_per_dimension)
                if plan.settings.one_dimension_per_call
                else elicitation.calls(rubric, bound.one_call_per_dimension)
            )
            for bound in models
            for elicitation in (load_elicitation(bound.elicitation),)
        }
        self._first_rubric = plan.first_rubric

    def estimates(self, batch: Batch) -> list[CostEstimate]:
        """Return the estimates by model, in the panel's order."""
        for response in batch:
            self._cached.next_response()
            for part in self._parts.values():
                part.next_response()
            self._follow(response)
        for part in self._parts.values():
            part.add_probe(self._predicted)
        return [part.estimate() for part in self._parts.values()]

    def _follow(self, response: Response) -> None:
        """Follow one response through the rounds, as `persona_panel.graphs.judging` leads it."""
        context, rules = self._context, self._context.deliberation
        judgments: list[Judgment] = []
        whole = True
        for judge in context.judges:
            part = self._parts[judge.model]
            judgment, missing = self._cached.of(ask_judge(judge, response, context))
            judgments.append(judgment)
            part.of += 1
            if missing is not None:
                whole = False
                if self._predicted.is_new(missing.page, missing.key):
                    part.judgments += 1
                    part.add_requests(missing.request, missing.left_of(self._calls[judge.model]))
        if rules is None:
            return
        while whole and self._goes_on(judgments, rules):
            now, again = latest_judgments(judgments), []
            for judge in context.judges:
                if may_revise(now[judge]):
                    judgment, missing = self._cached.of(
                        ask_revision(judge, response, judgments, context)
                    )
                    again.append(judgment)
                    if missing is not None:
                        whole = False
                        self._revision(judge, judgment, missing)
            judgments += again
        if not whole:
            self._unknown_rounds(response, judgments, rules)

    def _goes_on(self, judgments: Sequence[Judgment], rules: Deliberation) -> bool:
        try:
            return should_continue(judgments, rules, self._context.output_rubric)
        except StoppingRuleError as error:
            raise ConfigurationError(f"{error}; repair the rule") from error

    def _revision(self, judge: Judge, judgment: Judgment, missing: MissingReply) -> None:
        """Count a revision that the cache does not hold, or of which it lacks what changed the
        judge's mind."""
        if not self._predicted.is_new(missing.page, missing.key):
            return
        part = self._parts[judge.model]
        if judgment.reason_missing is not None:
            part.add_requests(missing.request, Calls.just(1, REASON_TOKENS))
        else:
            part.add_requests(missing.request, _revising(missing.left_of(self._calls[judge.model])))

    def _unknown_rounds(
        self, response: Response, judgments: Sequence[Judgment], rules: Deliberation
    ) -> None:
        """Count the rounds that come after one that the cache does not hold whole: what peers will
        say is not known. All are reckoned with, and everybody to change a rating in each."""
        last = max(judgment.round for judgment in judgments)
        # The cache's own words would have been taken; what it lacks may be a judgment.
        judges = [
            judge
            for judge, judgment in latest_judgments(judgments).items()
            if may_revise(judgment) or judgment.status == "skipped"
        ]
        left = rules.rounds + 1 - last
        if len(judges) < 2 or not left:
            return
        # Where nobody moves, a judge is asked the same words again, and the cache answers.
        for_sure = last == 1 and rules.stop_when is None and rules.spread_above is None
        for judge in judges:
            part, calls = self._parts[judge.model], _revising(self._calls[judge.model])
            request = self._first_request(judge, response)
            shown = (len(judges) - 1) * part.count(_reading_of(self._context.rubric))
            rounds = Calls(
                calls.fewest if for_sure else 0,
                left * calls.most,
                left * calls.reckoned,
                calls.tokens,
            )
            number = rounds.reckoned
            thinking = number * part.thinking(request, calls.tokens)
            used = Usage(
                input=number * (part.tokens(request) + shown),
                output=left * ((calls.reckoned - 1) * calls.tokens + REASON_TOKENS) + thinking,
                reasoning=thinking,
            )
            part.add(rounds, used)

    def _first_request(self, judge: Judge, response: Response) -> ModelRequest:
        persona = self._context.personas[judge.persona]
        return self._parts[judge.model].bound.first_request(self._first_rubric, persona, response)


def _revising(calls: Calls) -> Calls:
    """Return the calls of a revision: as many as a reading, and one more where a rating changes."""
    return Calls(calls.fewest, calls.most + 1, calls.reckoned + 1, calls.tokens)


def peer_tokens(plan: PanelPlan, response: Response) -> int:
    """Estimate how many tokens a judge is shown of its peers' readings of a response, in a
    deliberation; 0 where there is none."""
    rules = plan.settings.deliberation
    if rules is None or len(plan.judges) < 2:
        return 0
    reasons = 0
    if rules.reveal != "scores":
        length = {
            bound.id: load_elicitation(bound.elicitation).calls(plan.rubric).tokens
            for bound in plan.models
        }
        reasons = sum(length[judge.model] for judge in plan.judges[1:])
    ratings = None if rules.reveal == "rationales" else _ratings_of(plan.output_rubric)
    peers = [
        Peer(peer_name(judge, plan.personas_by_id) if rules.named else "reader 10", ratings, None)
        for judge in plan.judges[1:]
    ]
    question = question_of(
        plan.rubric, plan.personas[0], response, plan.settings.layout, one_call_per_dimension=False
    )
    return reasons + tokens_in(peer_feedback(_ratings_of(plan.output_rubric), peers, question))


def _ratings_of(rubric: Rubric) -> str:
    return ", ".join(f"{dimension.label} 5" for dimension in rubric.dimensions)


def _reading_of(rubric: Rubric) -> str:
    """Return an example, of about the usual length, of what a judge is shown of one peer."""
    return f"<reader 10 00000000>\n{_ratings_of(rubric)}\n</reader 10 00000000>\n\n"


@dataclass(frozen=True, slots=True)
class Pointwise:
    """The mode in which responses are judged one by one; see `Mode`. A unit is one response."""

    plan: PanelPlan

    def check(self, batch: Batch) -> None:
        """Name every response that cannot fit into a model's context, with the longest persona and,
        where the panel deliberates, about as many words of peers as a judge is shown. Raises
        InputError: there are some."""
        faults = []
        persona = longest_persona(self.plan.personas)
        blocks = "with the question"
        if self.plan.settings.deliberation is not None:
            blocks += " and the peers' readings"
        for model in self.plan.models:
            window = model.context_window
            if window is None:
                continue
            around = None
            for place, response in enumerate(batch, start=1):
                if around is None:
                    first = model.first_request(self.plan.first_rubric, persona, response)
                    around = estimated_tokens(first) - _response_tokens(response)
                    around += peer_tokens(self.plan, response)
                needed = around + _response_tokens(response)
                if needed > window:
                    faults.append(
                        Fault(
                            file="responses",
                            line=place,
                            unit="row",
                            field=" ".join(filter(None, ["response", own_ids(response.id)])),
                            actual=f"about {needed:,} tokens {blocks}",
                            expected=f"at most {window:,}, the context of {model.id}: shorten the "
                            "response, leave this model out, or set its context_window in a panel "
                            "file if it takes more",
                        )
                    )
        if faults:
            raise InputError(faults)

    def units(self, batch: Batch) -> AsyncIterator[tuple[Response, ...]]:
        """Return each response as a unit of its own."""
        return self.streamed_units(as_async(batch.shuffled(self.plan.settings.seed)))

    async def streamed_units(
        self, responses: AsyncIterator[Response]
    ) -> AsyncIterator[tuple[Response, ...]]:
        """Return each response as a unit of its own."""
        async for response in responses:
            yield (response,)

    def estimate(self, batch: Batch, predicted: PredictedCalls) -> list[CostEstimate]:
        """Return the estimates by model, in the panel's order."""
        return PointwiseEstimator(self.plan, predicted).estimates(batch)

    def count_unanswered(self, batch: Batch, predicted: PredictedCalls, kept: Set[int]) -> int:
        """Count the judgments of `kept` whose first round the cache lacks."""
        if self.plan.graph is not None:
            # What a graph of the user's own asks is known only when it runs.
            return 0
        cached = CachedReplies(self.plan.models, predicted)
        context, n = context_from(cached, self.plan), 0
        for response in batch:
            cached.next_response()
            for judge in context.judges:
                if hash(judgment_key(str(response.prompt_id), response.id, judge.id)) in kept:
                    _, missing = cached.of(ask_judge(judge, response, context))
                    n += missing is not None
        return n

    def first_requests(self, responses: Sequence[Response]) -> Iterator[ModelRequest]:
        """Yield the first request of each judge about each response."""
        by_id = {model.id: model for model in self.plan.models}
        for judge in self.plan.judges:
            persona = self.plan.personas_by_id[judge.persona]
            for response in responses:
                yield by_id[judge.model].first_request(self.plan.first_rubric, persona, response)

    async def judge(self, keys: Sequence[str], context: GraphContext) -> list[Verdict]:
        """Yield the verdict on the one response of a unit."""
        [key] = keys
        if (verdict := await verdict_of_kept(key, context)) is not None:
            return [verdict]
        return [(await _judging().judge_response(key, context))["verdict"]]


@cache
def _judging() -> ModuleType:
    """Return the judging graph's module: LangGraph takes longer to import than a small batch to be
    judged from its cache."""
    from persona_panel.graphs import judging

    # A command has frozen what was imported before its run, which garbage is not looked for in.
    if gc.get_freeze_count():
        gc.freeze()
    return judging


def _response_tokens(response: Response) -> int:
    return tokens_in(response.prompt) + tokens_in(response.text) + tokens_in(response.context or "")


@dataclass(frozen=True, slots=True)
class Comparative:
    """The mode in which the responses to a prompt are compared; see `Mode`. A unit is all of
    them."""

    plan: PanelPlan

    def check(self, batch: Batch) -> None:
        """Name every prompt whose responses cannot be compared with each other, or do not fit
        together into a model's context. Raises InputError: there are some."""
        _refuse_uncomparable(batch)
        _refuse_too_long_together(self.plan, batch)

    def units(self, batch: Batch) -> AsyncIterator[tuple[Response, ...]]:
        """Return all responses to a prompt at a time."""
        shuffled = groupby(batch.shuffled(self.plan.settings.seed), attrgetter("prompt_id"))
        return as_async(tuple(responses) for _, responses in shuffled)

    def streamed_units(
        self, responses: AsyncIterator[Response]
    ) -> AsyncIterator[tuple[Response, ...]]:
        """Return None: a stream does not say how many responses a prompt has. Raises
        ConfigurationError: always."""
        raise ConfigurationError(
            f"the elicitation {self.plan.models[0].elicitation!r} compares the responses to a "
            "prompt, and a stream does not say how many there are; use score() instead of "
            "astream()"
        )

    def estimate(self, batch: Batch, predicted: PredictedCalls) -> list[CostEstimate]:
        """Return the estimates by model, in the panel's order. Raises InputError: a prompt's
        responses cannot be compared with each other."""
        _refuse_uncomparable(batch)
        return _estimates(self.plan, batch, predicted)

    def count_unanswered(self, batch: Batch, predicted: PredictedCalls, kept: Set[int]) -> int:
        """Return 0: further responses are further comparisons of those before."""
        return 0

    def first_requests(self, responses: Sequence[Response]) -> Iterator[ModelRequest]:
        """Yield the requests of each judge about responses to one prompt."""
        for model in self.plan.models:
            for task in _tasks_of(self.plan, model.id, responses):
                yield model.request_for(task)

    async def judge(self, keys: Sequence[str], context: GraphContext) -> list[Verdict]:
        """Yield the verdicts on the responses to a prompt, in the order of their ids."""
        from persona_panel.graphs.comparative import comparative_graph

        done: Mapping[str, Any] = await comparative_graph().ainvoke(
            cast(Any, {"responses": tuple(keys)}), context=context
        )
        verdicts: list[Verdict] = done["verdicts"]
        return verdicts


def _by_prompt(batch: Batch) -> Iterator[tuple[Response, ...]]:
    """Yield all responses to a prompt at a time, as soon as the last of them has come."""
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
    """Return the tasks that all judges of a model are asked."""
    [bound] = [model_of_plan for model_of_plan in plan.models if model_of_plan.id == model]
    for judge in (judge for judge in plan.judges if judge.model == model):
        persona = plan.personas_by_id[judge.persona]
        yield from bound.comparison_tasks(
            plan.rubric, persona, judge, responses, plan.settings.seed
        )


def _refuse_uncomparable(batch: Batch) -> None:
    """Refuse prompts that have a single response or too many, or come in versions."""
    faults = []
    if batch.versions is not None:
        actual = "responses to several versions of a prompt (field condition)"
        expected = "one version, or an elicitation that rates each response by itself"
        faults.append(Fault(file=batch.versions, actual=actual, expected=expected))
    for responses in _by_prompt(batch):
        n = len(responses)
        if not 2 <= n <= MOST:
            faults.append(
                Fault(
                    file=str(responses[0].prompt_id),
                    field="prompt_id",
                    actual=f"{n} response{'s' if n > 1 else ''} to the prompt",
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
                bound.comparison_tasks(plan.rubric, persona, judge, responses, plan.settings.seed),
                key=_task_tokens,
            )
            needed = estimated_tokens(bound.request_for(longest))
            if needed > window:
                named = ", ".join(sorted(response.id for response in longest.responses))
                faults.append(
                    Fault(
                        file=str(responses[0].prompt_id),
                        field="responses",
                        actual=f"about {needed:,} tokens with the question for {named} together",
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
                plan.rubric, persona, judge, responses, plan.settings.seed
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


class Mode(Protocol):
    """The way in which the responses of a batch are put before the judges of a plan."""

    def check(self, batch: Batch) -> None:
        """Check that all of a batch can be judged, before any call. Raises InputError: something
        cannot; lists all."""

    def units(self, batch: Batch) -> AsyncIterator[tuple[Response, ...]]:
        """Return the units that a graph judges in one go, in the order of `Batch.shuffled`. Raises
        RunStopped: as there."""

    def streamed_units(
        self, responses: AsyncIterator[Response]
    ) -> AsyncIterator[tuple[Response, ...]]:
        """Return the units of responses that come one by one, as many as there may be. Raises
        ConfigurationError: units can only be made of all responses together."""

    def estimate(self, batch: Batch, predicted: PredictedCalls) -> list[CostEstimate]:
        """Estimate each model's part, in the panel's order; call nothing. Raises InputError: a unit
        cannot be judged, whatever its length."""

    def count_unanswered(self, batch: Batch, predicted: PredictedCalls, kept: Set[int]) -> int:
        """Count the judgments of `kept`, hashes of `judgment_key`, that were made of answers that
        the cache lacks, as far as that can be told; call nothing."""

    def first_requests(self, responses: Sequence[Response]) -> Iterator[ModelRequest]:
        """Yield the first request of each judge about responses, which answer one prompt."""

    async def judge(self, keys: Sequence[str], context: GraphContext) -> list[Verdict]:
        """Have a unit judged, and yield the verdict on each of its responses. `keys`: of the unit's
        responses in `context.responses`."""


def mode_of(plan: PanelPlan) -> Mode:
    """Return the mode in which a plan's judges are asked, by their elicitation."""
    return Comparative(plan) if plan.is_comparative else Pointwise(plan)
