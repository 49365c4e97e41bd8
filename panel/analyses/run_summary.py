"""The content of a run's summary.json."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

from persona_panel.analyses.analysis import beside_people
from persona_panel.analyses.answers import answers_of, conclusion_of
from persona_panel.analyses.ranked_systems import ranking_of, winner_of
from persona_panel.files.outputs import json_number, record_document, version_of
from persona_panel.models.config import cost
from persona_panel.runs.judgment_lines import usage_document
from persona_panel.runs.run import (
    Run,
    calls_document,
    json_usd,
)
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.statistics.core.ranking import Leaderboard

if TYPE_CHECKING:
    from persona_panel.statistics.core.strengths import Strengths

SAYS_WHO_DIFFERS = 10_000
"""Of more judgments summary.json does not say who differs: `persona-panel contested` and `report`
do, and `score` on the terminal."""


def run_summary(run: Run, *, systems: bool = True) -> dict[str, Any]:
    """Return what summary.json holds of a run; `systems` as of `answers_of`."""
    report, people = run.deliberation(), beside_people(run)
    board, controls = run.leaderboard(), run.control_leaderboard()
    strengths, answers = run.strengths(), answers_of(run, people, systems=systems)
    ranked = ranking_of(run, people) if systems else None
    winner = None if ranked is None else winner_of(run, ranked)
    return {
        "answers": [answer.document() for answer in answers],
        "conclusion": conclusion_of(run, people) if systems else [each.text for each in answers],
        **(
            {}
            if ranked is None
            else {
                "order": {
                    "by": "people" if ranked.basis else "panel",
                    "systems": [
                        {"system": name, "mean": json_number(mean)} for name, mean in ranked.systems
                    ],
                }
            }
        ),
        **({} if people is None else {"human_ratings": people.options}),
        "ranking": systems_document(board),
        "winner": winner and record_document(winner),
        "differences": [
            difference_document(entry, effect_size=json_number(entry.effect_size))
            for entry in board.differences
        ],
        "random": board.random,
        **({"control_ranking": systems_document(controls)} if controls else {}),
        **({} if strengths is None else {"strengths": strengths_document(strengths)}),
        "coverage": record_document(run.coverage),
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
        "version": version_of("persona-panel"),
        "elapsed_s": round(run.elapsed_s, 3),
    }


def systems_document(board: Leaderboard) -> list[dict[str, Any]]:
    """Return the systems of a leaderboard, best first, as summary.json has them."""
    return [
        {
            "system": each.system,
            **_figure("composite", "ci", each.composite),
            "ci_reason": each.composite.reason,
            "judges_ci_low": json_number(each.with_judges.low),
            "judges_ci_high": json_number(each.with_judges.high),
            "judges_ci_reason": each.with_judges.reason,
            "rank": each.rank,
            "rank_low": each.rank_low,
            "rank_high": each.rank_high,
            "n_prompts": each.n_prompts,
            "dimensions": {name: json_number(of.value) for name, of in each.dimensions.items()},
            "dimension_intervals": {
                name: [*map(json_number, of.ends)] for name, of in each.dimensions.items()
            },
            "n_abstained": each.n_abstained,
            "n_judged": each.n_judged,
            "declines": each.declines,
        }
        for each in board.systems
    ]


def _differs(run: Run) -> dict[str, Any]:
    if run.coverage.expected > SAYS_WHO_DIFFERS:
        return {}
    # What a longer run does without need not be loaded.
    from persona_panel.analyses.who_differs import differs_document

    return differs_document(run)


def difference_document(difference: Difference, **more: float | None) -> dict[str, Any]:
    """Return a difference, and what else is said of it, in the form of summary.json."""
    return {
        "a": difference.a,
        "b": difference.b,
        **_figure("difference", "ci", difference),
        "p": json_number(difference.p),
        "p_adjusted": json_number(difference.p_adjusted),
        **more,
        "n_prompts": difference.n,
        "reason": difference.reason,
    }


def strengths_document(strengths: Strengths) -> dict[str, Any]:
    """Return the strengths in the form of summary.json."""
    return {
        "systems": [
            {
                "system": each.system,
                **_figure("strength", "ci", each.strength),
                **_figure("win_probability", "win", each.win_probability),
                "n_comparisons": each.n_comparisons,
                "n_prompts": each.n_prompts,
                "reason": each.strength.reason if isnan(each.strength.value) else None,
                "ci_reason": each.strength.reason,
            }
            for each in strengths.systems
        ],
        "differences": [difference_document(each) for each in strengths.differences],
        "ties": json_number(strengths.ties),
        "random": strengths.random,
    }


def _figure(name: str, ends: str, of: Estimate) -> dict[str, float | None]:
    values = {name: of.value, f"{ends}_low": of.low, f"{ends}_high": of.high}
    return {name: json_number(value) for name, value in values.items()}
