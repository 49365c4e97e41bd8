"""Any LangChain chat model as a `ModelClient`, its options, and its identity.

The identity must tell a chat model from any other, and hold no secret. `_identifying_params` is not
enough: providers' packages leave out of it what changes answers. So a model is identified by all of
its public fields but those that surely change nothing; a field too many costs a call, a field too
few brings another model's answers from the cache.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import math
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextvars import Context, copy_context
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import lru_cache, partial
from importlib import import_module
from pathlib import PurePath
from typing import Any, cast
from urllib.parse import unquote_plus, urlsplit
from uuid import UUID
from weakref import finalize

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import LLMResult
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import merge_configs, var_child_runnable_config
from pydantic import BaseModel, SecretBytes, SecretStr, ValidationError

from persona_panel.files.errors import ConfigurationError
from persona_panel.files.secrets import CREDENTIAL_NAME, SECRETS, credentials_in
from persona_panel.files.wording import did_you_mean
from persona_panel.models.client import (
    CallError,
    Capabilities,
    completion_usage,
    name_of_answering,
    not_too_long,
    odd_usage,
    usage_from,
)
from persona_panel.models.completions import BROKEN, several, short
from persona_panel.models.config import (
    LIMIT_NAMES,
    ModelConfig,
    checked_options,
    digest,
    options_document,
)
from persona_panel.models.event_loops import close_later, in_lasting_loop, is_passing
from persona_panel.models.langchain_errors import (
    Sending,
    answer_in,
    call_error_of,
    gives_logprobs,
    overheard,
    positions_in,
    request_for_logprobs,
    sending,
)
from persona_panel.models.stray_answers import StrayAnswers, look_for_strays, refuse_stray_answers
from persona_panel.rubrics import ModelRequest, ModelResponse, Usage
from persona_panel.rubrics.replies import well_formed

_LANGCHAINS = frozenset(
    {"name", "cache", "verbose", "callbacks", "tags", "metadata", "custom_get_token_ids"}
    | {"rate_limiter", "disable_streaming", "output_version", "profile"}
)
"""Fields of LangChain's own, which no provider is told."""


def option_names(kind: type[BaseModel]) -> list[str]:
    """Return the options that a class takes, by their public names, in alphabetical order."""
    names = set()
    for field, info in kind.model_fields.items():
        names |= {field, info.alias or field}
    return sorted(name for name in names if _is_option(name))


def refuse_unknown(kind: type[BaseChatModel], config: ModelConfig) -> None:
    """Refuse options that a chat model's class does not have: it would drop them, or send them
    where they have no effect. Raises ConfigurationError: there are some; says which names the class
    takes."""
    known = {name for field, info in kind.model_fields.items() for name in (field, info.alias)}
    if unknown := [name for name in config.options if name not in known]:
        raise ConfigurationError(_unknown_options(unknown, kind, config))


def hint_on_options(error: Exception, module: str, config: ModelConfig) -> str:
    """Return an addition to the error of a chat model that could not be made: where its class
    forbids an option, the names that it takes; else nothing."""
    if not isinstance(error, ValidationError):
        return ""
    forbidden = [
        str(fault["loc"][0])
        for fault in error.errors(include_input=False, include_url=False, include_context=False)
        if fault["type"] == "extra_forbidden" and fault["loc"]
    ]
    kind = getattr(import_module(module), error.title, None)
    if not forbidden or not isinstance(kind, type) or not issubclass(kind, BaseModel):
        return ""
    return f". {_unknown_options(forbidden, kind, config)}"


def _unknown_options(unknown: list[str], kind: type[BaseModel], config: ModelConfig) -> str:
    takes = option_names(kind)
    hint = did_you_mean(unknown[0], takes)
    return (
        f"{config.model} does not take the option{'s' if len(unknown) > 1 else ''} "
        f"{', '.join(unknown)}{hint}: {kind.__name__} takes {', '.join(takes)}"
    )


def _is_option(name: str) -> bool:
    if name in _LANGCHAINS or name.startswith("_") or name.endswith("client"):
        return False
    try:
        checked_options({name: 1 if name in LIMIT_NAMES else {}}, _FIELDS)
    except ValueError:
        return False
    return True


_FIELDS = frozenset(ModelConfig.model_fields)


_OWN = frozenset(
    {"name", "tags", "metadata", "verbose", "callbacks", "callback_manager", "rate_limiter"}
    | {"custom_get_token_ids"}
)
"""Fields of LangChain's own: names for its traces, and how often and by whom it is called."""

_PATIENCE = re.compile(r"time_?out|retr(y|ies)|callback|max_concurren", re.IGNORECASE)
# Not every token is a secret: eos_token is a setting, and max_tokens.
_SECRET = re.compile(
    r"key(_id)?$|secret|password|credentials?$|authorization|cookie"
    r"|(^|access|auth|session|bearer|refresh|api|ad|hub|id|security)[_-]?token(_provider)?$",
    re.IGNORECASE,
)
_HEADERS = re.compile(r"header", re.IGNORECASE)
_SURELY_THE_SAME = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    Decimal,
    PurePath,
    UUID,
    re.Pattern,
    range,
    complex,
)
"""Types whose text says all of them, and says it alike in every process."""
_DEEPEST = 12
_WHERE_CLIENTS_ARE = ("base_url", "meta.endpoint_url", "_client.base_url", "_api_client.location")
"""The attributes in which the clients of providers' packages keep what they took from the
environment."""


def identity_of(chat: BaseChatModel) -> dict[str, Any]:
    """Return all that may change what a chat model answers, as plain JSON without secrets; the same
    in every process for a model that was made alike.

    Objects that show no more than an address in memory count by their type alone.
    """
    return {
        "type": _name_of(type(chat)),
        "fields": _public(chat, 0),
        "identifying": _plain(chat._identifying_params, 0),
        "reached": {
            name: where for name, client in _clients(chat) if (where := _where(client)) is not None
        },
    }


def secrets_of(chat: BaseChatModel) -> Iterator[str]:
    """Yield the secrets among a model's fields and parameters, to be masked in its answers and
    errors."""
    yield from _hidden(_fields(chat))
    yield from _hidden(chat._identifying_params)


def _fields(model: BaseModel) -> dict[str, Any]:
    names = type(model).model_fields
    return {name: getattr(model, name, None) for name in names} | (model.model_extra or {})


def _public(model: BaseModel, depth: int) -> dict[str, Any]:
    """Return the fields of a model that say something; a field that a later version adds unset is
    none."""
    own = _OWN if isinstance(model, BaseChatModel) else ()
    declared = type(model).model_fields
    public = {}
    for name, value in _fields(model).items():
        kept_out = name in declared and declared[name].exclude
        # What is kept out of a model's dump are clients, mostly; a plain value is a setting.
        if value is None or name in own or (kept_out and not isinstance(value, str | int | float)):
            continue
        public[name] = value
    return _of_mapping(public, depth)


def _of_mapping(mapping: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    plain = {}
    for key, value in mapping.items():
        name = _text(str(key))
        if _left_out(name) or _is_secret(value):
            continue
        if _HEADERS.search(name) and isinstance(value, Mapping):
            # A header may change an answer, and any of them may be a secret.
            plain[name] = {
                str(header).lower(): digest(str(text))
                for header, text in value.items()
                if not _SECRET.search(str(header))
            }
        else:
            plain[name] = _plain(value, depth + 1)
    return plain


def _plain(value: Any, depth: int) -> Any:
    match value:
        case None | bool():
            return value
        case Enum():
            return [_name_of(type(value)), _plain(value.value, depth + 1)]
        case int():
            return value if abs(value) < 2**63 else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case str():
            return _text(value)
        case bytes():
            return digest(value.hex())
    if depth > _DEEPEST:
        return _name_of(type(value))
    match value:
        case Mapping():
            return _of_mapping(value, depth)
        case list() | tuple():
            return [_plain(item, depth + 1) for item in value if not _is_secret(item)]
        case Set():
            return {"set": sorted((_plain(item, depth + 1) for item in value), key=repr)}
        case BaseModel():
            return {"type": _name_of(type(value)), **_public(value, depth)}
        case partial():
            return [_plain(part, depth + 1) for part in (value.func, value.args, value.keywords)]
    if is_dataclass(value) and not isinstance(value, type):
        own = {field.name: getattr(value, field.name, None) for field in fields(value)}
        return {"type": _name_of(type(value)), **_of_mapping(own, depth)}
    if isinstance(value, _SURELY_THE_SAME):
        return [_name_of(type(value)), _text(str(value))]
    # A class or a function has a name; of another object only its type is surely the same.
    return _name_of(value if hasattr(value, "__qualname__") else type(value))


def _name_of(named: Any) -> str:
    return f"{getattr(named, '__module__', '')}.{named.__qualname__}"


# The same few names come with each model and each page.
@lru_cache(maxsize=1_000)
def _left_out(name: str) -> bool:
    return bool(_PATIENCE.search(name) or _SECRET.search(name))


def _is_secret(value: Any) -> bool:
    return isinstance(value, SecretStr | SecretBytes)


def _text(text: str) -> str:
    """Return a text; a web address without its credentials, and with a digest in place of its
    query."""
    text = well_formed(text)
    if not text.startswith(("http://", "https://")):
        return text
    try:
        url = urlsplit(text)
        netloc = url.netloc.rpartition("@")[2].lower()
    except ValueError:
        return digest(text)
    bare = url._replace(netloc=netloc, query="").geturl()
    return f"{bare}?{digest(unquote_plus(url.query))}" if url.query else bare


def _clients(chat: BaseChatModel) -> Iterator[tuple[str, Any]]:
    """Yield the objects through which a model reaches its provider."""
    for name, field in type(chat).model_fields.items():
        if field.exclude:
            yield name, getattr(chat, name, None)
    yield from (chat.__pydantic_private__ or {}).items()


def _where(client: Any) -> Any:
    """Return the address to which a client sends its calls, which may come from the environment;
    None if unknown."""
    for path in _WHERE_CLIENTS_ARE:
        value = client
        for name in path.split("."):
            value = getattr(value, name, None)
        # Of the types that are meant: a stand-in of a test's has every attribute.
        if isinstance(value, str) or type(value).__name__ == "URL":
            return _text(str(value))
    return None


def _hidden(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts under names of secrets, in pydantic's secrets and in web addresses."""
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, SecretBytes):
        yield value.get_secret_value().decode(errors="replace")
    elif isinstance(value, str) and "://" in value:
        yield from credentials_in(value)
    elif isinstance(value, Mapping) and depth <= _DEEPEST:
        for name, inner in value.items():
            yield from (_texts if CREDENTIAL_NAME.search(str(name)) else _hidden)(inner, depth + 1)
    elif isinstance(value, list | tuple) and depth <= _DEEPEST:
        for item in value:
            yield from _hidden(item, depth + 1)


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        # A header is a scheme and a key.
        yield from {value, *value.split()}
    elif isinstance(value, Mapping) and depth <= _DEEPEST:
        for inner in value.values():
            yield from _texts(inner, depth + 1)
    elif isinstance(value, list | tuple) and depth <= _DEEPEST:
        for inner in value:
            yield from _texts(inner, depth + 1)
    else:
        yield from _hidden(value, depth)


_REFUSING = frozenset(
    {"refusal", "content_filter", "content_filtered", "guardrail_intervened"}
    # Google's.
    | {"safety", "prohibited_content", "blocklist", "spii", "recitation", "model_armor"}
)
_CUT_SHORT = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
)
_REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""The fields in which providers' packages say why an answer ended."""
# LangChain asks the responses of Google's package for their body and does not wait for it.
warnings.filterwarnings(
    "ignore", message=r"coroutine 'ClientResponse\.json' was never awaited", category=RuntimeWarning
)

# Where Anthropic's package says for how long input is kept, the first is 0.
_WRITTEN = ("cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")


class LangChainClient:
    """A client that puts requests to a LangChain chat model.

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
        """The capabilities as far as they are known: LangChain traces calls, the chat model's own
        settings limit an answer, and some providers have no log-probabilities."""
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
        reply = as_reply(message, time.monotonic() - started)
        meta = message.response_metadata
        answered = meta.get("model_name") or meta.get("model")
        # By its class's name, where it has no other, nothing is asked for.
        if self._name != type(self._chat).__name__:
            reply.answered_by = name_of_answering(answered, self._name)
        return not_too_long(reply)

    def _require_own(self, request: ModelRequest, message: BaseMessage) -> None:
        """Refuse a message that may be the answer to another request."""
        asked = hash((request.system, request.blocks, repr(request.exchange), request.prefill))
        meta = message.response_metadata
        # LangChain gives a message an id of its own where the provider has none.
        id_ = meta.get("id") or (message.id if not _is_langchains(message.id) else None)
        model = meta.get("model_name") or meta.get("model")
        content = hash(repr((message.content, getattr(message, "tool_calls", None))))
        if (doubt := self._strays.doubt(asked, content, id_, model)) is not None:
            raise CallError(f"{doubt}; it is not used", kind="transient", status=BROKEN, used=None)

    async def aclose(self) -> None:
        """Leave the chat model's connections open for the next run, after a look for stray answers
        on them."""
        await look_for_strays()

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
            with overheard(self._chat) as logprobs:
                message = await self._chat.ainvoke(messages, config, **options)
            message.response_metadata.setdefault("logprobs", next(iter(logprobs), None))
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
    """A callback that counts the answers to a call, of which LangChain returns only the first."""

    n = 1

    async def on_llm_end(self, response: LLMResult, **more: Any) -> None:
        self.n = max(map(len, response.generations), default=1)


def only(message: BaseMessage, n: int) -> BaseMessage:
    """Return the same message, the first of `n` answers. Raises CallError: there are several; asked
    again, they would be paid for again."""
    if n > 1:
        raise CallError(several(n), kind="rejected", used=as_reply(message, 0.0).usage or None)
    return message


def _is_langchains(id_: str | None) -> bool:
    return id_ is None or id_.startswith(("lc_", "run-"))


def lasting_context() -> Context:
    """Return the present context without the graph's state, which a connection would keep, and with
    its callbacks, by which calls are traced."""
    context = copy_context()
    callbacks = (var_child_runnable_config.get() or {}).get("callbacks")
    context.run(var_child_runnable_config.set, {"callbacks": callbacks} if callbacks else None)
    return context


def as_reply(message: BaseMessage, latency_s: float) -> ModelResponse:
    """Return a message as the answer to a request."""
    meta = message.response_metadata
    calls = getattr(message, "tool_calls", None) or ()
    # Where structured output is a tool's arguments, they are the answer.
    text = json.dumps(calls[0]["args"], ensure_ascii=False) if calls else message.text
    reason = next(filter(None, (short(meta.get(name)) for name in _REASONS)), "stop").lower()
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
    """Return why Google's filter stopped a prompt, which then has no answer; None where it did
    not.
    """
    match meta.get("prompt_feedback"):
        case {"block_reason": reason} if reason:
            return short(getattr(reason, "value", reason))
    return None


def _usage(usage: Any, reported: Any) -> Usage:
    """Return the usage of a call, as LangChain reports it; `reported` is the provider's own report,
    if it is in the form of chat completions."""
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
