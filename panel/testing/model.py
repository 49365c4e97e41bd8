"""A model whose answers are scripted: `ScriptedModel`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from persona_panel.models.client import CallError, Capabilities
from persona_panel.models.completions import body_of
from persona_panel.rubrics import ModelRequest, ModelResponse
from persona_panel.testing.answers import default_text

Scripted = str | ModelResponse | CallError
"""What comes of a call: an answer's text, a whole answer, or a fault."""


class ScriptedModel:
    """A `ModelClient` without a model behind it.

    Args:
        answers: one for every call; several, one after the other and the last from then on; or a
            function of the request. None: JSON that fits the schema asked for, drawn by a hash of
            the request.
        model: its name on the panel.
        capabilities: what it says it can do.

    Attributes:
        requests: those that it was asked, in order. Answers that the cache holds are not asked
            for: a panel asks the same request of the same script once.
    """

    def __init__(
        self,
        answers: Scripted | Sequence[Scripted] | Callable[[ModelRequest], Scripted] | None = None,
        *,
        model: str = "scripted",
        capabilities: Capabilities | None = None,
    ) -> None:
        self.model = model
        self.capabilities = capabilities or Capabilities()
        self.requests: list[ModelRequest] = []
        self._answers = answers
        # What a function answers is not known: no other's answers may be served in its place.
        self._script = uuid4().hex if callable(answers) else repr(answers)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Its name and its script."""
        return {"provider": "persona_panel.testing", "model": self.model, "script": self._script}

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The next answer of the script.

        Raises:
            CallError: the script says so.
        """
        self.requests.append(request)
        answer = self._answer(request)
        if isinstance(answer, CallError):
            raise answer
        return ModelResponse(answer) if isinstance(answer, str) else answer

    async def aclose(self) -> None:
        """There is nothing to close."""

    def _answer(self, request: ModelRequest) -> Scripted:
        answers = self._answers
        if answers is None:
            return default_text(body_of(request))
        if callable(answers):
            return answers(request)
        if isinstance(answers, str | ModelResponse | CallError):
            return answers
        return answers[min(len(self.requests), len(answers)) - 1]
