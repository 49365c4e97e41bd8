"""The judging graph with nodes of one's own, run with scripted models."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from langgraph.runtime import Runtime

from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.context import Abort, GraphContext
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.graphs.judging import Builder, JudgingState, builder, judge_response
from persona_panel.rubrics import ModelRequest, ModelResponse
from tests.helpers.judging import JUDGES, Panel, says


async def seven(judge: Judge, ask: ModelRequest) -> ModelResponse:
    return says(7)


async def judged(panel: Panel, graph: Builder) -> JudgingState:
    """What the graph comes to for the panel's judges."""
    return await judge_response("k", panel.context(graph.compile()))


def scored(score: float) -> Judgment:
    person = Judge("person", "human", "dimensions")
    return Judgment("p1", "r1", "human", person, "scored", scores={"clarity": score})


async def test_a_filter_before_the_first_reading() -> None:
    """A node before `read` sees the response; its reason why nobody is to be asked is that of every
    judgment, each told, and no call is made."""

    async def too_short(state: JudgingState, runtime: Runtime[GraphContext]) -> dict[str, Any]:
        n = len(runtime.context.responses[state["response"]].text.split())
        return {"skip_reason": f"{n} words"}

    graph = builder(before_read="too_short")
    graph.add_node("too_short", too_short)
    panel = Panel(seven)
    state = await judged(panel, graph)
    assert panel.asked == []
    assert {(one.status, one.error) for one in panel.told} == {("skipped", "7 words")}
    assert len(panel.told) == len(JUDGES)
    assert (state["verdict"].n_judges, state["verdict"].n_asked) == (0, 6)


async def test_a_filter_that_lets_a_response_pass() -> None:
    """Where a filter gives no reason, judges are asked as without it."""

    async def passes(state: JudgingState) -> dict[str, Any]:
        return {}

    graph = builder(before_read="passes")
    graph.add_node("passes", passes)
    panel = Panel(seven)
    assert (await judged(panel, graph))["verdict"].n_judges == len(panel.asked) == 6


async def test_a_judgment_before_the_first_reading() -> None:
    """Judges who have said nothing yet are asked, though somebody else has, who counts too."""

    async def person(state: JudgingState) -> dict[str, Any]:
        return {"judgments": [scored(1)]}

    graph = builder(before_read="person")
    graph.add_node("person", person)
    panel = Panel(seven)
    assert (await judged(panel, graph))["verdict"].n_judges == 7
    assert len(panel.asked) == 6


@pytest.mark.parametrize("deliberation", [None, Deliberation(rounds=2)])
async def test_who_adjudicates_decides(deliberation: Deliberation | None) -> None:
    """A node before `aggregate` is passed once, with every judgment of the last round; the verdict
    is its adjudication's, and the judges' own stay in the state."""
    passed: list[list[Judgment]] = []

    async def person(state: JudgingState) -> dict[str, Any]:
        passed.append(state["judgments"])
        return {"adjudication": scored(2)}

    graph = builder(before_aggregate="person")
    graph.add_node("person", person)
    state = await judged(Panel(seven, deliberation=deliberation), graph)
    rounds = 1 + (deliberation.rounds if deliberation else 0)
    assert [len(said) for said in passed] == [6 * rounds]
    assert state["verdict"].composite == 2
    assert state["judgments"] == passed[0]


async def test_one_more_judge() -> None:
    """A judgment that a node adds to the others counts like theirs."""

    async def person(state: JudgingState) -> dict[str, Any]:
        return {"judgments": [scored(3.5)]}

    graph = builder(before_aggregate="person", deliberating=False)
    graph.add_node("person", person)
    verdict = (await judged(Panel(seven), graph))["verdict"]
    assert (verdict.n_judges, verdict.composite) == (7, 6.5)


@pytest.mark.parametrize("key", ["adjudication", "judgments"])
@pytest.mark.parametrize(
    ("wrote", "told"),
    [
        (scored(99), "scores.clarity: found 99; expected a number from"),
        (scored(math.nan), "scores.clarity: found nan"),
        (replace(scored(1), scores={"clarity": "7"}), "scores.clarity: found '7'"),
        (replace(scored(1), scores={"grace": 7}), "scores: found the dimension 'grace'; .*clarity"),
        (replace(scored(1), scores=None), "scores: found None; expected a mapping"),
        (replace(scored(1), id="r9"), r"found \('p1', 'r9'\); expected \('p1', 'r1'\)"),
        (replace(scored(1), status="done"), "status: found 'done'; expected one of scored"),
        ("yes", "type: found 'yes'; expected a Judgment"),
    ],
    ids=str,
)
async def test_what_no_verdict_can_be_made_of_ends_the_run(key: str, wrote: Any, told: str) -> None:
    """Judgments that a node writes for another response, or with ratings that the rubric does not
    have, are refused with what was found and what is expected; no verdict is made of them."""

    async def own(state: JudgingState) -> dict[str, Any]:
        return {key: wrote if key == "adjudication" else [wrote]}

    graph = builder(before_aggregate="own", deliberating=False)
    graph.add_node("own", own)
    with pytest.raises(Abort, match=f"into '{key}', of the response 'r1'.*: {told}"):
        await judged(Panel(seven), graph)


async def test_a_graph_without_a_verdict() -> None:
    """A graph that ends without a verdict ends the run, and the response is named."""
    graph = builder(deliberating=False)
    graph.add_node("nowhere", lambda state: {})
    graph.edges.discard(("read", "aggregate"))
    with pytest.raises(Abort, match=r"ended without a verdict about the response 'r1'"):
        await judged(Panel(seven), graph)
