"""What deliberation did to a run, put together: for summary.json, the terminal and the API.

The statistics are `panel.statistics`'s; here their results get the names of judges,
responses and dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphs import Judge
from panel.batch import Item
from panel.run import number
from panel.statistics.arrays import divide, row_means
from panel.statistics.conformity import (
    Conformities,
    Conformity,
    Influence,
    conformity,
    influence,
)
from panel.statistics.deliberation import (
    BeforeAfter,
    Change,
    Revisions,
    by_dimension,
    by_judge,
    spread,
)
from panel.statistics.estimate import Estimate
from panel.statistics.reordering import Reordering, reordering
from panel.statistics.table import Ratings
from panel.statistics.toward_humans import TowardHumans, toward_humans

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DeliberationReport:
    """What deliberation did.

    Attributes:
        n_responses: how many there were, of which `n_deliberated` were deliberated.
        judges: each judge's means before and after, in the panel's order.
        dimensions: each dimension's.
        spread: by dimension, the standard deviation across judges.
        conformity: whether moves went toward the peers, with and without a stated reason.
        influence: which persona moved which.
        rankings: what changed in the order of responses and systems.
        humans: by dimension (`all` for the mean of several), whether the panel came nearer
            to the humans; None where no human ratings were given.
    """

    n_responses: int
    n_deliberated: int
    judges: dict[Judge, BeforeAfter]
    dimensions: dict[str, BeforeAfter]
    spread: dict[str, Change]
    conformity: Conformities
    influence: Influence
    rankings: Reordering
    humans: dict[str, TowardHumans] | None

    def summary(self) -> dict[str, Any]:
        """What summary.json holds under `deliberation`: null for what is undefined, with
        `reason` beside it."""
        return {
            "responses": self.n_responses,
            "deliberated": self.n_deliberated,
            "judges": [
                {"judge": judge.id, "persona": judge.persona, "model": judge.model}
                | _before_after(means)
                for judge, means in self.judges.items()
            ],
            "dimensions": [
                {"dimension": name} | _before_after(means) | {"spread": _change(self.spread[name])}
                for name, means in self.dimensions.items()
            ],
            "conformity": {
                "all": _conformity(self.conformity.all),
                "stated": _conformity(self.conformity.stated),
                "unstated": _conformity(self.conformity.unstated),
            },
            "who_moved_whom": _influence(self.influence),
            "rankings": _rankings(self.rankings),
            "humans": None
            if self.humans is None
            else [{"dimension": name} | _humans(found) for name, found in self.humans.items()],
        }


def deliberation_of(
    before: ArrayLike,
    after: ArrayLike,
    stated: ArrayLike,
    deliberated: ArrayLike,
    judges: Sequence[Judge],
    items: Sequence[Item],
    dimensions: Sequence[str],
    steps: ArrayLike,
    seed: int,
    human: Ratings | None = None,
    *,
    same_scale: bool = False,
    composites: tuple[ArrayLike, ArrayLike] | None = None,
) -> DeliberationReport:
    """What deliberation did to a run.

    Args:
        before, after: `(responses, judges, dimensions)`, the first and the last scores, NaN
            where missing; equal where a response was not deliberated. Numbers only: a
            category has no mean to move to.
        stated: `(responses, judges)`, whether the judge said what changed its mind.
        deliberated: `(responses,)`.
        judges, items, dimensions: what the axes are.
        steps: `(dimensions,)`, the distance of neighbouring ratings on each scale.
        seed: of the resampling behind intervals.
        human: what humans say of the responses, under names as `panel.files.beside` takes them.
        same_scale: whether humans rated on the panel's scales, so that distances mean
            something; without effect where they gave ranks.
        composites: `(responses,)` before and after, by the rubric's own rule; without them
            the mean of the dimensions' means.

    Raises:
        ValueError: shapes do not fit.
        InputError: `human` shares no response or no dimension with the run.
    """
    first, last = (np.asarray(side, dtype=np.float64) for side in (before, after))
    contested = np.asarray(deliberated, dtype=bool)
    revisions = Revisions(
        before=first,
        after=last,
        stated=np.asarray(stated, dtype=bool),
        deliberated=contested,
        prompts=[item.prompt_id for item in items],
        steps=np.asarray(steps, dtype=np.float64),
    )
    first_whole, last_whole = composites or (_composite(first), _composite(last))
    return DeliberationReport(
        n_responses=len(items),
        n_deliberated=int(contested.sum()),
        judges=dict(zip(judges, by_judge(revisions), strict=True)),
        dimensions=dict(zip(dimensions, by_dimension(revisions), strict=True)),
        spread=dict(zip(dimensions, spread(revisions, seed=seed), strict=True)),
        conformity=conformity(revisions),
        influence=influence(revisions, [judge.persona for judge in judges]),
        rankings=reordering(
            first_whole,
            last_whole,
            [item.prompt_id for item in items],
            [item.system for item in items],
        ),
        humans=None
        if human is None
        else _toward(
            tuple(_ratings(side, judges, items, dimensions) for side in (first, last)),
            human,
            revisions,
            same_scale=same_scale,
            seed=seed,
        ),
    )


def _composite(scores: Array) -> Array:
    """Each response's mean over dimensions of its means over judges."""
    means = divide(np.nansum(scores, axis=1), np.sum(~np.isnan(scores), axis=1))
    return divide(means.sum(axis=1), scores.shape[2])


def _ratings(
    scores: Array, judges: Sequence[Judge], items: Sequence[Item], dimensions: Sequence[str]
) -> Ratings:
    """A run's scores under the names that `load_ratings` gives to those of its folder."""
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
    sides: tuple[Ratings, ...],
    human: Ratings,
    revisions: Revisions,
    *,
    same_scale: bool,
    seed: int,
) -> dict[str, TowardHumans]:
    # It reads files, and with them pyarrow.
    from panel.files.beside import beside

    (first, humans), (last, _) = (beside(side, human, "the run", "human ratings") for side in sides)
    place = {name: row for row, name in enumerate(humans.items)}
    rows = [place.get(name) for name in first.items]
    shared = [name for name in first.dimensions if name in humans.dimensions]
    columns = [first.dimensions.index(name) for name in shared]
    means = [
        row_means(humans.sign * humans.scores[:, :, humans.dimensions.index(name)])
        for name in shared
    ]
    found = toward_humans(
        first.scores[:, :, columns],
        last.scores[:, :, columns],
        np.array(
            [[math.nan if row is None else mean[row] for mean in means] for row in rows],
        ),
        revisions.deliberated,
        revisions.prompts,
        same_scale=same_scale and not humans.lower_is_better,
        seed=seed,
    )
    return dict(zip(shared, found, strict=True))


def _before_after(means: BeforeAfter) -> dict[str, Any]:
    return {
        "before": number(means.before),
        "after": number(means.after),
        "change": number(means.change),
        "moved": means.n_moved,
        "of": means.n,
        "reason": means.reason,
    }


def _change(change: Change) -> dict[str, Any]:
    interval = change.interval
    return {
        "before": number(change.before),
        "after": number(change.after),
        "change": number(change.change),
        "ci_low": None if interval is None else number(interval.low),
        "ci_high": None if interval is None else number(interval.high),
        "prompts": 0 if interval is None else interval.n_clusters,
        "responses": change.n_items,
        "reason": change.reason or (interval.reason if interval else None),
    }


def _share(estimate: Estimate, name: str) -> dict[str, Any]:
    return {name: number(estimate.value), "reason": estimate.reason}


def _conformity(found: Conformity) -> dict[str, Any]:
    return {
        "moves": found.n_moves,
        "toward": found.n_toward,
        "away": found.n_away,
        "undefined": found.n_undefined,
    } | _share(found.share, "share")


def _influence(found: Influence) -> dict[str, Any]:
    people = list(enumerate(found.personas))
    return {
        "pull": [
            {"persona": name, "of": (pull := found.pull(place)).n_items} | _share(pull, "net")
            for place, name in people
        ],
        "cells": [
            {
                "moved": moved,
                "by": by,
                "nearer": int(found.nearer[row, column]),
                "farther": int(found.farther[row, column]),
                "of": int(found.n[row, column]),
            }
            | _share(found.cell(row, column), "net")
            for row, moved in people
            for column, by in people
        ],
    }


def _rankings(found: Reordering) -> dict[str, Any]:
    return {
        "pairs": found.n_pairs,
        "swapped": found.n_swapped,
        "tied": found.n_tied,
        "untied": found.n_untied,
        "tau_b": _share(found.tau_b.mean, "value"),
        "systems_tau_b": _share(found.systems_tau_b, "value"),
        "systems": [
            {
                "system": one.system,
                "before": number(one.before),
                "after": number(one.after),
                "rank_before": one.rank_before,
                "rank_after": one.rank_after,
            }
            for one in found.systems
        ],
    }


def _humans(found: TowardHumans) -> dict[str, Any]:
    return {
        "direction": found.direction,
        "reason": found.reason,
        "prompts": found.n_prompts,
        "tau_c": _change(found.tau_c) | {"p_holm": number(found.p_tau_c)},
        "distance": _change(found.distance) | {"p_holm": number(found.p_distance)},
        "spread": _change(found.spread) | {"p_holm": number(found.p_spread)},
    }
