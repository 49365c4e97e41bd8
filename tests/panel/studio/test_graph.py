"""The graphs of LangGraph's development server, made as the server asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from persona_panel import ConfigurationError
from persona_panel.studio import graph
from tests.helpers.extras import needs_extra

pytestmark = needs_extra("studio", "langgraph_api")


@pytest.fixture(autouse=True)
def made_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that has made no graph, whose panel is the default one."""
    monkeypatch.delenv(graph.ENVIRONMENT_VARIABLE, raising=False)
    graph._kept_graph.cache_clear()
    yield
    graph._kept_graph.cache_clear()


def asking(context: Mapping[str, object] | None) -> Any:
    """A request to run a graph, with what its config says."""
    from langgraph_sdk.runtime import _ExecutionRuntime  # deptry: ignore[DEP003]

    return _ExecutionRuntime(
        access_context="threads.create_run", store=InMemoryStore(), context=context
    )


async def test_the_graph_of_requests_that_choose_nothing_is_kept() -> None:
    """The server asks for it at each; one that chooses a panel has a graph of its own, and one that
    judges is none that deliberates."""
    kept = await graph.judging(asking({}))
    assert await graph.judging(asking(None)) is kept
    assert await graph.judging(asking({"personas": "none"})) is not kept
    assert await graph.judging(asking({})) is kept
    assert await graph.deliberating(asking({})) is not kept


async def test_what_the_server_adds_to_a_config_chooses_nothing() -> None:
    """Ids of the request, and names that begin as the server's; what is like neither is refused."""
    added = {"thread_id": "t", "run_id": "r", "checkpoint_ns": "", "langgraph_auth_user": None}
    added |= {"graph_id": "judging", "assistant_id": "a", "__request_start_time_ms__": 1}
    kept = await graph.judging(asking({}))
    assert await graph.judging(asking(added)) is kept
    with pytest.raises(ConfigurationError, match="threads"):
        await graph.judging(asking(added | {"threads": 1}))
