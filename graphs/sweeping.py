"""The state machine that takes one prompt through a sweep.

    START ─▶ rewrite ─▶ respond ─ Send, one per response ─▶ judge ─▶ compare ─▶ END
      └──────────── responses given: Send ──────────────────▲

`judge` runs the judging graph (`graphs.judging`) on one response. As there, nothing here
opens a socket, a file or a cache, and the state holds keys and small values. What is worth
keeping leaves by the custom stream as soon as it is made: `Variant`, `Answer`, `Verdict`; a
`Judgment` is told by the judging means.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypedDict, cast

import orjson
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from graphs import judging
from graphs.comparing import Comparison, compare
from graphs.deliberation import standing
from graphs.framing import BASELINE, Framings, Prompt
from graphs.judging import Unanswered, judging_graph
from graphs.records import Judgment, Response
from graphs.rewriting import Role, rewriting
from rubrics import Ask, Reply, Status, Usage

JudgeSees = Literal["framed", "baseline"]
"""The question that a judge is shown with a response: the one that it answers, or the
prompt as it was before any framing."""

_TOKENS_A_WORD = 4
_MOST_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system said to a prompt under one condition, or why there is nothing.

    `asked` is what it was sent. `status` is `scored` where there is a text to be scored.
    `cut_off`: it ended at the token limit; it is judged as it is.
    """

    prompt_id: str
    system: str
    condition: str
    asked: str
    text: str | None
    status: Status
    cut_off: bool = False
    error: str | None = None
    usage: Usage = Usage()
    latency_s: float = 0.0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Means:
    """What a sweep needs from above.

    `rewriters` has, for each prompt, who rewrites it and who checks that. `variants` and
    `responses` are filled as they come to be; `responses` is the mapping that the judging
    means read from. `given` has, where nothing is to be generated, the keys of each
    prompt's responses.
    """

    judging: judging.Means
    framings: Framings
    prompts: Mapping[str, Prompt]
    conditions: Sequence[str]
    systems: Sequence[str]
    rewriters: Mapping[str, Mapping[Role, str]]
    given: Mapping[str, Sequence[str]]
    judge_sees: JudgeSees
    words: int | None
    variants: MutableMapping[tuple[str, str], str]
    responses: MutableMapping[str, Response]
    say: Callable[[str, str, Prompt, Ask], Awaitable[Reply]]
    """Has a model, in a part (`rewriter`, `checker`, `target`), answer an ask about a prompt.
    Raises Unanswered where there is no reply to be had."""
    forget: Callable[[str, str, Prompt, Sequence[Ask]], None]
    """Told which asks led to no result, so that their replies are not served again."""
    desk: AbstractAsyncContextManager[object]
    """Held while a response is judged."""


class State(TypedDict):
    """What a graph remembers of one prompt."""

    prompt: str
    conditions: list[str]
    responses: list[str]
    judged: Annotated[dict[str, list[Judgment]], operator.or_]
    comparisons: list[Comparison]


class Judging(TypedDict):
    """What one `judge` is sent: a response's key."""

    response: str


def response_key(prompt_id: str, system: str, condition: str) -> str:
    """The key of a response in the means; no two are alike."""
    return orjson.dumps([prompt_id, system, condition]).decode()


def parts_of(key: str) -> tuple[str, str, str]:
    """The prompt, the system and the condition that a key stands for."""
    prompt_id, system, condition = orjson.loads(key)
    return prompt_id, system, condition


def worth_judging(keys: Collection[str]) -> list[str]:
    """The responses of systems that have a baseline and something to compare it with."""
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


def question_for(text: str, words: int | None) -> Ask:
    """What a target is sent: the prompt as the user's turn and no system prompt (scrub.txt,
    appendix 15.4, stage 2), with the wanted length where one is."""
    if words is None:
        return Ask("", (text,), max_tokens=_MOST_TOKENS)
    most = max(256, _TOKENS_A_WORD * words)
    return Ask("", (f"{text}\n\nAnswer in about {words} words.",), max_tokens=most)


def begin(state: State, runtime: Runtime[Means]) -> str | list[Send]:
    """Rewrite the prompt, or judge what is given."""
    given = runtime.context.given.get(state["prompt"])
    return "rewrite" if given is None else _judgings(given)


async def rewrite(state: State, runtime: Runtime[Means]) -> dict[str, Any]:
    """The prompt in every condition; those whose variant fails its checks are left out."""
    means = runtime.context
    prompt = means.prompts[state["prompt"]]
    models = means.rewriters[prompt.id]
    dialogue = rewriting(prompt, means.framings, models["rewriter"], models["checker"])
    step = next(dialogue)
    while True:
        reply: Reply | str
        try:
            reply = await means.say(step.role, models[step.role], prompt, step.ask)
        except Unanswered as error:
            reply = f"{error.status}: {error}"
        try:
            step = dialogue.send(reply)
        except StopIteration as done:
            work = done.value
            break
    for role in ("rewriter", "checker"):
        if asks := [step.ask for step in work.unusable if step.role == role]:
            means.forget(role, models[role], prompt, asks)
    for variant in work.variants:
        runtime.stream_writer(variant)
        if variant.used:
            means.variants[prompt.id, variant.condition] = variant.text
    usable = [name for name in means.conditions if (prompt.id, name) in means.variants]
    return {"conditions": usable}


async def respond(state: State, runtime: Runtime[Means]) -> dict[str, Any]:
    """Every target's answer to the baseline and to every usable variant.

    A prompt without any is left alone: there would be nothing to compare.
    """
    means = runtime.context
    prompt = means.prompts[state["prompt"]]
    texts = {name: means.variants[prompt.id, name] for name in state["conditions"]}
    if not texts:
        return {"responses": []}
    texts = {BASELINE: prompt.text, **texts}

    async def answered(system: str, condition: str) -> str | None:
        answer = await _answer(prompt, system, condition, texts[condition], means)
        runtime.stream_writer(answer)
        if answer.text is None:
            return None
        key = response_key(prompt.id, system, condition)
        asked = prompt.text if means.judge_sees == "baseline" else texts[condition]
        means.responses[key] = response_of(prompt.id, system, condition, asked, answer.text)
        return key

    keys = await asyncio.gather(
        *(answered(system, condition) for system in means.systems for condition in texts)
    )
    return {"responses": [key for key in keys if key is not None]}


def response_of(prompt_id: str, system: str, condition: str, asked: str, text: str) -> Response:
    """A response as a judge reads it and the run's files name it."""
    name = f"{system}+{condition}"
    return Response(
        id=name,
        prompt=asked,
        text=text,
        system=name,
        prompt_id=prompt_id,
        metadata={"target": system, "condition": condition},
    )


async def _answer(prompt: Prompt, system: str, condition: str, asked: str, means: Means) -> Answer:
    ask = question_for(asked, means.words)
    try:
        reply = await means.say("target", system, prompt, ask)
    except Unanswered as error:
        return Answer(
            prompt.id, system, condition, asked, None, status=error.status, error=str(error)
        )
    text = reply.text.strip() or (reply.refusal or "").strip()
    if reply.finish_reason == "content_filter" or not text:
        means.forget("target", system, prompt, [ask])
        why = "the provider's filter withheld it" if text else "it is empty"
        return Answer(prompt.id, system, condition, asked, None, status="refused", error=why)
    return Answer(
        prompt.id,
        system,
        condition,
        asked,
        text,
        status="scored",
        cut_off=reply.finish_reason == "length",
        usage=reply.usage,
        latency_s=reply.latency_s,
        cached=reply.cached,
    )


def to_judges(state: State) -> str | list[Send]:
    """One `judge` per response, where there is anything to compare."""
    return _judgings(state["responses"])


def _judgings(keys: Collection[str]) -> str | list[Send]:
    chosen = worth_judging(keys)
    return [Send("judge", Judging(response=key)) for key in chosen] or "compare"


async def judge(job: Judging, runtime: Runtime[Means]) -> dict[str, Any]:
    """The whole panel on one response. It is told neither the condition nor the system."""
    means = runtime.context
    async with means.desk:
        graph = judging_graph(deliberating=means.judging.deliberation is not None)
        done = await graph.ainvoke(cast(Any, {"response": job["response"]}), context=means.judging)
    runtime.stream_writer(done["verdict"])
    # Where the panel deliberated, what its judges said last.
    return {"judged": {job["response"]: list(standing(done["judgments"]).values())}}


def conclude(state: State, runtime: Runtime[Means]) -> dict[str, Any]:
    """What every condition did to every system's answer."""
    means = runtime.context
    judged = {parts_of(key)[1:]: found for key, found in state.get("judged", {}).items()}
    comparisons = compare(
        judged,
        state["prompt"],
        means.systems,
        means.conditions,
        [dimension.id for dimension in means.judging.rated.numeric],
        len(means.judging.judges),
    )
    return {"comparisons": comparisons}


@cache
def sweeping_graph() -> CompiledStateGraph[State, Means, State, State]:
    """The compiled graph; one serves every sweep, since a sweep comes as context.

    Input `{"prompt": id}`; output the whole `State`.
    """
    builder = StateGraph(State, context_schema=Means)
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
