"""Groq's chat completions."""

from __future__ import annotations

from tests.contracts.wire import KEY, Wire
from tests.contracts.wires.chat_completions import cached, error, judged, said, schema_of

_REQUEST = "invalid_request_error"

WIRE = Wire(
    spec="groq:llama-3.3-70b-versatile",
    packages=("langchain", "langchain_groq"),
    env={"GROQ_API_KEY": KEY},
    schema=schema_of,
    judged=judged,
    other={
        "length": said('{"sco', "length"),
        "overload": error(498, "Flex tier capacity exceeded.", "flex", "capacity_exceeded"),
        "limit": error(429, "Rate limit reached for the model.", "requests", "rate_limit_exceeded"),
        "key": error(401, "Invalid API Key", _REQUEST, "invalid_api_key"),
        "credit": error(400, "API access blocked: spend limit.", _REQUEST, "blocked_api_access"),
        "model": error(
            404,
            "The model `contract` does not exist or you do not have access to it.",
            _REQUEST,
            "model_not_found",
        ),
        "overflow": error(
            400,
            "Please reduce the length of the messages or completion.",
            _REQUEST,
            "context_length_exceeded",
        ),
        "cached": cached,
    },
)
