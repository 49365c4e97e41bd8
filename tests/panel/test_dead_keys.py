"""A key that dies in the middle of a run: the model is called no more, and the rest is skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from persona_panel import Judgment, ModelConfig, Panel, Response
from persona_panel.testing import Answer, ok, raw, serving, status
from tests.helpers.judging import PERSONAS, RUBRIC

READERS = [PERSONAS["ann"], PERSONAS["bob"]]
RESPONSES = [Response(id=f"r{i}", prompt="Why?", text=f"Text {i}.", system="s") for i in range(200)]
IN_FLIGHT = 8
GOOD = 250
XAI = {
    "code": "The caller does not have permission to execute the specified operation",
    "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO",
}
OPENROUTER = {"error": {"code": 403, "message": "Your input was flagged", "metadata": {}}}


def model_at(url: str, name: str = "openai:stub") -> ModelConfig:
    return ModelConfig(model=name, base_url=url, concurrency=IN_FLIGHT)


def judged(models: Any, **more: Any) -> list[Judgment]:
    heard: list[Judgment] = []
    Panel(READERS, models, RUBRIC).score(RESPONSES, on_judgment=heard.append, **more)
    return heard


def dying(code: int) -> Callable[[int, Mapping[str, Any]], Answer]:
    return lambda number, payload: ok() if number < GOOD else status(code)


@pytest.mark.parametrize("code", [401, 402, 403])
def test_the_rest_is_skipped_and_the_run_goes_on_with_a_good_key(code: int, tmp_path: Path) -> None:
    """After 250 good answers no more calls are made than were in flight; what failed or was skipped
    says why, in one sentence for all, and the same command asks for that alone."""
    with serving(dying(code)) as server:
        heard = judged(model_at(server.base_url), out=tmp_path / "run")
        counts = Counter(judgment.status for judgment in heard)
        assert counts["scored"] == GOOD
        assert counts["failed"] + counts["skipped"] == 400 - GOOD
        # A 403 may be about one text: it takes three in a row.
        most = IN_FLIGHT + 2 if code == 403 else IN_FLIGHT
        assert len(server.calls) - GOOD == counts["failed"] <= most
        port = server.port
    reasons = {one.error for one in heard if one.status == "skipped"}
    assert len(reasons) == 1
    assert f"is no longer called: http://127.0.0.1:{port}/v1 answered {code}" in str(reasons)
    with serving(port=port) as server:
        heard = judged(model_at(server.base_url), out=tmp_path / "run")
        assert len(server.calls) == 400 - GOOD


def test_other_models_go_on() -> None:
    """Of two models one dies; the other judges all."""
    with serving(dying(401)) as dead, serving() as well:
        heard = judged(
            [model_at(dead.base_url, "openai:dead"), model_at(well.base_url, "openai:well")]
        )
        assert len(dead.calls) <= GOOD + IN_FLIGHT
    by_well = Counter(one.status for one in heard if one.judge.model == "openai:well")
    assert by_well == {"scored": 400}


@pytest.mark.parametrize(
    "forbidden",
    [
        pytest.param(status(403, body=XAI), id="xAI"),
        pytest.param(status(403, body=OPENROUTER), id="OpenRouter"),
        pytest.param(status(403, body="<html>Sorry, you have been blocked</html>"), id="firewall"),
    ],
)
def test_a_moderated_text_fails_alone(forbidden: Answer) -> None:
    """A 403 for one text, in a provider's words for moderation or in none that are known, is that
    text's; the model goes on."""

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        return forbidden if "Text 90." in str(payload["messages"]) else ok()

    with serving(script) as server:
        heard = judged(model_at(server.base_url))
    failed = [one for one in heard if one.status != "scored"]
    assert {(one.id, one.status) for one in failed} == {("r90", "failed")}


def test_moderation_of_every_text_leaves_the_model_alive() -> None:
    """Where a provider says that it is the texts, no number of them in a row is the key's."""
    with serving(lambda number, payload: status(403, body=XAI)) as server:
        heard = judged(model_at(server.base_url))
        assert len(server.calls) == 400
    assert {one.status for one in heard} == {"failed"}


def test_two_choices_are_named_and_asked_for_once(tmp_path: Path) -> None:
    """An answer of two choices where one was asked for is no score; it is not asked for again in
    the run, and not kept for the next."""
    choice = {"message": {"role": "assistant", "content": '{"clarity": 7}'}}
    body = {"choices": [choice, choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}
    with serving(lambda number, payload: raw(body)) as server:
        for calls in (400, 800):
            heard = judged(model_at(server.base_url))
            assert len(server.calls) == calls
    assert {one.status for one in heard} == {"failed"}
    assert all("holds 2 choices, and one was asked for" in str(one.error) for one in heard)
