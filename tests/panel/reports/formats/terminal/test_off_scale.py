"""What a terminal shows where scores rest on little of a model's probability."""

from __future__ import annotations

import io

from persona_panel.files.responses import Item
from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.aggregate import aggregate
from persona_panel.reports.formats.terminal.run import show_run
from persona_panel.results.console import output
from persona_panel.runs.run import Run
from tests.helpers.judgments import PLAIN


def printed(off_scale: float) -> str:
    """Of a run of one judgment, with so much probability on no value of the scale."""
    judge = Judge("ann", "openai:m", "expected")
    run = Run([Item("q", "r", "ash")], {"q": "Why?"}, [judge], PLAIN, prices={}, seed=0)
    name = PLAIN.dimensions[0].id
    shares = {name: off_scale}
    said = Judgment("q", "r", "ash", judge, "scored", scores={name: 5.0}, off_scale=shares)
    run.add(said)
    run.conclude(aggregate([said], PLAIN))
    to = io.StringIO()
    show_run(run, output(to), {one.id: one.label for one in PLAIN.dimensions})
    return to.getvalue()


def test_that_scores_rest_on_little_is_said_first() -> None:
    """Where most of a model's probability lies on no value of the scale, that comes before what is
    concluded from the rest; where little does, nothing is said."""
    told = printed(0.98)
    assert told.startswith("openai:m: 98 % of the probability of its answers lay on no value")
    assert told.count("lay on no value") == 1
    assert "lay on no value" not in printed(0.4)
