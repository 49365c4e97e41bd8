"""One axis of a run's personas against another, and one of its models against another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from persona_panel.analyses.breakdown.cells import RunCells
from persona_panel.analyses.once import once_per_run
from persona_panel.runs.run import Run
from persona_panel.statistics.core.arrays import Random
from persona_panel.statistics.group_differences import (
    GroupDifference,
    PairedResponses,
    axis_pair,
    group_differences,
    model_pair,
)

GroupKind = Literal["axis", "model"]


@dataclass(frozen=True, slots=True)
class GroupDifferences:
    """The differences of every two axes of personas, or every two models, on the same texts.

    Attributes:
        kind, groups: what the groups are, and their names in the panel's order.
        differences: of every two, on the composite and each dimension, over all systems and on each
            of several, corrected by Holm over all of them.
        interactions: likewise, by system: how far the difference on it is from that on the others.
            One that is `shown` says that the two see systems differently.
        random: what intervals and p-values take as a sample.
    """

    kind: GroupKind
    groups: tuple[str, ...]
    differences: tuple[GroupDifference, ...]
    interactions: tuple[GroupDifference, ...]
    random: Random


def axis_differences(run: Run, random: Random | None = None) -> GroupDifferences:
    """Compare personas of one axis with those of another; without rows where there are fewer than
    two axes, or they are not known. `random`: what intervals take as a sample; None: as the run
    says."""
    return _axes(run) if random in (None, run.random) else _of_axes(run, random)


def model_differences(run: Run, random: Random | None = None) -> GroupDifferences:
    """Compare one model with another, persona by persona; without rows where there is one. Args as
    for `axis_differences`."""
    return _models(run) if random in (None, run.random) else _of_models(run, random)


def axes_of(run: Run) -> dict[str, str]:
    """Return the axis of each persona of a run, by its id; empty where a run does not know them."""
    return {persona.id: persona.axis for persona in run.personas}


def labels_of_personas(run: Run) -> dict[str, str]:
    """Return what people read in place of a persona's id; the id itself where a run does not know
    more."""
    known = {persona.id: persona.label for persona in run.personas}
    return {judge.persona: known.get(judge.persona, judge.persona) for judge in run.judges}


@once_per_run
def _axes(run: Run) -> GroupDifferences:
    return _of_axes(run, run.random)


@once_per_run
def _models(run: Run) -> GroupDifferences:
    return _of_models(run, run.random)


def _of_axes(run: Run, random: Random) -> GroupDifferences:
    cells = RunCells.of(run)
    known = axes_of(run)
    axes = [known.get(persona, "") for persona in cells.dimensions.personas]
    names = [axis for axis in dict.fromkeys(axes) if axis]
    pairs = [
        (layer, axis_pair(values, a, b, axes))
        for layer, values in cells.layers()
        for a, b in combinations(names, 2)
    ]
    return _found("axis", names, pairs, cells, random)


def _of_models(run: Run, random: Random) -> GroupDifferences:
    cells = RunCells.of(run)
    names = cells.dimensions.models
    pairs = [
        (layer, model_pair(values, a, b, names))
        for layer, values in cells.layers()
        for a, b in combinations(names, 2)
    ]
    return _found("model", names, pairs, cells, random)


def _found(
    kind: GroupKind,
    names: Sequence[str],
    pairs: Sequence[tuple[str, PairedResponses]],
    cells: RunCells,
    random: Random,
) -> GroupDifferences:
    differences, interactions = (
        group_differences(
            pairs, cells.systems, cells.prompts, random=random, interaction=interaction
        )
        for interaction in (False, True)
    )
    return GroupDifferences(kind, tuple(names), tuple(differences), tuple(interactions), random)
