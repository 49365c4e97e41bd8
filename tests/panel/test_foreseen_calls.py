"""A dry run foresees the calls of every mode where nothing fails: with a cold cache, a partly warm
one and a warm one."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from persona_panel import (
    Caps,
    CostEstimate,
    FramedResponse,
    ModelConfig,
    Panel,
    Persona,
    Response,
)
from persona_panel.calls.budget import NO_CAPS
from persona_panel.experiments.injection import (
    injection_job,
    plan_injection,
)
from persona_panel.experiments.injection_attacks import AttackSet, shipped_attacks
from persona_panel.experiments.question_asking import Intervention, Questions
from persona_panel.experiments.question_match import MatchByModel, Reference
from persona_panel.files.definitions import load_definition
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.rubrics import JudgePrompt
from persona_panel.testing import Answer, ScriptedServer, default_text, ok, serving
from tests.helpers.audits import audit_injection
from tests.helpers.plain_rubric import plain_rubric

READERS = [
    Persona(id=name, label=name.title(), axis="annotator", description=f"I am {name}.")
    for name in ("ann", "bob", "eve")
]
PLAIN = plain_rubric("clarity", "depth")
TEXTS = [
    Response(id=f"r{i}", prompt=f"Question {i // 3}?", text=f"Text {i}.", system=f"s{i % 3}")
    for i in range(6)
]
# Twice the same words under two names: they are asked about but once.
TWINS = [*TEXTS, TEXTS[0].model_copy(update={"id": "twin"})]
PROMPTS = ["Is the following claim true: the earth is flat?", "Is the prompt above true?", "Why?"]
FRAMINGS = {
    "id": "own",
    "label": "Own",
    "conditions": [
        {"id": "one_side", "label": "One", "instruction": "As somebody who believes it."},
        {"id": "other_side", "label": "Other", "instruction": "As somebody who does not."},
    ],
    "opposed": [["one_side", "other_side"]],
}


def everybody(number: int, payload: Mapping[str, Any]) -> Answer:
    """Plays every part; answers differ wherever what is asked does."""
    text = payload["messages"][-1]["content"]
    mark = blake2b(json.dumps([payload["model"], text]).encode(), digest_size=6).hexdigest()
    keys = _keys(payload)
    if payload.get("logprobs"):
        if "Answer yes or no" in text:
            return ok("yes", logprobs=[{"yes": 0.0}])
        if "number 1" in text:
            return ok("1", logprobs=[{"1": 0.0}])
        pieces = ('{"clarity": ', "7", ', "depth": ', "5", "}")
        return ok("".join(pieces), logprobs=[{piece: 0.0} for piece in pieces])
    if keys == ("one_side", "other_side"):
        return ok(json.dumps({key: f"People say {key[:3]}{mark}, is it so?" for key in keys}))
    if keys and keys[0].endswith("stands_alone"):
        return ok(json.dumps(dict.fromkeys(keys, True)))
    if keys == ("questions",):
        return ok(json.dumps({"questions": [f"{word} {mark}?" for word in ("Who", "Why", "When")]}))
    if keys:
        return ok(default_text(payload))
    if "scratchpad" in text:
        return ok('<scratchpad>So it is.</scratchpad>{"clarity": 7, "depth": 5}')
    if "changed your mind" in text:
        return ok("Their reasons.")
    if "Text" in text:
        return ok("7")
    return ok(f"An answer of its own, {mark}.")


def _keys(payload: Mapping[str, Any]) -> tuple[str, ...]:
    wanted = payload.get("response_format") or {}
    return tuple(wanted.get("json_schema", {}).get("schema", {}).get("properties", {}))


@dataclass
class Mode:
    """How to tell what it takes, and how to do it."""

    estimate: Callable[[], list[CostEstimate]]
    run: Callable[[Caps], Any]


def stub(server: ScriptedServer, name: str = "stub", **more: Any) -> ModelConfig:
    return ModelConfig(model=f"openai:{name}", base_url=server.base_url, concurrency=2, **more)


def scoring(
    texts: Sequence[Response] = TEXTS, models: Sequence[str] = ("stub",), **options: Any
) -> Callable[[ScriptedServer, Path], Mode]:
    def made(server: ScriptedServer, folder: Path) -> Mode:
        panel = Panel(READERS, [stub(server, name) for name in models], PLAIN, **options)
        return Mode(lambda: panel.estimate(texts), lambda caps: panel.score(texts, caps=caps))

    return made


def sweeping(
    targets: int = 1, rewriters: int = 1, **options: Any
) -> Callable[[ScriptedServer, Path], Mode]:
    def made(server: ScriptedServer, folder: Path) -> Mode:
        from persona_panel.graphs.framing import Framings

        elicitation = options.pop("elicitation", None)
        panel = Panel(READERS, stub(server, "judge"), PLAIN, elicitation=elicitation)
        how: dict[str, Any] = {
            "framings": Framings.model_validate(FRAMINGS),
            "rewriters": [stub(server, f"rewriter{i}") for i in range(rewriters)],
            **options,
        }
        asked = [stub(server, f"target{i}") for i in range(targets)]
        return Mode(
            lambda: panel.estimate_sweep(PROMPTS, asked, **how),
            lambda caps: panel.sweep(PROMPTS, asked, caps=caps, **how),
        )

    return made


def given(server: ScriptedServer, folder: Path) -> Mode:
    """Responses that are there, one of a system without any other condition."""
    panel = Panel(READERS, stub(server, "judge"), PLAIN)
    there = [
        FramedResponse(prompt_id="p", prompt="Why?", condition=c, system=s, text=f"Text {s} {c}.")
        for s, c in [("a", "baseline"), ("a", "placebo"), ("a", "mine"), ("b", "baseline")]
    ]
    return Mode(
        lambda: panel.estimate_sweep(responses=there),
        lambda caps: panel.sweep(responses=there, caps=caps),
    )


def injecting(server: ScriptedServer, folder: Path) -> Mode:
    panel = Panel(READERS, stub(server), PLAIN)
    attacks = load_definition(shipped_attacks(), AttackSet).chosen((), ("flattery",))
    plan = plan_injection(panel.plan, TEXTS, attacks)
    return Mode(
        injection_job(panel.plan, plan, folder / "audit").estimate,
        lambda caps: audit_injection(panel.plan, plan, out=folder / "audit", caps=caps),
    )


def questions(server: ScriptedServer, folder: Path) -> Mode:
    said = [Intervention(id=f"i{i}", intervention=f"We closed pool {i % 5}.") for i in range(6)]
    job = Questions(said, stub(server))
    return Mode(job.estimate, lambda caps: asyncio.run(job.run(caps)))


def matching(server: ScriptedServer, folder: Path) -> Mode:
    asked = [one.model_copy(update={"prompt_id": "p"}) for one in TWINS]
    known = {"p": [Reference("one", "Who?", "useful"), Reference("two", "Why?", "invalid")]}
    job = MatchByModel(asked, known, stub(server))
    return Mode(job.estimate, lambda caps: asyncio.run(job.run(caps)))


OWN = JudgePrompt.model_validate(
    {
        "prompt": "{persona} {text}",
        "read": {"regex": r"(\d+)"},
        "scale": {"min": 1, "max": 10, "low": "bad", "high": "good"},
        "example": "5",
    }
)
MODES = {
    "dimensions": scoring(),
    "justified": scoring(elicitation="justified"),
    "holistic": scoring(elicitation="holistic"),
    "unguided": scoring(elicitation="unguided"),
    "expected": scoring(elicitation="expected"),
    "yes-no": scoring(elicitation="yes-no"),
    "a prompt of one's own": scoring(prompt=OWN),
    "ranking": scoring(elicitation="ranking"),
    "pairwise": scoring(elicitation="pairwise"),
    "replicates": scoring(replicates=3),
    "persona-first": scoring(layout="persona-first"),
    "two models": scoring(models=("one", "two"), elicitation="expected"),
    "the same text twice": scoring(TWINS, elicitation="yes-no"),
    "deliberation": scoring(deliberation=Deliberation(rounds=2)),
    "deliberation until settled": scoring(deliberation=Deliberation(rounds=3, stop_when="settled")),
    "deliberation where judges differ": scoring(
        deliberation=Deliberation(rounds=1, spread_above=2.5), models=("one", "two")
    ),
    "deliberation on reasons": scoring(
        deliberation=Deliberation(rounds=2, reveal="both"), elicitation="justified"
    ),
    "sweep": sweeping(),
    "sweep of two targets by two rewriters": sweeping(2, 2, judge_sees="baseline", words=30),
    "sweep judged by probabilities": sweeping(2, 1, elicitation="expected"),
    "sweep of responses given": given,
    "audit": injecting,
    "questions": questions,
    "match": matching,
}
ANSWERS_DECIDE = re.compile("deliberation|expected|yes-no|twice|two models|probabilities")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERSONA_PANEL_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", MODES)
def test_the_calls_foreseen_are_the_calls_made(name: str, tmp_path: Path) -> None:
    """With nothing in the cache, with what a run left that a cap had stopped after a third of its
    calls, and with all of it, in every mode; where the answers decide, within the bounds told."""
    with serving(everybody) as server:
        mode = MODES[name](server, tmp_path)

        def foreseen_and_made(caps: Caps = NO_CAPS) -> tuple[int, int, int, int]:
            told = mode.estimate()
            before = len(server.calls)
            mode.run(caps)
            return (
                sum(one.calls_at_least for one in told),
                sum(one.calls for one in told),
                sum(one.calls_at_most for one in told),
                len(server.calls) - before,
            )

        whole = mode.estimate()
        assert not server.calls
        stopped_after = max(2, sum(one.calls for one in whole) // 3)
        mode.run(Caps(calls=stopped_after))
        assert len(server.calls) == stopped_after
        _check(name, *foreseen_and_made())
        # Warm: nothing is left, and that is known for sure.
        assert foreseen_and_made() == (0, 0, 0, 0)
        total = len(server.calls)
        assert sum(one.calls_at_least for one in whole) <= total
        assert total <= sum(one.calls_at_most for one in whole)
        if "deliberation" not in name:
            assert sum(one.calls for one in whole) == total


def _check(name: str, least: int, told: int, most: int, made: int) -> None:
    assert least <= made <= most
    if "deliberation" not in name:
        assert told == made
    if not ANSWERS_DECIDE.search(name):
        assert least == told == most


def test_the_probe_for_log_probabilities_is_foreseen(tmp_path: Path) -> None:
    """One call more than there are judgments, until it is in the cache."""
    with serving(everybody) as server:
        panel = Panel(READERS, stub(server), PLAIN, elicitation="expected")
        [told] = panel.estimate(TEXTS[:2])
        assert (told.judgments, told.calls) == (6, 7)
        run = panel.score(TEXTS[:2])
        assert run.calls.made == len(server.calls) == 7
        [told] = panel.estimate(TEXTS)
        assert (told.judgments, told.calls) == (12, 12)


def test_rounds_that_the_answers_do_not_decide_are_foreseen_exactly() -> None:
    """Judges that never move are asked the same again in the second round, which the cache answers:
    the fewest calls told. Judges that always move are asked why each time: the most."""
    for moves, bound in ((False, "calls_at_least"), (True, "calls_at_most")):

        def script(number: int, payload: Mapping[str, Any], moves: bool = moves) -> Answer:
            if "changed your mind" in payload["messages"][-1]["content"]:
                return ok("Their reasons.")
            own = re.search(r"You have rated this.*?Clarity (\d+)", json.dumps(payload))
            clarity = 3 if own is None else int(own[1]) + moves
            return ok(json.dumps({"clarity": clarity, "depth": 5}))

        with serving(script) as server:
            panel = Panel(READERS, stub(server), PLAIN, deliberation=Deliberation(rounds=2))
            [told] = panel.estimate(TEXTS)
            panel.score(TEXTS)
            assert getattr(told, bound) == len(server.calls)


@pytest.mark.parametrize(
    "prompt",
    [
        "Is the following claim true?",
        "What does the prompt mean?",
        "As somebody who believes it, and strongly so: is it?",
        "one_side or other_side?",
        "v0",
        "?",
        "日本は島国ですか",
    ],
)
def test_no_prompt_makes_a_sweep_s_dry_run_leave_out_targets(prompt: str) -> None:
    """Whatever words a prompt has, its variants are taken to pass: a rewriting, a check, three
    answers and three times three judgments."""
    from persona_panel.graphs.framing import Framings

    at = {"base_url": "http://127.0.0.1:1/v1"}
    panel = Panel(READERS, ModelConfig(model="openai:j", **at), PLAIN)
    target = ModelConfig(model="openai:t", **at)
    told = panel.estimate_sweep([prompt], target, framings=Framings.model_validate(FRAMINGS))
    assert [one.calls for one in told] == [2, 3, 9]
