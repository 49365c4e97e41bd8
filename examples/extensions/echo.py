"""Models that answer with the last number that they read."""

import re
from collections.abc import Mapping
from typing import Any

from persona_panel.models.client import CallError, Capabilities
from persona_panel.models.config import ModelConfig, refuse_options
from persona_panel.models.providers import Availability
from persona_panel.rubrics import ModelRequest, ModelResponse

packages: tuple[str, ...] = ()


class EchoClient:
    capabilities = Capabilities(deterministic_text=True, free=True)

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"provider": "echo", "model": self._name}

    async def complete(self, request: ModelRequest) -> ModelResponse:
        numbers = re.findall(r"\d+", "".join(request.blocks))
        if not numbers:
            raise CallError("it has read no number", kind="rejected")
        return ModelResponse(numbers[-1])

    async def aclose(self) -> None:
        """There is nothing to give back."""


def client(config: ModelConfig, keep_prefix: bool) -> EchoClient:
    refuse_options(config)
    return EchoClient(config.model_name)


def availability() -> list[Availability]:
    return [Availability("echo:NAME", True, "inside this process")]
