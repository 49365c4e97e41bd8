"""Each provider's answers as a panel takes them, measured with the provider's own package."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson

from persona_panel.models.client import CallError, ModelClient, parameters_of
from persona_panel.models.config import ModelConfig
from persona_panel.models.providers import client_for
from persona_panel.rubrics import ModelRequest, ModelResponse
from tests.contracts.wire import BROKEN_OFF, Payload, Said, Wire, served

SCENARIOS = {
    "judged": "an answer",
    "refusal": "the model refuses",
    "filtered": "the prompt is filtered",
    "length": "the answer reaches its limit",
    "overload": "overloaded",
    "limit": "too many requests",
    "key": "wrong key",
    "credit": "no credit",
    "model": "unknown model",
    "overflow": "text longer than the context",
    "cached": "tokens from the provider's cache",
    "logprobs": "log-probabilities",
    "unasked": "sent where no option is set",
}
"""What is tried, and how the table calls it."""
WAITS: Mapping[str, Mapping[str, str]] = {
    "seconds": {"Retry-After": "2.5"},
    "date": {
        "Date": "Sun, 22 Nov 2026 10:00:00 GMT",
        "Retry-After": "Sun, 22 Nov 2026 10:00:30 GMT",
    },
    "ms": {"retry-after-ms": "250"},
}
"""The forms in which headers say how long to wait."""
SECONDS = {"seconds": 2.5, "date": 30.0, "ms": 0.25, "body": 2.5}
_KINDS = {"transient": "asked again", "rejected": "this text only", "permanent": "model stopped"}

ASK = ModelRequest(system="You judge.", blocks=("Read this. ", "Rate it."))
STRUCTURED = replace(
    ASK,
    schema={
        "type": "object",
        "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 10}},
        "required": ["score"],
        "additionalProperties": False,
    },
)
PROBABLE = replace(ASK, top_logprobs=5)


@dataclass(frozen=True)
class Outcome:
    """What became of a request: the reply or the fault, and how many calls were received."""

    came: ModelResponse | CallError
    calls: int

    @property
    def word(self) -> str:
        """In a word or two."""
        if isinstance(self.came, CallError):
            return _KINDS[self.came.kind]
        if self.came.refusal is not None:
            return "refused"
        return "truncated" if self.came.finish_reason == "length" else "judged"


@dataclass(frozen=True)
class Measured:
    """A provider's outcomes, of the plain request and of the one with a schema; for 429 by the form
    of the wait. `logprobs` is None where the model is refused before any call. `broken_off` is of a
    connection that ends without an answer. `request` is the body of the plain one as it was
    received."""

    request: Payload
    outcomes: Mapping[str, tuple[Outcome, Outcome]]
    waits: Mapping[str, Outcome]
    logprobs: Outcome | None
    broken_off: Outcome

    def cell(self, scenario: str) -> str:
        """What the table says."""
        if scenario == "logprobs":
            if self.logprobs is None:
                return "refused before any call"
            came = self.logprobs.came
            return "given" if isinstance(came, ModelResponse) and came.logprobs else "none"
        if scenario == "unasked":
            return ", ".join(unasked(parameters_of(self.request))) or "nothing"
        if scenario not in self.outcomes:
            return "—"
        if scenario == "limit":
            kept = [name for name, one in self.waits.items() if _wait(one) is not None]
            return f"{self._word('limit')}; {', '.join(kept)}"
        if scenario == "cached":
            came = self.outcomes["cached"][0].came
            return "counted" if isinstance(came, ModelResponse) and came.usage.cached else "lost"
        return self._word(scenario)

    def _word(self, scenario: str) -> str:
        plain, structured = (one.word for one in self.outcomes[scenario])
        return plain if plain == structured else f"{plain} / {structured}"


def unasked(parameters: Mapping[str, Any]) -> Iterator[str]:
    """The parameters of a request besides its model, each with its value; what is null or empty
    says nothing."""
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            yield from unasked(value)
        elif name != "model" and value not in (None, [], ""):
            yield f"`{name}` {orjson.dumps(value).decode()}"


def wires() -> list[Wire]:
    """Every provider's, in the order of their files."""
    folder = Path(__file__).parent / "wires"
    modules = (
        import_module(f"tests.contracts.wires.{file.stem}") for file in sorted(folder.glob("*.py"))
    )
    return [module.WIRE for module in modules if hasattr(module, "WIRE")]


@cache
def measured(wire: Wire) -> Measured:
    """All scenarios, one after the other, through one client."""
    current: list[Said | None] = [None]

    def say(number: int, payload: Payload) -> Said:
        if current[0] is not None:
            return current[0]
        return answer(payload)

    answer = wire.usual

    async def ask(client: ModelClient, request: ModelRequest) -> Outcome:
        before = len(server.calls)
        try:
            came: ModelResponse | CallError = await client.complete(request)
        except CallError as error:
            came = error
        return Outcome(came, len(server.calls) - before)

    async def both(client: ModelClient, second: ModelRequest) -> tuple[Outcome, Outcome]:
        return await ask(client, ASK), await ask(client, second)

    async def go(client: ModelClient) -> Measured:
        nonlocal answer
        outcomes = {"judged": await both(client, STRUCTURED)}
        for name in SCENARIOS:
            if name in wire.other and name != "logprobs":
                answer = wire.other[name]
                # The text with cached tokens is a number, which is no tool's arguments.
                second = ASK if name == "cached" else STRUCTURED
                outcomes[name] = await both(client, second)
        waits = {}
        for form, headers in WAITS.items():
            current[0] = replace(wire.other["limit"]({}), headers=headers)
            waits[form] = await ask(client, ASK)
        current[0] = None
        if "limit in the body" in wire.other:
            answer = wire.other["limit in the body"]
            waits["body"] = await ask(client, ASK)
        logprobs = None
        if client.capabilities.logprobs is not False:
            answer = wire.other.get("logprobs", wire.usual)
            logprobs = await ask(client, PROBABLE)
        current[0] = BROKEN_OFF
        broken_off = await ask(client, ASK)
        await client.aclose()
        return Measured(server.calls[0], outcomes, waits, logprobs, broken_off)

    with served(say) as server, surroundings(wire, server.url) as config:
        return asyncio.run(go(client_for(config)))


@contextmanager
def surroundings(wire: Wire, url: str) -> Iterator[ModelConfig]:
    """The environment in which a wire's model is reached at an address, and that model."""
    given = {name: value.replace("{url}", url) for name, value in wire.env.items()}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    address = wire.base_url and wire.base_url.replace("{url}", url)
    try:
        # The provider's own variable is not for this address.
        key = next((name for name in wire.env if address and name.endswith("_API_KEY")), None)
        yield ModelConfig(model=wire.spec, base_url=address, key_env=key, timeout=10)
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _wait(outcome: Outcome) -> float | None:
    return outcome.came.retry_after if isinstance(outcome.came, CallError) else None
