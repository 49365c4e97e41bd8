"""A panel's ratings aligned with people's, by dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from persona_panel.statistics.core.arrays import rows_of
from persona_panel.statistics.core.composite import on_composite
from persona_panel.statistics.core.frames import FrameColumn, FrameMethod, field_columns
from persona_panel.statistics.core.holm import holm_of_two
from persona_panel.statistics.core.names import COMPOSITE
from persona_panel.statistics.core.table import Ratings
from persona_panel.statistics.humans.alignment import (
    METHODS,
    N_FOLDS,
    LearntAlignment,
    MethodAlignment,
    learnt_alignment,
)
from persona_panel.statistics.humans.alignment_rules import AlignmentMethod


@dataclass(frozen=True, slots=True)
class AlignedDimension:
    """What was learnt on one dimension; `judges` are those that the weights of rules are of."""

    dimension: str
    judges: tuple[str, ...]
    learnt: LearntAlignment


def alignment_columns(found: Alignment) -> list[FrameColumn]:
    """A data frame with one row for each dimension, method and figure.

    Columns: `dimension`, `method`, `figure`, `before`, `after`, `difference`, `ci_low`, `ci_high`,
    `p`, `p_adjusted`, `n_items`, `n_prompts`. The last p-value is that of the method's gain (see
    `MethodAlignment`), on its first figure alone.
    """
    rows = [
        (one.dimension, method, figure, place)
        for one in found.dimensions
        for method in one.learnt.methods
        for place, figure in enumerate(method.figures)
    ]
    of_methods = [method for _, method, _, _ in rows]
    numbers = ("before", "after", "difference", "ci_low", "ci_high", "p")
    return [
        FrameColumn("dimension", "text", [name for name, _, _, _ in rows]),
        *field_columns(of_methods, "text", "method"),
        *field_columns([figure for _, _, figure, _ in rows], "text", "figure"),
        *field_columns([figure for _, _, figure, _ in rows], "number", *numbers),
        FrameColumn(
            "p_adjusted",
            "number",
            [nan if place else method.p_adjusted for _, method, _, place in rows],
        ),
        *field_columns(of_methods, "whole", "n_items", "n_prompts"),
    ]


@dataclass(frozen=True, slots=True)
class Alignment:
    """What `align` found, by dimension; `panel` has the items in the order of all scores."""

    panel: Ratings
    dimensions: tuple[AlignedDimension, ...]

    to_frame = FrameMethod(alignment_columns)
    """See `persona_panel.statistics.humans.align.alignment_columns`."""


def align(
    panel: Ratings,
    humans: Ratings,
    *,
    methods: Sequence[AlignmentMethod] = METHODS,
    folds: int = N_FOLDS,
    seed: int = 0,
) -> Alignment:
    """A panel's scores brought nearer to people's mean by rules learnt from their ratings, with the
    figures on prompts that were not learnt from.

    Each dimension that both rated by numbers is aligned by itself. The panel's score of an item is
    the mean of its judges, those without a persona left out. Prompts are the panel's (items, where
    it names none). Where the panel's composite is the mean of several dimensions and people rated
    each of them, it comes first, as the dimension `composite`: the primary result, whose p-values
    are a family beside those of the dimensions (`holm_of_two`).

    Args:
        panel, humans: under the same names, as `load_aligned_ratings` gives them.
        methods, folds, seed: see `learnt_alignment`.

    Raises:
        ValueError: ranks, or no item or dimension rated by numbers that both have; and as
            `learnt_alignment`.

    >>> rng = np.random.default_rng(0)
    >>> names, good = tuple(f"i{n}" for n in range(60)), rng.uniform(1, 5, 60)
    >>> people = (good[:, None] + rng.normal(0, 0.5, (60, 3)))[:, :, None]
    >>> panel = (3 + good[:, None] / 2 + rng.normal(0, 0.3, (60, 4)))[:, :, None]
    >>> ours = Ratings(panel, names, tuple("abcd"), ("all",), ("m",) * 4)
    >>> theirs = Ratings(people, names, tuple("xyz"), ("all",), ("human",) * 3)
    >>> [one] = align(ours, theirs).dimensions
    >>> [(method.method, method.p_adjusted < 0.05) for method in one.learnt.methods]
    [('isotonic', True), ('weights', False), ('subset', False)]
    """
    if panel.lower_is_better or humans.lower_is_better:
        raise ValueError("ranks have no distance from each other; scores are needed")
    ours, theirs = panel.numeric(), humans.numeric()
    dimensions = [name for name in ours.dimensions if name in theirs.dimensions]
    if not dimensions or not set(ours.items) & set(theirs.items):
        what = "item" if dimensions else "dimension that is rated by numbers"
        raise ValueError(f"panel and people share no {what}")
    judges = [column for column, name in enumerate(ours.raters) if name not in ours.controls]
    whole = on_composite(panel, humans)
    parts = [(name, ours, theirs) for name in dimensions]
    if whole is not None:
        parts.insert(0, (COMPOSITE, whole[0], whole[1]))
    found = []
    for name, own, others in parts:
        people = others.scores[:, :, others.dimensions.index(name)]
        learnt = learnt_alignment(
            own.scores[:, judges, own.dimensions.index(name)],
            rows_of(people, others.items, own.items),
            own.prompts,
            methods=methods,
            folds=folds,
            seed=seed,
        )
        found.append(AlignedDimension(name, tuple(ours.raters[j] for j in judges), learnt))
    return Alignment(panel, _adjusted(found, n_primary=0 if whole is None else 1))


def _adjusted(found: Sequence[AlignedDimension], n_primary: int) -> tuple[AlignedDimension, ...]:
    """With p-values adjusted over methods and dimensions; those of the first `n_primary` are a
    family of their own."""
    families = [
        [one.p for each in those for one in each.learnt.methods]
        for those in (found[:n_primary], found[n_primary:])
    ]
    p_values = iter(np.concatenate(holm_of_two(*families)).tolist())

    def of(each: AlignedDimension) -> tuple[MethodAlignment, ...]:
        return tuple(replace(one, p_adjusted=next(p_values)) for one in each.learnt.methods)

    return tuple(replace(each, learnt=replace(each.learnt, methods=of(each))) for each in found)
