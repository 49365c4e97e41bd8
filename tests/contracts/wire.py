"""What a provider's API says over the wire, and a local server that says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from typing import Any

import orjson
from aiohttp import web

from persona_panel.testing.scripted_model import default_text
from tests.helpers.threaded_server import listening

Payload = Mapping[str, Any]
KEY = "contract-key-7f3a9c21d0b84e56"
NUMBERS = count(1)
"""Of answers: a real API gives no two the same id."""


@dataclass(frozen=True)
class Said:
    """An answer: JSON, or a text as it is."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> bytes:
        return self.body.encode() if isinstance(self.body, str) else orjson.dumps(self.body)


BROKEN_OFF = Said({})
"""No answer: the connection ends."""


# Wires are distinguished by what they are, not by what they hold.
@dataclass(frozen=True, eq=False)
class Wire:
    """A provider's API.

    `spec` is a model of it as a panel names it. `packages` are imported to reach it. In `env` and
    `base_url`, `{url}` stands for the server's address. `schema` finds the schema that a request
    asks for, None where it asks for text; `judged` is the answer with that text. `other` has what
    the provider says in other scenarios; one that it lacks does not exist there.
    """

    spec: str
    packages: tuple[str, ...]
    env: Mapping[str, str]
    schema: Callable[[Payload], Any]
    judged: Callable[[Payload, str], Said]
    other: Mapping[str, Callable[[Payload], Said]]
    base_url: str | None = "{url}"

    @property
    def provider(self) -> str:
        return self.spec.partition(":")[0]

    @property
    def missing(self) -> list[str]:
        """The packages that are not installed."""
        return [name for name in self.packages if find_spec(name) is None]

    def usual(self, payload: Payload) -> Said:
        """An answer that fits what was asked."""
        schema = self.schema(payload)
        wanted = {"json_schema": {"schema": schema}} if schema else {}
        asked = {"messages": orjson.dumps(payload).decode(), "response_format": wanted}
        return self.judged(payload, default_text(asked))


class WireServer:
    """The server at work; `calls` are the requests that it received."""

    def __init__(self, say: Callable[[int, Payload], Said]) -> None:
        self.url = ""
        self.calls: list[Payload] = []
        self._say = say

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        payload = orjson.loads(await request.read())
        self.calls.append(payload)
        said = self._say(len(self.calls) - 1, payload)
        if said is BROKEN_OFF and request.transport is not None:
            request.transport.abort()
        headers = {"Content-Type": "application/json", **said.headers}
        return web.Response(body=said.data, status=said.status, headers=headers)


@contextmanager
def served(say: Callable[[int, Payload], Said]) -> Iterator[WireServer]:
    """A server that says this to the n-th request, counted from 0."""
    server = WireServer(say)
    with listening(server.handle) as server.url:
        yield server
