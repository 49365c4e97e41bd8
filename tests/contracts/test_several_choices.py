"""Several answers to a request for one, by way of providers' own packages, which hand on the
first."""

from __future__ import annotations

import pytest

from persona_panel import Judgment, Panel, Response
from tests.contracts.installed import WIRES, needed
from tests.contracts.measure import surroundings
from tests.contracts.wire import Payload, Said, Wire, served
from tests.helpers.judging import PERSONAS, RUBRIC

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
_PLACES = {"openai": "choices", "azure_openai": "choices", "groq": "choices"} | {
    "mistralai": "choices",
    "google_genai": "candidates",
}


@pytest.mark.parametrize(
    "wire", [wire for wire in WIRES if wire.provider in _PLACES], ids=lambda wire: wire.provider
)
def test_several_choices_are_named_and_paid_for_once(wire: Wire) -> None:
    """The judgment fails with the reason, after one call."""
    wire, place = needed(wire), _PLACES[wire.provider]

    def twice(number: int, payload: Payload) -> Said:
        said = wire.usual(payload)
        first = said.body[place][0]
        return Said(said.body | {place: [first, first | {"index": 1}]})

    heard: list[Judgment] = []
    with served(twice) as server, surroundings(wire, server.url) as config:
        responses = [Response(id="r", prompt="What?", text="Text.", system="s")]
        run = Panel([PERSONAS["ann"]], config, RUBRIC).score(responses, on_judgment=heard.append)
        assert len(server.calls) == 1
    (judgment,) = heard
    assert judgment.status == "failed"
    assert "holds 2 choices, and one was asked for" in str(judgment.error)
    assert sum(used.input for used in run.calls.spent.values()) == 120
