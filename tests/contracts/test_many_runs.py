"""Many runs in one process: providers' packages keep clients that belong to an event loop, and a
script, a notebook or a worker has a new one each time."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
from collections import Counter
from contextvars import copy_context
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from pydantic import SecretStr

from persona_panel import Judgment, Panel, Response
from persona_panel.models.event_loops import in_lasting_loop
from persona_panel.models.langchain import LangChainClient
from persona_panel.models.providers import client_for
from tests.contracts.installed import WIRES, each_wire, needed
from tests.contracts.measure import ASK, surroundings
from tests.contracts.wire import KEY, Payload, Said, Wire, WireServer, served
from tests.helpers.judging import PERSONAS, RUBRIC

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

BY_NAME = {wire.provider: wire for wire in WIRES}
READERS = [PERSONAS["ann"], PERSONAS["bob"]]
RUNS = 10
_EACH = 2
"""Responses of a run, each read twice."""
_MORE_MEMORY = 30_000_000
"""Bytes: a package that is imported late, or a client of Amazon's that is made anew, takes some."""


def batch(name: object) -> list[Response]:
    return [
        Response(id=f"r{n}", prompt="What?", text=f"Text {name} {n}.", system="s")
        for n in range(_EACH)
    ]


def scored(panel: Panel, name: object) -> Counter[str]:
    """The judgments of a run by `score`, by their status."""
    heard: list[Judgment] = []
    panel.score(batch(name), on_judgment=heard.append)
    return Counter(judgment.status for judgment in heard)


async def ascored(panel: Panel, name: object) -> Counter[str]:
    """The same by `ascore`."""
    heard: list[Judgment] = []
    await panel.ascore(batch(name), on_judgment=heard.append)
    return Counter(judgment.status for judgment in heard)


@each_wire
def test_ten_runs_in_a_row(wire: Wire) -> None:
    """All are judged by one call each, by one panel or a new one, by `score` or `asyncio.run`;
    neither open connections nor memory grow."""
    psutil = pytest.importorskip("psutil", reason="the extra contracts brings it")
    me, used = psutil.Process(), []
    # Those of tests before this one in the process.
    others = {id(one) for one in gc.get_objects() if isinstance(one, LangChainClient)}
    wire = needed(wire)
    usual = served(lambda number, payload: wire.usual(payload))
    with usual as server, surroundings(wire, server.url) as config:
        panel = Panel(READERS, config, RUBRIC)
        for number in range(RUNS):
            if number % 3 == 2:
                panel = Panel(READERS, config, RUBRIC)
            judged = asyncio.run(ascored(panel, number)) if number % 2 else scored(panel, number)
            assert judged == {"scored": _EACH * len(READERS)}
            assert len(server.calls) == (number + 1) * _EACH * len(READERS)
            if number in (4, RUNS - 1):
                gc.collect()
                used.append((me.num_fds(), me.memory_info().rss))
    (fds_before, memory_before), (fds, memory) = used
    # A connection may come and go meanwhile, at either end.
    assert fds <= fds_before + 2 * _EACH * len(READERS)
    assert memory - memory_before < _MORE_MEMORY
    clients = (one for one in gc.get_objects() if isinstance(one, LangChainClient))
    alive = [one for one in clients if id(one) not in others]
    # That of the last panel, and one that a finished run's loop may still hold.
    assert len(alive) <= 2


@pytest.mark.parametrize("provider", ["mistralai", "anthropic"])
def test_two_threads_score_at_once(provider: str) -> None:
    """A worker's threads may share a panel."""
    wire = needed(BY_NAME[provider])
    done: list[Counter[str]] = []
    with served(lambda number, payload: wire.usual(payload)) as server:
        with surroundings(wire, server.url) as config:
            panel = Panel(READERS, config, RUBRIC)
            threads = [
                threading.Thread(target=lambda name=name: done.append(scored(panel, name)))
                for name in ("one", "two")
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
        assert len(server.calls) == 8
    assert done == [{"scored": 4}] * 2


async def test_a_notebook_scores_again_and_again() -> None:
    """Where a loop runs already, `score` and `ascore` take turns with one panel."""
    wire = needed(BY_NAME["mistralai"])
    with served(lambda number, payload: wire.usual(payload)) as server:
        with surroundings(wire, server.url) as config:
            panel = Panel(READERS, config, RUBRIC)
            for number in range(2):
                assert scored(panel, number) == {"scored": 4}
                assert await ascored(panel, f"{number} a") == {"scored": 4}
        assert len(server.calls) == 16


def given_to(server: WireServer, package: ModuleType) -> Any:
    return package.ChatMistralAI(
        model_name="mistral-small-latest",
        base_url=f"{server.url}/v1",
        api_key=SecretStr(KEY),
        max_retries=0,
    )


def test_a_chat_model_of_the_user_s_own_is_called_run_after_run() -> None:
    """An object that was handed over serves one `score` after the other, too."""
    package = pytest.importorskip("langchain_mistralai", reason="the extra contracts brings it")
    wire = BY_NAME["mistralai"]
    with served(lambda number, payload: wire.usual(payload)) as server:
        chat = given_to(server, package)
        panel = Panel(READERS, chat, RUBRIC)
        for number in range(3):
            assert scored(panel, number) == {"scored": 4}
        assert len(server.calls) == 12
        asyncio.run(in_lasting_loop(chat.async_client.aclose(), copy_context()))


async def test_a_chat_model_of_the_user_s_own_stays_in_the_user_s_loop() -> None:
    """What a running loop already uses is called there: its connections belong to it."""
    package = pytest.importorskip("langchain_mistralai", reason="the extra contracts brings it")
    wire = BY_NAME["mistralai"]
    with served(lambda number, payload: wire.usual(payload)) as server:
        chat = given_to(server, package)
        await chat.ainvoke("hello")
        assert await ascored(Panel(READERS, chat, RUBRIC), "own") == {"scored": 4}
        await chat.ainvoke("hello again")
        assert len(server.calls) == 6
        await chat.async_client.aclose()


@pytest.mark.parametrize("provider", ["google_genai", "anthropic"])
def test_an_overload_loses_nothing(provider: str) -> None:
    """Calls that met a 503 or 529 are made again, until all are judged."""
    wire = needed(BY_NAME[provider])
    first: set[str] = set()

    def say(number: int, payload: Payload) -> Said:
        asked = json.dumps(payload)
        if asked not in first:
            first.add(asked)
            return replace(wire.other["overload"](payload), headers={"Retry-After": "0.1"})
        return wire.usual(payload)

    with served(say) as server, surroundings(wire, server.url) as config:
        judged = scored(Panel(READERS, config, RUBRIC), "overload")
        assert len(server.calls) == 8
    assert judged == {"scored": 4}


@pytest.mark.parametrize(
    ("provider", "scenario"),
    [("google_genai", "key"), ("anthropic", "credit"), ("mistralai", "model")],
)
def test_what_can_never_succeed_is_not_asked_again(provider: str, scenario: str) -> None:
    """A wrong key, an empty account or an unknown model ends a model's calls at once; judgments
    say why."""
    wire = needed(BY_NAME[provider])
    many = [Response(id=f"r{n}", prompt="What?", text=f"T {n}.", system="s") for n in range(30)]
    heard: list[Judgment] = []
    broken = served(lambda number, payload: wire.other[scenario](payload))
    with broken as server, surroundings(wire, server.url) as config:
        two_at_once = config.model_copy(update={"concurrency": 2})
        Panel(READERS, two_at_once, RUBRIC).score(many, on_judgment=heard.append)
        assert len(server.calls) <= 2
    assert {judgment.status for judgment in heard} == {"failed", "skipped"}
    assert len(heard) == 60
    assert not [judgment for judgment in heard if KEY in str(judgment)]


@pytest.mark.parametrize("provider", ["google_genai", "azure_openai", "anthropic", "openai"])
def test_a_filtered_prompt_is_a_refusal(provider: str) -> None:
    """What the provider's filter stops is counted as refused and asked once; the rest is judged."""
    wire = needed(BY_NAME[provider])

    def say(number: int, payload: Payload) -> Said:
        stopped = "Text filter 0." in json.dumps(payload)
        return wire.other["filtered"](payload) if stopped else wire.usual(payload)

    with served(say) as server, surroundings(wire, server.url) as config:
        judged = scored(Panel(READERS, config, RUBRIC), "filter")
        assert len(server.calls) == 4
    assert judged == {"refused": 2, "scored": 2}


def test_a_text_too_long_fails_alone() -> None:
    """The provider's word that one text exceeds the context says nothing of the others."""
    wire = needed(BY_NAME["google_genai"])

    def say(number: int, payload: Payload) -> Said:
        long = "Text long 0." in json.dumps(payload)
        return wire.other["overflow"](payload) if long else wire.usual(payload)

    with served(say) as server, surroundings(wire, server.url) as config:
        judged = scored(Panel(READERS, config, RUBRIC), "long")
        # What is rejected is tried once more without the room for thinking, which may be why.
        assert len(server.calls) == 6
    assert judged == {"failed": 2, "scored": 2}


def test_a_late_answer_is_given_up_in_time() -> None:
    """The limit of a call holds whatever the package does, also where it blocks a thread."""
    wire = needed(BY_NAME["bedrock_converse"])

    def say(number: int, payload: Payload) -> Said:
        time.sleep(0.6)
        return wire.usual(payload)

    with served(say) as server, surroundings(wire, server.url) as config:
        client = client_for(config.model_copy(update={"timeout": 0.2}))
        started = time.monotonic()
        with pytest.raises(TimeoutError, match=r"no answer within 0\.2 s"):
            asyncio.run(client.complete(ASK))
        assert time.monotonic() - started < 0.6


def test_sixty_calls_at_once_are_sixty_connections(caplog: pytest.LogCaptureFixture) -> None:
    """Amazon's package keeps a connection for each call in flight, and warns of none."""
    wire = needed(BY_NAME["bedrock_converse"])

    async def sixty() -> None:
        await asyncio.gather(*(client.complete(ASK) for _ in range(60)))

    usual = served(lambda number, payload: wire.usual(payload))
    with usual as server, surroundings(wire, server.url) as config:
        client = client_for(config)
        asyncio.run(sixty())
        assert len(server.calls) == 60
    assert "pool is full" not in caplog.text
