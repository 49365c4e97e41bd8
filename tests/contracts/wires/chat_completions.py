"""What APIs in the shape of OpenAI's chat completions have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.contracts.wire import NUMBERS, Payload, Said


def schema_of(payload: Payload) -> Any:
    """The schema of a request, as a response format or as a tool's."""
    match payload:
        case {"response_format": {"json_schema": {"schema": schema}}}:
            return schema
        case {"tools": [{"function": {"parameters": schema}}, *_]}:
            return schema
    return None


def judged(payload: Payload, text: str, **usage: Any) -> Said:
    """An answer with this text, as the arguments of a tool where one is there."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    reason = "stop"
    if tools := payload.get("tools"):
        function = {"name": tools[0]["function"]["name"], "arguments": text}
        calls = [{"id": "call12345", "type": "function", "function": function}]
        message, reason = {"role": "assistant", "content": "", "tool_calls": calls}, "tool_calls"
    return completion(message, reason, **usage)


def completion(
    message: Mapping[str, Any], reason: str, *, logprobs: Any = None, **usage: Any
) -> Said:
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": reason}
    if logprobs is not None:
        choice["logprobs"] = logprobs
    counts = {"prompt_tokens": 120, "completion_tokens": 5, "total_tokens": 125}
    return Said(
        {
            "id": f"chatcmpl-{next(NUMBERS)}",
            "object": "chat.completion",
            "created": 1_760_000_000,
            "model": "contract",
            "choices": [choice],
            "usage": counts | usage,
        }
    )


def said(text: str, reason: str) -> Callable[[Payload], Said]:
    """The same text, and why it ended, whatever is asked."""
    return lambda payload: completion({"role": "assistant", "content": text}, reason)


def refused(payload: Payload) -> Said:
    message = {"role": "assistant", "content": None, "refusal": "I can't help with that."}
    return completion(message, "stop")


def cached(payload: Payload) -> Said:
    return judged(payload, "7", prompt_tokens_details={"cached_tokens": 100})


def probable(payload: Payload) -> Said:
    tops = [{"token": "7", "logprob": -0.5}, {"token": "8", "logprob": -1.5}]
    content = [{"token": "7", "logprob": -0.5, "bytes": [55], "top_logprobs": tops}]
    message = {"role": "assistant", "content": "7"}
    return completion(message, "stop", logprobs={"content": content, "refusal": None})


def error(
    status: int, message: str, kind: str | None = None, code: str | None = None, **more: Any
) -> Callable[[Payload], Said]:
    """An error in OpenAI's shape."""
    body = {"message": message, "type": kind, "param": None, "code": code, **more}
    return lambda payload: Said({"error": body}, status)
