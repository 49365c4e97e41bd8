"""What a sweep would take, told before anything is called.

The cache is followed as far as it goes: where a prompt has been rewritten already, the calls
that come after are counted by what was written. The rest are counted as if every variant
passed at once and were about as long as the prompt with two sentences before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import orjson

from persona_panel.calls.cache import key_of, page_of
from persona_panel.experiments.sweep.plan import SweepPlan, sweep_plan_of
from persona_panel.files.response_batch import Batch
from persona_panel.graphs import Response
from persona_panel.graphs.framing import BASELINE, Prompt
from persona_panel.graphs.rewriting import Step, rewriting
from persona_panel.graphs.sweeping import (
    question_for,
    response_key,
    response_of,
    said_in,
    worth_judging,
)
from persona_panel.plan.panel_plan import PanelPlan
from persona_panel.rubrics import Calls, ModelRequest, ModelResponse
from persona_panel.runs.executor import predicted_calls
from persona_panel.runs.judging.cost_estimate import CostEstimate, ModelEstimate, PredictedCalls
from persona_panel.runs.judging.mode import mode_of

if TYPE_CHECKING:
    from persona_panel.experiments.sweep.plan import Models, Options

_LEAD_IN = " I keep hearing people say so, and the longer I think of it the surer I am." * 2
_WORD = "quality "
_USUAL_WORDS = 400


def estimate_sweep(
    panel: PanelPlan,
    prompts: Sequence[str | Prompt] | None,
    targets: Models,
    options: Options,
) -> list[CostEstimate]:
    """What a sweep would take: by rewriter, by target and by judging model; see
    `Panel.estimate_sweep`."""
    plan = sweep_plan_of(panel, prompts, targets, options)
    with predicted_calls() as predicted:
        counted, batch = _before_judging(plan, predicted)
        return [*counted, *mode_of(panel).estimate(Batch(batch), predicted)]


def _before_judging(
    plan: SweepPlan, predicted: PredictedCalls
) -> tuple[list[CostEstimate], list[Response]]:
    """By rewriter and by target (`judgments` are calls there), and the responses to be judged."""
    rewriters = {bound.id: ModelEstimate(bound) for bound in plan.rewriters}
    targets = {bound.id: ModelEstimate(bound) for bound in plan.targets}
    batch: list[Response] = []
    if plan.responses is not None:
        baselines = {prompt.id: prompt.text for prompt in plan.prompts}
        given: dict[str, dict[str, Response]] = {prompt.id: {} for prompt in plan.prompts}
        for one in plan.responses:
            seen = baselines[one.prompt_id] if plan.judge_sees == "baseline" else one.prompt
            key = response_key(one.prompt_id, one.system, one.condition)
            given[one.prompt_id][key] = response_of(
                one.prompt_id, one.system, one.condition, seen, one.text
            )
        for responses in given.values():
            batch += [responses[key] for key in worth_judging(responses)]
    else:
        dealt = plan.dealt()
        for prompt in plan.prompts:
            names = dealt[prompt.id]
            for part in (*rewriters.values(), *targets.values()):
                part.next_response()
            texts = _variants(
                plan, prompt, rewriters, names["rewriter"], names["checker"], predicted
            )
            answers: dict[str, Response] = {}
            for part in targets.values():
                answers |= _answers(plan, prompt, texts, part, predicted)
            batch += [answers[key] for key in worth_judging(answers)]
    counts = [
        *(part.estimate("rewriter") for part in rewriters.values()),
        *(part.estimate("target") for part in targets.values()),
    ]
    return counts, batch


def _made(
    part: ModelEstimate,
    page: str,
    key: bytes,
    request: ModelRequest,
    said: str,
    predicted: PredictedCalls,
) -> None:
    """Count a call that the cache does not answer, and that is answered by so much."""
    if predicted.is_new(page, key):
        part.judgments += 1
        part.add_requests(request, Calls.just(1, part.count(said)))


def _variants(
    plan: SweepPlan,
    prompt: Prompt,
    rewriters: dict[str, ModelEstimate],
    rewriter: str,
    checker: str,
    predicted: PredictedCalls,
) -> dict[str, str]:
    """The text of each condition, from the cache or made up."""
    made_up = {
        name: _passing(f"{n}{prompt.text}{_LEAD_IN}") for n, name in enumerate(plan.conditions)
    }
    dialogue = rewriting(prompt, plan.framings, rewriter, checker)
    step = next(dialogue)
    while True:
        part = rewriters[rewriter if step.role == "rewriter" else checker]
        part.of += 1
        page, key = page_of(part.bound.client.parameters, prompt.text), key_of(step.request, 1)
        reply = predicted.reply(page, key)
        if reply is None:
            # A reply as it should be brings the dialogue to its next step.
            reply = ModelResponse(_as_hoped(step, made_up))
            _made(part, page, key, step.request, reply.text, predicted)
        try:
            step = dialogue.send(reply)
        except StopIteration as done:
            return {
                one.condition: one.text
                for one in done.value.variants
                if one.used and one.text is not None
            }


def _passing(text: str) -> str:
    """A made-up variant about as long as a text, which no rule for real ones can drop, whatever
    the prompt or the instructions say: one word of letters repeats no phrase and names nothing,
    and as it begins with a number of its own and is longer than the prompt, it is no other text.
    """
    return "v" + "".join(filter(str.isalnum, text)).ljust(len(text), "x")


def _as_hoped(step: Step, made_up: dict[str, str]) -> str:
    if step.role == "rewriter":
        return orjson.dumps(made_up).decode()
    return orjson.dumps(dict.fromkeys((step.request.schema or {})["properties"], True)).decode()


def _answers(
    plan: SweepPlan,
    prompt: Prompt,
    texts: dict[str, str],
    part: ModelEstimate,
    predicted: PredictedCalls,
) -> dict[str, Response]:
    """What a target says to each condition, from the cache or made up, by the key of each."""
    if not texts:
        return {}
    system = part.bound.id
    found = {}
    for condition, text in {BASELINE: prompt.text, **texts}.items():
        request = question_for(text, plan.words)
        part.of += 1
        page, key = page_of(part.bound.client.parameters, prompt.text), key_of(request, 1)
        if (reply := predicted.reply(page, key)) is not None:
            said = said_in(reply)
        else:
            # No answer is another's: judges would be taken to read the two but once.
            said = f"{system} {key.hex()[:8]} " + _WORD * (plan.words or _USUAL_WORDS)
            _made(part, page, key, request, said, predicted)
        if said is not None:
            seen = prompt.text if plan.judge_sees == "baseline" else text
            found[response_key(prompt.id, system, condition)] = response_of(
                prompt.id, system, condition, seen, said
            )
    return found
