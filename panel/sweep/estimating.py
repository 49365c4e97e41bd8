"""What a sweep would take, told before anything is called.

The cache is followed as far as it goes: where a prompt has been rewritten already, the calls
that come after are counted by what was written. The rest are counted as if every variant
passed at once and were about as long as the prompt with two sentences before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import orjson

from graphs import Response
from graphs.framing import BASELINE, Prompt
from graphs.rewriting import Step, rewriting
from graphs.sweeping import question_for, response_of
from panel.calls.cache import ReplyCache, key_of, page_of
from panel.estimate import Estimate, tokenizer_of
from panel.models.catalogue import cost
from panel.seating import Seat
from panel.sweep.plan import Plan
from rubrics import Ask, Reply, Usage

_LEAD_IN = " I keep hearing people say so, and the longer I think of it the surer I am." * 2
_WORD = "quality "
_USUAL_WORDS = 400


@dataclass(slots=True)
class _Count:
    """The calls to one model in one part that the cache does not answer."""

    seat: Seat
    calls: int = 0
    of: int = 0
    usage: Usage = field(default_factory=Usage)

    def add(self, ask: Ask, answer: str) -> None:
        _, count = tokenizer_of(self.seat.id)
        texts = [ask.system, *ask.blocks, *(text for turn in ask.exchange for text in turn)]
        self.calls += 1
        self.usage += Usage(input=sum(map(count, texts)), output=count(answer))

    def estimate(self, part: str) -> Estimate:
        return Estimate(
            model=f"{part} {self.seat.id}",
            judgments=self.calls,
            of=self.of,
            calls=self.calls,
            input_tokens=self.usage.input,
            output_tokens=self.usage.output,
            tokenizer=tokenizer_of(self.seat.id)[0],
            usd=cost(self.seat.price, self.usage),
        )


def estimate_sweep(plan: Plan, cache: ReplyCache) -> tuple[list[Estimate], list[Response]]:
    """By rewriter and by target (`judgments` are calls there), and the responses to be judged."""
    rewriters = {seat.id: _Count(seat) for seat in plan.rewriters}
    targets = {seat.id: _Count(seat) for seat in plan.targets}
    batch: list[Response] = []
    if plan.responses is not None:
        baselines = {prompt.id: prompt.text for prompt in plan.prompts}
        for one in plan.responses:
            seen = baselines[one.prompt_id] if plan.judge_sees == "baseline" else one.prompt
            batch.append(response_of(one.prompt_id, one.system, one.condition, seen, one.text))
    else:
        dealt = plan.dealt()
        for prompt in plan.prompts:
            names = dealt[prompt.id]
            texts = _variants(plan, prompt, rewriters, names["rewriter"], names["checker"], cache)
            for count in targets.values():
                batch += _answers(plan, prompt, texts, count, cache)
    counts = [
        *(count.estimate("rewriter") for count in rewriters.values()),
        *(count.estimate("target") for count in targets.values()),
    ]
    return counts, batch


def _variants(
    plan: Plan,
    prompt: Prompt,
    rewriters: dict[str, _Count],
    rewriter: str,
    checker: str,
    cache: ReplyCache,
) -> dict[str, str]:
    """The text of each condition, from the cache or made up."""
    # Each its own: two that are alike would not pass.
    made_up = {name: f"{prompt.text}{_LEAD_IN} {n}" for n, name in enumerate(plan.conditions)}
    dialogue = rewriting(prompt, plan.framings, rewriter, checker)
    step = next(dialogue)
    while True:
        count = rewriters[rewriter if step.role == "rewriter" else checker]
        count.of += 1
        page = page_of(count.seat.speaker.parameters, prompt.text)
        reply = cache.get(page, key_of(step.ask, 1))
        if reply is None:
            # A reply as it should be brings the dialogue to its next step.
            reply = Reply(_as_hoped(step, made_up))
            count.add(step.ask, reply.text)
        try:
            step = dialogue.send(reply)
        except StopIteration as done:
            return {
                one.condition: one.text
                for one in done.value.variants
                if one.used and one.text is not None
            }


def _as_hoped(step: Step, made_up: dict[str, str]) -> str:
    if step.role == "rewriter":
        return orjson.dumps(made_up).decode()
    return orjson.dumps(dict.fromkeys((step.ask.schema or {})["properties"], True)).decode()


def _answers(
    plan: Plan, prompt: Prompt, texts: dict[str, str], target: _Count, cache: ReplyCache
) -> list[Response]:
    """What a target says to each condition, from the cache or made up."""
    if not texts:
        return []
    found = []
    for condition, text in {BASELINE: prompt.text, **texts}.items():
        ask = question_for(text, plan.words)
        target.of += 1
        page = page_of(target.seat.speaker.parameters, prompt.text)
        reply = cache.get(page, key_of(ask, 1))
        said = reply.text.strip() if reply is not None else ""
        if not said:
            said = _WORD * (plan.words or _USUAL_WORDS)
            target.add(ask, said)
        seen = prompt.text if plan.judge_sees == "baseline" else text
        found.append(response_of(prompt.id, target.seat.id, condition, seen, said))
    return found
