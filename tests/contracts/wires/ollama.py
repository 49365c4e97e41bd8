"""Ollama's chat, whose answers are streams of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.contracts.wire import Payload, Said, Wire

_LINES = {"Content-Type": "application/x-ndjson"}


def _schema(payload: Payload) -> Any:
    wanted = payload.get("format")
    return wanted if isinstance(wanted, dict) else None


def _stream(text: str, reason: str, **more: Any) -> Said:
    stamp = {"model": "contract", "created_at": "2026-01-01T00:00:00Z"}
    half = len(text) // 2
    parts = [
        {**stamp, "message": {"role": "assistant", "content": part}, "done": False, **more}
        for part in ([text] if more else [text[:half], text[half:]])
    ]
    end = {"done": True, "done_reason": reason, "prompt_eval_count": 120, "eval_count": 5}
    parts.append({**stamp, "message": {"role": "assistant", "content": ""}, **end})
    return Said("".join(json.dumps(part) + "\n" for part in parts), headers=_LINES)


def _judged(payload: Payload, text: str) -> Said:
    return _stream(text, "stop")


def _probable(payload: Payload) -> Said:
    if not payload.get("logprobs"):
        return _stream("7", "stop")
    chosen = {"token": "7", "logprob": -0.5, "bytes": [55]}
    other = {"token": "8", "logprob": -1.5, "bytes": [56]}
    return _stream("7", "stop", logprobs=[chosen | {"top_logprobs": [chosen, other]}])


def _error(status: int, message: str) -> Callable[[Payload], Said]:
    return lambda payload: Said({"error": message}, status)


WIRE = Wire(
    spec="ollama:llama3.2",
    packages=("langchain", "langchain_ollama"),
    env={},
    schema=_schema,
    judged=_judged,
    other={
        "length": lambda payload: _stream('{"sco', "length"),
        "overload": _error(503, "server busy, please try again. maximum pending requests exceeded"),
        "limit": _error(429, "you've reached your hourly usage limit"),
        "key": _error(401, "unauthorized"),
        "model": _error(404, 'model "contract" not found, try pulling it first'),
        "overflow": _error(400, "the input length exceeds the context length"),
        "logprobs": _probable,
    },
)
