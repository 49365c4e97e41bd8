"""`persona_panel.testing`: its example runs, and a scripted model takes the place of one in a
panel."""

from __future__ import annotations

import doctest
import subprocess
import sys
from typing import Any
from urllib.request import Request, urlopen

import pytest

from persona_panel import ConfigurationError, ModelConfig, Panel, Response, testing
from persona_panel.models.client import CallError, Capabilities
from persona_panel.rubrics import ModelRequest, ModelResponse
from persona_panel.testing import ScriptedModel, raw, serving

ESSAY = Response(id="a", prompt="Should rents be capped?", text="Yes, for two years.", system="s")


def scores(answers: Any, **options: Any) -> list[float]:
    """The first judge's ratings, by a model that answers so."""
    run = Panel("disciplinary", ScriptedModel(answers), **options).score([ESSAY])
    return list(run.ratings[0, 0])


def test_the_example_prints_what_it_says() -> None:
    """Whoever pastes the docstring of `persona_panel.testing` gets its output."""
    found = doctest.testmod(testing)
    assert found.attempted > 8
    assert found.failed == 0


def test_a_name_imports_what_it_needs_and_none_imports_pytest() -> None:
    """Whoever tests with something else can use all of it; a server does not wait for graphs."""
    code = (
        "from persona_panel.testing import serving; import sys; print('langgraph' in sys.modules)\n"
        "from persona_panel.testing import *; print('langgraph' in sys.modules)\n"
        "print(check_elicitation.__name__, 'pytest' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\nTrue\ncheck_elicitation False\n"


def test_without_a_script_every_judge_scores() -> None:
    """What fits the schema is answered, another request otherwise, the same in each process."""
    model = ScriptedModel()
    run = Panel("disciplinary", model).score([ESSAY])
    assert run.coverage.missing == {}
    assert len(model.requests) == 5
    assert scores(None) == list(run.ratings[0, 0])


async def test_answers_come_in_turn_and_the_last_from_then_on() -> None:
    """Texts, whole answers and faults are a script."""
    model = ScriptedModel(["1", CallError("busy", kind="transient"), ModelResponse("2")])
    request = ModelRequest("", ("Rate it.",))
    assert (await model.complete(request)).text == "1"
    with pytest.raises(CallError, match="busy"):
        await model.complete(request)
    assert [(await model.complete(request)).text for _ in range(2)] == ["2", "2"]
    assert model.requests == [request] * 4


def test_another_script_is_not_served_the_answers_of_the_first() -> None:
    """The cache tells scripts from each other, functions too."""
    scripts = [lambda request: "1", lambda request: "2"]
    texts = ("3", "4")
    seen = [scores(script, elicitation="holistic") for script in (*scripts, *texts)]
    assert seen == [[1], [2], [3], [4]]


def test_what_a_model_cannot_do_is_refused_when_the_panel_is_made() -> None:
    """A client that says it has no log-probabilities is not asked for them."""
    model = ScriptedModel(capabilities=Capabilities(logprobs=False))
    with pytest.raises(ConfigurationError, match=r"'expected' needs log-probabilities.*scripted"):
        Panel("disciplinary", model, elicitation="expected")
    assert model.requests == []


def test_what_is_no_model_is_refused_by_its_type() -> None:
    """The message says what a panel takes."""
    with pytest.raises(ConfigurationError, match=r"ModelClient.*found object"):
        Panel("disciplinary", [object()])  # type: ignore[list-item]


def test_a_scripted_model_s_own_limits_hold() -> None:
    """A client's default elicitation is used."""
    model = ScriptedModel("4", capabilities=Capabilities(default_elicitation="holistic"))
    panel = Panel("disciplinary", model)
    assert {judge.elicitation for judge in panel.judges} == {"holistic"}
    assert panel.models == ("scriptedmodel:scripted",)
    assert ModelConfig(model=panel.models[0]).model_name == "scripted"


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        (b"\xff\xfe<html>", b"\xff\xfe<html>"),
        ("Grüße", "Grüße".encode()),
        ({"choices": []}, b'{"choices":[]}'),
    ],
    ids=["bytes", "text", "mapping"],
)
def test_a_body_is_sent_as_it_is(body: Any, sent: bytes) -> None:
    """Bytes, also those that are no text, a text in UTF-8, and a mapping as JSON."""
    with serving(lambda number, payload: raw(body)) as server:
        ask = Request(f"{server.base_url}/chat/completions", b'{"messages": []}')
        with urlopen(ask) as answer:
            assert answer.read() == sent
