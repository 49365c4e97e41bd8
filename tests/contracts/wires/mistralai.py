"""Mistral's chat completions."""

from __future__ import annotations

from collections.abc import Callable

from tests.contracts.wire import KEY, Payload, Said, Wire
from tests.contracts.wires.chat_completions import cached, judged, said, schema_of


def _error(status: int, message: str, kind: str, code: str) -> Callable[[Payload], Said]:
    body = {"object": "error", "message": message, "type": kind, "param": None, "code": code}
    return lambda payload: Said(body, status)


WIRE = Wire(
    spec="mistralai:mistral-small-latest",
    packages=("langchain", "langchain_mistralai"),
    env={"MISTRAL_API_KEY": KEY},
    base_url="{url}/v1",
    schema=schema_of,
    judged=judged,
    other={
        "length": said('{"sco', "length"),
        "overload": _error(503, "Service unavailable.", "unavailable", "3500"),
        "limit": _error(429, "Requests rate limit exceeded", "rate_limited", "1300"),
        "key": lambda payload: Said({"detail": "Unauthorized"}, 401),
        "credit": lambda payload: Said({"detail": "Payment required"}, 402),
        "model": _error(400, "Invalid model: contract", "invalid_model", "1500"),
        "overflow": _error(
            400,
            "Prompt contains 208310 tokens and 0 draft tokens, too large for model with 131072 "
            "maximum context length",
            "invalid_request_error",
            "3051",
        ),
        "cached": cached,
    },
)
