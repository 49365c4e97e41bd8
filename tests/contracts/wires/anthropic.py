"""Anthropic's messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.contracts.wire import KEY, NUMBERS, Payload, Said, Wire


def _schema(payload: Payload) -> Any:
    match payload:
        case {"tools": [{"input_schema": schema}, *_]}:
            return schema
        case {"output_config": {"format": {"schema": schema}}}:
            return schema
    return None


def _message(content: list[Any], reason: str, **usage: int) -> Said:
    counts = {"input_tokens": 120, "output_tokens": 5}
    return Said(
        {
            "id": f"msg_{next(NUMBERS)}",
            "type": "message",
            "role": "assistant",
            "model": "contract",
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": counts | usage,
        }
    )


def _judged(payload: Payload, text: str) -> Said:
    if tools := payload.get("tools"):
        use = {"type": "tool_use", "id": "toolu_1", "name": tools[0]["name"]}
        return _message([use | {"input": json.loads(text)}], "tool_use")
    return _message([{"type": "text", "text": text}], "end_turn")


def _said(text: str, reason: str, **usage: int) -> Callable[[Payload], Said]:
    content = [{"type": "text", "text": text}] if text else []
    return lambda payload: _message(content, reason, **usage)


def _error(status: int, kind: str, message: str) -> Callable[[Payload], Said]:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return lambda payload: Said(body, status)


WIRE = Wire(
    spec="anthropic:claude-sonnet-4-6",
    packages=("langchain", "langchain_anthropic"),
    env={"ANTHROPIC_API_KEY": KEY},
    schema=_schema,
    judged=_judged,
    other={
        "refusal": _said("", "refusal"),
        "filtered": _error(
            400, "invalid_request_error", "Output blocked by content filtering policy"
        ),
        "length": _said('{"sco', "max_tokens"),
        "overload": _error(529, "overloaded_error", "Overloaded"),
        "limit": _error(
            429, "rate_limit_error", "This request would exceed your organization's rate limit."
        ),
        "key": _error(401, "authentication_error", "invalid x-api-key"),
        "credit": _error(
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & "
            "Billing to upgrade or purchase credits.",
        ),
        "model": _error(404, "not_found_error", "model: contract"),
        "overflow": _error(
            400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"
        ),
        # What is read from the cache is counted apart from the input.
        "cached": _said("7", "end_turn", input_tokens=20, cache_read_input_tokens=100),
    },
)
