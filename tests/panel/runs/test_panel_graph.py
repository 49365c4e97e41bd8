"""A panel as a graph of LangGraph's: run, as a node, streamed, interrupted and resumed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.event_hooks import register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from persona_panel import (
    ConfigurationError,
    InputError,
    Judge,
    Judgment,
    ModelConfig,
    Panel,
    Response,
    RunFolderError,
    RunStopped,
    Verdict,
)
from persona_panel.graphs import CHECKPOINTED
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.graphs.judging import Builder, JudgingState, builder
from persona_panel.testing import ScriptedModel
from tests.helpers.embedded import PLAIN, READERS

ROOT = Path(__file__).parents[3]
ONE = Response(id="a", prompt="Should rents be capped?", text="Yes: they rose.", system="x")
TWO = ONE.model_copy(update={"id": "b", "text": "No: nobody would build."})
CONFIG: Any = {"configurable": {"thread_id": "1"}}


async def person(state: JudgingState) -> dict[str, Any]:
    """Asks for scores, with how many judgments there are."""
    scores = interrupt(len(state["judgments"]))
    who = Judge("person", "human", "dimensions")
    first = state["judgments"][0]
    decided = Judgment(first.prompt_id, first.id, first.system, who, "scored", scores=scores)
    return {"adjudication": decided}


async def only_long(state: JudgingState) -> dict[str, Any]:
    """Lets nothing pass."""
    return {"skip_reason": "too short"}


def with_person() -> Builder:
    graph = builder(before_aggregate="person")
    graph.add_node("person", person)
    return graph


def with_filter() -> Builder:
    graph = builder(before_read="only_long")
    graph.add_node("only_long", only_long)
    return graph


def panel_of(model: ScriptedModel, **options: Any) -> Panel:
    return Panel(READERS, model, PLAIN, **options)


@pytest.fixture
def unregistered() -> Iterator[list[Any]]:
    """What a serializer reads back without having been told of the type."""
    events: list[Any] = []
    unregister = register_serde_event_listener(events.append)
    yield events
    unregister()


async def test_it_judges_as_a_run_does() -> None:
    """The graph's verdict on a response is that of `score`, from the same calls: those of the one
    are in the cache for the other. Its judgments are without raw text."""
    model = ScriptedModel()
    panel = panel_of(model)
    done = await panel.graph().ainvoke({"response": ONE.model_dump()})
    run = await panel.ascore([ONE])
    assert run.verdicts == [done["verdict"]]
    assert len(model.requests) == len(READERS)
    assert {one.judge for one in done["judgments"]} == set(panel.judges)
    assert {one.raw for one in done["judgments"]} == {""}


def test_it_is_invoked_and_streamed_without_an_event_loop() -> None:
    """`invoke` and `stream` give what `ainvoke` and `astream` do, judgment by judgment."""
    graph = panel_of(ScriptedModel()).graph()
    done = graph.invoke({"response": ONE})
    assert done["verdict"].n_judges == len(READERS)
    streamed = list(graph.stream({"response": TWO}, stream_mode="custom", subgraphs=True))
    assert {type(part[-1]) for part in streamed} == {Judgment}
    assert len(streamed) == len(READERS)


def test_without_an_event_loop_it_is_interrupted_and_resumed() -> None:
    """`invoke` with a checkpointer stops where a person is asked and goes on with the answer."""
    serializer = JsonPlusSerializer(allowed_msgpack_modules=CHECKPOINTED)
    graph = panel_of(ScriptedModel(), graph=with_person()).graph(InMemorySaver(serde=serializer))
    waiting = graph.invoke({"response": ONE}, CONFIG)
    assert [each.value for each in waiting["__interrupt__"]] == [len(READERS)]
    done = graph.invoke(Command(resume=dict.fromkeys(("clarity", "depth"), 7)), CONFIG)
    assert done["verdict"].composite == 7


@pytest.mark.parametrize(
    ("response", "fault"),
    [
        ("abc", "response: found 'abc'; expected a mapping"),
        (None, "response: found null; expected a mapping"),
        ({"id": "a", "prompt": "p", "text": ""}, "response: text: found is empty"),
    ],
)
async def test_an_input_that_is_no_response_is_refused(response: Any, fault: str) -> None:
    """What is no response is refused in the words that files are, before anything is asked."""
    model = ScriptedModel()
    with pytest.raises(InputError, match=fault):
        await panel_of(model).graph().ainvoke({"response": response})
    assert not model.requests


async def test_a_second_time_calls_nothing() -> None:
    """What a graph asked is in the cache for the graph's next run, and for a judge in it that asks
    the same."""
    model = ScriptedModel()
    first = await panel_of(model).graph().ainvoke({"response": ONE})
    again = await panel_of(model).graph().ainvoke({"response": ONE})
    assert first["verdict"] == again["verdict"]
    assert all(one.cached for one in again["judgments"])
    assert len(model.requests) == len(READERS)


async def test_as_a_node_of_another_graph() -> None:
    """As a node it takes `response` from the state around it and leaves `verdict` there; it is
    drawn down to the judging graph's own nodes."""

    class Essay(TypedDict):
        text: str
        response: Response
        verdict: Verdict
        grade: str

    graph = StateGraph(Essay)
    graph.add_node("write", lambda state: {"response": ONE.model_copy(update=dict(state))})
    graph.add_node("panel", panel_of(ScriptedModel()).graph())
    graph.add_node("grade", lambda state: {"grade": f"{state['verdict'].composite:.1f}"})
    for one, other in [(START, "write"), ("write", "panel"), ("panel", "grade"), ("grade", END)]:
        graph.add_edge(one, other)
    compiled = graph.compile()
    done = await compiled.ainvoke({"text": "Rents rose."})
    assert done["grade"] == f"{done['verdict'].composite:.1f}"
    assert {"panel:judge:read", "panel:judge:aggregate"} <= set(compiled.get_graph(xray=True).nodes)


async def test_of_a_panel_that_compares() -> None:
    """The graph of a panel that compares takes the responses to a prompt and gives a verdict on
    each; a single one is refused as in a batch."""
    model = ScriptedModel(lambda request: '{"ranking": ["A", "B"]}')
    graph = panel_of(model, elicitation="ranking").graph()
    done = await graph.ainvoke({"responses": [ONE, TWO]})
    assert [verdict.id for verdict in done["verdicts"]] == ["a", "b"]
    assert len(done["judgments"]) == 2 * len(READERS)
    with pytest.raises(InputError, match="1 response to the prompt"):
        await graph.ainvoke({"responses": [ONE]})


async def test_every_judge_is_a_task_of_the_graph() -> None:
    """Whoever streams the graph down to its nodes sees a `read` for each judge, which names it."""
    panel = panel_of(ScriptedModel())
    tasks = [
        task
        async for _, task in panel.graph().astream(
            {"response": ONE}, stream_mode="tasks", subgraphs=True
        )
        if task["name"] == "read"
    ]
    begun = [task["input"]["judges"] for task in tasks if "input" in task]
    assert begun == [(judge,) for judge in panel.judges]
    ended = [task["result"]["judgments"] for task in tasks if "result" in task]
    assert sorted(one.judge.id for [one] in ended) == sorted(judge.id for judge in panel.judges)


async def test_streamed() -> None:
    """The stream has each judgment, whole, as it is made, and the updates of the judging graph's
    nodes."""
    graph = panel_of(ScriptedModel()).graph()
    judgments, nodes = [], []
    async for namespace, mode, chunk in graph.astream(
        {"response": ONE}, stream_mode=["custom", "updates"], subgraphs=True
    ):
        if mode == "custom":
            judgments.append(chunk)
        else:
            nodes.append((bool(namespace), *chunk))
    assert [one.judge.persona for one in judgments] == [reader.id for reader in READERS]
    assert all(one.raw for one in judgments)
    assert nodes == [*[(True, "read")] * len(READERS), (True, "aggregate"), (False, "judge")]


@pytest.mark.parametrize("deliberation", [None, Deliberation(rounds=1)])
async def test_interrupted_and_resumed(
    unregistered: list[Any], deliberation: Deliberation | None
) -> None:
    """A run that waits for a person goes on with the answer and asks no judge again; what the
    checkpointer reads back are types that it was told of by `CHECKPOINTED`."""
    model = ScriptedModel(capabilities=None)
    panel = panel_of(model, graph=with_person(), deliberation=deliberation)
    serializer = JsonPlusSerializer(allowed_msgpack_modules=CHECKPOINTED)
    graph = panel.graph(InMemorySaver(serde=serializer))
    waiting = await graph.ainvoke({"response": ONE}, CONFIG)
    [question] = waiting["__interrupt__"]
    asked = len(model.requests)
    assert question.value == len(READERS) * (2 if deliberation else 1)
    assert "verdict" not in waiting
    done = await graph.ainvoke(Command(resume={"clarity": 3, "depth": 5}), CONFIG)
    assert (done["verdict"].composite, done["verdict"].n_judges) == (4, 1)
    assert len(model.requests) == asked
    assert {type(one) for one in done["judgments"]} == {Judgment}
    kept = (await graph.aget_state(CONFIG)).values["verdict"]
    assert kept.dimensions["depth"].mean == 5
    assert unregistered == []


async def test_unregistered_types_are_noticed(unregistered: list[Any]) -> None:
    """The check of the types that a checkpointer reads back finds those that it was not told of."""
    graph = panel_of(ScriptedModel(), graph=with_person()).graph(InMemorySaver())
    await graph.ainvoke({"response": ONE}, CONFIG)
    await graph.ainvoke(Command(resume={"clarity": 3, "depth": 5}), CONFIG)
    assert {event["name"] for event in unregistered} >= {"Response", "Judgment"}


STRICT = """
import asyncio
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from persona_panel.graphs import Summary
from tests.panel.runs.test_panel_graph import CONFIG, ONE, panel_of, with_person
from persona_panel.testing import ScriptedModel

async def main():
    graph = panel_of(ScriptedModel(), graph=with_person()).graph(InMemorySaver())
    await graph.ainvoke({"response": ONE}, CONFIG)
    await graph.ainvoke(Command(resume={"clarity": 3, "depth": 5}), CONFIG)
    verdict = (await graph.aget_state(CONFIG)).values["verdict"]
    assert isinstance(verdict.dimensions["depth"], Summary), verdict
    print(verdict.composite)

asyncio.run(main())
"""


def test_where_langgraph_reads_back_nothing_else() -> None:
    """With LANGGRAPH_STRICT_MSGPACK, LangGraph finds the types in the graphs' states by itself: a
    verdict is read back with all its parts, and nothing is blocked."""
    done = subprocess.run(
        [sys.executable, "-c", STRICT],
        cwd=ROOT,
        env=os.environ | {"LANGGRAPH_STRICT_MSGPACK": "true", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "4.0\n", "")


async def test_a_run_by_a_graph_of_ones_own(tmp_path: Path) -> None:
    """`score` judges by the panel's graph: what its filter held back is skipped with the reason.
    The folder says which nodes judged, and takes no run by another graph."""
    model = ScriptedModel()
    panel = panel_of(model, graph=with_filter())
    run = await panel.ascore([ONE, TWO], out=tmp_path / "run")
    assert run.coverage.missing == {"skipped": 4}
    assert run.reasons == [("skipped", "too short", 4)]
    assert model.requests == []
    document = orjson.loads((tmp_path / "run" / "run.json").read_bytes())
    assert "only_long" in document["graph"]["nodes"]
    with pytest.raises(RunFolderError, match="differs in: graph"):
        await panel_of(model).ascore([ONE, TWO], out=tmp_path / "run")


async def test_a_sweep_by_a_graph_of_ones_own() -> None:
    """A sweep's answers are judged by the panel's graph, too."""
    from persona_panel import load_framed_responses

    framed = load_framed_responses(ROOT / "examples" / "framed_responses.csv")
    model = ScriptedModel()
    sweep = await panel_of(model, graph=with_filter()).asweep(responses=framed)
    assert model.requests == []
    assert {status for status, _, _ in sweep.run.reasons} == {"skipped"}


async def test_nobody_answers_in_a_batch() -> None:
    """`score` cannot hand out an answer to an interrupt: the run stops and says who can."""
    with pytest.raises(RunStopped, match=r"waits for an answer .*'a'.*Panel\.graph\(\)"):
        await panel_of(ScriptedModel(), graph=with_person()).ascore([ONE])


async def test_a_plan_takes_its_graph_along() -> None:
    """A pickled plan judges by the same graph elsewhere."""
    model = ModelConfig(model="openai:x", base_url="http://127.0.0.1:9/v1")
    plan = Panel(READERS, model, PLAIN, graph=with_filter()).plan
    run = await Panel.from_plan(pickle.loads(pickle.dumps(plan))).ascore([ONE])
    assert run.coverage.missing == {"skipped": 2}


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (builder(deliberating=False), {"deliberation": Deliberation(rounds=1)}, "'confer'"),
        (StateGraph(JudgingState), {}, "no node 'read' and no node 'aggregate'"),
        (with_filter(), {"elicitation": "ranking"}, "a graph of one's own needs a rating of each"),
    ],
)
def test_graphs_that_cannot_judge_so(graph: Builder, options: dict[str, Any], message: str) -> None:
    """A graph that lacks what judges a response, or with which the panel could not do what it is
    to do, is refused when the panel is made."""
    with pytest.raises(ConfigurationError, match=message):
        panel_of(ScriptedModel(), graph=graph, **options)
