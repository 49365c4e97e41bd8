"""The parameters that requests are really sent with, whatever a provider's package adds to them.

Clients of this project note the bodies that they send; for those of providers' packages
`persona_panel.models.langchain_sending` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import orjson

from persona_panel.files.secrets import scrub

_TEXTS = frozenset(
    {"messages", "system", "contents", "systemInstruction", "system_instruction", "prompt", "input"}
)
"""What providers call the texts that a model reads."""
_SCHEMA = "the schema of an answer"
_LONGEST = 200
"""Characters of a parameter that is a text."""
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


def distinct(
    known: Sequence[dict[str, Any]], more: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return those that are known and, behind them, of `more` what differs from each before it."""
    told = list(known)
    for one in more:
        if one not in told:
            told.append(one)
    return told
