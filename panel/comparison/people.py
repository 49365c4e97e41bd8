"""Which of two panels is nearer to people's ratings of the same texts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from panel.comparison.matching import Matched
from panel.comparison.opened_run import OpenedRun
from panel.comparison.scored_terms import ScoredTerms
from panel.conclusions.compare import COMPOSITE
from panel.errors import Fault, InputError
from panel.io.aligned_ratings import align_ratings
from panel.statistics.core.arrays import Array, row_means
from panel.statistics.core.ranking import Limits
from panel.statistics.core.table import ALL, Ratings
from panel.statistics.paired.panels import NearerToPeople, nearer_to_people


def nearer_of(
    a: OpenedRun,
    b: OpenedRun,
    matched: Matched,
    terms: ScoredTerms,
    people: Ratings,
    people_name: str,
) -> dict[str, NearerToPeople]:
    """By dimension, which of two panels is nearer to the mean of people's ratings.

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
                    "two panels on the same texts, to find which is nearer to people; "
                    f"`persona-panel correlate {b.name} --human {people_name}` compares one run "
                    "with people",
                )
            ]
        )
    ours = _scores(a, matched, terms)
    ours, theirs = align_ratings(ours, people, f"{a.name} and {b.name}", people_name)
    found = {}
    for name, target, rated in _targets(ours, theirs):
        paired = terms.paired[name]
        found[name] = nearer_to_people(
            paired.a,
            paired.b,
            target,
            [pair.prompt_id for pair in matched.pairs],
            same_scale=_lie_in(rated, terms.limits[name]) and not theirs.lower_is_better,
        )
    return found


def _scores(a: OpenedRun, matched: Matched, terms: ScoredTerms) -> Ratings:
    """The first panel's scores as those of one rater, under the names of its run's ratings."""
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
    )


def _targets(ours: Ratings, theirs: Ratings) -> Iterator[tuple[str, Array, Array]]:
    """By dimension, people's mean of each of our items, and all their ratings."""
    numeric = theirs.numeric()
    names = [name for name in ours.dimensions if name in numeric.dimensions]
    single = set(ours.dimensions) - {ALL}
    if ALL in ours.dimensions and ALL not in names and single == set(numeric.dimensions):
        whole = numeric.composite()
        yield COMPOSITE, _means(whole, ALL, ours), whole.scores
    for name in names:
        rated = numeric.scores[:, :, numeric.dimensions.index(name)]
        yield (COMPOSITE if name == ALL else name), _means(numeric, name, ours), rated


def _means(theirs: Ratings, name: str, ours: Ratings) -> Array:
    means = row_means(theirs.sign * theirs.scores[:, :, theirs.dimensions.index(name)])
    place = {item: row for row, item in enumerate(theirs.items)}
    return np.array([means[place[item]] if item in place else np.nan for item in ours.items])


def _lie_in(scores: Array, limits: Limits) -> bool:
    there = scores[~np.isnan(scores)]
    return bool(len(there) and there.min() >= limits[0] and there.max() <= limits[1])
