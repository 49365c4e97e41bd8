"""Any LangChain chat model as a `ModelClient`: the other providers, and a user's own model."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from panel.io.descriptors import is_lack_of_descriptors
from panel.io.documents import mended
from panel.models.client import NOTHING, CallError, Capabilities, FaultKind, not_too_long
from panel.models.completions import positions_of, read_completion, short
from panel.models.error_responses import retry_after
from panel.models.identity import identity_of, secrets_of
from panel.models.options import options_document
from panel.models.response_bodies import content_of
from panel.models.usage import odd_usage, usage_from
from panel.secrets import SECRETS, scrub
from rubrics import ModelRequest, ModelResponse, Usage
from rubrics.unicode import well_formed

_PERMANENT = frozenset({401, 402, 403, 404})
_TRANSIENT = frozenset({408, 409, 425, 429})
# Providers' packages share no base class for their errors, but do share these words.
_TRANSIENT_WORDS = ("timeout", "connection", "ratelimit", "overloaded", "unavailable", "internal")
_PERMANENT_WORDS = ("authentication", "permission", "notfound", "unauthorized")
_NOT_CONNECTED = frozenset(
    {"ConnectError", "ConnectTimeout", "ConnectionRefusedError", "ClientConnectorError"}
)
_REFUSING = frozenset({"refusal", "content_filter", "safety", "prohibited_content", "blocklist"})
_CUT_SHORT = frozenset({"length", "max_tokens", "max_output_tokens"})
# Where Anthropic's package says for how long input is kept, the first is 0.
_WRITTEN = ("cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")


class LangChainClient:
    """Puts requests to a LangChain chat model.

    `name` tells this model from others in the cache, together with what LangChain
    itself says identifies it. `timeout_s`, in seconds, is for one answer, whatever the chat
    model's own is. `keep_prefix`: further requests will begin with the same block; Anthropic's
    models are told to keep it, the others do so by themselves. `options` are those that the chat
    model was made with.
    """

    def __init__(
        self,
        chat: BaseChatModel,
        name: str,
        *,
        timeout_s: float,
        keep_prefix: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._chat = chat
        self._name = name
        self._timeout_s = timeout_s
        self._options = dict(options or {})
        self._marks = keep_prefix and "anthropic" in chat._llm_type
        self._structured: bool | None = None
        SECRETS.learn(*secrets_of(chat))

    @property
    def capabilities(self) -> Capabilities:
        """LangChain traces calls, and says nothing of the rest; how long an answer may be, only
        its own settings do."""
        return Capabilities(traces_calls=True, adjustable_limit=False)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All that may change its answers; see `identity_of`."""
        # As they were given, too: not all that a chat model is made with is among its fields.
        options = {"options": options_document(self._options)} if self._options else {}
        return {"model": self._name, **identity_of(self._chat), **options}

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """See `panel.models.client.ModelClient`."""
        started = time.monotonic()
        timer = asyncio.timeout(self._timeout_s)
        try:
            async with timer:
                message = await self._answer(request)
        # Every provider's package raises its own.
        except Exception as error:
            if timer.expired():
                raise TimeoutError(f"no answer within {self._timeout_s:g} s") from None
            latency_s = time.monotonic() - started
            if reply := _unread(error, latency_s):
                return reply
            raise _as_call_error(error) from None
        return not_too_long(_as_reply(message, time.monotonic() - started))

    async def aclose(self) -> None:
        """LangChain's clients close themselves."""

    async def _answer(self, request: ModelRequest) -> BaseMessage:
        options: dict[str, Any] = {}
        if request.top_logprobs:
            options = {"logprobs": True, "top_logprobs": min(request.top_logprobs, 20)}
        if request.schema is not None and self._structured is not False:
            try:
                runnable = self._chat.with_structured_output(
                    {"title": "judgment", "description": "The ratings.", **request.schema},
                    include_raw=True,
                )
            except (NotImplementedError, ValueError):
                self._structured = False
            else:
                answer = cast(
                    dict[str, BaseMessage], await runnable.ainvoke(self._messages(request))
                )
                return answer["raw"]
        return await self._chat.ainvoke(self._messages(request), **options)

    def _messages(self, request: ModelRequest) -> list[BaseMessage]:
        messages: list[BaseMessage] = [SystemMessage(request.system)] if request.system else []
        messages.append(HumanMessage(self._content(request.blocks)))
        for answered, asked in request.exchange:
            messages += [AIMessage(answered), HumanMessage(asked)]
        if request.prefill:
            messages.append(AIMessage(request.prefill))
        return messages

    def _content(self, blocks: Sequence[str]) -> Any:
        if not self._marks or len(blocks) < 2:
            return "".join(blocks)
        kept = {"type": "text", "text": blocks[0], "cache_control": {"type": "ephemeral"}}
        return [kept, {"type": "text", "text": "".join(blocks[1:])}]


def _as_reply(message: BaseMessage, latency_s: float) -> ModelResponse:
    meta = message.response_metadata
    calls = getattr(message, "tool_calls", None) or ()
    # Where structured output is a tool's arguments, they are the answer.
    text = json.dumps(calls[0]["args"], ensure_ascii=False) if calls else message.text
    reason = short(meta.get("finish_reason") or meta.get("stop_reason")) or "stop"
    reason = reason.lower()
    declined = short(message.additional_kwargs.get("refusal"))
    refusal = declined or (reason if reason in _REFUSING else None)
    return ModelResponse(
        text=well_formed(text),
        finish_reason="length" if reason in _CUT_SHORT else reason,
        refusal=refusal,
        logprobs=positions_of(mended(meta.get("logprobs") or {})),
        usage=_usage(getattr(message, "usage_metadata", None)),
        latency_s=latency_s,
    )


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    if not isinstance(usage, Mapping):
        return odd_usage(usage)
    details = usage.get("input_token_details")
    thinking = usage.get("output_token_details")
    reasoning = (thinking.get("reasoning") if isinstance(thinking, Mapping) else None) or 0
    if not isinstance(details, Mapping):
        return usage_from(
            usage.get("input_tokens"), details, usage.get("output_tokens"), reasoning=reasoning
        )
    written = [count for name in _WRITTEN if (count := details.get(name))]
    return usage_from(
        usage.get("input_tokens"),
        details.get("cache_read") or 0,
        usage.get("output_tokens"),
        # Anthropic's may be told in two parts; what is no number is for `usage_from` to name.
        sum(written) if all(isinstance(count, int) for count in written) else written,
        reasoning,
    )


def _unread(error: Exception, latency_s: float) -> ModelResponse | None:
    """The answer that a provider's package would not hand out.

    OpenAI's raises where structured output was cut short or filtered.
    """
    response = getattr(error, "response", None)
    if response is None or getattr(response, "status_code", None) != 200:
        return None
    try:
        return read_completion(content_of(response.content), latency_s)
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


def _as_call_error(error: Exception) -> CallError:
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    status = status if isinstance(status, int) else None
    headers = getattr(response, "headers", None)
    headers = headers if isinstance(headers, Mapping) else {}
    # Not all clients' headers are alike whatever their case.
    plain = {str(name).lower(): str(value) for name, value in headers.items()}
    # Scrubbed before it is shortened: half a key would not be recognised.
    text = well_formed(scrub(" ".join(str(error)[:20_000].split()))[:300])
    message = f"{type(error).__name__}: {text}"
    no_descriptor = status is None and is_lack_of_descriptors(error)
    return CallError(
        message,
        kind="transient" if no_descriptor else _kind(error, status),
        status=status,
        retry_after=retry_after(plain),
        used=NOTHING if status is not None or _was_never_sent(error) else None,
        no_descriptor=no_descriptor,
    )


def _was_never_sent(error: BaseException | None) -> bool:
    """Whether no connection was made; providers' packages wrap what their client said of it."""
    while error is not None:
        if type(error).__name__ in _NOT_CONNECTED:
            return True
        error = error.__cause__ or error.__context__
    return False


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
