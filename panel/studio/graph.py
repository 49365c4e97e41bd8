"""The judging graph as LangGraph Studio opens it: type a response, watch the panel read.

The panel is the default one, or the panel file named by PERSONA_PANEL_FILE. Studio
keeps state itself; the texts typed into it go to the judging graph by its context.
"""

from __future__ import annotations

import os
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from graphs import Response
from panel.panel import Panel


class Typed(TypedDict, total=False):
    """What is typed in, and what comes out."""

    prompt: str
    text: str
    verdict: dict[str, Any]


def graph() -> CompiledStateGraph[Typed, None, Typed, Typed]:
    """A graph with one node, in which a panel reads what was typed."""
    file = os.environ.get("PERSONA_PANEL_FILE")

    async def judge(state: Typed) -> Typed:
        panel = Panel.from_file(file) if file else Panel()
        response = Response(id="typed", prompt=state["prompt"], text=state["text"], system="typed")
        async for verdict in panel.astream([response]):
            return {
                "verdict": {
                    "composite": verdict.composite,
                    "n_judges": verdict.n_judges,
                    "abstain_share": verdict.abstain_share,
                    **{name: s.mean for name, s in verdict.dimensions.items()},
                    **{name: s.majority for name, s in verdict.labels.items()},
                }
            }
        return {}

    builder = StateGraph(Typed)
    builder.add_node("judge", judge)
    builder.add_edge(START, "judge")
    builder.add_edge("judge", END)
    return builder.compile(name="panel")
