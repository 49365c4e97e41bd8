"""Whole runs in which models say odd things: each costs at most its own judgment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from persona_panel import ModelConfig, Panel, Persona, Response, Run
from persona_panel.files.outputs import as_json
from persona_panel.models.client import MOST_CHARACTERS
from persona_panel.testing import Answer, Script, raw, serving
from tests.helpers.plain_rubric import plain_rubric

READERS = [Persona(id="reader", label="Reader", axis="own", description="You read.")]
RUBRIC = plain_rubric("clarity")
GOOD = '{"clarity": 7}'
HALF = "\ud83d"
MANY = 10**30


def responses(n: int) -> list[Response]:
    return [Response(id=f"r{i}", prompt="Why?", text=f"Text {i}.", system="s") for i in range(n)]


def answers(*bodies: Mapping[str, Any]) -> Script:
    """Each response gets a body of its own, however often it is asked about."""

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        text = payload["messages"][-1]["content"] + payload["messages"][1]["content"]
        which = next(i for i in range(len(bodies)) if f"Text {i}." in text)
        # As text: orjson writes no number of thirty digits and no half of a pair.
        return raw(json.dumps(bodies[which]))

    return script


def said(content: Any = GOOD, usage: Any = None, **choice: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    return {"choices": [{"message": message, "finish_reason": "stop", **choice}], "usage": usage}


def read_back(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A run's judgments and its summary, which are UTF-8 and JSON to the letter."""
    lines = (folder / "judgments.jsonl").read_bytes().decode().splitlines()
    judgments = [json.loads(line, parse_constant=pytest.fail) for line in lines]
    return judgments, json.loads((folder / "summary.json").read_bytes().decode())


ODD = [
    said(usage={"prompt_tokens": MANY, "completion_tokens": MANY}),
    said(usage={"prompt_tokens": -MANY}),
    said(usage={"prompt_tokens": float("nan"), "completion_tokens": float("inf")}),
    said(usage={"prompt_tokens": True, "prompt_tokens_details": {"cached_tokens": [[HALF]]}}),
    said(usage={HALF: 1, "prompt_tokens": HALF}),
    said(usage=[MANY]),
    said(usage=HALF),
    said(GOOD + HALF),
    said(HALF + "\\ud83d" + GOOD),
    said('{"clarity": 7, "\\ud83d": "\\ud83d", "why": {"\\udead": ["\\ud83d"]}}'),
    said('{"clarity": 7, "x": ' + "9" * 5000 + "}"),
    said('{"clarity": 7, "x": NaN}'),
    said(finish_reason={HALF: MANY}),
    said(logprobs={"content": [{"token": HALF, "top_logprobs": [{"token": 1, "logprob": MANY}]}]}),
    said(id=HALF, created=MANY, model={HALF: HALF}),
    said(GOOD + " " * (MOST_CHARACTERS - len(GOOD))),
]


def test_odd_replies_are_scored_and_written(tmp_path: Path) -> None:
    """Counts of thirty digits, NaN, halves of surrogate pairs, odd keys and very long texts cost no
    judgment and no second call, also when the run is read back from the cache."""
    with serving(answers(*ODD)) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url)
        panel = Panel(READERS, model, RUBRIC)
        run = panel.score(responses(len(ODD)), out=tmp_path / "run")
        again = panel.score(responses(len(ODD)), out=tmp_path / "again")
        assert len(server.calls) == len(ODD)
    judgments, summary = read_back(tmp_path / "run")
    assert [judgment["status"] for judgment in judgments] == ["scored"] * len(ODD)
    assert run.coverage.complete
    assert summary["coverage"]["scored"] == len(ODD)
    assert again.calls.cached == len(ODD)
    assert again.coverage.complete


FAILING = [
    ('{"clarity": 7, "\\ud83d": 1, "\\ud83d": 2}', "unparsed"),
    ('{"clarity": "\\ud83d"}', "unparsed"),
    ('{"clarity": ' + "9" * 5000 + "}", "unparsed"),
    ("7" * (MOST_CHARACTERS + 1), "failed"),
]


def test_what_cannot_be_used_fails_alone_with_its_reason(tmp_path: Path) -> None:
    """Halves of pairs in a duplicate key or in a rating, a rating without end and a text without
    end are judgments with a reason; the others are scored, and nothing of them is kept."""
    bodies = [said(content) for content, _ in FAILING] + [said()]
    with serving(answers(*bodies)) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url)
        run = Panel(READERS, model, RUBRIC).score(responses(len(bodies)), out=tmp_path / "run")
    judgments = {judgment["id"]: judgment for judgment in read_back(tmp_path / "run")[0]}
    for i, (_, status) in enumerate(FAILING):
        assert judgments[f"r{i}"]["status"] == status
        assert judgments[f"r{i}"]["error"]
    assert run.coverage.scored == 1


# By way of LangChain


class Odd(BaseChatModel):
    """A chat model of a user's own whose answers are given, in turn."""

    says: list[Any]
    exclusive: Iterator[int] = Field(default_factory=count, exclude=True)

    @property
    def _llm_type(self) -> str:
        return "odd"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        answer = self.says[next(self.exclusive)]
        if isinstance(answer, Exception):
            raise answer
        return ChatResult(generations=[ChatGeneration(message=answer)])


def message(content: str = GOOD, **more: Any) -> AIMessage:
    return AIMessage(content, **more)


def usage(**counts: Any) -> Any:
    """LangChain checks these where a message is made, and not where one is changed."""
    answer = message()
    answer.usage_metadata = counts  # type: ignore[assignment]
    return answer


def scored_by(chat: BaseChatModel, n: int, out: Path) -> Run:
    return Panel(READERS, chat, RUBRIC, concurrency=1).score(responses(n), out=out)


def test_odd_replies_by_way_of_langchain_are_scored(tmp_path: Path) -> None:
    """What providers' packages hand on unchecked is written or counted as less, and costs
    nothing."""
    says = [
        message(GOOD + HALF),
        message(additional_kwargs={"refusal": {}}),
        message("", tool_calls=[{"name": "a", "args": {"clarity": 7, HALF: HALF}, "id": "1"}]),
        message(response_metadata={"finish_reason": MANY, "logprobs": [HALF]}),
        message(response_metadata={"logprobs": {"content": [{"token": HALF}]}}),
        usage(input_tokens=MANY, output_tokens=-1),
        usage(input_tokens=1.5, output_tokens=HALF, input_token_details={"cache_read": MANY}),
        usage(input_tokens=3, input_token_details=[HALF]),
        usage(input_tokens=3, input_token_details={"cache_creation": HALF}),
    ]
    run = scored_by(Odd(says=says), len(says), tmp_path / "run")
    judgments, _ = read_back(tmp_path / "run")
    assert [judgment["status"] for judgment in judgments] == ["scored"] * len(says)
    assert run.coverage.complete
    assert run.calls.made == len(says)
    (used,) = run.usage.values()
    assert used.odd == ("input tokens are a number of 10 digits or more; output tokens are -1")


def test_an_odd_failure_by_way_of_langchain_fails_alone(tmp_path: Path) -> None:
    """An error whose words cannot be written, a refusal that is no text and an answer without end
    are reasons of one judgment each."""
    says = [
        ValueError(f"no {HALF} please"),
        message("", additional_kwargs={"refusal": {HALF: MANY}}),
        message("7" * (MOST_CHARACTERS + 1)),
        message(),
    ]
    run = scored_by(Odd(says=says), len(says), tmp_path / "run")
    judgments, summary = read_back(tmp_path / "run")
    status = [judgment["status"] for judgment in judgments]
    assert status == ["failed", "refused", "failed", "scored"]
    assert {reason["n"] for reason in summary["reasons"]} == {1}
    assert run.coverage.scored == 1


def test_what_json_cannot_hold_is_written_all_the_same() -> None:
    """The last line before a file: no value at all keeps a line from being written."""
    odd = {HALF: [HALF, MANY, -MANY, 10**400, float("nan"), {1: object}], "whole": 2**63}
    assert json.loads(as_json(odd))["whole"] == 2**63
    assert json.loads(as_json(odd))["\ufffd"][:3] == ["\ufffd", 1e30, -1e30]
