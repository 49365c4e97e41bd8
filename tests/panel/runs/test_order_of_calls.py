"""In which order a run's calls go out, and so which prompts are judged first."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from persona_panel import ModelConfig, Panel, Persona, Response
from persona_panel.graphs import Judgment
from persona_panel.models.client import Capabilities
from persona_panel.rubrics import ModelRequest, ModelResponse
from persona_panel.testing import Call, ScriptedModel, always, ok, serving
from tests.helpers.simulated_time import in_simulated_time

N_RESPONSES, N_SLOTS, LATENCY_S = 12, 2, 0.05


def texts_read(calls: Sequence[Call]) -> int:
    """How often a server reads a response that it does not have in memory: each of its slots keeps
    the last; a call has the free slot with its response, or else the one used longest ago."""
    kept, free_at, n_read = [""] * N_SLOTS, [0.0] * N_SLOTS, 0
    for call in sorted(calls, key=lambda one: one.at):
        words = str(call.payload)
        text = next(f"text {n}." for n in range(N_RESPONSES) if f"text {n}." in words)
        # One that is answered a moment later counts as free.
        free = [n for n in range(N_SLOTS) if free_at[n] <= call.at + LATENCY_S / 2]
        slot = min(free or range(N_SLOTS), key=lambda n: (kept[n] != text, free_at[n]))
        n_read += kept[slot] != text
        kept[slot], free_at[slot] = text, call.at + LATENCY_S
    return n_read


def test_judges_of_a_response_are_asked_after_each_other() -> None:
    """A server with as many slots as calls may be in flight reads most responses once, for all of
    the judges: the last ones alone are shared between slots, so that none is idle."""
    responses = [
        Response(id=str(n), prompt="p", prompt_id="p", text=f"text {n}.", system=f"s{n}")
        for n in range(N_RESPONSES)
    ]
    with serving(always(ok('{"good_opening": 4}')), latency_s=LATENCY_S) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url, concurrency=N_SLOTS)
        Panel("disciplinary", model, "debate-speech").score(responses)
        assert N_RESPONSES <= texts_read(server.calls) <= N_RESPONSES + 3


class SlowModel(ScriptedModel):
    """Answers after so many seconds; `most` is how many calls were in flight at most."""

    def __init__(self, name: str, latency_s: float, concurrency: int | None = None) -> None:
        super().__init__(model=name, capabilities=Capabilities(concurrency=concurrency))
        self.latency_s, self.most, self._now = latency_s, 0, 0

    async def complete(self, request: ModelRequest) -> ModelResponse:
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(self.latency_s)
        self._now -= 1
        return replace(await super().complete(request), latency_s=self.latency_s)


N_SYSTEMS, N_PERSONAS = 3, 5


def judged_in_simulated_time(
    n_prompts: int, models: Sequence[SlowModel], on_judgment: Callable[[Judgment], None]
) -> float:
    """Have five personas speak through models, of responses of three systems to prompts; return the
    seconds until the last judgment."""
    ended = 0.0

    def take(judgment: Judgment) -> None:
        nonlocal ended
        ended = time.monotonic()
        on_judgment(judgment)

    personas = [
        Persona(id=f"p{n}", label=f"P{n}", axis="a", description="A.") for n in range(N_PERSONAS)
    ]
    responses = [
        Response(id=f"s{s}", prompt=f"q{q}", prompt_id=f"q{q}", text=f"{q} {s}", system=f"s{s}")
        for q in range(n_prompts)
        for s in range(N_SYSTEMS)
    ]

    async def scored() -> float:
        began = time.monotonic()
        panel = Panel(personas, list(models), "debate-speech")
        await panel.ascore(responses, on_judgment=take)
        # What follows waits for connections of other tests, by the clock that is not simulated.
        return ended - began

    return in_simulated_time(scored())


def calls_until_whole(n_prompts: int, models: Sequence[SlowModel], n_whole: int) -> int:
    """Return how many judgments there are once so many prompts are whole."""
    lacking = Counter[str]()
    whole_at: list[int] = []
    for q in range(n_prompts):
        lacking[f"q{q}"] = N_SYSTEMS * N_PERSONAS * len(models)
    n_all = lacking.total()

    def take(judgment: Judgment) -> None:
        lacking[judgment.prompt_id] -= 1
        if not lacking[judgment.prompt_id]:
            whole_at.append(n_all - lacking.total())

    judged_in_simulated_time(n_prompts, models, take)
    assert len(whole_at) == n_prompts
    return whole_at[n_whole - 1]


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERSONA_PANEL_CACHE", str(tmp_path))


@pytest.mark.parametrize(
    ("n_prompts", "concurrency", "share"),
    [(12, None, 0.33), (40, None, 0.1), (12, 8, 0.23), (40, 64, 0.2)],
)
def test_two_prompts_are_whole_early(n_prompts: int, concurrency: int | None, share: float) -> None:
    """Two of 12 prompts are 17 % of the calls, and two of 40 5 %. Beside them there are those of
    the calls in flight that were begun since: eight at first, and one more for each answer; of 64,
    the first calls about 64 responses, which are 11 % of 600, before the others about any."""
    n_calls = n_prompts * N_SYSTEMS * N_PERSONAS
    at = calls_until_whole(n_prompts, [SlowModel("m", 1, concurrency)], 2)
    assert 2 * N_SYSTEMS * N_PERSONAS <= at <= share * n_calls


def test_a_fast_model_is_few_prompts_ahead_of_a_slow_one() -> None:
    """With a model that is ten times as fast beside a slow one, two of 60 prompts, which are 3 % of
    the calls, are whole before a tenth of the calls is made."""
    models = [SlowModel("slow", 1), SlowModel("fast", 0.1)]
    assert calls_until_whole(60, models, 2) <= 0.1 * 60 * N_SYSTEMS * N_PERSONAS * 2


def test_a_fast_model_is_held_back_for_no_longer_than_the_slow_one_takes() -> None:
    """A panel of both takes no longer than of the slow one alone."""
    slow = judged_in_simulated_time(60, [SlowModel("slow", 1)], lambda _: None)
    models = [SlowModel("slow", 1), SlowModel("fast", 0.1)]
    assert judged_in_simulated_time(60, models, lambda _: None) <= slow + 0.2


def test_no_slot_is_idle_for_the_order() -> None:
    """With 64 calls of a second each in flight, 1,800 judgments take 28.1 s, and a second more at
    the end, where a response's other judges wait for the first."""
    model = SlowModel("m", 1, 64)
    seconds = judged_in_simulated_time(120, [model], lambda _: None)
    assert model.most == 64
    assert 1800 / 64 <= seconds <= 1800 / 64 + 1


def test_more_responses_are_begun_as_more_calls_may_be_in_flight() -> None:
    """Without a limit each answer allows one call more, and there are responses for them: of 600
    calls 8, 16, 32, 64, 128 and 256 go out in six rounds of a second, and 96 in a seventh."""
    model = SlowModel("m", 1)
    assert judged_in_simulated_time(40, [model], lambda _: None) < 7.1
    assert model.most == 256
