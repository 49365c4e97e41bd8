"""A server whose messages have their text in `answer`, and no `content`."""

from typing import Any

from pydantic import SecretStr

from persona_panel.models.availability import Availability, find_key
from persona_panel.models.config import ModelConfig
from persona_panel.models.openai_client import OpenAIClient
from persona_panel.rubrics import ModelResponse

packages = ("pycurl",)
URL = "http://localhost:8000/v1"


class NearlyOpenAI(OpenAIClient):
    def read_answer(self, completion: dict[str, Any], latency_s: float) -> ModelResponse:
        for choice in completion["choices"]:
            message = choice["message"]
            if "answer" in message:
                message["content"] = message["answer"]
        return super().read_answer(completion, latency_s)


def client(config: ModelConfig, keep_prefix: bool) -> NearlyOpenAI:
    key = find_key(config, "NEARLY_API_KEY", required=False)
    return NearlyOpenAI(
        model=config.model_name,
        base_url=config.base_url or URL,
        api_key=SecretStr(key) if key else None,
        temperature=config.temperature,
        timeout_s=config.timeout,
        extra_body=dict(config.options),
    )


def availability() -> list[Availability]:
    return [Availability("nearly:NAME", True, f"a server at {URL}, or at base_url")]
