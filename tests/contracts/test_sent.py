"""What really goes to each provider: nothing that nobody has set, and run.json says all of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from persona_panel import Panel, Response
from persona_panel.models.client import distinct, parameters_of
from tests.contracts.installed import each_wire, needed
from tests.contracts.measure import ASK, measured, surroundings
from tests.contracts.wire import KEY, Wire, served
from tests.helpers.judging import PERSONAS, RUBRIC

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

SAMPLING = {"temperature", "top_p", "topP", "top_k", "topK", "seed", "random_seed"}
SAMPLING |= {"frequency_penalty", "presence_penalty"}
TEXTS = [Response(id=f"r{n}", prompt="What?", text=f"Text {n}.", system="s") for n in range(3)]


def strings_in(value: Any) -> list[str]:
    """All texts among the values of a document."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for one in value for text in strings_in(one)]
    return [value] if isinstance(value, str) else []


def settings_in(value: Any) -> dict[str, Any]:
    """The settings of a request by name, however deep they stand, without those that are null."""
    if not isinstance(value, dict):
        return {}
    flat = {name: one for name, one in value.items() if one is not None}
    for inner in value.values():
        flat |= settings_in(inner)
    return flat


@each_wire
def test_the_providers_own_sampling_is_in_force(wire: Wire) -> None:
    """A request has no temperature and the like that nobody has set, whatever LangChain's
    classes make up."""
    assert not SAMPLING & settings_in(parameters_of(measured(needed(wire)).request)).keys()


@each_wire
def test_texts_go_as_they_are(wire: Wire) -> None:
    """The system prompt and the words of a request arrive unchanged, and no others with them."""
    sent = measured(needed(wire)).request
    texts = [text for text in strings_in(sent) if " " in text]
    assert sorted(texts) == sorted([ASK.system, "".join(ASK.blocks)])


@each_wire
def test_run_json_says_what_was_sent(wire: Wire, tmp_path: Path) -> None:
    """The parameters of each model's requests, as its server received them, are in run.json, and
    neither texts nor keys are; also of a temperature that a user has set."""
    wire = needed(wire)
    with (
        served(lambda number, payload: wire.usual(payload)) as server,
        surroundings(wire, server.url) as config,
    ):
        config = config.model_copy(update={"temperature": 0.5})
        Panel([PERSONAS["ann"]], config, RUBRIC).score(TEXTS, out=tmp_path / "run")
        received = distinct([], [parameters_of(payload) for payload in server.calls])
    content = (tmp_path / "run" / "run.json").read_text()
    (start,) = json.loads(content)["starts"]
    assert start["sent"] == {config.model: received}
    assert settings_in(received[0])["temperature"] == 0.5
    assert KEY not in content
    sentences = {text for text in strings_in(start["sent"]) if " " in text}
    assert sentences <= {"the schema of an answer", "The ratings."}


def test_a_key_among_the_parameters_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a package puts into a body, a key that the process knows is not told."""
    from persona_panel.files.secrets import SECRETS

    SECRETS.learn(KEY)
    told = parameters_of({"user": f"me:{KEY}", "extra": [{"token": KEY}], "system": "You judge."})
    assert KEY not in json.dumps(told)
    assert told.keys() == {"user", "extra"}


def test_parameters_that_differ() -> None:
    """Two requests whose parameters differ are both told, and equal ones once."""
    one, two = {"temperature": 0}, {"temperature": 1}
    assert distinct([one], [one, two, two]) == [one, two]
