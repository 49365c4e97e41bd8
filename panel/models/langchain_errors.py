"""The requests that LangChain's chat models send, and the meaning of their errors and
log-probabilities.

Requests are noticed at the HTTP client beneath a chat model: only what was sent can have been paid
for. Each package has its own errors, and LangChain wraps some of them, so that an error is read
together with its causes, by what the packages put in them. Names of classes are the last resort.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from operator import attrgetter
from typing import Any

from langchain_core import exceptions as langchain
from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel

from persona_panel.files.limits import is_lack_of_descriptors
from persona_panel.files.outputs import mended
from persona_panel.files.secrets import scrub
from persona_panel.models.client import NOTHING, CallError, FaultKind, note_sent
from persona_panel.models.completions import (
    BROKEN,
    Complaint,
    is_filtered,
    kind_of,
    positions_of,
    read_completion,
    retry_after,
    retry_delay,
    short,
)
from persona_panel.models.http_responses import content_of
from persona_panel.models.stray_answers import UNASKED
from persona_panel.rubrics import ModelResponse, Position
from persona_panel.rubrics.replies import well_formed

_MOST = 20
"""Alternatives for each token: no provider gives more."""
_WITHOUT = ("anthropic", "bedrock", "mistral")
"""Their chat protocols have no log-probabilities."""
_GOOGLE = ("google", "gemini", "vertexai")

_overheard: ContextVar[list[Any] | None] = ContextVar("overheard", default=None)


def gives_logprobs(chat: BaseChatModel) -> bool | None:
    """Return False where a provider's protocol has no log-probabilities; else None, since only a
    call can show it."""
    return False if _is_of(chat, _WITHOUT) else None


def request_for_logprobs(chat: BaseChatModel, top: int) -> dict[str, Any]:
    """Return the parameters that ask for `top` alternatives for each token, 20 at most; none for
    0.
    """
    if not top:
        return {}
    if _is_of(chat, _GOOGLE):
        return {"response_logprobs": True, "logprobs": min(top, _MOST)}
    return {"logprobs": True, "top_logprobs": min(top, _MOST)}


@contextmanager
def overheard(chat: BaseChatModel) -> Iterator[list[Any]]:
    """Collect the log-probabilities that Google's package returns within the block, which
    LangChain's does not pass on; nothing for other providers."""
    models = getattr(getattr(getattr(chat, "client", None), "aio", None), "models", None)
    if _is_of(chat, _GOOGLE) and models is not None and "generate_content" not in vars(models):
        generate = models.generate_content

        async def generate_content(**request: Any) -> Any:
            response = await generate(**request)
            if (results := _overheard.get()) is not None:
                results += [candidate.logprobs_result for candidate in response.candidates or ()]
            return response

        models.generate_content = generate_content
    results: list[Any] = []
    token = _overheard.set(results)
    try:
        yield results
    finally:
        _overheard.reset(token)


def positions_in(metadata: Mapping[str, Any]) -> tuple[Position, ...]:
    """Return the log-probabilities of an answer, token by token, from a message's response
    metadata; none where their form is not known."""
    logprobs = _plain(metadata.get("logprobs"))
    try:
        match logprobs:
            case {"content": [*_]}:
                return positions_of(logprobs)
            # Ollama's has no object around it.
            case [*positions]:
                return positions_of({"content": positions})
            case {"top_candidates": tops, "chosen_candidates": chosen}:
                return tuple(_of_google(chosen or (), tops or ()))
            case {"tokens": [*tokens], "top_logprobs": [*tops]}:
                own = logprobs.get("token_logprobs") or [None] * len(tokens)
                return tuple(_of_older_protocol(tokens, tops, own))
    except (AttributeError, LookupError, TypeError, ValueError):
        pass
    return ()


def _is_of(chat: BaseChatModel, providers: Sequence[str]) -> bool:
    # Of a model that an object of LiteLLM's or a router's reaches, this says nothing.
    return any(name in chat._llm_type for name in providers)


def _plain(value: Any) -> Any:
    """Return a value without objects of packages such as Ollama's and LiteLLM's."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return mended(value.model_dump() if isinstance(value, BaseModel) else value)


def _of_google(
    chosen: Sequence[Mapping[str, Any]], tops: Sequence[Mapping[str, Any]]
) -> Iterator[Position]:
    for choice, top in zip(chosen, tops, strict=True):
        alternatives = top.get("candidates") or ()
        yield Position(
            choice["token"],
            tuple((each["token"], each["log_probability"]) for each in alternatives),
            choice.get("log_probability"),
        )


def _of_older_protocol(
    tokens: Sequence[str], tops: Sequence[Mapping[str, float] | None], own: Sequence[float | None]
) -> Iterator[Position]:
    """Yield the positions of OpenAI's first protocol, which Together and Fireworks keep."""
    for token, top, logprob in zip(tokens, tops, own, strict=True):
        yield Position(token, tuple((top or {}).items()), logprob)


_HTTPX = {
    "langchain_openai": attrgetter("async_client._client._client"),
    "langchain_anthropic": attrgetter("_async_client._client"),
    "langchain_groq": attrgetter("async_client._client._client"),
    "langchain_mistralai": attrgetter("async_client"),
    "langchain_ollama": attrgetter("_async_client._client"),
}
"""The attributes in which packages have a client of httpx's kind, whose hooks are called before it
sends."""


@dataclass(slots=True)
class Sending:
    """The state of a call: whether it was sent. `watched` says whether that can be known at all."""

    watched: bool = False
    begun: bool = False

    def watch(self, chat: BaseChatModel) -> None:
        """Have the chat model's connections tell when they send."""
        packages = {kind.__module__.partition(".")[0] for kind in type(chat).__mro__}
        try:
            self.watched = _is_watched(chat, packages)
        # Another version of the package, or a stand-in for its client.
        except (AttributeError, LookupError, TypeError):
            self.watched = False

    @property
    def surely_not(self) -> bool:
        """Return whether nothing was sent."""
        return self.watched and not self.begun


_current: ContextVar[Sending | None] = ContextVar("_current", default=None)


@contextmanager
def sending() -> Iterator[Sending]:
    """Watch the call that the block makes, in whichever thread or loop."""
    call = Sending()
    token = _current.set(call)
    try:
        yield call
    finally:
        _current.reset(token)


def _is_watched(chat: Any, packages: set[str]) -> bool:
    for package in packages & _HTTPX.keys():
        hooks = _HTTPX[package](chat).event_hooks["request"]
        if _before_request not in hooks:
            hooks.append(_before_request)
        return True
    if "langchain_google_genai" in packages:
        _watch_google(chat.client._api_client)
        return True
    if "langchain_aws" in packages:
        chat.client.meta.events.register("before-send", _before_send, unique_id=__name__)
        return True
    return False


def _begin(body: Any) -> None:
    if (call := _current.get()) is not None:
        call.begun = True
    note_sent(body)


async def _before_request(request: Any) -> None:
    # A body that is streamed is not at hand; no package streams one.
    _begin(getattr(request, "_content", None))


def _before_send(request: Any, **others: Any) -> None:
    _begin(request.body)


def _watch_google(client: Any) -> None:
    """Watch Google's package, which calls by aiohttp where that is installed, and has no hooks."""
    if "_async_request" in vars(client):
        return
    send = client._async_request

    @wraps(send)
    async def begin_and_send(http_request: Any, *args: Any, **more: Any) -> Any:
        _begin(http_request.data)
        return await send(http_request, *args, **more)

    client._async_request = begin_and_send


_LONGEST_BODY = 1_000_000
_CODES = ("code", "type", "status", "reason", "Code")
"""The fields in which providers' bodies have the names of an error; `Code` is Amazon's."""

# A class is told by its package and name, so that none has to be imported to be looked for.
_OF_HTTPX = {"ConnectError", "ConnectTimeout", "PoolTimeout"}
_NOT_CONNECTED = {
    "aiohttp": {"ClientConnectorError", "ConnectionTimeoutError"},
    "botocore": {"ConnectTimeoutError", "EndpointConnectionError", "ProxyConnectionError"},
    "builtins": {"ConnectionRefusedError"},
    "httpcore": {"ConnectError"},
    "httpx": _OF_HTTPX,
    "httpx2": _OF_HTTPX,
}
_NO_CREDENTIALS = {
    "botocore": {
        "LoginError", "NoAuthTokenError", "NoCredentialsError", "NoRegionError", "SSOError",
        "PartialCredentialsError", "ProfileNotFound", "TokenRetrievalError",
    },
    "google": {"DefaultCredentialsError", "RefreshError"},
}  # fmt: skip
_BROKEN_OFF = {
    "aiohttp": {"ClientError"},
    "botocore": {"ConnectionError", "HTTPClientError"},
    "builtins": {"OSError"},
    "google": {"TransportError"},
    "httpx": {"TransportError"},
    "httpx2": {"TransportError"},
    "urllib3": {"HTTPError"},
}
# Other packages' errors share no base class, but do share these words.
_TRANSIENT_WORDS = ("timeout", "connection", "ratelimit", "overloaded", "unavailable", "internal")
_PERMANENT_WORDS = ("authentication", "permission", "notfound", "unauthorized")


def answer_in(error: Exception, latency_s: float) -> ModelResponse | None:
    """Return the answer that a provider's package raises an error for: one cut short or filtered, a
    text that fits no schema, and a request that the provider's filter stopped. None where it is an
    error indeed."""
    response = getattr(error, "response", None)
    if response is not None and getattr(response, "status_code", None) == 200:
        try:
            return read_completion(content_of(response.content), latency_s)
        except (AttributeError, LookupError, TypeError, ValueError):
            return None
    bodies = list(_bodies(error))
    for body in bodies:
        # Groq's word for what its model said where it had to keep to a schema.
        if isinstance(text := body.get("failed_generation"), str) and text:
            return ModelResponse(well_formed(text), finish_reason="stop", latency_s=latency_s)
    complaint = _complaint(error, bodies)
    if is_filtered(complaint):
        why = short(complaint.message) or "content_filter"
        return ModelResponse(
            "", finish_reason="content_filter", refusal=scrub(why), latency_s=latency_s
        )
    return None


def call_error_of(error: Exception, *, unsent: bool = False) -> CallError:
    """Return the same as a `CallError`, without the key that the error may quote. `unsent`: it is
    known to have come before anything was sent."""
    # Scrubbed before it is shortened: half a key would not be recognised.
    text = well_formed(scrub(" ".join(str(error)[:20_000].split()))[:300])
    # Some packages say no more than that a connection broke off.
    if UNASKED not in text and any(UNASKED in str(cause) for cause in _causes(error)):
        text = f"{text} ({UNASKED})"
    complaint = _complaint(error, list(_bodies(error)))
    status = complaint.status or None
    if status is None and (why := _not_connected(error)) and why not in text:
        text += f" ({why})"
    no_descriptor = status is None and is_lack_of_descriptors(error)
    kind = "transient" if no_descriptor else _kind(error, complaint)
    answered = status is not None and status != BROKEN
    unsent = unsent or (status is None and _has_class(error, _NOT_CONNECTED))
    return CallError(
        f"{type(error).__name__}: {text}",
        kind=kind,
        status=status,
        retry_after=_retry_after(error) if kind == "transient" else None,
        used=NOTHING if answered or unsent else None,
        unsent=unsent,
        no_descriptor=no_descriptor,
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes, the nearest first, also where a package hides them."""
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _not_connected(error: Exception) -> str:
    """Return why there was no connection, in the words of the library that tried; packages put
    their own in front."""
    if not _has_class(error, _NOT_CONNECTED):
        return ""
    reasons = [str(cause) for cause in _causes(error) if isinstance(cause, OSError)]
    reasons += [str(cause) for cause in _causes(error)]
    return well_formed(scrub(" ".join(next(filter(None, reasons), "").split()))[:200])


def _has_class(error: BaseException, classes: Mapping[str, Set[str]]) -> bool:
    return any(
        kind.__name__ in classes.get(kind.__module__.partition(".")[0], ())
        for cause in _causes(error)
        for kind in type(cause).__mro__
    )


def _kind(error: Exception, complaint: Complaint) -> FaultKind:
    causes = list(_causes(error))
    if any(isinstance(cause, langchain.ContextOverflowError) for cause in causes):
        return "rejected"
    # A success whose body cannot be read may be read the next time.
    if isinstance(error, json.JSONDecodeError):
        return "transient"
    if complaint.status:
        return kind_of(complaint)
    for cause in causes:
        if isinstance(cause, langchain.ModelError):
            return _kind_of_model_error(cause)
    if _has_class(error, _NO_CREDENTIALS):
        return "permanent"
    name = type(error).__name__.lower()
    if any(word in name for word in _PERMANENT_WORDS):
        return "permanent"
    if _has_class(error, _BROKEN_OFF) or any(word in name for word in _TRANSIENT_WORDS):
        return "transient"
    return "rejected"


def _kind_of_model_error(error: langchain.ModelError) -> FaultKind:
    if error.is_retryable:
        return "transient"
    refused = (
        langchain.ModelAuthenticationError
        | langchain.ModelPermissionDeniedError
        | langchain.ModelNotFoundError
    )
    return "permanent" if isinstance(error, refused) else "rejected"


def _complaint(error: Exception, bodies: list[Mapping[str, Any]]) -> Complaint:
    """Return the provider's complaint; its status is 0 where none came."""
    names = {str(body[name]) for body in bodies for name in _CODES if body.get(name)}
    for cause in _causes(error):
        names |= {code for name in _CODES if isinstance(code := getattr(cause, name, None), str)}
    texts = [body.get(name) for body in bodies for name in ("message", "Message", "detail")]
    # What LangChain wraps, it repeats.
    parts = dict.fromkeys(text for text in texts if isinstance(text, str))
    message = " ".join(parts) or str(error)[:20_000]
    return Complaint(message, _status(error), frozenset(names))


def _status(error: BaseException) -> int:
    """Return the HTTP status; `BROKEN` where a success could not be used, 0 where no answer
    came.
    """
    for cause in _causes(error):
        response = getattr(cause, "response", None)
        statuses = [
            getattr(cause, "status_code", None),
            getattr(response, "status_code", None),
            # Google's package keeps aiohttp's responses.
            getattr(response, "status", None),
        ]
        if isinstance(response, Mapping):
            statuses.append(_of(response, "ResponseMetadata").get("HTTPStatusCode"))
        for status in statuses:
            if isinstance(status, int) and not isinstance(status, bool):
                # Ollama's package has -1 for a stream that ends in an error.
                return int(status) if 300 <= status < 600 else BROKEN
        code = getattr(cause, "code", None)
        if isinstance(code, int) and 300 <= code < 600:
            return int(code)
    return 0


def _bodies(error: BaseException) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in which a provider describes an error, from the outermost on."""
    waiting: list[Any] = []
    for cause in _causes(error):
        response = getattr(cause, "response", None)
        waiting += [getattr(cause, "body", None), getattr(cause, "details", None)]
        if isinstance(response, Mapping):
            waiting.append(response)
        else:
            waiting.append(_content(response))
    while waiting:
        body = waiting.pop(0)
        if isinstance(body, list):
            waiting += body[:10]
        elif isinstance(body, Mapping):
            yield body
            waiting += [body.get(name) for name in ("error", "Error", "innererror", "details")]


def _content(response: Any) -> Any:
    """Return the content of a response's body; None where there is none, or it is not read yet."""
    try:
        body = response.content
    # A client's response raises an error of its own where the body is still to come.
    except Exception:
        return None
    return content_of(body) if isinstance(body, bytes) and len(body) < _LONGEST_BODY else None


def _retry_after(error: BaseException) -> float | None:
    """Return how many seconds the provider asks to wait, by its headers or the body of one of
    Google's errors; None where it does not ask."""
    for cause in _causes(error):
        response = getattr(cause, "response", None)
        headers = getattr(response, "headers", None)
        if isinstance(response, Mapping):
            headers = _of(response, "ResponseMetadata").get("HTTPHeaders")
        if isinstance(headers, Mapping):
            # Not all clients' headers are alike whatever their case.
            plain = {str(name).lower(): str(value) for name, value in headers.items()}
            if (seconds := retry_after(plain)) is not None:
                return seconds
    for body in _bodies(error):
        if (seconds := retry_delay(body.get("details"))) is not None:
            return seconds
    return None


def _of(mapping: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = mapping.get(name)
    return inner if isinstance(inner, Mapping) else {}
