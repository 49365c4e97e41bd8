"""A caller of one model at the scripted server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from persona_panel.calls.budget import NO_CAPS, Budget, Caps
from persona_panel.calls.caller import Caller
from persona_panel.calls.endpoint import Endpoint
from persona_panel.calls.rate_limiter import RateLimiter
from persona_panel.calls.stores.disk import DiskReplyStore
from persona_panel.graphs.context import Unanswered
from persona_panel.models.config import Price
from persona_panel.rubrics import ModelRequest, ModelResponse
from persona_panel.testing import (
    Script,
    ScriptedServer,
    serving,
)
from tests.helpers.langchain_chats import OpenAICompatible

MODEL, PAGE = "openai:stub", "page"


ASK = ModelRequest(system="You judge.", blocks=("Read this. ", "Rate it."))


def ask(number: int) -> ModelRequest:
    return replace(ASK, blocks=("Read this. ", f"Rate it for the {number}th time."))


@dataclass
class CallerAt:
    """A caller and what stands around it."""

    caller: Caller
    line: Endpoint
    server: ScriptedServer

    async def ask(self, asked: ModelRequest, replicate: int = 1) -> ModelResponse:
        return await self.caller.complete(MODEL, asked, PAGE, replicate)

    async def outcome(self, asked: ModelRequest = ASK) -> Unanswered:
        with pytest.raises(Unanswered) as caught:
            await self.ask(asked)
        return caught.value


@asynccontextmanager
async def caller_at(
    script: Script,
    folder: Path,
    *,
    limiter: RateLimiter | None = None,
    timeout_s: float = 5.0,
    caps: Caps = NO_CAPS,
    latency_s: float = 0.0,
    price: Price | None = None,
) -> AsyncIterator[CallerAt]:
    with serving(script, latency_s=latency_s) as server:
        model = OpenAICompatible(model="stub", base_url=server.base_url, timeout_s=timeout_s)
        line = Endpoint(model, limiter or RateLimiter(8))
        cache = DiskReplyStore(folder)
        caller = Caller({MODEL: line}, cache, Budget(caps, {MODEL: price}))
        try:
            yield CallerAt(caller, line, server)
        finally:
            await model.aclose()
            cache.close()
