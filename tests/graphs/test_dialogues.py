"""A response that is judged from kept replies, without the graph."""

from __future__ import annotations

from dataclasses import replace

import pytest

from persona_panel.graphs import Judge, Response
from persona_panel.graphs.context import ReplyLookup
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.graphs.dialogues import verdict_of_kept
from persona_panel.rubrics import ModelRequest, ModelResponse
from tests.helpers.judging import JUDGES, Panel, says

SCORES = {judge: number for number, judge in enumerate(JUDGES, start=1)}


async def scores(judge: Judge, ask: ModelRequest) -> ModelResponse:
    """Each judge gives a score of its own, from its cache."""
    return replace(says(SCORES[judge]), cached=True)


class Kept:
    """What is kept for a panel's judges, and how many replies were used."""

    def __init__(self, panel: Panel, replies: dict[Judge, ModelResponse]) -> None:
        self.used: list[int] = []
        self._replies = replies
        kept = ReplyLookup(self._reply, self.used.append)
        self.context = replace(panel.context(), kept=kept)

    def _reply(
        self, judge: Judge, response: Response, request: ModelRequest
    ) -> ModelResponse | None:
        return self._replies.get(judge)


async def all_kept() -> dict[Judge, ModelResponse]:
    return {judge: await scores(judge, ModelRequest("", ())) for judge in JUDGES}


async def test_kept_replies_lead_to_the_verdict_of_the_graph() -> None:
    """The judgments that are told of, and the verdict, are those of the graph; no model is
    asked."""
    through = await Panel(scores).run()
    panel = Panel(scores)
    kept = Kept(panel, await all_kept())
    assert await verdict_of_kept("k", kept.context) == through.verdict
    assert sorted(panel.told, key=str) == sorted(through.told, key=str)
    assert panel.told
    assert panel.asked == []
    assert kept.used == [len(JUDGES)]


@pytest.mark.parametrize("lacking", [0, -1])
async def test_where_one_reply_is_not_kept_nothing_is_told(lacking: int) -> None:
    """Where a model must be asked, be it for the last judge, nothing is told or counted."""
    panel = Panel(scores)
    replies = await all_kept()
    del replies[JUDGES[lacking]]
    kept = Kept(panel, replies)
    assert await verdict_of_kept("k", kept.context) is None
    assert (panel.told, panel.asked, kept.used) == ([], [], [])


async def test_a_kept_reply_without_a_rating_is_left_to_the_graph() -> None:
    """A reply that leads to no rating is forgotten by the graph, and not here."""
    panel = Panel(scores)
    kept = Kept(panel, await all_kept() | {JUDGES[2]: ModelResponse("no", cached=True)})
    assert await verdict_of_kept("k", kept.context) is None
    assert (panel.told, panel.forgotten, kept.used) == ([], [], [])


async def test_judges_that_deliberate_meet_in_the_graph() -> None:
    """A panel that deliberates, and one whose replies nobody keeps, is judged by the graph."""
    panel = Panel(scores)
    kept = Kept(panel, await all_kept())
    deliberating = replace(kept.context, deliberation=Deliberation(rounds=1))
    assert await verdict_of_kept("k", deliberating) is None
    assert await verdict_of_kept("k", replace(kept.context, kept=None)) is None
    assert panel.told == []
