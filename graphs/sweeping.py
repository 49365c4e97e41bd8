"""The state machine that takes one prompt through a sweep.

    START ─▶ rewrite ─▶ respond ─ Send, one per response ─▶ judge ─▶ compare ─▶ END
      └──────────── responses given: Send ──────────────────▲

`judge` runs the judging graph (`persona_panel.graphs.judging`) on one response. As there, nothing
here opens a socket, a file or a cache, and the state holds keys and small values. What is worth
keeping leaves by the custom stream as soon as it is made: `Variant`, `Answer`, `Verdict`; a
`Judgment` is told by the judging means.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal, cast

import orjson
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send
from typing_extensions import TypedDict

from persona_panel.graphs.context import Abort, Answered, GraphContext, Unanswered
from persona_panel.graphs.deliberation import latest_judgments
from persona_panel.graphs.framing import (
    BASELINE,
    Degradation,
    Framings,
    Prompt,
    Variant,
    degradation,
)
from persona_panel.graphs.judging import judge_response
from persona_panel.graphs.records import Judgment, Response
from persona_panel.graphs.rewriting import Rewriting, Role, Step, rewriting
from persona_panel.rubrics import ModelRequest, ModelResponse, Status, Usage

JudgeSees = Literal["framed", "baseline"]
"""The question that a judge is shown with a response: the one that it answers, or the
prompt as it was before any framing."""

_TOKENS_A_WORD = 4
_MOST_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class TargetAnswer:
    """A system's answer to a prompt under one condition, or why there is none.

    `asked` is what it was sent. `status` is `scored` where there is a text to be scored.
    `cut_off`: it ended at the token limit; it is judged as it is. `declined`: the provider says
    that the model refused; the text is what it said instead.
    """

    prompt_id: str
    system: str
    condition: str
    asked: str
    text: str | None
    status: Status
    cut_off: bool = False
    declined: bool = False
    error: str | None = None
    usage: Usage = Usage()
    latency_s: float = 0.0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class SweepContext:
    """The context of a sweep.

    `rewriters` has, for each prompt, who rewrites it and who checks that. `variants` and
    `responses` are filled as they come to be; `responses` is the mapping that the judging
    means read from. `response_keys` has, where nothing is to be generated, the keys of each
    prompt's responses.
    """

    judging: GraphContext
    framings: Framings
    prompts: Mapping[str, Prompt]
    conditions: Sequence[str]
    systems: Sequence[str]
    rewriters: Mapping[str, Mapping[Role, str]]
    response_keys: Mapping[str, Sequence[str]]
    judge_sees: JudgeSees
    words: int | None
    variants: MutableMapping[tuple[str, str], str]
    responses: MutableMapping[str, Response]
    say: Callable[[str, str, Prompt, ModelRequest], Awaitable[ModelResponse]]
    """Has a model, in a part (`rewriter`, `checker`, `target`), answer a request about a prompt.
    Raises Unanswered where there is no reply to be had."""
    forget: Callable[[str, str, Prompt, Sequence[Answered]], None]
    """Told which replies led to no result, so that they are not served again."""
    text_slot: AbstractAsyncContextManager[object]
    """Held while a response is judged."""


class SweepState(TypedDict):
    """The state of a graph on one prompt."""

    prompt: str
    conditions: list[str]
    responses: list[str]
    judged: Annotated[dict[str, list[Judgment]], operator.or_]
    comparisons: list[Degradation]


class Judging(TypedDict):
    """The input of one `judge`: a response's key."""

    response: str


def response_key(prompt_id: str, system: str, condition: str) -> str:
    """Return the key of a response in a graph's context; no two are alike."""
    return orjson.dumps([prompt_id, system, condition]).decode()


def parts_of(key: str) -> tuple[str, str, str]:
    """Return the prompt, the system and the condition that a key stands for."""
    prompt_id, system, condition = orjson.loads(key)
    return prompt_id, system, condition


def worth_judging(keys: Collection[str]) -> list[str]:
    """Return the responses of systems that have a baseline and something to compare it with."""
    by_system: dict[str, set[str]] = {}
    for key in keys:
        _, system, condition = parts_of(key)
        by_system.setdefault(system, set()).add(condition)
    comparable = {
        system
        for system, conditions in by_system.items()
        if BASELINE in conditions and len(conditions) > 1
    }
    return [key for key in keys if parts_of(key)[1] in comparable]


def question_for(text: str, words: int | None) -> ModelRequest:
    """Return the question that a target is sent: the prompt as the user's turn and no system prompt
    (scrub.txt, appendix 15.4, stage 2), with the wanted length where one is."""
    if words is None:
        return ModelRequest("", (text,), max_tokens=answer_tokens(None))
    asked = f"{text}\n\nAnswer in about {words} words."
    return ModelRequest("", (asked,), max_tokens=answer_tokens(words))


def answer_tokens(words: int | None) -> int:
    """Return the token limit of an answer of about so many words; None, of any length."""
    return _MOST_TOKENS if words is None else max(256, _TOKENS_A_WORD * words)


def begin(state: SweepState, runtime: Runtime[SweepContext]) -> str | list[Send]:
    """Rewrite the prompt, or judge what is given."""
    keys = runtime.context.response_keys.get(state["prompt"])
    return "rewrite" if keys is None else _judgings(keys)


async def rewrite(state: SweepState, runtime: Runtime[SweepContext]) -> dict[str, Any]:
    """Rewrite the prompt in every condition; those whose variant fails its checks are left out."""
    context = runtime.context
    prompt = context.prompts[state["prompt"]]
    models = context.rewriters[prompt.id]
    work, answered = await _rewritten(prompt, models, context)
    for role in ("rewriter", "checker"):
        unusable = [
            (step.request, reply)
            for step, reply in answered
            if step.role == role and step in work.unusable
        ]
        if unusable:
            context.forget(role, models[role], prompt, unusable)
    for variant in work.variants:
        runtime.stream_writer(variant)
        if variant.used and variant.text is not None:
            context.variants[prompt.id, variant.condition] = variant.text
    usable = [name for name in context.conditions if (prompt.id, name) in context.variants]
    return {"conditions": usable}


async def _rewritten(
    prompt: Prompt, models: Mapping[Role, str], context: SweepContext
) -> tuple[Rewriting, list[tuple[Step, ModelResponse]]]:
    """Return the result of the exchange about a prompt, and the steps that were answered.

    Never raises but for cancellation and `Abort`: an odd answer leaves one prompt without
    variants.
    """
    dialogue = rewriting(prompt, context.framings, models["rewriter"], models["checker"])
    answered: list[tuple[Step, ModelResponse]] = []
    try:
        step = next(dialogue)
        while True:
            reply: ModelResponse | str
            try:
                reply = await context.say(step.role, models[step.role], prompt, step.request)
                answered.append((step, reply))
            except Unanswered as error:
                if context.judging.collecting and error.status == "skipped":
                    # It will be answered later, and what follows from it is asked then.
                    return Rewriting(), []
                reply = f"{error.status}: {error}"
            step = dialogue.send(reply)
    except StopIteration as done:
        work: Rewriting = done.value
        return work, answered
    except Abort:
        raise
    except Exception as error:
        why = f"failed: {type(error).__name__}: {error}"
        lost = [
            Variant(prompt.id, name, models["rewriter"], models["checker"], 1, None, {}, (why,))
            for name in context.framings.ids
        ]
        return Rewriting(lost, [step for step, _ in answered]), answered
    finally:
        dialogue.close()


async def respond(state: SweepState, runtime: Runtime[SweepContext]) -> dict[str, Any]:
    """Get every target's answer to the baseline and to every usable variant.

    A prompt without any is left alone: there would be nothing to compare.
    """
    context = runtime.context
    prompt = context.prompts[state["prompt"]]
    texts = {name: context.variants[prompt.id, name] for name in state["conditions"]}
    if not texts:
        return {"responses": []}
    texts = {BASELINE: prompt.text, **texts}

    async def answered(system: str, condition: str) -> str | None:
        answer = await _answer(prompt, system, condition, texts[condition], context)
        runtime.stream_writer(answer)
        if answer.text is None:
            return None
        key = response_key(prompt.id, system, condition)
        asked = prompt.text if context.judge_sees == "baseline" else texts[condition]
        context.responses[key] = response_of(prompt.id, system, condition, asked, answer.text)
        return key

    keys = await asyncio.gather(
        *(answered(system, condition) for system in context.systems for condition in texts)
    )
    return {"responses": [key for key in keys if key is not None]}


def answer_text(reply: ModelResponse) -> str | None:
    """Return the text of an answer, a refusal, too; None where there is nothing to judge."""
    text = reply.text.strip() or (reply.refusal or "").strip()
    return None if reply.finish_reason == "content_filter" or not text else text


def response_id(system: str, condition: str) -> str:
    """Return the id of a response in a run's files: its id among those to its prompt."""
    return f"{system}+{condition}"


def response_of(prompt_id: str, system: str, condition: str, asked: str, text: str) -> Response:
    """Return a response as a judge reads it and the run's files name it."""
    name = response_id(system, condition)
    return Response(
        id=name,
        prompt=asked,
        text=text,
        system=name,
        prompt_id=prompt_id,
        metadata={"target": system, "condition": condition},
    )


async def _answer(
    prompt: Prompt, system: str, condition: str, asked: str, context: SweepContext
) -> TargetAnswer:
    request = question_for(asked, context.words)
    return await target_answer(
        TargetAnswer(prompt.id, system, condition, asked, None, "failed"),
        lambda: context.say("target", system, prompt, request),
        lambda reply: context.forget("target", system, prompt, [(request, reply)]),
    )


async def target_answer(
    wanted: TargetAnswer,
    say: Callable[[], Awaitable[ModelResponse]],
    forget: Callable[[ModelResponse], None],
) -> TargetAnswer:
    """Return a system's answer, or why there is none; raise nothing but `Abort`.

    Args:
        wanted: says which answer it is.
        say: has the system answer; raises Unanswered where it does not.
        forget: called with an answer without text, so that it is not served again.
    """
    try:
        reply = await say()
    except Unanswered as error:
        return replace(wanted, status=error.status, error=str(error))
    except Abort:
        raise
    # A target must not end the sweep of the others, whatever is wrong with it.
    except Exception as error:
        return replace(wanted, status="failed", error=f"{type(error).__name__}: {error}")
    text = answer_text(reply)
    if text is None:
        forget(reply)
        status, why = _missing_text(reply)
        return replace(wanted, status=status, error=why, usage=reply.usage)
    return replace(
        wanted,
        text=text,
        status="scored",
        cut_off=reply.finish_reason == "length",
        declined=reply.refusal is not None,
        usage=reply.usage,
        latency_s=reply.latency_s,
        cached=reply.cached,
    )


def _missing_text(reply: ModelResponse) -> tuple[Status, str]:
    """Return why an answer has no text."""
    if reply.finish_reason == "length":
        return "truncated", "the token limit was reached before the first word of the answer"
    withheld = reply.text.strip() or (reply.refusal or "").strip()
    return "refused", "the provider's filter withheld it" if withheld else "it is empty"


def to_judges(state: SweepState) -> str | list[Send]:
    """Send one `judge` per response, where there is anything to compare."""
    return _judgings(state["responses"])


def _judgings(keys: Collection[str]) -> str | list[Send]:
    chosen = worth_judging(keys)
    return [Send("judge", Judging(response=key)) for key in chosen] or "compare"


async def judge(job: Judging, runtime: Runtime[SweepContext]) -> dict[str, Any]:
    """Have the whole panel judge one response, without the condition or the system."""
    context = runtime.context
    async with context.text_slot:
        done = await judge_response(job["response"], context.judging)
    runtime.stream_writer(done["verdict"])
    # Where the panel deliberated, what its judges said last.
    return {"judged": {job["response"]: list(latest_judgments(done["judgments"]).values())}}


def conclude(state: SweepState, runtime: Runtime[SweepContext]) -> dict[str, Any]:
    """Compute the effect of every condition on every system's answer."""
    context = runtime.context
    judged = {parts_of(key)[1:]: judgments for key, judgments in state.get("judged", {}).items()}
    comparisons = degradation(
        judged,
        state["prompt"],
        context.systems,
        context.conditions,
        [dimension.id for dimension in context.judging.output_rubric.numeric],
        len(context.judging.judges),
    )
    return {"comparisons": comparisons}


@cache
def sweeping_graph() -> CompiledStateGraph[SweepState, SweepContext, SweepState, SweepState]:
    """Return the compiled graph; one serves every sweep, since a sweep comes as context.

    Input `{"prompt": id}`; output the whole `SweepState`.
    """
    builder = StateGraph(SweepState, context_schema=SweepContext)
    builder.add_node("rewrite", rewrite)
    builder.add_node("respond", respond)
    builder.add_node("judge", cast(Any, judge))
    builder.add_node("compare", conclude)
    builder.add_conditional_edges(START, begin, ["rewrite", "judge", "compare"])
    builder.add_edge("rewrite", "respond")
    builder.add_conditional_edges("respond", to_judges, ["judge", "compare"])
    builder.add_edge("judge", "compare")
    builder.add_edge("compare", END)
    return builder.compile(name="sweeping")
