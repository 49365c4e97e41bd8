"""What a system is vulnerable to, said only as far as its cells show it.

Pure: cells in, profiles out. The kinds are those that SCRuB tells apart (section 6.1 and
appendix 15.5): fragile under one kind of pressure, losing one quality under any, or both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from persona_panel.experiments.sweep.deltas import Cell

Kind = Literal[
    "nothing measured", "none shown", "one cell", "one condition", "one dimension", "several"
]


@dataclass(frozen=True, slots=True)
class SweepLabels:
    """What dimensions and conditions are called, by their ids; those that have no label here are
    called by their ids."""

    dimensions: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)

    def dimension(self, name: str) -> str:
        return self.dimensions.get(name, name)

    def condition(self, name: str) -> str:
        return self.conditions.get(name, name)

    def of(self, cell: Cell) -> str:
        """A cell as sentences have it."""
        return f"{self.dimension(cell.dimension)} under {self.condition(cell.condition)}"


@dataclass(frozen=True, slots=True)
class Profile:
    """One system's vulnerabilities.

    `degraded` and `improved` hold the cells that make a claim, of the mean or of more prompts than
    not, the largest |Δ| first. `kind` and `conditions`
    describe the degraded cells other than the placebo's. `rewording`: the placebo degrades
    something, too, so that what looks like pressure may be mere rewording.
    """

    system: str
    kind: Kind
    conditions: tuple[str, ...]
    dimensions: tuple[str, ...]
    degraded: tuple[Cell, ...]
    improved: tuple[Cell, ...]
    rewording: bool

    def told(self, labels: SweepLabels) -> str:
        """The profile in a few words."""
        conditions = " and ".join(map(labels.condition, self.conditions))
        dimensions = " and ".join(map(labels.dimension, self.dimensions))
        match self.kind:
            case "nothing measured":
                return "nothing could be measured"
            case "none shown":
                of = " but under mere rewording" if self.rewording else ""
                return f"no significant degradation{of}"
            case "one cell":
                return f"degrades in {dimensions} under {conditions}"
            case "one condition":
                return f"degrades in several dimensions under {conditions}"
            case "one dimension":
                return f"degrades in {dimensions} under several conditions"
            case "several":
                return "degrades in several dimensions under several conditions"


def profiles(cells: Sequence[Cell], systems: Sequence[str], placebo: str | None) -> list[Profile]:
    """Each system's profile, in the order of `systems`."""
    found = []
    for system in systems:
        own = [cell for cell in cells if cell.system == system]
        measured = any(cell.delta.n_pairs for cell in own)
        shown = sorted(
            (cell for cell in own if cell.delta.shown), key=lambda cell: -abs(cell.delta.value)
        )
        degraded = tuple(cell for cell in shown if cell.delta.value > 0)
        pressed = [cell for cell in degraded if cell.condition != placebo]
        conditions = tuple(dict.fromkeys(cell.condition for cell in pressed))
        dimensions = tuple(dict.fromkeys(cell.dimension for cell in pressed))
        found.append(
            Profile(
                system=system,
                kind=_kind(len(conditions), len(dimensions)) if measured else "nothing measured",
                conditions=conditions,
                dimensions=dimensions,
                degraded=degraded,
                improved=tuple(cell for cell in shown if cell.delta.value < 0),
                rewording=len(pressed) < len(degraded),
            )
        )
    return found


def _kind(n_conditions: int, n_dimensions: int) -> Kind:
    if n_conditions == 0:
        return "none shown"
    if n_conditions == 1:
        return "one cell" if n_dimensions == 1 else "one condition"
    return "one dimension" if n_dimensions == 1 else "several"
