"""The panel plan: one value that can be sent elsewhere, without a client or a secret."""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult

from persona_panel import (
    ConfigurationError,
    ModelConfig,
    Panel,
    PanelPlan,
    Persona,
    Response,
)
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.planning.settings import PanelSettings
from persona_panel.testing import always, ok, serving
from tests.helpers import forked
from tests.helpers.judgments import PLAIN

CANARY = "sk-canary-4815162342"
TWO = [
    Persona(id=name, label=name.title(), axis="own", description=f"You are {name}.")
    for name in ("ann", "bob")
]
RESPONSES = [
    Response(id=f"r{i}", prompt=f"Question {i // 2}?", text=f"Text {i}.", system=f"s{i % 2}")
    for i in range(4)
]
ELSEWHERE = """\
import json, pickle, sys
from pathlib import Path
from persona_panel import Panel, Response
plan = pickle.loads(Path(sys.argv[1]).read_bytes())
responses = [Response(**one) for one in json.loads(Path(sys.argv[2]).read_text())]
run = Panel.from_plan(plan).score(responses)
print(json.dumps([run.ratings.tolist(), run.coverage.complete]))
"""


def scored_elsewhere(plan: PanelPlan, folder: Path, **environment: str) -> list[Any]:
    """What a plan comes to in another process that gets its pickle, and has a cache of its own."""
    (folder / "plan").write_bytes(pickle.dumps(plan))
    texts = [one.model_dump() for one in RESPONSES]
    (folder / "texts.json").write_text(json.dumps(texts))
    done = forked.run(
        [sys.executable, "-c", ELSEWHERE, folder / "plan", folder / "texts.json"],
        folder,
        {**os.environ, "PERSONA_PANEL_CACHE": str(folder / "elsewhere"), **environment},
    )
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


def test_a_pickled_plan_scores_the_same_in_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its key is not in the pickle, not even after a run: it comes from the environment there."""
    monkeypatch.setenv("CANARY_KEY", CANARY)
    with serving(always(ok('{"clarity": 7}'))) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url, key_env="CANARY_KEY")
        panel = Panel(TWO, model, PLAIN, replicates=2, deliberation=Deliberation(rounds=1), seed=3)
        run = panel.score(RESPONSES)
        assert CANARY.encode() not in pickle.dumps(panel.plan)
        assert scored_elsewhere(panel.plan, tmp_path) == [run.ratings.tolist(), True]
        assert {call.headers["Authorization"] for call in server.calls} == {f"Bearer {CANARY}"}


def test_a_chat_model_given_as_an_object_is_pickled_where_langchain_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ChatOpenAI that was given a key answers elsewhere with the environment's."""
    openai = pytest.importorskip("langchain_openai")
    with serving(always(ok('{"clarity": 4}'))) as server:
        chat = openai.ChatOpenAI(
            model="stub", api_key=CANARY, base_url=server.base_url, max_retries=0, temperature=0.5
        )
        plan = PanelPlan.of(TWO, chat, PLAIN)
        assert CANARY.encode() not in pickle.dumps(plan)
        found = scored_elsewhere(plan, tmp_path, OPENAI_API_KEY="sk-another")
        assert found == [[[[4.0], [4.0]]] * 4, True]
        assert {call.headers["Authorization"] for call in server.calls} == {"Bearer sk-another"}
    again = pickle.dumps(plan)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        pickle.loads(again)


class Mute(BaseChatModel):
    """A chat model whose class does not say that it may be serialized."""

    model: str = "mute"

    @property
    def _llm_type(self) -> str:
        return "own"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError


def test_what_cannot_be_pickled_is_refused_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A class that LangChain does not serialize, and a secret among a model's settings."""
    with pytest.raises(ConfigurationError, match=r"own:mute .* cannot be pickled.* as a spec"):
        pickle.dumps(PanelPlan.of(TWO, Mute(), PLAIN))
    openai = pytest.importorskip("langchain_openai")
    headers = {"Authorization": f"Basic {CANARY}"}
    chat = openai.ChatOpenAI(model="stub", api_key="-", default_headers=headers)
    with pytest.raises(ConfigurationError, match="a key or password stands in its settings"):
        pickle.dumps(PanelPlan.of(TWO, chat, PLAIN))
    pytest.importorskip("langchain_anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "-")
    address = ModelConfig(model="anthropic:stub", base_url=f"http://me:{CANARY}@127.0.0.1:9")
    with pytest.raises(ConfigurationError, match=r"base_url holds a key.*key_env") as refused:
        pickle.dumps(PanelPlan.of(TWO, address, PLAIN))
    assert CANARY not in str(refused.value)


def test_a_plan_that_is_put_together_by_hand_is_checked() -> None:
    """Its parts are checked when they come together, however they come."""
    model = ModelConfig(model="openai:stub", base_url="http://127.0.0.1:9/v1")
    plan = PanelPlan.of(TWO, model, PLAIN)
    with pytest.raises(ConfigurationError, match="gives no rationales"):
        PanelPlan(
            plan.personas,
            plan.rubric,
            plan.models,
            PanelSettings(deliberation=Deliberation(rounds=1, reveal="rationales")),
        )


def test_all_that_is_wrong_with_models_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is named twice is said to be, before its key that is missing; each once."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError) as error:
        Panel(models=["openai:gpt-4o-mini"] * 2, personas=TWO, rubric=PLAIN)
    twice, key = str(error.value).splitlines()
    assert twice.startswith("openai:gpt-4o-mini is on the panel twice; leave one out")
    assert key.startswith("openai:gpt-4o-mini needs a key")
