"""Effects of deliberation on a run: for summary.json, the terminal and the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from persona_panel.files.outputs import json_number
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge
from persona_panel.graphs.aggregate import aggregate
from persona_panel.graphs.deliberation import step
from persona_panel.rubrics import Rubric
from persona_panel.runs.collected import CollectedRatings, judgment_of_row
from persona_panel.statistics.core.arrays import (
    Array,
    Statistic,
    divide,
    mean_there,
    row_means,
    rows_of,
)
from persona_panel.statistics.core.table import Ratings, RatingsOrigin
from persona_panel.statistics.peers import (
    Conformity,
    Influence,
    conformity,
    influence,
)
from persona_panel.statistics.revisions import (
    Change,
    Reordering,
    Revisions,
    TowardHumans,
    mean_changes,
    reordering,
    spread,
    toward_humans,
)


def before_after_document(means: Change) -> dict[str, Any]:
    """Return the means before and after, and how many ratings moved."""
    return {
        "before": json_number(means.before),
        "after": json_number(means.after),
        "change": json_number(means.value),
        "moved": means.n_moved,
        "of": means.n,
        "reason": means.reason,
    }


def change_document(change: Change) -> dict[str, Any]:
    """Return a statistic before and after, with the interval of its change."""
    return {
        "before": json_number(change.before),
        "after": json_number(change.after),
        "change": json_number(change.value),
        "ci_low": json_number(change.low),
        "ci_high": json_number(change.high),
        "prompts": change.n or 0,
        "responses": change.n_items,
        "reason": change.reason,
    }


def _share(estimate: Statistic, name: str) -> dict[str, Any]:
    return {name: json_number(estimate.value), "reason": estimate.reason}


def conformity_document(result: Conformity) -> dict[str, Any]:
    """Return how many moves went toward the peers, and away."""
    return {
        "moves": result.n_moves,
        "toward": result.n_toward,
        "away": result.n_away,
        "undefined": result.n_undefined,
    } | _share(result.share, "share")


def influence_document(result: Influence) -> dict[str, Any]:
    """Return the net pull of each persona, and of each pair."""
    people = list(enumerate(result.personas))
    return {
        "pull": [
            {"persona": name, "of": pull.n_items} | _share(pull, "net")
            for name, pull in ((name, result.net(slice(None), place)) for place, name in people)
        ],
        "cells": [
            {
                "moved": moved,
                "by": by,
                "nearer": int(result.nearer[row, column]),
                "farther": int(result.farther[row, column]),
                "of": int(result.n[row, column]),
            }
            | _share(result.net(row, column), "net")
            for row, moved in people
            for column, by in people
        ],
    }


def rankings_document(result: Reordering) -> dict[str, Any]:
    """Return how far the order of responses and of systems changed."""
    return {
        "pairs": result.n_pairs,
        "swapped": result.n_swapped,
        "tied": result.n_tied,
        "untied": result.n_untied,
        "tau_b": _share(result.tau_b.mean, "value"),
        "systems_tau_b": _share(result.systems_tau_b, "value"),
        "systems": [
            {
                "system": system.system,
                "before": json_number(system.before),
                "after": json_number(system.after),
                "rank_before": system.rank_before,
                "rank_after": system.rank_after,
            }
            for system in result.systems
        ],
    }


def humans_document(nearness: TowardHumans) -> dict[str, Any]:
    """Return whether the panel came closer to people."""
    changes = {"tau_c": nearness.tau_c, "distance": nearness.distance, "spread": nearness.spread}
    return {
        "direction": nearness.direction,
        "reason": nearness.reason,
        "prompts": nearness.n_prompts,
    } | {
        name: change_document(of) | {"p_holm": json_number(of.p_adjusted)}
        for name, of in changes.items()
    }


@dataclass(frozen=True, slots=True)
class DeliberationReport:
    """The effect of deliberation on a run's ratings: of `n_responses` how many were deliberated;
    the means before and after of each judge and dimension; by dimension, the spread across judges;
    whether moves went toward the peers, with and without a stated reason; which persona moved
    which; what changed in the order of responses and systems; by dimension (`all` for the mean of
    several), whether the panel came closer to people, and how their ratings were read; None where
    none were given."""

    n_responses: int
    n_deliberated: int
    judges: dict[Judge, Change]
    dimensions: dict[str, Change]
    spread: dict[str, Change]
    conformity: Mapping[str, Conformity]
    influence: Influence
    rankings: Reordering
    humans: dict[str, TowardHumans] | None
    people: RatingsOrigin | None = None

    def summary(self) -> dict[str, Any]:
        """Return the value of `deliberation` in summary.json: null for what is undefined, with
        `reason` beside it."""
        return {
            "responses": self.n_responses,
            "deliberated": self.n_deliberated,
            "judges": [
                {"judge": judge.id, "persona": judge.persona, "model": judge.model}
                | before_after_document(means)
                for judge, means in self.judges.items()
            ],
            "dimensions": [
                {"dimension": name}
                | before_after_document(means)
                | {"spread": change_document(self.spread[name])}
                for name, means in self.dimensions.items()
            ],
            "conformity": {
                name: conformity_document(moves) for name, moves in self.conformity.items()
            },
            "influence": influence_document(self.influence),
            "rankings": rankings_document(self.rankings),
            "humans": None
            if self.humans is None
            else [
                {"dimension": name} | humans_document(human) for name, human in self.humans.items()
            ],
        }


def deliberation_of(
    revised: CollectedRatings, seed: int, humans: Ratings | None = None
) -> DeliberationReport:
    """Measure the effect of deliberation on a run's ratings by number: a category has no mean to
    move to. `revised`: the ratings before and after; `seed`: of the resampling behind intervals;
    `humans`: what people say of the responses, under names that `align_ratings` takes. Raises
    ValueError: nobody deliberated; InputError: `humans` shares no response or no dimension with the
    run."""
    if revised.before is None:
        raise ValueError("a panel that does not deliberate has no ratings from before")
    rubric, judges, items = revised.rubric, revised.judges, revised.items
    numeric = [d for d, entry in enumerate(rubric.dimensions) if entry.id not in rubric.categories]
    first, last = (side[:, :, numeric] for side in (revised.before, revised.ratings))
    names = [dimension.id for dimension in rubric.numeric]
    revisions = Revisions(
        before=first,
        after=last,
        stated=revised.stated,
        deliberated=revised.deliberated,
        prompts=[item.prompt_id for item in items],
        steps=np.array([step(dimension) for dimension in rubric.numeric], dtype=np.float64),
    )
    wholes: tuple[ArrayLike, ArrayLike] = _mean_of_means(first), _mean_of_means(last)
    if rubric.composite is not None or rubric.rescaled:
        wholes = _composites(revised, revised.before), _composites(revised, revised.ratings)
    toward, people = None, None
    if humans is not None:
        sides = tuple(_ratings(side, judges, items, names) for side in (first, last))
        toward, people = _toward(sides, humans, revisions, rubric=rubric, seed=seed)
    return DeliberationReport(
        n_responses=len(items),
        n_deliberated=int(revised.deliberated.sum()),
        judges=dict(zip(judges, mean_changes(revisions, "judges"), strict=True)),
        dimensions=dict(zip(names, mean_changes(revisions, "dimensions"), strict=True)),
        spread=dict(zip(names, spread(revisions, seed=seed), strict=True)),
        conformity=conformity(revisions),
        influence=influence(revisions, [judge.persona for judge in judges]),
        rankings=reordering(
            *wholes, [item.prompt_id for item in items], [item.system for item in items]
        ),
        humans=toward,
        people=people,
    )


def _composites(revised: CollectedRatings, ratings: NDArray[np.float64]) -> list[float]:
    """Return the composite of each response by the rubric's own rule."""
    return [
        aggregate(
            [
                judgment_of_row(item, judge, row, revised.rubric)
                for judge, row in zip(revised.judges, rows, strict=True)
            ],
            revised.rubric,
        ).composite
        for item, rows in zip(revised.items, ratings.tolist(), strict=True)
    ]


def _mean_of_means(scores: Array) -> Array:
    """Return each response's mean over dimensions of its means over judges."""
    means = mean_there(scores, 1)
    return divide(means.sum(axis=1), scores.shape[2])


def _ratings(
    scores: Array, judges: Sequence[Judge], items: Sequence[Item], dimensions: Sequence[str]
) -> Ratings:
    """Return a run's scores under the names that `load_ratings` gives to those of its folder."""
    return Ratings(
        scores,
        tuple(f"{item.prompt_id}/{item.id}" for item in items),
        tuple(judge.id for judge in judges),
        tuple(dimensions),
        tuple(judge.model for judge in judges),
        tuple(item.prompt_id for item in items),
        tuple(item.system for item in items),
        personas=tuple(judge.persona for judge in judges),
    )


def _toward(
    sides: tuple[Ratings, ...], human: Ratings, revisions: Revisions, *, rubric: Rubric, seed: int
) -> tuple[dict[str, TowardHumans], RatingsOrigin | None]:
    # Only where people have rated.
    from persona_panel.files.aligned_ratings import align_ratings

    file = "human ratings" if human.origin is None else human.origin.file
    ends = {name: (scale.min, scale.max) for name, scale in rubric.numeric_scales.items()}
    scales = {name: (float(low), float(high)) for name, (low, high) in ends.items()}
    (first, humans), (last, _) = (
        align_ratings(replace(side, scales=scales), human, "the run", file) for side in sides
    )
    shared = [name for name in first.dimensions if name in humans.dimensions]
    columns = [first.dimensions.index(name) for name in shared]
    means = [
        row_means(humans.sign * humans.scores[:, :, humans.dimensions.index(name)])
        for name in shared
    ]
    result = toward_humans(
        first.scores[:, :, columns],
        last.scores[:, :, columns],
        rows_of(np.stack(means, axis=1), humans.items, first.items),
        revisions.deliberated,
        revisions.prompts,
        same_scale=not humans.lower_is_better
        and all(humans.scales.get(name) in (None, first.scales.get(name)) for name in shared),
        seed=seed,
    )
    return dict(zip(shared, result, strict=True)), humans.origin
