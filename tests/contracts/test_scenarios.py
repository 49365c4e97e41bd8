"""What each provider says, as its own package hands it to a panel: refusals, limits, faults.

`python -m tests.contracts` writes the table of them into docs/reference/providers.md.
"""

from __future__ import annotations

import pytest

from persona_panel import ConfigurationError, Panel
from persona_panel.models.client import CallError
from persona_panel.rubrics import ModelResponse, Position, Usage
from tests.contracts.installed import WIRES, each_wire, needed
from tests.contracts.measure import SECONDS, Measured, measured, surroundings
from tests.contracts.table import PAGE, present, table
from tests.contracts.wire import KEY, Wire
from tests.helpers.judging import PERSONAS, RUBRIC

EXPECTED = {
    "judged": "judged",
    "refusal": "refused",
    "filtered": "refused",
    "length": "truncated",
    "overload": "asked again",
    "key": "model stopped",
    "credit": "model stopped",
    "model": "model stopped",
    "overflow": "this text only",
    "cached": "counted",
}
WITHOUT_LOGPROBS = {"anthropic", "bedrock_converse", "mistralai"}

# The packages' own opinions on each other, and on a model's end.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def results_of(wire: Wire) -> Measured:
    return measured(needed(wire))


@pytest.mark.parametrize(
    ("wire", "scenario"),
    [
        pytest.param(wire, scenario, id=f"{wire.provider}-{scenario}")
        for wire in WIRES
        for scenario in EXPECTED
        if scenario == "judged" or scenario in wire.other
    ],
)
def test_what_becomes_of_it(wire: Wire, scenario: str) -> None:
    """Each answer and fault means the same whoever gives it, with a schema and without."""
    assert results_of(wire).cell(scenario) == EXPECTED[scenario]


@each_wire
def test_one_request_is_one_call(wire: Wire) -> None:
    """No package tries again by itself, also where the connection breaks off: that is counted,
    paced and paid for above."""
    measured = results_of(wire)
    outcomes = [one for both in measured.outcomes.values() for one in both]
    assert {one.calls for one in [*outcomes, *measured.waits.values(), measured.broken_off]} == {1}


@each_wire
def test_each_form_of_a_wait_is_heeded(wire: Wire) -> None:
    """A 429 says for how long in seconds, as a date, in milliseconds or, Google's, in its body."""
    waits = results_of(wire).waits
    told = {
        form: one.came.retry_after for form, one in waits.items() if isinstance(one.came, CallError)
    }
    assert told == {form: SECONDS[form] for form in waits}
    assert {one.came.status for one in waits.values() if isinstance(one.came, CallError)} == {429}


@each_wire
def test_tokens_are_counted(wire: Wire) -> None:
    """Input, what of it came from a cache, and output, as the provider reports them."""
    outcomes = results_of(wire).outcomes
    for scenario, cached in (("judged", 0), ("cached", 100)):
        if scenario in outcomes:
            came = outcomes[scenario][0].came
            assert isinstance(came, ModelResponse)
            assert came.usage == Usage(input=120, cached=cached, output=5)


@each_wire
def test_no_fault_costs_tokens(wire: Wire) -> None:
    """What a provider turned away is not counted as if it had been worked on."""
    outcomes = [one for both in results_of(wire).outcomes.values() for one in both]
    faults = [one.came for one in outcomes if isinstance(one.came, CallError)]
    assert faults
    assert {fault.used for fault in faults} == {Usage()}


@each_wire
def test_no_fault_shows_the_key(wire: Wire) -> None:
    """Also where the provider quotes it."""
    outcomes = [one for both in results_of(wire).outcomes.values() for one in both]
    assert not [one for one in outcomes if KEY in f"{one.came} {one.came!r}"]


@each_wire
def test_log_probabilities(wire: Wire) -> None:
    """They are read in each provider's form; a provider that has none is refused before a call."""
    heard = results_of(wire).logprobs
    if wire.provider in WITHOUT_LOGPROBS:
        assert heard is None
    elif "logprobs" in wire.other:
        assert heard is not None
        assert isinstance(heard.came, ModelResponse)
        assert heard.came.logprobs == (Position("7", (("7", -0.5), ("8", -1.5)), -0.5),)


@pytest.mark.parametrize(
    "wire",
    [wire for wire in WIRES if wire.provider in WITHOUT_LOGPROBS],
    ids=lambda wire: wire.provider,
)
def test_who_has_no_log_probabilities_is_refused_at_once(wire: Wire) -> None:
    """A panel that needs them says so when it is made, before anything is called."""
    results_of(wire)
    with (
        surroundings(wire, "http://127.0.0.1:9") as config,
        pytest.raises(ConfigurationError, match=r"needs log-probabilities, and .* returns none"),
    ):
        Panel(list(PERSONAS.values()), config, RUBRIC, elicitation="expected")


def test_the_table_in_the_documentation() -> None:
    """Every cell of it is what was measured here."""
    for wire in WIRES:
        results_of(wire)
    assert present(PAGE.read_text()) == table(), "run: python -m tests.contracts"
