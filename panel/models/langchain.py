"""Any LangChain chat model as a speaker: the other providers, and a user's own model."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import SecretStr
from yarl import URL

from panel.models.complaints import retry_after
from panel.models.completions import positions_of, read_completion
from panel.models.scrubbing import scrub
from panel.models.speaker import CallError, FaultKind
from rubrics import Ask, Reply, Usage

_PERMANENT = frozenset({401, 402, 403, 404})
_TRANSIENT = frozenset({408, 409, 425, 429})
# Providers' packages share no base class for their errors, but do share these words.
_TRANSIENT_WORDS = ("timeout", "connection", "ratelimit", "overloaded", "unavailable", "internal")
_PERMANENT_WORDS = ("authentication", "permission", "notfound", "unauthorized")
_REFUSING = frozenset({"refusal", "content_filter", "safety", "prohibited_content", "blocklist"})
_CUT_SHORT = frozenset({"length", "max_tokens", "max_output_tokens"})
# Where Anthropic's package says for how long input is kept, the first is 0.
_WRITTEN = ("cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
# Not every model lists these among what identifies it.
_SETTINGS = ("temperature", "top_p", "top_k", "seed", "max_tokens")


class LangChainSpeaker:
    """Puts asks to a LangChain chat model.

    `name` tells this model from others in the cache, together with what LangChain
    itself says identifies it. `timeout_s`, in seconds, is for one answer, whatever the chat
    model's own is. `keep_prefix`: further asks will begin with the same block; Anthropic's
    models are told to keep it, the others do so by themselves.
    """

    def __init__(
        self, chat: BaseChatModel, name: str, *, timeout_s: float, keep_prefix: bool = False
    ) -> None:
        self._chat = chat
        self._name = name
        self._timeout_s = timeout_s
        self._marks = keep_prefix and "anthropic" in chat._llm_type
        self._structured: bool | None = None

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The model's own identifying parameters, as far as they are plain data, its
        settings and where it is."""
        identity = _plain(self._chat._identifying_params)
        # The repr of anything else may differ from one process to the next.
        identity = json.loads(json.dumps(identity, default=lambda one: type(one).__qualname__))
        settings = {name: getattr(self._chat, name, None) for name in _SETTINGS}
        kind = type(self._chat)
        return {
            "provider": f"{kind.__module__}.{kind.__qualname__}",
            "model": self._name,
            "identity": identity,
            "settings": {
                name: value for name, value in settings.items() if isinstance(value, int | float)
            },
            "addresses": _addresses(self._chat),
        }

    async def reply(self, ask: Ask) -> Reply:
        """Answer one ask; see `panel.models.speaker.Speaker`."""
        started = time.monotonic()
        timer = asyncio.timeout(self._timeout_s)
        try:
            async with timer:
                message = await self._answer(ask)
        # Every provider's package raises its own.
        except Exception as error:
            if timer.expired():
                raise TimeoutError(f"no answer within {self._timeout_s:g} s") from None
            latency_s = time.monotonic() - started
            if reply := _unread(error, latency_s):
                return reply
            raise _as_call_error(error, tuple(_secrets(self._chat))) from None
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
                answer = cast(dict[str, BaseMessage], await runnable.ainvoke(self._messages(ask)))
                return answer["raw"]
        return await self._chat.ainvoke(self._messages(ask), **options)

    def _messages(self, ask: Ask) -> list[BaseMessage]:
        messages: list[BaseMessage] = [SystemMessage(ask.system)] if ask.system else []
        messages.append(HumanMessage(self._content(ask.blocks)))
        for answered, asked in ask.exchange:
            messages += [AIMessage(answered), HumanMessage(asked)]
        if ask.prefill:
            messages.append(AIMessage(ask.prefill))
        return messages

    def _content(self, blocks: Sequence[str]) -> Any:
        if not self._marks or len(blocks) < 2:
            return "".join(blocks)
        kept = {"type": "text", "text": blocks[0], "cache_control": {"type": "ephemeral"}}
        return [kept, {"type": "text", "text": "".join(blocks[1:])}]


def _as_reply(message: BaseMessage, latency_s: float) -> Reply:
    meta = message.response_metadata
    calls = getattr(message, "tool_calls", None) or ()
    # Where structured output is a tool's arguments, they are the answer.
    text = json.dumps(calls[0]["args"]) if calls else message.text
    reason = str(meta.get("finish_reason") or meta.get("stop_reason") or "stop").lower()
    refusal = message.additional_kwargs.get("refusal") or (reason if reason in _REFUSING else None)
    usage = getattr(message, "usage_metadata", None) or {}
    details = usage.get("input_token_details") or {}
    logprobs = meta.get("logprobs") or {}
    return Reply(
        text=text,
        finish_reason="length" if reason in _CUT_SHORT else reason,
        refusal=refusal,
        logprobs=positions_of(logprobs.get("content") or ()),
        usage=Usage(
            input=usage.get("input_tokens", 0),
            cached=details.get("cache_read") or 0,
            output=usage.get("output_tokens", 0),
            written=sum(details.get(name) or 0 for name in _WRITTEN),
        ),
        latency_s=latency_s,
    )


def _unread(error: Exception, latency_s: float) -> Reply | None:
    """The answer that a provider's package would not hand out.

    OpenAI's raises where structured output was cut short or filtered.
    """
    response = getattr(error, "response", None)
    if getattr(response, "status_code", None) != 200:
        return None
    try:
        return read_completion(response.json(), latency_s)  # type: ignore[union-attr]
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


_NO_PART = re.compile(
    r"header|key|token$|secret|authorization|password|timeout|retries|stream", re.I
)
"""Fields that hold secrets, or that change nothing of an answer."""


def _plain(value: Any) -> Any:
    """What identifies a model, without what must not be written or does not matter."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items() if not _NO_PART.search(str(k))}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _hidden(value: Any) -> Iterator[str]:
    """The texts that `_plain` leaves out, wherever they stand."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if _NO_PART.search(str(name)):
                yield from _texts(inner)
            else:
                yield from _hidden(inner)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _hidden(one)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        yield from value.split()
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)


def _addresses(chat: BaseChatModel) -> dict[str, str]:
    """The web addresses among a model's fields, without credentials."""
    addresses = {}
    for name in type(chat).model_fields:
        value = getattr(chat, name, None)
        if isinstance(value, str) and value.startswith(("http://", "https://")):
            try:
                addresses[name] = str(URL(value).with_user(None).with_query(None))
            except ValueError:
                continue
    return addresses


def _secrets(chat: BaseChatModel) -> Iterator[str]:
    for name in type(chat).model_fields:
        if isinstance(value := getattr(chat, name, None), SecretStr):
            yield value.get_secret_value()
    # A short text would blot out half of a message: no key is as short.
    yield from (text for text in _hidden(chat._identifying_params) if len(text) >= 8)


def _as_call_error(error: Exception, secrets: tuple[str, ...]) -> CallError:
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    status = status if isinstance(status, int) else None
    headers = getattr(response, "headers", None)
    headers = headers if isinstance(headers, Mapping) else {}
    # Not all clients' headers are alike whatever their case.
    plain = {str(name).lower(): str(value) for name, value in headers.items()}
    # Scrubbed before it is shortened: half a key would not be recognised.
    text = scrub(" ".join(str(error)[:20_000].split()), secrets)[:300]
    message = f"{type(error).__name__}: {text}"
    return CallError(
        message, kind=_kind(error, status), status=status, retry_after=retry_after(plain)
    )


def _kind(error: Exception, status: int | None) -> FaultKind:
    # A success whose body cannot be read may be read the next time.
    if isinstance(error, json.JSONDecodeError):
        return "transient"
    if status is not None:
        if status in _PERMANENT or getattr(error, "code", None) == "insufficient_quota":
            return "permanent"
        return "transient" if status in _TRANSIENT or status >= 500 else "rejected"
    name = type(error).__name__.lower()
    if any(word in name for word in _PERMANENT_WORDS):
        return "permanent"
    if isinstance(error, OSError) or any(word in name for word in _TRANSIENT_WORDS):
        return "transient"
    return "rejected"
