"""The findings of a sweep: by cell as in summary.json, and in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from persona_panel.experiments.sweep.deltas import FEWEST, Cell, Gap, Mean, Profile, SweepLabels
from persona_panel.files.outputs import json_number, record_document
from persona_panel.results.conclusions.score import Judged, few_judged, nothing_judged
from persona_panel.results.conclusions.wording import (
    counted,
    in_brackets,
    interval,
    listed,
    p_adjusted,
    would_show,
)
from persona_panel.statistics.core.display import number
from persona_panel.statistics.core.estimate import LEVEL
from persona_panel.statistics.core.means import assured, items_needed


def _mean(mean: Mean) -> dict[str, Any]:
    claim = {"p_claim": json_number(mean.p_claim), "shown": mean.shown}
    return record_document(mean, "value") | claim


def cell_document(cell: Cell) -> dict[str, Any]:
    """Return the JSON document of a system's degradation on a dimension in a condition."""
    low, high = map(json_number, cell.fell_ci)
    return {
        **record_document(cell, "delta", "threshold"), "delta": json_number(cell.delta.value),
        **_mean(cell.delta), "fell_ci_low": low, "fell_ci_high": high, "strong": cell.strong,
    }  # fmt: skip


def gap_document(gap: Gap) -> dict[str, Any]:
    """Return the JSON document of the difference between two groups of conditions."""
    contrast = gap.contrast
    return {
        "system": gap.system, "contrast": contrast.id, "plus": list(contrast.plus),
        "minus": list(contrast.minus), "dimension": gap.dimension,
        "gap": json_number(gap.gap.value), **_mean(gap.gap),
    }  # fmt: skip


def profile_document(profile: Profile, labels: SweepLabels) -> dict[str, Any]:
    """Return the JSON document of a system's pattern over conditions, and the claims behind it."""

    def claims(cells: Sequence[Cell]) -> list[dict[str, str]]:
        return [{"dimension": cell.dimension, "condition": cell.condition} for cell in cells]

    return {
        "system": profile.system, "name": profile.in_words(labels), "kind": profile.kind,
        "degraded": claims(profile.degraded), "improved": claims(profile.improved),
        "rewording": profile.rewording,
    }  # fmt: skip


_SHOWN = 3


def sweep_conclusion(
    cells: Sequence[Cell],
    profiles: Sequence[Profile],
    judged: Judged,
    labels: SweepLabels,
    unmeasured: Mapping[str, str] | None = None,
) -> list[str]:
    """Return sentences on a sweep: the systems for which nothing could be measured, and why where
    that is known (`unmeasured`); for each other system the degradations that are significant, then
    what is left open.

    A degradation is significant by the test that is adjusted for all cells of the sweep. The
    number of prompts is that of `assured`; none is given where the test for asymmetric Δs is not
    passed.
    """
    if (nothing := nothing_judged(judged)) is not None:
        return [nothing]
    without = [profile.system for profile in profiles if profile.kind == "nothing measured"]
    sentences = _nothing_measured(without, unmeasured or {})
    # What degrades most is the answer.
    largest = [max((cell.delta.value for cell in each.degraded), default=0) for each in profiles]
    sentences += [
        _of_system(profile, cells, labels)
        for _, profile in sorted(zip(largest, profiles, strict=True), key=lambda each: -each[0])
        if profile.system not in without
    ]
    if any(profile.rewording for profile in profiles):
        sentences.append(
            "Rewording without pressure lowers scores"
            f"{', too' if any(profile.conditions for profile in profiles) else ''}: a degradation "
            "may come from the rewording, see the contrasts with it."
        )
    measured = [cell for cell in cells if cell.delta.n_pairs]
    sentences += _open([cell for cell in measured if not cell.delta.shown], labels)
    return [*sentences, *few_judged(judged, "Δs")]


def _nothing_measured(systems: Sequence[str], why: Mapping[str, str]) -> list[str]:
    """Return a sentence for each reason, with the systems for which nothing could be measured."""
    by_reason: dict[str, list[str]] = {}
    for name in systems:
        by_reason.setdefault(why.get(name, "").rstrip("."), []).append(name)
    return [
        f"{listed(names)}: nothing could be measured{in_brackets(reason)}."
        for reason, names in by_reason.items()
    ]


def _of_system(profile: Profile, cells: Sequence[Cell], labels: SweepLabels) -> str:
    n = sum(cell.system == profile.system and cell.delta.n_pairs > 0 for cell in cells)
    changes = [
        _in_words("degrades", profile.degraded, labels),
        _in_words("improves", profile.improved, labels),
    ]
    if not any(changes):
        return f"{profile.system}: no change is significant in any of {counted(n, 'cell')}."
    return f"{profile.system} {'; it '.join(change for change in changes if change)}."


def _in_words(how: str, cells: Sequence[Cell], labels: SweepLabels) -> str:
    """Return a sentence on the largest of these cells, and how many more there are."""
    if not cells:
        return ""
    listed = "; ".join(f"in {labels.of(cell)}, {_facts(cell.delta)}" for cell in cells[:_SHOWN])
    more = len(cells) - _SHOWN
    return f"{how} {listed}" + (f"; and in {counted(more, 'more cell')}" if more > 0 else "")


def _facts(delta: Mean) -> str:
    ends = sorted((abs(delta.ci_low), abs(delta.ci_high)))
    facts = in_brackets(interval(*ends), p_adjusted(delta.p_claim))
    return f"by {number(abs(delta.value))} points{facts}"


def _open(cells: Sequence[Cell], labels: SweepLabels) -> list[str]:
    """Return a sentence on the cells in which no degradation is significant."""
    if not cells:
        return []
    n_cells = max(1, sum(cell.delta.n_pairs > 1 for cell in cells))
    most = max(cell.delta.n_pairs for cell in cells)
    if most < FEWEST:
        return [
            f"With {counted(most, 'prompt')} no effect of any size can be significant: at least "
            f"{FEWEST} prompts are needed."
        ]
    sentences = []
    bounded = [cell for cell in cells if not isnan(cell.delta.ci_high)]
    widest = max(bounded, key=lambda cell: cell.delta.ci_high, default=None)
    if widest is not None and widest.delta.ci_high > 0:
        sentences.append(
            "That no degradation is significant in a cell does not show that there is none: in "
            f"{counted(len(bounded), 'such cell')} intervals reach up to a Δ of "
            f"{number(widest.delta.ci_high)} ({labels.of(widest)})."
        )
    largest = max(cells, key=lambda cell: cell.delta.value)
    delta = largest.delta
    of = f"{number(delta.value)} points, {labels.of(largest)}"
    if delta.value > 0 and not isnan(delta.effect_size):
        sentences.append(_to_establish(delta, of, n_cells))
    elif delta.value > 0 and 1 < delta.n_pairs < (needed := items_needed(LEVEL)):
        sentences.append(
            f"All prompts have the same Δ ({of}): it can be significant from {needed} prompts on."
        )
    return sentences


def _to_establish(delta: Mean, of: str, n_cells: int) -> str:
    """Return a sentence on how many prompts would establish a degradation that is open."""
    if delta.p_bounded is not None and delta.p_bounded >= LEVEL:
        return (
            f"The changes are plainly asymmetric, and the largest of these degradations ({of}) is "
            "opposite to the longer tail: how many prompts would establish it is not known."
        )
    assurance = assured(delta.value, delta.sd, delta.n_pairs, 0.0, LEVEL / n_cells)
    return would_show(assurance, f"establish the largest of them ({of})")
