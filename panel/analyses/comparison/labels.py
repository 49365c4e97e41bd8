"""A comparison of runs under the labels of dimensions, which people read, in place of their ids."""

from __future__ import annotations

from dataclasses import replace

from persona_panel.analyses.comparison.opened_run import OpenedRun
from persona_panel.analyses.comparison.result import (
    ComparedRuns,
    RunComparison,
    RunDifference,
    StratumApart,
)
from persona_panel.analyses.figures.units import dimension_labels
from persona_panel.results.conclusions.labels import Called, called_by


def labels_of(*runs: OpenedRun) -> dict[str, str]:
    """By the id of a dimension, or of the share of a category, its label in the first run that has
    it."""
    found: dict[str, str] = {}
    for one in reversed(runs):
        found |= dimension_labels(one.run.rubric)
    return found


def labelled_comparison(found: RunComparison) -> RunComparison:
    """What `compare` found, under the labels of the runs' dimensions."""
    called = called_by(found.labels)
    is_stratum = found.by == "dimension"
    compared = tuple(_labelled(one, called, is_stratum=is_stratum) for one in found.compared)
    return replace(found, compared=compared, labels={})


def labelled_strata(by: str, rows: list[StratumApart], called: Called) -> list[StratumApart]:
    """Strata under the labels of dimensions, where they are dimensions."""
    if by != "dimension":
        return rows
    return [replace(row, stratum=called(row.stratum)) for row in rows]


def _labelled(one: ComparedRuns, called: Called, *, is_stratum: bool) -> ComparedRuns:
    def row_of(row: RunDifference) -> RunDifference:
        stratum = row.stratum if row.stratum is None or not is_stratum else called(row.stratum)
        return replace(row, dimension=called(row.dimension), stratum=stratum)

    return replace(
        one,
        differences=tuple(map(row_of, one.differences)),
        systems=tuple(map(row_of, one.systems)),
        strata=tuple(map(row_of, one.strata)),
        apart=tuple(labelled_strata("dimension" if is_stratum else "", list(one.apart), called)),
        alike=tuple(replace(alike, dimension=called(alike.dimension)) for alike in one.alike),
        people=tuple((called(name), nearer) for name, nearer in one.people),
    )
