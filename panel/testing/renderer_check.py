"""The check for authors of output formats: `check_renderer`."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from persona_panel.analyses.breakdown.strata import systems_by
from persona_panel.graphs import Response
from persona_panel.panel import Panel
from persona_panel.reports.formats import Renderer
from persona_panel.statistics.core.arrays import Array
from persona_panel.testing.conformance import require
from persona_panel.testing.scripted_model import ScriptedModel


def check_renderer(renderer: Renderer) -> None:
    """Check that an output format has a function for each kind of result, each of which writes text
    to an open stream, leaves it open, and changes nothing in the result."""
    names = [name for name in vars(Renderer) if name.startswith("render_")]
    for name in names:
        require(callable(getattr(renderer, name, None)), f"the renderer has no {name}()")
    with tempfile.TemporaryDirectory() as folder:
        results, seen = _results(Path(folder))
        before = {name: array.copy() for name, array in seen.items()}
        for name in names:
            to = io.StringIO()
            getattr(renderer, name)(*results[name](), to)
            require(not to.closed, f"{name}() closes the stream that it is given")
            require(bool(to.getvalue().strip()), f"{name}() writes nothing")
            kept = all(np.array_equal(seen[of], before[of], equal_nan=True) for of in seen)
            require(kept, f"the renderer changes ratings, in {name}()")


def _results(folder: Path) -> tuple[Mapping[str, Callable[[], tuple[Any, ...]]], dict[str, Array]]:
    """Return a result for each function of a renderer, before the stream, and the arrays behind
    them."""
    panel = Panel("disciplinary", ScriptedModel(), "debate-speech")
    responses = [
        Response(id=f"r{n}", prompt=f"Question {n // 2}?", text=f"Answer {n}.", system=f"s{n % 2}")
        for n in range(6)
    ]
    run = panel.score(responses, out=folder / "run")
    labels = {dimension.id: dimension.label for dimension in panel.output_rubric.dimensions}
    results: dict[str, Callable[[], tuple[Any, ...]]] = {
        "render_run": lambda: (run, labels),
        "render_run_by": lambda: (run, systems_by(run, "persona"), labels),
    }
    return results, {"run": run.ratings}
