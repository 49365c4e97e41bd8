"""The check for authors of output formats: `check_renderer`."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graphs import Response
from graphs.framing import BASELINE, FramedResponse
from panel.audit.attacks import AttackSet, shipped_attacks
from panel.audit.audited import load_audited_run
from panel.audit.bias import biases
from panel.audit.injection import audit_injection
from panel.audit.plan import plan_injection
from panel.breakdown.contested import contested
from panel.breakdown.strata import systems_by
from panel.comparison.compare import compare
from panel.io.definitions import load_definition
from panel.panel import Panel
from panel.questions.match_report import match_report
from panel.questions.matching import Match
from panel.questions.references import Reference
from panel.reports import Renderer
from panel.runs.design import design_report
from panel.statistics import AnalysisOptions, agree, correlate
from panel.statistics.core.arrays import Array
from panel.sweep.detectable import detectable_delta
from panel.sweep.plan import sweep_plan_of
from panel.testing.model import ScriptedModel
from panel.testing.requirement import require

_OPTIONS = AnalysisOptions(n_permutations=99)


def check_renderer(renderer: Renderer) -> None:
    """Whether an output format has a function for each kind of result, and each of them writes text
    to an open stream, which it leaves open, and changes nothing in the result."""
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
            kept = all(np.array_equal(seen[one], before[one], equal_nan=True) for one in seen)
            require(kept, f"the renderer changes ratings, in {name}()")


def _results(folder: Path) -> tuple[Mapping[str, Callable[[], tuple[Any, ...]]], dict[str, Array]]:
    """A result for each function of a renderer, before the stream, and the arrays behind them."""
    panel = Panel("disciplinary", ScriptedModel(), "debate-speech")
    responses = [
        Response(id=f"r{n}", prompt=f"Question {n // 2}?", text=f"Answer {n}.", system=f"s{n % 2}")
        for n in range(6)
    ]
    run = panel.score(responses, out=folder / "run")
    other = Panel("disciplinary", ScriptedModel(model="other"), "debate-speech")
    again = other.score(responses, out=folder / "again")
    labels = {dimension.id: dimension.label for dimension in panel.output_rubric.dimensions}
    found = load_audited_run(folder / "run")
    ratings = found.ratings
    prompts = sorted({response.prompt for response in responses if response.prompt})
    framed = [
        FramedResponse(prompt_id=prompt, prompt=prompt, condition=condition, system="s0",
                       text=f"{prompt} {condition}")
        for prompt in prompts
        for condition in (BASELINE, "belief")
    ]  # fmt: skip
    sweep = panel.sweep(responses=framed)
    plan = sweep_plan_of(panel.plan, None, (), {"responses": framed})
    attacks = load_definition(shipped_attacks(), AttackSet).attacks[:2]
    matches = [
        Match(response.prompt or "", response.id or "", response.system or "", reference, 0.7)
        for response, reference in zip(
            responses, [Reference("q", "Why?", "Useful"), None] * 3, strict=True
        )
    ]
    results: dict[str, Callable[[], tuple[Any, ...]]] = {
        "render_run": lambda: (run, labels),
        "render_run_by": lambda: (run, systems_by(run, "persona"), labels),
        "render_sweep": lambda: (sweep,),
        "render_injection_audit": lambda: (
            audit_injection(panel, plan_injection(panel, responses, attacks), out=folder / "audit"),
        ),
        "render_cost_estimates": lambda: (panel.estimate(responses),),
        "render_sweep_estimate": lambda: (
            panel.estimate_sweep(responses=framed),
            detectable_delta(plan, len(sweep.dimensions), len(panel.judges)),
        ),
        "render_agreement": lambda: (agree(ratings, _OPTIONS), ratings, "dimension"),
        "render_design": lambda: (design_report(str(folder / "run")),),
        "render_comparison": lambda: (correlate(ratings, ratings, _OPTIONS), ratings, ratings),
        "render_run_comparison": lambda: (compare(run, again),),
        "render_biases": lambda: (biases(ratings, found.scales, found.lengths), ratings),
        "render_contested": lambda: (contested(run), 3),
        "render_matches": lambda: (match_report(responses, matches),),
    }
    return results, {"run": run.ratings, "ratings": ratings.scores, "sweep": sweep.delta}
