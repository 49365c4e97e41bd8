"""Which of two panels is closer to people's ratings of the same texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from persona_panel.analyses.comparison.matching import Matched
from persona_panel.analyses.comparison.opened_run import OpenedRun
from persona_panel.analyses.comparison.scored_terms import ScoredTerms
from persona_panel.files.aligned_ratings import align_ratings
from persona_panel.files.errors import Fault, InputError
from persona_panel.runs.scale_limits import on_limits
from persona_panel.statistics.annotators import compared_advantages
from persona_panel.statistics.core.arrays import Array, row_means, rows_of
from persona_panel.statistics.core.display import ALL, COMPOSITE
from persona_panel.statistics.core.table import Ratings, RatingsOrigin
from persona_panel.statistics.paired import NearerToPeople, nearer_to_people


def nearer_of(
    a: OpenedRun,
    b: OpenedRun,
    matched: Matched,
    terms: ScoredTerms,
    people: Ratings,
    people_name: str,
    epsilon: float | None,
) -> tuple[dict[str, NearerToPeople], RatingsOrigin | None]:
    """Compare by dimension which of two panels is closer to people's ratings; say how these were
    read, and how many of their items the runs have.

    Items and dimensions have the names that `align_ratings` takes; ratings that name no dimension
    are compared with the composite, and so is the mean over dimensions of people who rated them
    all.

    Raises:
        InputError: the runs have other texts, or people rated none of them, or no dimension.
    """
    if matched.compared == "texts":
        raise InputError(
            [
                Fault(
                    people_name,
                    f"ratings for runs with other texts, {a.name} and {b.name}",
                    "two panels on the same texts, to find which is closer to people; "
                    "`people correlate` compares one run with people",
                )
            ]
        )
    ours = _scores(a, matched, terms)
    ours, theirs = align_ratings(ours, people, f"{a.name} and {b.name}", people_name)
    result = {}
    prompts = [pair.prompt_id for pair in matched.pairs]
    for name, rated in _targets(ours, theirs):
        paired = terms.paired[name]
        raters = rows_of(theirs.sign * rated, theirs.items, ours.items)
        sides = paired.a, paired.b
        called = name if name in theirs.dimensions else ALL
        same_scale = on_limits(theirs, called, rated, terms.limits[name])
        same_scale = same_scale and not theirs.lower_is_better
        result[name] = replace(
            nearer_to_people(*sides, row_means(raters), prompts, same_scale=same_scale),
            advantages=compared_advantages(
                *sides, raters, prompts, epsilon=epsilon, same_scale=same_scale
            ),
            n_people=theirs.n_raters_of(ours),
        )
    return result, theirs.origin


def _scores(a: OpenedRun, matched: Matched, terms: ScoredTerms) -> Ratings:
    """Return the first panel's scores as those of one rater, under the names of its run's
    ratings."""
    items = [a.run.items[pair.a_rows[0]] for pair in matched.pairs]
    numeric = [name for name in terms.paired if name == COMPOSITE or name in a.run.dimensions]
    return Ratings(
        np.stack([terms.paired[name].a for name in numeric], axis=1)[:, None],
        tuple(f"{item.prompt_id}/{item.id}" for item in items),
        ("panel",),
        tuple(ALL if name == COMPOSITE else name for name in numeric),
        ("panel",),
        prompts=tuple(item.prompt_id for item in items),
        sources=tuple(item.system for item in items),
        scales={ALL if name == COMPOSITE else name: terms.limits[name] for name in numeric},
    )


def _targets(ours: Ratings, theirs: Ratings) -> Iterator[tuple[str, Array]]:
    """Return by dimension people's ratings `(items, people)` of all that they rated."""
    numeric = theirs.numeric()
    names = [name for name in ours.dimensions if name in numeric.dimensions]
    single = set(ours.dimensions) - {ALL}
    if ALL in ours.dimensions and ALL not in names and single == set(numeric.dimensions):
        yield COMPOSITE, numeric.composite().scores[:, :, 0]
    for name in names:
        rated = numeric.scores[:, :, numeric.dimensions.index(name)]
        yield (COMPOSITE if name == ALL else name), rated
