"""A server that takes a prompt at `/generate` and answers with a text."""

import time
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import SecretStr

from persona_panel.models.availability import Availability, find_key
from persona_panel.models.client import Capabilities, usage_from
from persona_panel.models.config import ModelConfig
from persona_panel.models.http_connection import HttpConnection
from persona_panel.models.http_responses import content_of
from persona_panel.models.openai_client import fault_of, reached
from persona_panel.rubrics import ModelRequest, ModelResponse

packages = ("pycurl",)
URL = "http://localhost:9000"


class PlainClient:
    capabilities = Capabilities(logprobs=False)

    def __init__(self, config: ModelConfig) -> None:
        self.model = config.model_name
        self._options = dict(config.options)
        self._temperature = config.temperature
        self._timeout_s = config.timeout
        self._url = f"{config.base_url or URL}/generate"
        key = find_key(config, "PLAIN_API_KEY", required=False)
        secret = SecretStr(key) if key else None
        self._connection = HttpConnection(self._url, secret, self._timeout_s)

    @property
    def parameters(self) -> Mapping[str, Any]:
        said = {"model": self.model, "url": self._url, "temperature": self._temperature}
        return {"provider": "plain", **said, "options": self._options}

    async def complete(self, request: ModelRequest) -> ModelResponse:
        body = self._options | {
            "model": self.model,
            "prompt": "\n\n".join([request.system, *request.blocks]),
            "max_tokens": request.max_tokens,
        }
        if self._temperature is not None:
            body["temperature"] = self._temperature
        started = time.perf_counter()
        exchange = self._connection.exchange(orjson.dumps(body))
        answer = await reached(exchange, self._url, self._timeout_s)
        content = content_of(answer.body, answer.headers)
        if answer.status >= 300 or not isinstance(content, dict) or "text" not in content:
            raise fault_of(answer, self._url)
        usage = usage_from(content.get("tokens_read"), 0, content.get("tokens_written"))
        latency_s = time.perf_counter() - started
        return ModelResponse(str(content["text"]), usage=usage, latency_s=latency_s)

    async def aclose(self) -> None:
        await self._connection.aclose()


def client(config: ModelConfig, keep_prefix: bool) -> PlainClient:
    return PlainClient(config)


def availability() -> list[Availability]:
    return [Availability("plain:NAME", True, f"a server at {URL}, or at base_url")]
