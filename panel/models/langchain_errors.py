"""What LangChain and the providers' packages mean by the errors that they raise.

Each package has errors of its own, and LangChain wraps some of them. So an error is read together
with what it came of, by what the packages put in it: the HTTP status, the provider's body and
headers, LangChain's own classes. Names of classes are the last resort.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core import exceptions as langchain

from persona_panel.files.descriptors import is_lack_of_descriptors
from persona_panel.files.secrets import scrub
from persona_panel.models.client import NOTHING, CallError, FaultKind
from persona_panel.models.completions import read_completion, short
from persona_panel.models.error_responses import (
    BROKEN,
    Complaint,
    is_filtered,
    kind_of,
    retry_after,
    retry_delay,
)
from persona_panel.models.http_responses import content_of
from persona_panel.models.stray_answers import UNASKED
from persona_panel.rubrics import ModelResponse
from persona_panel.rubrics.unicode import well_formed

_LONGEST_BODY = 1_000_000
_CODES = ("code", "type", "status", "reason", "Code")
"""Where providers' bodies have the names of an error; `Code` is Amazon's."""

# A class is told by its package and name, so that none has to be imported to be looked for.
_NOT_CONNECTED = frozenset(
    {
        ("aiohttp", "ClientConnectorError"),
        ("aiohttp", "ConnectionTimeoutError"),
        ("botocore", "ConnectTimeoutError"),
        ("botocore", "EndpointConnectionError"),
        ("botocore", "ProxyConnectionError"),
        ("builtins", "ConnectionRefusedError"),
        ("httpcore", "ConnectError"),
        ("httpx", "ConnectError"),
        ("httpx", "ConnectTimeout"),
        ("httpx", "PoolTimeout"),
        ("httpx2", "ConnectError"),
        ("httpx2", "ConnectTimeout"),
        ("httpx2", "PoolTimeout"),
    }
)
_NO_CREDENTIALS = frozenset(
    {
        ("botocore", "LoginError"),
        ("botocore", "NoAuthTokenError"),
        ("botocore", "NoCredentialsError"),
        ("botocore", "NoRegionError"),
        ("botocore", "PartialCredentialsError"),
        ("botocore", "ProfileNotFound"),
        ("botocore", "SSOError"),
        ("botocore", "TokenRetrievalError"),
        ("google", "DefaultCredentialsError"),
        ("google", "RefreshError"),
    }
)
_BROKEN_OFF = frozenset(
    {
        ("aiohttp", "ClientError"),
        ("botocore", "ConnectionError"),
        ("botocore", "HTTPClientError"),
        ("builtins", "OSError"),
        ("google", "TransportError"),
        ("httpx", "TransportError"),
        ("httpx2", "TransportError"),
        ("urllib3", "HTTPError"),
    }
)
# Other packages' errors share no base class, but do share these words.
_TRANSIENT_WORDS = ("timeout", "connection", "ratelimit", "overloaded", "unavailable", "internal")
_PERMANENT_WORDS = ("authentication", "permission", "notfound", "unauthorized")


def answer_in(error: Exception, latency_s: float) -> ModelResponse | None:
    """The answer that a provider's package raises an error for: one cut short or filtered, a text
    that fits no schema, and a request that the provider's filter stopped. None where it is an
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
        if isinstance(said := body.get("failed_generation"), str) and said:
            return ModelResponse(well_formed(said), finish_reason="stop", latency_s=latency_s)
    complaint = _complaint(error, bodies)
    if is_filtered(complaint):
        why = short(complaint.message) or "content_filter"
        return ModelResponse(
            "", finish_reason="content_filter", refusal=scrub(why), latency_s=latency_s
        )
    return None


def call_error_of(error: Exception, *, unsent: bool = False) -> CallError:
    """The same as a `CallError`, without the key that the error may quote. `unsent`: it is known to
    have come before anything was sent."""
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
    """The error and what it came of, the nearest first, also where a package hides it."""
    one: BaseException | None = error
    seen: set[int] = set()
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


def _not_connected(error: Exception) -> str:
    """Why there was no connection, in the words of who tried; packages put their own before it."""
    if not _has_class(error, _NOT_CONNECTED):
        return ""
    said = [str(one) for one in _causes(error) if isinstance(one, OSError)]
    said += [str(one) for one in _causes(error)]
    return well_formed(scrub(" ".join(next(filter(None, said), "").split()))[:200])


def _has_class(error: BaseException, classes: frozenset[tuple[str, str]]) -> bool:
    return any(
        (kind.__module__.partition(".")[0], kind.__name__) in classes
        for one in _causes(error)
        for kind in type(one).__mro__
    )


def _kind(error: Exception, complaint: Complaint) -> FaultKind:
    causes = list(_causes(error))
    if any(isinstance(one, langchain.ContextOverflowError) for one in causes):
        return "rejected"
    # A success whose body cannot be read may be read the next time.
    if isinstance(error, json.JSONDecodeError):
        return "transient"
    if complaint.status:
        return kind_of(complaint)
    for one in causes:
        if isinstance(one, langchain.ModelError):
            return _kind_of_model_error(one)
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
    """What the provider said; its status is 0 where none came."""
    names = {str(body[name]) for body in bodies for name in _CODES if body.get(name)}
    for one in _causes(error):
        names |= {said for name in _CODES if isinstance(said := getattr(one, name, None), str)}
    said = [body.get(name) for body in bodies for name in ("message", "Message", "detail")]
    # What LangChain wraps, it repeats.
    parts = dict.fromkeys(text for text in said if isinstance(text, str))
    message = " ".join(parts) or str(error)[:20_000]
    return Complaint(message, _status(error), frozenset(names))


def _status(error: BaseException) -> int:
    """The HTTP status, `BROKEN` where a success was none in the end, 0 where no answer came."""
    for one in _causes(error):
        response = getattr(one, "response", None)
        told = [
            getattr(one, "status_code", None),
            getattr(response, "status_code", None),
            # Google's package keeps aiohttp's responses.
            getattr(response, "status", None),
        ]
        if isinstance(response, Mapping):
            told.append(_of(response, "ResponseMetadata").get("HTTPStatusCode"))
        for status in told:
            if isinstance(status, int) and not isinstance(status, bool):
                # Ollama's package has -1 for a stream that ends in an error.
                return int(status) if 300 <= status < 600 else BROKEN
        code = getattr(one, "code", None)
        if isinstance(code, int) and 300 <= code < 600:
            return int(code)
    return 0


def _bodies(error: BaseException) -> Iterator[Mapping[str, Any]]:
    """The objects in which a provider describes an error, from the outermost on."""
    waiting: list[Any] = []
    for one in _causes(error):
        response = getattr(one, "response", None)
        waiting += [getattr(one, "body", None), getattr(one, "details", None)]
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
    """What the body of a response holds; None where it is not there, or not yet read."""
    try:
        body = response.content
    # A client's response raises an error of its own where the body is still to come.
    except Exception:
        return None
    return content_of(body) if isinstance(body, bytes) and len(body) < _LONGEST_BODY else None


def _retry_after(error: BaseException) -> float | None:
    """How long the provider asks to wait, in seconds: in its headers, or as Google's body says."""
    for one in _causes(error):
        response = getattr(one, "response", None)
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
