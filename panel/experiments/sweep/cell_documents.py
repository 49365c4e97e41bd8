"""What a sweep found, cell by cell, as summary.json holds it."""

from __future__ import annotations

from typing import Any

from persona_panel.experiments.sweep.asymmetry import Asymmetry
from persona_panel.experiments.sweep.deltas import Cell, CompositeDelta, Gap, Mean
from persona_panel.experiments.sweep.profiles import Profile, SweepLabels
from persona_panel.files.documents import json_number
from persona_panel.graphs.sweeping import TargetAnswer


def unanswered_document(answer: TargetAnswer) -> dict[str, Any]:
    """An answer that a target did not give."""
    return {
        "prompt_id": answer.prompt_id,
        "condition": answer.condition,
        "system": answer.system,
        "status": answer.status,
        "error": answer.error,
    }


def asymmetry_document(asymmetry: Asymmetry) -> dict[str, Any]:
    """How skewed Δs are, and whether plainly so."""
    return {"skewness": json_number(asymmetry.skewness), "plain": asymmetry.plain}


def _mean(mean: Mean) -> dict[str, Any]:
    return {
        "ci_low": json_number(mean.ci_low),
        "ci_high": json_number(mean.ci_high),
        "p_value": json_number(mean.p_value),
        "p_holm": json_number(mean.p_holm),
        "p_bounded": None if mean.p_bounded is None else json_number(mean.p_bounded),
        "p_sign": json_number(mean.p_sign),
        "p_claim": json_number(mean.p_claim),
        "n_above": mean.n_above,
        "n_below": mean.n_below,
        "sd": json_number(mean.sd),
        "effect_size": json_number(mean.effect_size),
        "n_pairs": mean.n_pairs,
        "shown": mean.shown,
        "claim": mean.claim,
    }


def cell_document(cell: Cell) -> dict[str, Any]:
    """A system's degradation on a dimension in a condition."""
    return {
        "system": cell.system,
        "dimension": cell.dimension,
        "condition": cell.condition,
        "delta": json_number(cell.delta.value),
        **_mean(cell.delta),
        "n_abstained": cell.n_abstained,
        "n_missing": cell.n_missing,
        "n_fell": cell.n_fell,
        "n_rose": cell.n_rose,
        "fell_ci_low": json_number(cell.fell_ci[0]),
        "fell_ci_high": json_number(cell.fell_ci[1]),
        "large": json_number(cell.large),
        "strong": cell.strong,
    }


def gap_document(gap: Gap) -> dict[str, Any]:
    """The difference between two groups of conditions."""
    return {
        "system": gap.system,
        "contrast": gap.contrast.id,
        "plus": list(gap.contrast.plus),
        "minus": list(gap.contrast.minus),
        "dimension": gap.dimension,
        "gap": json_number(gap.gap.value),
        **_mean(gap.gap),
    }


def composite_document(one: CompositeDelta) -> dict[str, Any]:
    """A system's degradation in a condition, the mean over dimensions."""
    return {
        "system": one.system,
        "condition": one.condition,
        "delta": json_number(one.value),
        "ci_low": json_number(one.ci_low),
        "ci_high": json_number(one.ci_high),
        "n_pairs": one.n_pairs,
    }


def profile_document(profile: Profile, labels: SweepLabels) -> dict[str, Any]:
    """A system's pattern over conditions, and the claims that it rests on."""
    return {
        "system": profile.system,
        "name": profile.told(labels),
        "kind": profile.kind,
        "degraded": [_claim(cell) for cell in profile.degraded],
        "improved": [_claim(cell) for cell in profile.improved],
        "rewording": profile.rewording,
    }


def _claim(cell: Cell) -> dict[str, Any]:
    return {"dimension": cell.dimension, "condition": cell.condition}
