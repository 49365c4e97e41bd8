"""What a sweep measured, as its summary.json has it: Δs, scores, variants and answers that are
missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

from persona_panel.results.formats.html import tint
from persona_panel.runs.run import Run

_MISSING = 50


@dataclass(frozen=True, slots=True)
class DeltaCell:
    """Δ of one dimension under one condition; `css` is its tint."""

    value: float
    low: float
    high: float
    p_adjusted: float
    n_pairs: int
    shown: bool
    css: str


@dataclass(frozen=True, slots=True)
class SystemSweep:
    """One system under every condition.

    Attributes:
        profile: its vulnerabilities in words.
        rows: for each dimension its label and a cell for each condition.
        composite: Δ over all dimensions, a cell for each condition.
        scores: for each dimension its label and the mean scores at baseline and each condition.
    """

    system: str
    profile: str
    rewording: bool
    rows: Sequence[tuple[str, Sequence[DeltaCell]]]
    composite: Sequence[DeltaCell]
    scores: Sequence[tuple[str, Sequence[float]]]


@dataclass(frozen=True, slots=True)
class SweptSection:
    """What the page shows of a sweep.

    Attributes:
        conditions: their labels, without the baseline.
        rejected: how many variants of each condition were given up, by label.
        unanswered: answers that did not come; `n_unanswered` of them in all.
    """

    systems: Sequence[SystemSweep]
    conditions: Sequence[str]
    threshold: float
    level: float
    made: int
    used: int
    rejected: Sequence[tuple[str, int]]
    received: int
    cut_off: int
    unanswered: Sequence[Mapping[str, Any]]
    n_unanswered: int
    unpaired: Sequence[tuple[str, str, str, int, int]]


def swept_section(
    run: Run, manifest: Mapping[str, Any], summary: Mapping[str, Any]
) -> SweptSection:
    """The sweep in a run's folder, whose summary.json has it once it came to its end."""
    found, labels = summary["sweep"], _labels(manifest)
    conditions = list(found["conditions"][1:])
    dimensions = {one.id: one.label for one in run.rubric.numeric}
    cells = {(one["system"], one["dimension"], one["condition"]): one for one in found["cells"]}
    composites = {(one["system"], one["condition"]): one for one in found["composites"]}
    profiles = {one["system"]: one for one in found["profiles"]}
    most = max((abs(one["delta"]) for one in found["cells"] if one["delta"] is not None), default=0)
    scores = _scores(run)
    systems = [
        SystemSweep(
            system,
            profiles[system]["name"],
            # Where nothing else degrades, the profile says so.
            profiles[system]["rewording"] and profiles[system]["kind"] != "none shown",
            [
                (label, [_cell(cells[system, name, each], most) for each in conditions])
                for name, label in dimensions.items()
            ],
            [
                _cell(composites[system, each] | {"p_claim": None, "shown": False}, most)
                for each in conditions
            ],
            [
                (label, [scores.get((system, each, name), nan) for each in found["conditions"]])
                for name, label in dimensions.items()
            ],
        )
        for system in found["systems"]
    ]
    missing = found["answers"]["missing"]
    return SweptSection(
        systems,
        [labels.get(each, each) for each in conditions],
        found["threshold"],
        found["level"],
        found["variants"]["made"],
        found["variants"]["used"],
        [(labels.get(each, each), n) for each, n in found["variants"]["rejected"].items()],
        found["answers"]["received"],
        found["answers"]["cut_off"],
        missing[:_MISSING],
        len(missing),
        _unpaired(found["cells"], labels),
    )


def _labels(manifest: Mapping[str, Any]) -> dict[str, str]:
    framings = (manifest.get("sweep") or {}).get("framings") or {}
    return {one["id"]: one["label"] for one in framings.get("conditions", ())}


def _cell(one: Mapping[str, Any], most: float) -> DeltaCell:
    value, low, high, p = (
        nan if one[name] is None else float(one[name])
        for name in ("delta", "ci_low", "ci_high", "p_claim")
    )
    # A degradation is a positive Δ, and has the tint of what lies below.
    css = tint(-value, most) if low > 0 or high < 0 else ""
    return DeltaCell(value, low, high, p, one["n_pairs"], bool(one["shown"]), css)


def _scores(run: Run) -> dict[tuple[str, str, str], float]:
    """The mean over prompts of each system's scores, by condition and dimension."""
    entries = {entry.system: entry.dimensions for entry in run.leaderboard().systems}
    found = {}
    for name, dimensions in entries.items():
        system, _, condition = name.rpartition("+")
        for dimension, mean in dimensions.items():
            found[system, condition, dimension] = mean
    return found


def _unpaired(
    cells: Sequence[Mapping[str, Any]], labels: Mapping[str, str]
) -> list[tuple[str, str, str, int, int]]:
    """Where pairs of judgments are left out: system, condition, and how many, of abstentions and of
    those that are missing."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for one in cells:
        if one["n_abstained"] or one["n_missing"]:
            found[one["system"], one["condition"]] = one["n_abstained"], one["n_missing"]
    return [
        (system, condition, labels.get(condition, condition), *n)
        for (system, condition), n in found.items()
    ]
