"""Replies that no reader foresaw, over a real server: one fails alone, and none is kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from persona_panel import (
    Judgment,
    ModelConfig,
    Panel,
    Persona,
    Response,
    Run,
)
from persona_panel.testing import Answer, ScriptedServer, ok, raw, serving
from tests.helpers.plain_rubric import plain_rubric

READER = [Persona(id="librarian", label="Librarian", axis="own", description="You keep books.")]
RUBRIC = plain_rubric("clarity", most=9)
ODD, EVEN = (
    Response(id=name, prompt="What is a library?", text=f"It is {name}.", system="s")
    for name in ("odd", "even")
)
OBJECT = '{"clarity": 7}'
DUPLICATE = '{"clarity": 7, "a\\ud800": 1, "a\\ud800": 2}'


def weighed(token: Any, logprob: Any, text: str = OBJECT) -> Answer:
    """The object with this alternative, beside a sound one, where the rating stands."""
    before, after = text.split("7", 1)
    sound = {"token": "7", "logprob": -0.01}
    tokens = [(before, []), ("7", [sound, {"token": token, "logprob": logprob}]), (after, [])]
    content = [
        {"token": written, "logprob": 0.0, "top_logprobs": [{"token": written, "logprob": 0.0}]}
        | ({"top_logprobs": top} if top else {})
        for written, top in tokens
        if written
    ]
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    choice |= {"finish_reason": "stop", "logprobs": {"content": content}}
    return raw({"object": "chat.completion", "choices": [choice], "usage": {}})


def score(
    server: ScriptedServer, elicitation: str, *responses: Response
) -> tuple[Run, dict[str, Judgment]]:
    """The run, and its judgments by the response's id."""
    told: dict[str, Judgment] = {}
    model = ModelConfig(model="openai:stub", base_url=server.base_url)
    run = Panel(READER, [model], RUBRIC, elicitation=elicitation).score(
        responses, on_judgment=lambda judgment: told.update({judgment.id: judgment})
    )
    return run, told


@pytest.mark.parametrize(
    ("elicitation", "odd", "why"),
    [
        ("expected", weighed("8", 1000), "log-probability of '8' is 1000"),
        ("expected", weighed("8", 0.5), "not a number up to 0"),
        ("expected", weighed("8", "-1"), "is '-1', not a number"),
        ("expected", weighed("8", True), "is True, not a number"),
        ("expected", weighed(8, -1.0), "is 8, not text"),
        ("expected", weighed("8", -1.0, DUPLICATE), "it says two things of "),
        ("dimensions", ok(DUPLICATE), "it says two things of "),
        ("yes-no", weighed("8", 1000, "7"), "log-probability of '8' is 1000"),
    ],
)
def test_an_odd_reply_fails_alone_and_is_asked_for_again(
    elicitation: str, odd: Answer, why: str, tmp_path: Path
) -> None:
    """It has its reason, the next response is scored, and the same run later calls again."""
    mended = False
    good = weighed("yes", -5.0, "7") if elicitation == "yes-no" else weighed("8", -5.0)

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        asked = "".join(message["content"] for message in payload["messages"])
        return odd if "It is odd." in asked and not mended else good

    with serving(script) as server:
        _, told = score(server, elicitation, ODD, EVEN)
        assert (told["odd"].status, told["even"].status) == ("unparsed", "scored")
        assert why in str(told["odd"].error)
        mended = True
        calls = len(server.calls)
        again, told = score(server, elicitation, ODD, EVEN)
        assert (told["odd"].status, told["even"].status) == ("scored", "scored")
        assert again.calls.made == len(server.calls) - calls == 1


def test_a_log_probability_of_null_is_none(tmp_path: Path) -> None:
    """An alternative whose probability the server does not tell is left out, the rest weighed."""
    with serving(lambda number, payload: weighed("8", None)) as server:
        _, told = score(server, "expected", EVEN)
    assert told["even"].status == "scored"
    assert told["even"].scores == {"clarity": pytest.approx(7.0)}
