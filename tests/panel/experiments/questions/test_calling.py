"""Dialogues with one model, over a real server: `persona_panel.experiments.questions.calling`."""

from __future__ import annotations

from collections.abc import Generator

from persona_panel import ModelConfig
from persona_panel.calls.budget import NO_CAPS
from persona_panel.experiments.questions.calling import answers
from persona_panel.rubrics import ModelRequest, ModelResponse
from persona_panel.testing import ok, serving


def saying(text: str, *, odd: bool = False) -> Generator[ModelRequest, ModelResponse, str]:
    reply = yield ModelRequest("", (text,))
    if odd:
        raise ZeroDivisionError("a bug")
    return reply.text


async def test_a_reader_that_raises_fails_alone_and_keeps_nothing() -> None:
    """One dialogue fails with its reason, the other has its value, and the next run asks for the
    failed one alone."""
    with serving(lambda number, payload: ok("7")) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url)
        first = await answers(model, [saying("a", odd=True), saying("b")], NO_CAPS)
        assert [(a.value, a.error) for a in first] == [
            (None, "failed: ZeroDivisionError: a bug"),
            ("7", None),
        ]
        again = await answers(model, [saying("a"), saying("b")], NO_CAPS)
        assert [a.value for a in again] == ["7", "7"]
        assert [call.payload["messages"][0]["content"] for call in server.calls] == ["a", "b", "a"]
