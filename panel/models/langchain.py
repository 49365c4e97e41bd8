"""Any LangChain chat model as a `ModelClient`: the other providers, and a user's own model."""

from __future__ import annotations

import asyncio
import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context, copy_context
from typing import Any, cast
from weakref import finalize

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import LLMResult
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import merge_configs, var_child_runnable_config

from persona_panel.files.secrets import SECRETS
from persona_panel.models.client import CallError, Capabilities, not_too_long
from persona_panel.models.completions import several, short
from persona_panel.models.error_responses import BROKEN
from persona_panel.models.event_loops import close_later, in_lasting_loop, is_passing
from persona_panel.models.identity import identity_of, secrets_of
from persona_panel.models.langchain_errors import answer_in, call_error_of
from persona_panel.models.langchain_logprobs import (
    gives_logprobs,
    overheard,
    positions_in,
    request_for_logprobs,
)
from persona_panel.models.langchain_sending import Sending, sending
from persona_panel.models.options import options_document
from persona_panel.models.stray_answers import StrayAnswers, look_for_strays, refuse_stray_answers
from persona_panel.models.usage import completion_usage, odd_usage, usage_from
from persona_panel.rubrics import ModelRequest, ModelResponse, Usage
from persona_panel.rubrics.unicode import well_formed

_REFUSING = frozenset(
    {"refusal", "content_filter", "content_filtered", "guardrail_intervened"}
    # Google's.
    | {"safety", "prohibited_content", "blocklist", "spii", "recitation", "model_armor"}
)
_CUT_SHORT = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
)
_REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""Where providers' packages say why an answer ended."""
# LangChain asks the responses of Google's package for their body and does not wait for it.
warnings.filterwarnings(
    "ignore", message=r"coroutine 'ClientResponse\.json' was never awaited", category=RuntimeWarning
)

# Where Anthropic's package says for how long input is kept, the first is 0.
_WRITTEN = ("cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")


class LangChainClient:
    """Puts requests to a LangChain chat model.

    `name` tells this model from others in the cache, together with what LangChain
    itself says identifies it. `timeout_s`, in seconds, is for one answer, whatever the chat
    model's own is. `keep_prefix`: further requests will begin with the same block; Anthropic's
    models are told to keep it, the others do so by themselves. `options` are those that the chat
    model was made with. `own`: the chat model was made for this client, and nobody else calls it;
    `close` then closes its connections, once nothing refers to this client any more.

    Its clients belong to the loop in which they first connect. So a chat model of its own is called
    in the lasting loop (`persona_panel.models.event_loops`); a user's, in the user's loop as long
    as that one lasts, and else there, too.
    """

    def __init__(
        self,
        chat: BaseChatModel,
        name: str,
        *,
        timeout_s: float,
        keep_prefix: bool = False,
        options: Mapping[str, Any] | None = None,
        own: bool = False,
        close: Callable[[], Any] | None = None,
    ) -> None:
        self._chat = chat
        self._name = name
        self._timeout_s = timeout_s
        self._options = dict(options or {})
        self._marks = keep_prefix and "anthropic" in chat._llm_type
        self._own = own
        self._structured: bool | None = None
        self._strays = StrayAnswers(name)
        refuse_stray_answers()
        if close is not None:
            finalize(self, close_later, close).atexit = False
        SECRETS.learn(*secrets_of(chat))

    @property
    def capabilities(self) -> Capabilities:
        """LangChain traces calls, and says nothing of the rest; how long an answer may be, only
        its own settings do, and which providers have no log-probabilities is known."""
        return Capabilities(
            traces_calls=True, adjustable_limit=False, logprobs=gives_logprobs(self._chat)
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All that may change its answers; see `identity_of`."""
        # As they were given, too: not all that a chat model is made with is among its fields.
        options = {"options": options_document(self._options)} if self._options else {}
        return {"model": self._name, **identity_of(self._chat), **options}

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """See `persona_panel.models.client.ModelClient`."""
        started = time.monotonic()
        timer = asyncio.timeout(self._timeout_s)
        try:
            with sending() as call:
                async with timer:
                    answer = self._answer(request, call)
                    lasting = self._own or is_passing(asyncio.get_running_loop())
                    in_loop = in_lasting_loop(answer, lasting_context()) if lasting else answer
                    message = await in_loop
        except CallError:
            raise
        # Every provider's package raises its own.
        except Exception as error:
            if timer.expired():
                raise TimeoutError(f"no answer within {self._timeout_s:g} s") from None
            latency_s = time.monotonic() - started
            if reply := answer_in(error, latency_s):
                return reply
            raise call_error_of(error, unsent=call.surely_not) from None
        self._require_own(request, message)
        return not_too_long(as_reply(message, time.monotonic() - started))

    def _require_own(self, request: ModelRequest, message: BaseMessage) -> None:
        """
        Raises:
            CallError: a message may be the answer to another request.
        """
        asked = hash((request.system, request.blocks, repr(request.exchange), request.prefill))
        meta = message.response_metadata
        # LangChain gives a message an id of its own where the provider has none.
        id_ = meta.get("id") or (message.id if not _is_langchains(message.id) else None)
        model = meta.get("model_name") or meta.get("model")
        said = hash(repr((message.content, getattr(message, "tool_calls", None))))
        if (doubt := self._strays.doubt(asked, said, id_, model)) is not None:
            raise CallError(f"{doubt}; it is not used", kind="transient", status=BROKEN, used=None)

    async def aclose(self) -> None:
        """The chat model's connections stay for the next run."""
        look_for_strays()

    async def _answer(self, request: ModelRequest, call: Sending) -> BaseMessage:
        call.watch(self._chat)
        messages, choices = self._messages(request), _Choices()
        config = merge_configs(var_child_runnable_config.get(), {"callbacks": [choices]})
        options = request_for_logprobs(self._chat, request.top_logprobs)
        message: BaseMessage
        if (structured := self._structured_output(request)) is not None:
            answer = cast(dict[str, BaseMessage], await structured.ainvoke(messages, config))
            message = answer["raw"]
        elif not options:
            message = await self._chat.ainvoke(messages, config)
        else:
            with overheard(self._chat) as said:
                message = await self._chat.ainvoke(messages, config, **options)
            message.response_metadata.setdefault("logprobs", next(iter(said), None))
        return only(message, choices.n)

    def _structured_output(self, request: ModelRequest) -> Runnable[Any, Any] | None:
        if request.schema is None or self._structured is False:
            return None
        schema = {"title": "judgment", "description": "The ratings.", **request.schema}
        try:
            return self._chat.with_structured_output(schema, include_raw=True)
        except (NotImplementedError, ValueError):
            self._structured = False
            return None

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


class _Choices(AsyncCallbackHandler):
    """Counts the answers to a call, of which LangChain hands on the first."""

    n = 1

    async def on_llm_end(self, response: LLMResult, **more: Any) -> None:
        self.n = max(map(len, response.generations), default=1)


def only(message: BaseMessage, n: int) -> BaseMessage:
    """The same message, the first of `n` answers.

    Raises:
        CallError: there are several; asked again, they would be paid for again.
    """
    if n > 1:
        raise CallError(several(n), kind="rejected", used=as_reply(message, 0.0).usage or None)
    return message


def _is_langchains(id_: str | None) -> bool:
    return id_ is None or id_.startswith(("lc_", "run-"))


def lasting_context() -> Context:
    """The present context without the graph's state, which a connection would keep, and with its
    callbacks, by which calls are traced."""
    context = copy_context()
    callbacks = (var_child_runnable_config.get() or {}).get("callbacks")
    context.run(var_child_runnable_config.set, {"callbacks": callbacks} if callbacks else None)
    return context


def as_reply(message: BaseMessage, latency_s: float) -> ModelResponse:
    """What a message says, as the answer to a request."""
    meta = message.response_metadata
    calls = getattr(message, "tool_calls", None) or ()
    # Where structured output is a tool's arguments, they are the answer.
    text = json.dumps(calls[0]["args"], ensure_ascii=False) if calls else message.text
    reason = next((said for name in _REASONS if (said := short(meta.get(name)))), "stop").lower()
    declined = short(message.additional_kwargs.get("refusal")) or _blocked(meta)
    refusal = declined or (reason if reason in _REFUSING else None)
    return ModelResponse(
        text=well_formed(text),
        finish_reason="length" if reason in _CUT_SHORT else reason,
        refusal=refusal,
        logprobs=positions_in(meta),
        usage=_usage(getattr(message, "usage_metadata", None), meta.get("token_usage")),
        latency_s=latency_s,
    )


def _blocked(meta: Mapping[str, Any]) -> str | None:
    """Why Google's filter stopped a prompt, of which there is no answer then."""
    match meta.get("prompt_feedback"):
        case {"block_reason": reason} if reason:
            return short(getattr(reason, "value", reason))
    return None


def _usage(usage: Any, reported: Any) -> Usage:
    """What LangChain says that a call took; `reported` is the provider's own word, if it is in the
    shape of chat completions."""
    if usage is None:
        return Usage()
    if not isinstance(usage, Mapping):
        return odd_usage(usage)
    details = usage.get("input_token_details") or {}
    thinking = usage.get("output_token_details")
    reasoning = (thinking.get("reasoning") if isinstance(thinking, Mapping) else None) or 0
    if not isinstance(details, Mapping):
        return usage_from(
            usage.get("input_tokens"), details, usage.get("output_tokens"), reasoning=reasoning
        )
    written = [count for name in _WRITTEN if (count := details.get(name))]
    return usage_from(
        usage.get("input_tokens"),
        # Mistral's package leaves it out.
        details.get("cache_read") or completion_usage(reported).cached,
        usage.get("output_tokens"),
        # Anthropic's may be told in two parts; what is no number is for `usage_from` to name.
        sum(written) if all(isinstance(count, int) for count in written) else written,
        reasoning,
    )
