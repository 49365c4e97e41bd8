"""OpenAI's chat completions, as `openai:` calls them."""

from __future__ import annotations

from tests.contracts.wire import KEY, Wire
from tests.contracts.wires.chat_completions import (
    cached,
    error,
    judged,
    probable,
    refused,
    said,
    schema_of,
)

ERRORS = {
    "refusal": refused,
    "filtered": error(
        400,
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
        "invalid_request_error",
        "invalid_prompt",
    ),
    "length": said('{"sco', "length"),
    "overload": error(503, "That model is currently overloaded.", "server_error"),
    "limit": error(429, "Rate limit reached for gpt-4o-mini.", "requests", "rate_limit_exceeded"),
    "key": error(
        401, f"Incorrect API key provided: {KEY}.", "invalid_request_error", "invalid_api_key"
    ),
    "credit": error(
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "insufficient_quota",
    ),
    "model": error(
        404,
        "The model `contract` does not exist or you do not have access to it.",
        "invalid_request_error",
        "model_not_found",
    ),
    "overflow": error(
        400,
        "This model's maximum context length is 128000 tokens. However, your messages resulted "
        "in 208310 tokens. Please reduce the length of the messages.",
        "invalid_request_error",
        "context_length_exceeded",
    ),
    "cached": cached,
    "logprobs": probable,
}

WIRE = Wire(
    spec="openai:gpt-4o-mini",
    packages=("pycurl",),
    env={"OPENAI_API_KEY": KEY},
    base_url="{url}/v1",
    schema=schema_of,
    judged=judged,
    other=ERRORS,
)
