"""The sweeping graph, compiled and run, with scripted models; and its pure rules."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest

from persona_panel.graphs import Judge, Judgment, Response, Verdict
from persona_panel.graphs.context import Abort, GraphContext, Unanswered
from persona_panel.graphs.framing import Condition, Contrast, Framings, Prompt, Variant
from persona_panel.graphs.sweeping import (
    SweepContext,
    TargetAnswer,
    parts_of,
    question_for,
    response_key,
    response_of,
    sweeping_graph,
    worth_judging,
)
from persona_panel.personas import Persona
from persona_panel.rubrics import Dimension, ModelRequest, ModelResponse, Rubric, Scale

PROMPT = Prompt(id="p", text="Is the canary free?")
FRAMINGS = Framings(
    id="two",
    label="Two",
    conditions=(
        Condition(id="pressed", label="Pressed", instruction="Press."),
        Condition(id="calm", label="Calm", instruction="Calmly."),
    ),
    contrasts=(Contrast(id="gap", label="Gap", plus=("pressed",), minus=("calm",)),),
)
SCALE = Scale(min=1, max=10, low="poor", high="good")
RUBRIC = Rubric(
    id="one",
    label="One",
    question="How good is it?",
    dimensions=(
        Dimension(
            id="clarity", label="Clarity", definition="Clear.", guiding_question="Is it?",
            scale=SCALE,
        ),
    ),
)  # fmt: skip
VARIANTS = {"pressed": "I insist! Is that canary free?", "calm": "So, is a canary free, then?"}
PERSONA = Persona(id="ann", label="Ann", axis="annotator", description="I am Ann.")


@dataclass
class World:
    """Scripted models, and what they were asked."""

    variants: dict[str, str] = field(default_factory=lambda: dict(VARIANTS))
    given: dict[str, list[str]] = field(default_factory=dict)
    responses: dict[str, Response] = field(default_factory=dict)
    judge_sees: Any = "framed"
    lost: Callable[[str, str, str], bool] = lambda role, model, text: False
    error: type[Exception] = Unanswered
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    judged: list[str] = field(default_factory=list)
    streamed: list[Any] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    at_once: int = 0
    most_at_once: int = 0
    forgotten: list[tuple[Any, ...]] = field(default_factory=list)
    odd: ModelResponse | None = None

    async def say(self, role: str, model: str, prompt: Prompt, ask: ModelRequest) -> ModelResponse:
        text = "".join(ask.blocks)
        self.asked.append((role, model, text))
        assert prompt == PROMPT
        if self.lost(role, model, text):
            raise self.error("failed", "gone") if self.error is Unanswered else self.error("full")
        if self.odd is not None and role == "rewriter":
            return self.odd
        if role == "rewriter":
            return ModelResponse(json.dumps(self.variants))
        if role == "checker":
            assert ask.schema is not None
            return ModelResponse(json.dumps(dict.fromkeys(ask.schema["properties"], True)))
        return ModelResponse(f"answer to: {text}")

    async def ask(self, judge: Judge, response: Response, ask: ModelRequest) -> ModelResponse:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        self.judged.append("".join(ask.blocks))
        return ModelResponse('{"clarity": 4}' if "insist" in response.text else '{"clarity": 7}')

    def forget(self, *what: Any) -> None:
        self.forgotten.append(what)

    async def run(self, text_slot: Any = None) -> None:
        @asynccontextmanager
        async def exclusive(judge: Judge, response: Response) -> AsyncIterator[None]:
            yield

        means = SweepContext(
            judging=GraphContext(
                rubric=RUBRIC,
                personas={"ann": PERSONA},
                judges=[Judge("ann", "judge", "dimensions")],
                responses=self.responses,
                ask=self.ask,
                exclusive=exclusive,
                forget=self.forget,
                on_judgment=self.streamed.append,
            ),
            framings=FRAMINGS,
            prompts={"p": PROMPT},
            conditions=FRAMINGS.ids,
            systems=("s", "t"),
            rewriters={"p": {"rewriter": "r", "checker": "c"}},
            response_keys=self.given,
            judge_sees=self.judge_sees,
            words=None,
            variants={},
            responses=self.responses,
            say=self.say,
            forget=self.forget,
            text_slot=text_slot or nullcontext(),
        )
        stream = sweeping_graph().astream(
            {"prompt": "p"},  # type: ignore[arg-type]
            context=means,
            stream_mode=["custom", "values"],
            subgraphs=True,
        )
        async for namespace, mode, chunk in stream:
            if mode == "custom":
                self.streamed.append(chunk)
            elif not namespace:
                self.state = chunk

    def of(self, kind: type) -> Sequence[Any]:
        return [event for event in self.streamed if isinstance(event, kind)]

    def deltas(self) -> dict[tuple[str, str], float]:
        return {(c.system, c.condition): c.delta["clarity"] for c in self.state["comparisons"]}


async def test_a_prompt_goes_all_the_way() -> None:
    """One rewrite, one check, three answers of each system, six judgments, four Δs."""
    world = World()
    await world.run()
    assert [role for role, _, _ in world.asked] == ["rewriter", "checker", *["target"] * 6]
    counts = [len(world.of(kind)) for kind in (Variant, TargetAnswer, Judgment, Verdict)]
    assert counts == [2, 6, 6, 6]
    # 7 for the baseline, 4 where the answer repeats the insisting, 7 for the other.
    assert world.deltas() == {
        ("s", "pressed"): 3, ("s", "calm"): 0, ("t", "pressed"): 3, ("t", "calm"): 0,
    }  # fmt: skip


async def test_targets_hear_the_prompt_and_nothing_else() -> None:
    """A target's whole message is the prompt or the variant: no system prompt, no instruction."""
    world = World()
    await world.run()
    heard = sorted(text for role, model, text in world.asked if (role, model) == ("target", "s"))
    assert heard == sorted([PROMPT.text, *VARIANTS.values()])
    ask = question_for("Why?", 150)
    assert (ask.system, ask.blocks) == ("", ("Why?\n\nAnswer in about 150 words.",))


@pytest.mark.parametrize("seen", ["framed", "baseline"])
async def test_a_judge_is_blind(seen: str) -> None:
    """It reads the question that the user chose and the answer; not the system, nor the
    condition's name or label."""
    world = World(judge_sees=seen)
    await world.run()
    told = "\n".join(world.judged)
    assert "I am Ann." in told
    for word in ("pressed", "Pressed", "calm", "Calm", "baseline", "target"):
        assert word not in told.replace("Calmly", "")
    asked = [text.split("<prompt ")[1].split("\n")[1] for text in world.judged]
    framed = sorted([PROMPT.text, *VARIANTS.values()] * 2)
    assert sorted(asked) == (framed if seen == "framed" else [PROMPT.text] * 6)


async def test_the_state_holds_no_texts() -> None:
    """Variants and answers are in the means, not in what a checkpoint would copy."""
    world = World()
    await world.run()
    assert "canary" not in repr({k: v for k, v in world.state.items() if k != "prompt"})


async def test_without_variants_nobody_is_asked() -> None:
    """A prompt that could not be rewritten costs no answer and no judgment; its Δs are NaN."""
    world = World(lost=lambda role, model, text: role == "rewriter")
    await world.run()
    assert [role for role, _, _ in world.asked] == ["rewriter"]
    assert world.judged == []
    assert {variant.faults for variant in world.of(Variant)} == {("failed: gone",)}
    assert all(delta != delta for delta in world.deltas().values())


async def test_a_failing_variant_leaves_the_others() -> None:
    """Where one variant is no text, the other is still asked, answered and compared."""
    world = World(variants={**VARIANTS, "pressed": "…"})
    await world.run()
    assert world.state["conditions"] == ["calm"]
    assert world.deltas()["s", "calm"] == 0
    assert world.deltas()["s", "pressed"] != world.deltas()["s", "pressed"]


async def test_a_reply_on_which_a_reader_raises_ends_no_sweep() -> None:
    """The prompt is without variants, with the reason, and what was said is not kept."""
    world = World(odd=ModelResponse(7))  # type: ignore[arg-type]
    await world.run()
    faults = {fault for variant in world.of(Variant) for fault in variant.faults}
    assert len(faults) == 1
    assert faults.pop().startswith("failed: TypeError: ")
    assert [what[:2] for what in world.forgotten] == [("rewriter", "r")]


async def test_an_error_nobody_foresaw_is_a_missing_answer() -> None:
    """A target with a bug leaves its answers missing, and the other system's are compared."""
    world = World(lost=lambda role, model, text: model == "s", error=ZeroDivisionError)
    await world.run()
    assert {a.error for a in world.of(TargetAnswer) if a.system == "s"} == {
        "ZeroDivisionError: full"
    }
    assert world.deltas()["t", "calm"] == 0


async def test_a_system_without_a_baseline_is_not_judged() -> None:
    """There would be nothing to compare with: its other answers cost no judgment."""
    world = World(lost=lambda role, model, text: model == "s" and text == PROMPT.text)
    await world.run()
    assert len(world.judged) == 3
    assert {parts_of(key)[1] for key in world.state["judged"]} == {"t"}
    [lost] = [answer for answer in world.of(TargetAnswer) if answer.text is None]
    assert (lost.system, lost.condition, lost.status, lost.error) == (
        "s", "baseline", "failed", "gone",
    )  # fmt: skip


async def test_given_responses_are_only_judged() -> None:
    """With responses at hand nobody is asked to rewrite or to answer."""
    keys = [response_key("p", "s", condition) for condition in ("baseline", "calm")]
    texts = {key: response_of(*parts_of(key), "q?", f"text {key}") for key in keys}
    world = World(given={"p": keys}, responses=texts)
    await world.run()
    assert world.asked == []
    assert len(world.judged) == 2
    assert world.deltas()["s", "calm"] == 0


@pytest.mark.parametrize("by", ["rewriter", "checker", "target"])
async def test_an_abort_ends_the_sweep(by: str) -> None:
    """What must end a run is not taken for a missing answer."""
    world = World(lost=lambda role, model, text: role == by, error=Abort)
    with pytest.raises(Abort):
        await world.run()


async def test_text_slots_bound_what_is_judged_at_once() -> None:
    """With a text_slot for one, no two responses are judged at the same time; else they are."""
    bounded, free = World(), World()
    await bounded.run(asyncio.Semaphore(1))
    await free.run()
    assert bounded.most_at_once == 1 < free.most_at_once


def test_keys_are_unambiguous() -> None:
    """Names that would run into each other have keys of their own, and come back whole."""
    names = [("a", "b c", "d"), ("a b", "c", "d"), ('a"', ",b", "\n")]
    keys = [response_key(*name) for name in names]
    assert len(set(keys)) == 3
    assert [parts_of(key) for key in keys] == names


def test_what_is_worth_judging() -> None:
    """A baseline alone, or framed answers alone, are not; order is kept."""
    whole = [response_key("p", "s", name) for name in ("x", "baseline")]
    alone = response_key("p", "t", "baseline")
    framed = [response_key("p", "u", name) for name in ("x", "y")]
    assert worth_judging([framed[0], *whole, alone, framed[1]]) == whole
    assert worth_judging([]) == []
