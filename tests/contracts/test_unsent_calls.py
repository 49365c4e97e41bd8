"""Calls that fail before they are sent, by providers' own packages: the server knows nothing of
them, and they count as nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from persona_panel import Caps, Judgment, Panel, Response
from persona_panel.models.client import NOTHING, CallError
from persona_panel.models.providers import client_for
from persona_panel.rubrics import ModelRequest
from tests.contracts.installed import WIRES, each_wire, needed
from tests.contracts.measure import ASK, surroundings
from tests.contracts.wire import KEY, Said, Wire, served
from tests.helpers.judging import PERSONAS, RUBRIC
from tests.helpers.ports import free_port

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

BY_NAME = {wire.provider: wire for wire in WIRES}
BY_LANGCHAIN = [wire for wire in WIRES if wire.provider != "openai"]
RESPONSES = [Response(id=f"r{n}", prompt="What?", text=f"T {n}.", system="s") for n in range(10)]


def of_openai(url: str) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="m", base_url=url, api_key=KEY, model_kwargs={"nonsense": 1})


def of_anthropic(url: str) -> Any:
    from langchain_anthropic import ChatAnthropic

    return ChatAnthropic(model="m", base_url=url, api_key=KEY, model_kwargs={"nonsense": 1})


def of_groq(url: str) -> Any:
    from langchain_groq import ChatGroq

    return ChatGroq(model="m", base_url=url, api_key=KEY, model_kwargs={"nonsense": 1})


@pytest.mark.parametrize(
    ("provider", "make"),
    [("azure_openai", of_openai), ("anthropic", of_anthropic), ("groq", of_groq)],
)
@pytest.mark.parametrize("caps", [Caps(), Caps(calls=10, tokens=10_000)], ids=["free", "capped"])
def test_an_option_that_the_package_does_not_take_costs_nothing(
    provider: str, make: Any, caps: Caps, tmp_path: Path
) -> None:
    """Ten calls that the provider's package refuses are no calls, tokens or dollars anywhere, use
    up no cap, and each judgment has the package's own words."""
    wire = needed(BY_NAME[provider])
    heard: list[Judgment] = []
    with served(lambda number, payload: wire.usual(payload)) as server:
        panel = Panel([PERSONAS["ann"]], make(server.url), RUBRIC)
        run = panel.score(RESPONSES, out=tmp_path / "run", on_judgment=heard.append, caps=caps)
        assert not server.calls
    assert (run.calls.made, run.calls.unsent, run.calls.estimated.calls) == (0, 10, 0)
    assert not any(run.calls.spent.values())
    spent = json.loads((tmp_path / "run" / "spent.json").read_text())
    assert spent["calls"] == 0
    assert all(used["input"] == used["output"] == 0 for used in spent["usage"].values())
    assert {judgment.status for judgment in heard} == {"failed"}
    assert all("unexpected keyword argument 'nonsense'" in str(one.error) for one in heard)


async def fault_at(wire: Wire, url: str, request: ModelRequest = ASK) -> CallError:
    with surroundings(wire, url) as config, pytest.raises(CallError) as caught:
        await client_for(config).complete(request)
    return caught.value


@pytest.mark.parametrize("wire", BY_LANGCHAIN, ids=lambda wire: wire.provider)
async def test_what_cannot_be_connected_to_is_not_sent(wire: Wire) -> None:
    """A refused connection costs nothing, and its reason says so in words of the system's or the
    package's, not that there was an error alone."""
    fault = await fault_at(needed(wire), f"http://127.0.0.1:{free_port()}")
    assert fault.unsent
    assert fault.used is NOTHING
    assert "onnect" in str(fault).replace("Connection error", "")


@each_wire
async def test_an_answer_that_cannot_be_read_was_sent(wire: Wire) -> None:
    """It may have been paid for, wherever the package fails with it."""
    wire = needed(wire)
    with served(lambda number, payload: Said('{"choices": 5, "content": 5, "candi')) as server:
        fault = await fault_at(wire, server.url)
        assert len(server.calls) == 1
    assert not fault.unsent
    assert fault.used is None


async def test_what_google_package_refuses_is_not_sent() -> None:
    """A request without contents."""
    wire = needed(BY_NAME["google_genai"])
    with served(lambda number, payload: wire.usual(payload)) as server:
        fault = await fault_at(wire, server.url, replace(ASK, system="", blocks=()))
        assert not server.calls
    assert fault.unsent
