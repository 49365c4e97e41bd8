"""The check for authors of output formats: `check_renderer`."""

from __future__ import annotations

import io
from math import nan

from persona_panel.analyses.score import score_result
from persona_panel.files.outputs import as_json
from persona_panel.graphs import Response
from persona_panel.panel import Panel
from persona_panel.results.document import result_document
from persona_panel.results.result import Result, ResultFormat
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.testing.conformance import require
from persona_panel.testing.scripted_model import ScriptedModel


def check_renderer(renderer: ResultFormat) -> None:
    """Check that an output format takes any result, in short and in full: it writes text to an
    open stream, leaves it open, and changes nothing in the result."""
    require(callable(getattr(renderer, "render", None)), "the renderer has no render()")
    for result in (_of_a_run(), _of_every_kind()):
        before = as_json(result_document(result))
        for full in (False, True):
            to = io.StringIO()
            renderer.render(result, to, full=full)
            require(not to.closed, "render() closes the stream that it is given")
            require(bool(to.getvalue().strip()), "render() writes nothing")
            unchanged = as_json(result_document(result)) == before
            require(unchanged, "render() changes the result")


def _of_a_run() -> Result:
    panel = Panel("disciplinary", ScriptedModel(), "debate-speech")
    responses = [
        Response(id=f"r{n}", prompt=f"Question {n // 2}?", text=f"Answer {n}.", system=f"s{n % 2}")
        for n in range(6)
    ]
    return score_result(panel.score(responses))


def _of_every_kind() -> Result:
    """Return cells of each kind, undefined ones among them, and names as they come from files."""
    columns = (
        Column("mean", "estimate", "mean"),
        Column("number", "number", "number"),
        Column("p", "p", "p"),
        Column("whole", "whole", "whole"),
        Column("text", "text", "text"),
        Column("texts", "texts", "texts"),
        Column("flag", "flag", "flag"),
    )
    cells = {"number": 0.5, "p": 0.01, "whole": 3, "text": "=1", "texts": ("a", "b"), "flag": True}
    rows = [
        {"system": "a|b", "mean": Estimate(1.0, 0.5, 1.5, over="prompts"), **cells},
        {"system": "c & d", "mean": Estimate(nan, reason="nobody rated it"), "number": nan},
    ]
    differences = Table(
        "differences", (Key("a", "systems"), Key("b")),
        (Column("difference", "estimate", "a − b"),),
        [{"a": "a|b", "b": "c & d", "difference": Difference(-1.0, -2.0, 0.5, p=0.2)}],
        "Differences", sides=("a", "b"), when="full",
    )  # fmt: skip
    table = Table(
        "means", (Key("system", "system"),), columns, rows, "Means", remarks=["A remark."]
    )
    return Result("sample", ["Nothing is significant."], [table, differences], ["Another."])
