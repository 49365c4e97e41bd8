"""A panel that stops where its judges disagree, and goes on once a person has decided.

    python examples/human_in_the_loop.py [--model MODEL] [--above POINTS]

Judges read four essays. Where their ratings of a dimension have a standard deviation of more than
POINTS (by default 0.25), the panel's graph waits before it aggregates, and the person at the
terminal rates the essay in the judges' place. The graph of each essay is a thread of its own in a
LangGraph checkpointer: this one keeps them in memory, and one on a disk would let the person come
back tomorrow.

Where nobody answers (the input ends, or Ctrl-C), the verdicts that there are are printed, with what
is undecided, and the exit status is 1.

The default model is embedded: no key, no server, some seconds on two cores.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt

from persona_panel import Judge, Judgment, Panel, Response, Verdict, load_responses
from persona_panel.graphs import CHECKPOINTED
from persona_panel.graphs.context import GraphContext
from persona_panel.graphs.deliberation import spread
from persona_panel.graphs.judging import Builder, JudgingState, builder
from persona_panel.runs.panel_graph import PanelGraph

RESPONSES = Path(__file__).with_name("responses.jsonl")
PERSON = Judge("person", "human", "dimensions")


def graph_with_a_person(above: float) -> Builder:
    """The judging graph with a node between the judges' last round and the verdict."""

    async def person(state: JudgingState, runtime: Runtime[GraphContext]) -> dict[str, Any]:
        said = state["judgments"]
        apart = spread(said, runtime.context.output_rubric)
        if apart <= above:
            return {}
        # Here the graph stops. What it is resumed with is what `interrupt` returns then.
        scores = interrupt({"spread": apart})
        first = said[0]
        decided = Judgment(first.prompt_id, first.id, first.system, PERSON, "scored", scores=scores)
        return {"adjudication": decided}

    graph = builder(before_aggregate="person")
    graph.add_node("person", person)
    return graph


def rated_by_the_person(panel: Panel, name: str, response: Response) -> Mapping[str, float]:
    """What the person at the terminal says of a response, dimension by dimension."""
    print(f"\n{response.prompt}\n\n{response.text}\n")
    if sys.stdin is None:  # a process that was started without any
        raise EOFError
    scores = {}
    scales = panel.output_rubric.numeric_scales
    for dimension in panel.output_rubric.numeric:
        low, high = scales[dimension.id].min, scales[dimension.id].max
        while True:
            said = input(f"{name}, {dimension.label} ({low:g} to {high:g}): ")
            try:
                scores[dimension.id] = float(said)
            except ValueError:
                continue
            if low <= scores[dimension.id] <= high:
                break
    return scores


async def judged(
    graph: PanelGraph, verdicts: dict[str, tuple[Verdict, str]]
) -> dict[str, Response]:
    """The essays on which the judges disagree, by their threads; the others have verdicts."""
    waiting: dict[str, Response] = {}
    for response in islice(load_responses(RESPONSES), 4):
        thread = f"{response.prompt_id}/{response.id}"
        config: Any = {"configurable": {"thread_id": thread}}
        done = await graph.ainvoke({"response": response}, config)
        if "__interrupt__" in done:
            [question] = done["__interrupt__"]
            print(f"{thread}: the judges are {question.value['spread']:.2f} points apart, waiting")
            waiting[thread] = response
        else:
            print(f"{thread}: the judges agree")
            verdicts[thread] = done["verdict"], f"{done['verdict'].n_judges} judges"
    return waiting


def main(model: str, above: float) -> int:
    panel = Panel("disciplinary", model, "scrub", graph=graph_with_a_person(above))
    serializer = JsonPlusSerializer(allowed_msgpack_modules=CHECKPOINTED)
    graph = panel.graph(InMemorySaver(serde=serializer))
    verdicts: dict[str, tuple[Verdict, str]] = {}
    waiting = asyncio.run(judged(graph, verdicts))
    undecided = list(waiting)
    try:
        for place, (thread, response) in enumerate(waiting.items(), start=1):
            name = f"Essay {place} of {len(waiting)}, {thread}"
            decision = rated_by_the_person(panel, name, response)
            config: Any = {"configurable": {"thread_id": thread}}
            done = asyncio.run(graph.ainvoke(Command(resume=decision), config))
            verdicts[thread] = done["verdict"], "a person"
            undecided.remove(thread)
    # The terminal was closed, or there is none; Ctrl-C.
    except (EOFError, KeyboardInterrupt):
        print(f"\n\nNo answer. Undecided: {', '.join(undecided)}")
    print()
    for thread, (verdict, who) in sorted(verdicts.items()):
        print(f"{thread:30} {verdict.composite:5.2f}   decided by {who}")
    return 1 if undecided else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="local:smollm2-135m", help="provider:name")
    parser.add_argument("--above", type=float, default=0.25, help="points on the scale")
    options = parser.parse_args()
    sys.exit(main(options.model, options.above))
