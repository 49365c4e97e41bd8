"""Dialogues with a model, over a real server."""

from __future__ import annotations

from collections.abc import Generator

from persona_panel import ModelConfig
from persona_panel.experiments.dialogues import (
    DialogueJob,
    DialogueReply,
    HoldDialogues,
    ModelDialogue,
    models_of,
)
from persona_panel.rubrics import ModelRequest, ModelResponse
from persona_panel.testing import ok, serving


def saying(text: str, *, odd: bool = False) -> Generator[ModelRequest, ModelResponse, str]:
    reply = yield ModelRequest("", (text,))
    if odd:
        raise ZeroDivisionError("a bug")
    return reply.text


class Saying(DialogueJob[list[DialogueReply[str]]]):
    heading = "Sayings"

    def __init__(self, model: ModelConfig, *texts: str, odd: str = "") -> None:
        self.models, self._texts, self._odd = models_of(model), texts, odd

    async def made(self, hold: HoldDialogues) -> list[DialogueReply[str]]:
        [name] = self.models
        said = [ModelDialogue(name, saying(text, odd=text == self._odd)) for text in self._texts]
        return await hold("sayings", said)


async def test_a_reader_that_raises_fails_alone_and_keeps_nothing() -> None:
    """One dialogue fails with its reason, the other has its value, and the next run asks for the
    failed one alone."""
    with serving(lambda number, payload: ok("7")) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url)
        first = await Saying(model, "a", "b", odd="a").run()
        assert [(a.value, a.error) for a in first] == [
            (None, "failed: ZeroDivisionError: a bug"),
            ("7", None),
        ]
        again = await Saying(model, "a", "b").run()
        assert [a.value for a in again] == ["7", "7"]
        assert [call.payload["messages"][0]["content"] for call in server.calls] == ["a", "b", "a"]
