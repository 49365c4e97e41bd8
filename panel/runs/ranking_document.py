"""A leaderboard as summary.json has it."""

from __future__ import annotations

from typing import Any

from persona_panel.files.documents import json_number
from persona_panel.statistics.core.ranking import SystemDifference, SystemRank


def system_document(entry: SystemRank) -> dict[str, Any]:
    """A system's place."""
    return {
        "system": entry.system,
        "composite": json_number(entry.composite),
        "ci_low": json_number(entry.ci_low),
        "ci_high": json_number(entry.ci_high),
        "ci_reason": entry.ci_reason,
        "judges_ci_low": json_number(entry.judges_ci_low),
        "judges_ci_high": json_number(entry.judges_ci_high),
        "judges_ci_reason": entry.judges_ci_reason,
        "rank": entry.rank,
        "rank_low": entry.rank_low,
        "rank_high": entry.rank_high,
        "n_prompts": entry.n_prompts,
        "dimensions": {name: json_number(mean) for name, mean in entry.dimensions.items()},
        "dimension_intervals": {
            name: [json_number(low), json_number(high)]
            for name, (low, high) in entry.dimension_intervals.items()
        },
        "n_abstained": entry.n_abstained,
        "n_judged": entry.n_judged,
        "declines": entry.declines,
    }


def difference_document(one: SystemDifference) -> dict[str, Any]:
    """How far two systems differ."""
    return {
        "a": one.a,
        "b": one.b,
        "difference": json_number(one.difference),
        "ci_low": json_number(one.ci_low),
        "ci_high": json_number(one.ci_high),
        "p": json_number(one.p),
        "p_adjusted": json_number(one.p_adjusted),
        "effect_size": json_number(one.effect_size),
        "n_prompts": one.n_prompts,
        "reason": one.reason,
    }
