"""The context of the graphs."""

from __future__ import annotations

from dataclasses import replace

from persona_panel.graphs import Judge
from persona_panel.graphs.context import GraphContext, groups_of
from persona_panel.rubrics import ModelRequest, ModelResponse
from tests.helpers.judging import PERSONAS, RESPONSE, RUBRIC, Panel


def test_groups_of_judges() -> None:
    """Judges go together by their model, in the order of the panel, or each by itself."""
    ann, bob, cid = (
        Judge(name, model, "dimensions")
        for name, model in zip("abc", ("m1", "m2", "m1"), strict=True)
    )
    assert groups_of([ann, bob, cid], each=False) == [(ann, cid), (bob,)]
    assert groups_of([ann, bob, cid], each=True) == [(ann,), (bob,), (cid,)]
    assert groups_of([], each=False) == []


async def silent(judge: Judge, request: ModelRequest) -> ModelResponse:
    """Never called: no graph runs here."""
    raise AssertionError(judge)


def test_judges_of_a_model_go_together_unless_a_context_says_otherwise() -> None:
    """Each judge is a task of a graph by itself only where that was asked for."""
    panel = Panel(silent)
    context = GraphContext(
        RUBRIC, PERSONAS, panel.judges, {"k": RESPONSE}, panel._ask, panel._turn, panel._forget,
        panel._tell,
    )  # fmt: skip
    assert [len(group) for group in context.groups] == [3, 3]
    assert [len(group) for group in replace(context, judge_by_judge=True).groups] == [1] * 6
