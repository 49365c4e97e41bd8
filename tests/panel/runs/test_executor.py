"""What a run does around its graphs: how much is in flight, and what is kept of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from persona_panel import (
    ConfigurationError,
    ModelConfig,
    Panel,
    Persona,
    Response,
)
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.testing import Answer, ok, serving, stall
from tests.helpers.judgments import PLAIN

ANN, BOB = (
    Persona(id=name, label=name.title(), axis="own", description=f"You are {name}.")
    for name in ("ann", "bob")
)
RESPONSES = [
    Response(id=f"r{i}", prompt="Why?", text=f"Text {i}.", system=f"s{i % 2}") for i in range(12)
]


def test_responses_are_judged_side_by_side() -> None:
    """One judge with six calls in flight has six responses before it at once: no model waits for
    a response to be done."""
    with serving(lambda call, payload: stall(0.2)) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url, concurrency=6)
        run = Panel([ANN], model, PLAIN).score(RESPONSES)
    assert run.coverage.expected == 12
    assert server.in_flight_max == 6


def test_a_stream_takes_no_more_than_it_has_room_for() -> None:
    """Of an endless source, responses are taken for three times the calls that may be in flight,
    and one more."""
    taken = 0

    async def endless() -> AsyncIterator[Response]:
        nonlocal taken
        while True:
            taken += 1
            yield RESPONSES[0].model_copy(update={"id": f"r{taken}"})

    async def first(panel: Panel) -> None:
        verdicts = panel.astream(endless())
        await anext(verdicts)
        await verdicts.aclose()

    with serving() as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url, concurrency=2)
        asyncio.run(first(Panel([ANN], model, PLAIN)))
    assert 2 <= taken <= 9


def test_a_stream_cannot_be_compared() -> None:
    """A panel that compares refuses a stream before anything is called."""
    with serving() as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url)
        panel = Panel([ANN], model, PLAIN, elicitation="ranking")
        with pytest.raises(ConfigurationError, match="a stream does not say how many"):
            asyncio.run(anext(panel.astream(RESPONSES)))  # type: ignore[arg-type]
        assert server.calls == []


def test_who_says_what_changed_its_mind_is_told_from_who_does_not() -> None:
    """Of two judges that follow each other, the one that names a reason is `stated`, in the run
    and in what deliberation is said to have done."""

    def script(call: int, payload: Mapping[str, Any]) -> Answer:
        said = json.dumps(payload["messages"])
        ann = "You are ann." in said
        if "changed your mind" in said:
            return ok("A peer saw more." if ann else "Nothing.")
        revising = call >= 2
        return ok(json.dumps({"clarity": (8 if ann else 2) if revising else (2 if ann else 8)}))

    with serving(script) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url, concurrency=1)
        panel = Panel([ANN, BOB], model, PLAIN, deliberation=Deliberation(rounds=1))
        run = panel.score(RESPONSES[:1])
    assert run.deliberated.tolist() == [True]
    assert run.stated.tolist() == [[True, False]]
    report = run.deliberation()
    assert report is not None
    assert (report.conformity["stated"].n_moves, report.conformity["unstated"].n_moves) == (1, 1)
