"""Google's Gemini API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.contracts.wire import KEY, Payload, Said, Wire

_TYPE = "type.googleapis.com/google.rpc."


def _schema(payload: Payload) -> Any:
    match payload:
        case {"generationConfig": {"responseJsonSchema": schema}}:
            return schema
        case {"generationConfig": {"responseSchema": schema}}:
            return schema
        case {"tools": [{"functionDeclarations": [{"parametersJsonSchema": schema}, *_]}, *_]}:
            return schema
    return None


def _content(candidates: list[Any], cached: int = 0, **more: Any) -> Said:
    usage = {"promptTokenCount": 120, "candidatesTokenCount": 5, "totalTokenCount": 125}
    if cached:
        usage["cachedContentTokenCount"] = cached
    return Said(
        {"candidates": candidates, "usageMetadata": usage, "modelVersion": "contract", **more}
    )


def _judged(payload: Payload, text: str, cached: int = 0) -> Said:
    return _content([_candidate(text, "STOP")], cached)


def _candidate(text: str, reason: str, **more: Any) -> dict[str, Any]:
    content = {"content": {"role": "model", "parts": [{"text": text}]}} if text else {}
    return content | {"finishReason": reason, "index": 0, **more}


def _filtered(payload: Payload) -> Said:
    body = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": "contract"}
    return Said(body | {"usageMetadata": {"promptTokenCount": 120, "totalTokenCount": 120}})


def _probable(payload: Payload) -> Said:
    if not payload["generationConfig"].get("responseLogprobs"):
        return _judged(payload, "7")
    chosen = {"token": "7", "logProbability": -0.5}
    other = {"token": "8", "logProbability": -1.5}
    result = {"topCandidates": [{"candidates": [chosen, other]}], "chosenCandidates": [chosen]}
    return _content([_candidate("7", "STOP", avgLogprobs=-0.5, logprobsResult=result)])


def _error(
    code: int, status: str, message: str, *details: dict[str, Any]
) -> Callable[[Payload], Said]:
    body = {"code": code, "message": message, "status": status, "details": list(details)}
    return lambda payload: Said({"error": body}, code)


_QUOTA = "You exceeded your current quota, please check your plan and billing details."
_VIOLATIONS = [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel", "quotaValue": "15"}]

WIRE = Wire(
    spec="google_genai:gemini-2.5-flash",
    packages=("langchain", "langchain_google_genai"),
    env={"GOOGLE_API_KEY": KEY},
    schema=_schema,
    judged=_judged,
    other={
        "refusal": lambda payload: _content([_candidate("", "SAFETY")]),
        "filtered": _filtered,
        "length": lambda payload: _content([_candidate('{"sco', "MAX_TOKENS")]),
        "overload": _error(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
        "limit": _error(429, "RESOURCE_EXHAUSTED", _QUOTA),
        "limit in the body": _error(
            429,
            "RESOURCE_EXHAUSTED",
            _QUOTA,
            {"@type": f"{_TYPE}QuotaFailure", "violations": _VIOLATIONS},
            {"@type": f"{_TYPE}RetryInfo", "retryDelay": "2.5s"},
        ),
        "key": _error(
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            {"@type": f"{_TYPE}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"},
        ),
        "credit": _error(
            429,
            "RESOURCE_EXHAUSTED",
            "Your prepayment credits are depleted. Please go to AI Studio to manage your project "
            "and billing.",
        ),
        "model": _error(
            404,
            "NOT_FOUND",
            "models/contract is not found for API version v1beta, or is not supported for "
            "generateContent.",
        ),
        "overflow": _error(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed "
            "(1048576).",
        ),
        "cached": lambda payload: _judged(payload, "7", cached=100),
        "logprobs": _probable,
    },
)
