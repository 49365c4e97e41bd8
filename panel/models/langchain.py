"""Any LangChain chat model as a speaker: the other providers, and a user's own model."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from panel.models.completions import positions_of
from panel.models.scrubbing import scrub
from panel.models.speaker import CallError, FaultKind
from rubrics import Ask, Reply, Usage

_PERMANENT = frozenset({401, 403, 404})
_TRANSIENT = frozenset({408, 409, 425, 429})
# Providers' packages share no base class for their errors, but do share these words.
_TRANSIENT_WORDS = ("timeout", "connection", "ratelimit", "overloaded", "unavailable", "internal")
_PERMANENT_WORDS = ("authentication", "permission", "notfound", "unauthorized")
_REFUSING = frozenset({"refusal", "content_filter", "safety", "prohibited_content", "blocklist"})
_CUT_SHORT = frozenset({"length", "max_tokens", "max_output_tokens"})


class LangChainSpeaker:
    """Puts asks to a LangChain chat model.

    `name` tells this model from others in the cache, together with what LangChain
    itself says identifies it.
    """

    def __init__(self, chat: BaseChatModel, name: str) -> None:
        self._chat = chat
        self._name = name
        self._structured: bool | None = None

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The model's own identifying parameters, as far as they are plain data."""
        identity = json.loads(json.dumps(dict(self._chat._identifying_params), default=repr))
        kind = type(self._chat)
        return {
            "provider": f"{kind.__module__}.{kind.__qualname__}",
            "model": self._name,
            "identity": identity,
        }

    async def reply(self, ask: Ask) -> Reply:
        """Answer one ask; see `panel.models.speaker.Speaker`."""
        started = time.monotonic()
        try:
            message = await self._answer(ask)
        # Every provider's package raises its own.
        except Exception as error:
            raise _as_call_error(error) from None
        return _as_reply(message, time.monotonic() - started)

    async def aclose(self) -> None:
        """LangChain's clients close themselves."""

    async def _answer(self, ask: Ask) -> BaseMessage:
        options: dict[str, Any] = {}
        if ask.top_logprobs:
            options = {"logprobs": True, "top_logprobs": min(ask.top_logprobs, 20)}
        if ask.schema is not None and self._structured is not False:
            try:
                runnable = self._chat.with_structured_output(
                    {"title": "judgment", "description": "The ratings.", **ask.schema},
                    include_raw=True,
                )
            except (NotImplementedError, ValueError):
                self._structured = False
            else:
                answer = cast(dict[str, BaseMessage], await runnable.ainvoke(_messages(ask)))
                return answer["raw"]
        return await self._chat.ainvoke(_messages(ask), **options)


def _messages(ask: Ask) -> list[BaseMessage]:
    messages: list[BaseMessage] = [SystemMessage(ask.system)] if ask.system else []
    messages.append(HumanMessage("".join(ask.blocks)))
    for answered, asked in ask.exchange:
        messages += [AIMessage(answered), HumanMessage(asked)]
    if ask.prefill:
        messages.append(AIMessage(ask.prefill))
    return messages


def _as_reply(message: BaseMessage, latency_s: float) -> Reply:
    meta = message.response_metadata
    calls = getattr(message, "tool_calls", None) or ()
    # Where structured output is a tool's arguments, they are the answer.
    text = json.dumps(calls[0]["args"]) if calls else message.text
    reason = str(meta.get("finish_reason") or meta.get("stop_reason") or "stop").lower()
    refusal = message.additional_kwargs.get("refusal") or (reason if reason in _REFUSING else None)
    usage = getattr(message, "usage_metadata", None) or {}
    logprobs = meta.get("logprobs") or {}
    return Reply(
        text=text,
        finish_reason="length" if reason in _CUT_SHORT else reason,
        refusal=refusal,
        logprobs=positions_of(logprobs.get("content") or ()),
        usage=Usage(
            input=usage.get("input_tokens", 0),
            cached=(usage.get("input_token_details") or {}).get("cache_read") or 0,
            output=usage.get("output_tokens", 0),
        ),
        latency_s=latency_s,
    )


def _as_call_error(error: Exception) -> CallError:
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    status = status if isinstance(status, int) else None
    headers = getattr(response, "headers", None) or {}
    try:
        retry_after = float(headers["retry-after"])
    except (TypeError, ValueError, KeyError):
        retry_after = None
    text = " ".join(str(error).split())[:300]
    message = f"{type(error).__name__}: {scrub(text, ())}"
    return CallError(message, kind=_kind(error, status), status=status, retry_after=retry_after)


def _kind(error: Exception, status: int | None) -> FaultKind:
    if status is not None:
        if status in _PERMANENT:
            return "permanent"
        return "transient" if status in _TRANSIENT or status >= 500 else "rejected"
    name = type(error).__name__.lower()
    if any(word in name for word in _PERMANENT_WORDS):
        return "permanent"
    if isinstance(error, OSError) or any(word in name for word in _TRANSIENT_WORDS):
        return "transient"
    return "rejected"
