"""Amazon Bedrock's Converse."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.contracts.wire import KEY, Payload, Said, Wire


def _schema(payload: Payload) -> Any:
    match payload:
        case {"toolConfig": {"tools": [{"toolSpec": {"inputSchema": {"json": schema}}}, *_]}}:
            return schema
    return None


def _answer(content: list[Any], reason: str, **usage: int) -> Said:
    counts = {"inputTokens": 120, "outputTokens": 5, "totalTokens": 125}
    message = {"role": "assistant", "content": content}
    body = {"output": {"message": message}, "stopReason": reason, "usage": counts | usage}
    return Said(body | {"metrics": {"latencyMs": 12}})


def _judged(payload: Payload, text: str) -> Said:
    if "toolConfig" in payload:
        name = payload["toolConfig"]["tools"][0]["toolSpec"]["name"]
        use = {"toolUseId": "tool_1", "name": name, "input": json.loads(text)}
        return _answer([{"toolUse": use}], "tool_use")
    return _answer([{"text": text}], "end_turn")


def _said(text: str, reason: str, **usage: int) -> Callable[[Payload], Said]:
    return lambda payload: _answer([{"text": text}] if text else [], reason, **usage)


def _error(status: int, code: str, message: str) -> Callable[[Payload], Said]:
    return lambda payload: Said({"message": message}, status, {"x-amzn-ErrorType": code})


WIRE = Wire(
    spec="bedrock_converse:anthropic.claude-3-5-sonnet-20240620-v1:0",
    packages=("langchain", "langchain_aws"),
    env={
        "AWS_ACCESS_KEY_ID": "AKIA" + "CONTRACTKEY12345",
        "AWS_SECRET_ACCESS_KEY": KEY,
        "AWS_REGION": "us-east-1",
    },
    schema=_schema,
    judged=_judged,
    other={
        "refusal": _said("", "content_filtered"),
        "filtered": _said("Sorry, I cannot answer this.", "guardrail_intervened"),
        "length": _said('{"sco', "max_tokens"),
        "overload": _error(503, "ServiceUnavailableException", "Too many connections."),
        "limit": _error(429, "ThrottlingException", "Too many requests, please wait."),
        "key": _error(
            403,
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ),
        "credit": _error(
            403,
            "AccessDeniedException",
            "Model access is denied due to INVALID_PAYMENT_INSTRUMENT: A valid payment instrument "
            "must be provided.",
        ),
        "model": _error(400, "ValidationException", "The provided model identifier is invalid."),
        "overflow": _error(400, "ValidationException", "Input is too long for requested model."),
        "cached": _said("7", "end_turn", inputTokens=20, cacheReadInputTokens=100),
    },
)
