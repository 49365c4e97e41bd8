"""The content of a run's summary.json."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from persona_panel.models.config import cost
from persona_panel.runs.collected import strengths_document
from persona_panel.runs.judgment_lines import usage_document
from persona_panel.runs.run import Run
from persona_panel.runs.summary import (
    calls_document,
    conclusion_of,
    difference_document,
    json_usd,
    system_document,
)

SAYS_WHO_DIFFERS = 10_000
"""Of more judgments summary.json does not say who differs: `persona-panel contested` and `report`
do, and `score` on the terminal."""


def run_summary(run: Run) -> dict[str, Any]:
    """Return what summary.json holds of a run."""
    coverage, report = run.coverage, run.deliberation()
    board, controls = run.leaderboard(), run.control_leaderboard()
    strengths = run.strengths()
    return {
        "conclusion": conclusion_of(run, board, controls, report),
        "ranking": [system_document(entry) for entry in board.systems],
        "winner": board.winner,
        "differences": [difference_document(one) for one in board.differences],
        "random": board.random,
        **(
            {"control_ranking": [system_document(entry) for entry in controls.systems]}
            if controls
            else {}
        ),
        **({} if strengths is None else {"strengths": strengths_document(strengths)}),
        "coverage": {
            "expected": coverage.expected,
            "scored": coverage.scored,
            "abstained": coverage.abstained,
            "missing": coverage.missing,
            "partial": coverage.partial,
            "revisions_failed": coverage.revisions_failed,
            "reasons_missing": coverage.reasons_missing,
        },
        "reasons": [{"status": status, "error": error, "n": n} for status, error, n in run.reasons],
        "off_scale": {model: round(mean, 4) for model, mean in run.off_scale.items()},
        "calls": calls_document(run.calls, run.prices),
        "usage": {
            model: usage_document(usage) | {"usd": json_usd(cost(run.prices[model], usage))}
            for model, usage in sorted(run.usage.items())
        },
        **({} if report is None else {"deliberation": report.summary()}),
        **_differs(run),
        "seed": run.seed,
        "version": version("persona-panel"),
        "elapsed_s": round(run.elapsed_s, 3),
    }


def _differs(run: Run) -> dict[str, Any]:
    if run.coverage.expected > SAYS_WHO_DIFFERS:
        return {}
    # What a longer run does without need not be loaded.
    from persona_panel.analyses.who_differs import differs_document

    return differs_document(run)
