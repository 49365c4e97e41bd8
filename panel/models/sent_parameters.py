"""With which parameters requests are really sent, whatever a provider's package adds to them.

Clients of this project note the bodies that they send. Those of providers' packages are listened
to where they hand a body to the network: at their HTTP client's hook for requests, botocore's
event, or the one function of Google's package that makes requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from operator import attrgetter
from typing import Any

import orjson

from panel.secrets import scrub

_TEXTS = frozenset(
    {"messages", "system", "contents", "systemInstruction", "system_instruction", "prompt", "input"}
)
"""What providers call the texts that a model reads."""
_SCHEMA = "the schema of an answer"
_LONGEST = 200
"""Characters of a parameter that is a text."""
_HTTP_CLIENTS = (
    "_async_client._client",
    "root_async_client._client",
    "async_client._client._client",
    "async_client",
)
"""Where chat models have the HTTP client by which they send: Anthropic and Ollama, OpenAI and
Azure, Groq, Mistral."""

_noting: ContextVar[list[dict[str, Any]] | None] = ContextVar("noting", default=None)


@contextmanager
def noted_parameters() -> Iterator[list[dict[str, Any]]]:
    """Collect the parameters of the requests that are sent within the block."""
    sent: list[dict[str, Any]] = []
    token = _noting.set(sent)
    try:
        yield sent
    finally:
        _noting.reset(token)


def note_sent(body: Any) -> None:
    """Note a request's body, an object or its JSON, where somebody wants to know."""
    if (sent := _noting.get()) is None:
        return
    if isinstance(body, str | bytes | bytearray):
        try:
            body = orjson.loads(body)
        except ValueError:
            return
    if isinstance(body, Mapping):
        sent.append(parameters_of(body))


def parameters_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request's body without the texts that a model reads, schemas and keys.

    >>> parameters_of({"messages": [{"role": "user", "content": "Rate this."}], "temperature": 0})
    {'temperature': 0}
    """
    return {str(name): _told(value) for name, value in body.items() if name not in _TEXTS}


def listen_to(chat: object) -> None:
    """Note from now on what a LangChain chat model sends; not of a package that is not known."""
    if _noting.get() is None:
        return
    for path in _HTTP_CLIENTS:
        with suppress(AttributeError):
            hooks = attrgetter(path)(chat).event_hooks
            if _note_request not in hooks.get("request", ()):
                hooks.setdefault("request", []).append(_note_request)
    with suppress(AttributeError):
        events = attrgetter("client.meta.events")(chat)
        events.register("before-send", _note_prepared, unique_id="persona-panel")
    with suppress(AttributeError):
        _listen_to_google(attrgetter("client._api_client")(chat))


def _told(value: Any) -> Any:
    match value:
        case {"type": "object", "properties": _}:
            return _SCHEMA
        case Mapping():
            return {str(name): _told(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_told(inner) for inner in value]
        case None | bool() | int() | float():
            return value
    return scrub(str(value))[:_LONGEST]


async def _note_request(request: Any) -> None:
    # A body that is streamed is not at hand; no package streams one.
    note_sent(getattr(request, "_content", None))


def _note_prepared(request: Any, **others: Any) -> None:
    note_sent(request.body)


def _listen_to_google(client: Any) -> None:
    build = client._build_request
    if "_build_request" in vars(client):
        return

    def noting(*args: Any, **named: Any) -> Any:
        request = build(*args, **named)
        note_sent(request.data)
        return request

    client._build_request = noting


def distinct(
    known: Sequence[dict[str, Any]], more: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return those that are known and, behind them, of `more` what differs from each before it."""
    told = list(known)
    for one in more:
        if one not in told:
            told.append(one)
    return told
