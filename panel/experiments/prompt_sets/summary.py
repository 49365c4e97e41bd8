"""A set in figures: its funnel, its writers, its diversity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from persona_panel.experiments.prompt_sets.building import BuiltPrompts
from persona_panel.experiments.prompt_sets.candidates import CandidatePrompt
from persona_panel.experiments.prompt_sets.diversity import (
    MeanDiversity,
    bundle_diversity,
    grouped,
    mean_diversity,
)
from persona_panel.files.csv_cells import cell_of, csv_of
from persona_panel.files.documents import json_number

_COLUMNS = ("step", "unit", "entered", "dropped", "kept", "reason", "dropped_for_it")


@dataclass(frozen=True, slots=True)
class WriterSummary:
    """What one model wrote.

    Attributes:
        writer: its name.
        items: how many items it was given.
        answered: for how many it wrote prompts.
        written: how many prompts.
        kept: how many of them were there before the draw.
        drawn: how many of them are in the set.
        diversity: the functional diversity among its own prompts of an item, over items.
    """

    writer: str
    items: int
    answered: int
    written: int
    kept: int
    drawn: int
    diversity: MeanDiversity


def writer_summaries(built: BuiltPrompts) -> list[WriterSummary]:
    """Each writer's, in the order of the plan."""
    plan = built.plan
    given: dict[str, int] = {}
    for item, rewrite in plan.seeds:
        for writer in plan.writers[item.origin] if rewrite is not None else ():
            given[writer] = given.get(writer, 0) + 1
    return [
        WriterSummary(
            writer,
            n,
            built.answered.get(writer, 0),
            _by(writer, built.written),
            _by(writer, built.measured),
            _by(writer, built.prompts),
            _within(writer, built),
        )
        for writer, n in given.items()
    ]


def overall_diversity(built: BuiltPrompts) -> MeanDiversity:
    """The functional diversity of bundles, over them."""
    return mean_diversity([bundle.value for bundle in built.bundles.values()])


def cross_diversity(built: BuiltPrompts) -> MeanDiversity:
    """The functional diversity of pairs by two writers of one item, averaged over pairs of writers,
    over items (scrub.txt, table 5)."""
    writer_of = {one.id: one.writer for one in built.measured}
    values = []
    for own in _bundles(built.measured).values():
        by_writer = []
        writers = sorted({name for one in own if (name := writer_of[one]) is not None})
        for two in combinations(writers, 2):
            said = [
                equivalent
                for pair, equivalent in built.equivalent.items()
                if equivalent is not None
                and set(pair) <= set(own)
                and {writer_of[one] for one in pair} == set(two)
            ]
            if said:
                by_writer.append(1 - sum(said) / len(said))
        if by_writer:
            values.append(math.fsum(by_writer) / len(by_writer))
    return mean_diversity(values)


def document_of(built: BuiltPrompts) -> dict[str, Any]:
    """The set in figures, as JSON has it."""
    return {
        "prompts": len(built.prompts),
        "funnel": [asdict(step) | {"kept": step.kept} for step in built.funnel],
        "writers": [
            asdict(one) | {"diversity": _document(one.diversity)} for one in writer_summaries(built)
        ],
        "diversity": _document(overall_diversity(built)),
        "cross_writer_diversity": _document(cross_diversity(built)),
        "passed_by_a_model": sum(one.passed > 0 for one in built.prompts)
        if built.plan.spec.quality is not None
        else None,
        "mean_disagreement": _mean_disagreement(built),
        "pending_calls": dict(built.pending),
    }


def funnel_csv(built: BuiltPrompts) -> bytes:
    """The funnel as a table: a line for each reason of each step; one without where nothing was
    dropped."""
    rows: list[list[Any]] = [[*_COLUMNS]]
    for step in built.funnel:
        head = [cell_of(step.step), step.unit, step.entered, step.entered - step.kept, step.kept]
        rows += [[*head, cell_of(reason), n] for reason, n in step.reasons.items()]
        if not step.reasons:
            rows.append([*head, "", 0])
    return csv_of(rows)


def _document(mean: MeanDiversity) -> dict[str, Any]:
    return {"mean": json_number(mean.mean), "se": json_number(mean.se), "n_bundles": mean.n_bundles}


def _mean_disagreement(built: BuiltPrompts) -> float | None:
    judged = [one.disagreement for one in built.prompts]
    there = [value for value in judged if value is not None]
    return round(math.fsum(there) / len(there), 6) if there else None


def _by(writer: str, prompts: Sequence[CandidatePrompt]) -> int:
    return sum(one.writer == writer for one in prompts)


def _within(writer: str, built: BuiltPrompts) -> MeanDiversity:
    own = [one for one in built.measured if one.writer == writer]
    return mean_diversity(
        [bundle_diversity(ids, built.equivalent).value for ids in _bundles(own).values()]
    )


def _bundles(prompts: Sequence[CandidatePrompt]) -> dict[str, list[str]]:
    return grouped([(one.id, one.bundle) for one in prompts])
