"""The effective number of votes of a run's personas, replicates without a persona, and models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from persona_panel.files.aligned_ratings import align_ratings
from persona_panel.files.errors import Fault, InputError
from persona_panel.graphs import Judge
from persona_panel.rubrics import Rubric
from persona_panel.runs.collected import RatingsSoFar, judge_composites
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import (
    SHARE,
    are_preferences,
    mean_limits,
    on_limits,
)
from persona_panel.statistics.core.arrays import Array, row_means, rows_of
from persona_panel.statistics.core.display import ALL, COMPOSITE
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.core.jackknife import FOR_A_CORRELATION
from persona_panel.statistics.core.sampled_mean import Limits
from persona_panel.statistics.core.table import Coverage, Ratings, RatingsOrigin
from persona_panel.statistics.human_raters import mean_reliability
from persona_panel.statistics.votes import Votes, all_alike, effective_votes

if TYPE_CHECKING:
    from persona_panel.statistics.selection import EnsembleDistance

PERSONAS = "personas"
REPLICATES = "replicates without a persona"
REPEATED = "replicates of a persona"
MODELS = "models"


@dataclass(frozen=True, slots=True)
class DimensionVotes:
    """The votes on one dimension, on the `composite`, or on `all`: the only dimension, or the mean
    over dimensions, of people who name none. Sources of which the run has two or more, personas
    first, and their differences; with people, the distance of the panel and its best judge from
    them (in points, and no share, where `in_points`), the judge that was best on the other prompts,
    and the reliability of people's mean, NaN where it cannot be estimated."""

    dimension: str
    sources: tuple[Votes, ...]
    differences: tuple[Difference, ...]
    distance: EnsembleDistance | None = None
    best: str | None = None
    reliability: float = nan
    in_points: bool = True


@dataclass(frozen=True, slots=True)
class VotesReport:
    """The result of `persona-panel people votes`: the dimensions, the composite first, where there
    is one; how many people and judges rated; whether judges saw each other's ratings, and so were
    no longer independent; how many judgments there are; how people's ratings were read; what the
    run lacks to compare personas with a plain judge, as `lacking_judges` says it."""

    dimensions: tuple[DimensionVotes, ...]
    n_people: int
    n_judges: int
    deliberated: bool
    coverage: Coverage | None
    people: RatingsOrigin | None = None
    lacks: str = ""

    @property
    def main(self) -> DimensionVotes:
        """Return the composite, or the first dimension where there is none."""
        return self.dimensions[0]


def votes_of(
    run: Run,
    ratings: Ratings,
    humans: Ratings | None = None,
    names: tuple[str, str] = ("the run", "the human ratings"),
) -> VotesReport:
    """Report on a run that was read. `ratings`: those of its folder; `humans`: people's ratings of
    its responses; `names`: what both are called in faults. Raises InputError: people's ratings do
    not match the run's, nothing is rated by numbers, or no two judges of the run differ in persona,
    model or replicate alone."""
    sources = _sources({judge.id: judge for judge in run.judges}, ratings)
    if not any(len(item) > 1 for sets in sources.values() for item in sets):
        raise InputError(
            [Fault(names[0], "a single judge", "two personas, models or replicates at least")]
        )
    people: Ratings | None = None
    lacks = lacking_judges(run, ratings)
    scores = _scores(ratings, judge_composites(run, ratings))
    if humans is not None:
        ratings, people = align_ratings(ratings, humans, *names)
        scores = _shared_scores(ratings, people)
    if not scores:
        expected = "a dimension that is rated by numbers"
        raise InputError([Fault(names[0], "categories only", expected)])
    judges = ratings.panel_columns
    return VotesReport(
        tuple(
            _of_dimension(name, each, sources, ratings, people, judges, run.rubric)
            for name, each in scores.items()
        ),
        0 if people is None else people.n_raters_of(ratings),
        len(judges),
        run.before is not None,
        ratings.coverage,
        None if people is None else people.origin,
        lacks,
    )


def are_identical_replicates(run: RatingsSoFar, columns: Sequence[int]) -> bool:
    """Return whether these judges are replicates of one, all of which gave the same ratings: how
    far they agree says nothing."""
    judges = {replace(run.judges[column], replicate=1) for column in columns}
    by_judge = np.moveaxis(run.ratings[:, columns], 1, 2).reshape(-1, len(columns))
    return len(columns) > 1 and len(judges) == 1 and all_alike(by_judge)


def lacking_judges(run: Run, ratings: Ratings) -> str:
    """Return what a run lacks to compare personas with a plain judge; empty where nothing."""
    if not any(judge.has_persona for judge in run.judges):
        return "no judge with a persona"
    if ratings.controls:
        return ""
    if run.deterministic:
        return "needs --plain-judge and people's ratings (--human)"
    few = len({item.prompt_id for item in run.items}) < FOR_A_CORRELATION.clusters
    return f"needs --plain-judge{' and at least five prompts' if few else ''}"


def _of_dimension(
    name: str,
    scores: Array,
    sources: Mapping[str, list[list[int]]],
    ratings: Ratings,
    people: Ratings | None,
    judges: list[int],
    rubric: Rubric,
) -> DimensionVotes:
    # Of people who name no dimension `all` may be the only dimension of the rubric, or a mean that
    # is not its composite.
    is_composite = name == ALL and ALL not in ratings.labels
    called = COMPOSITE if is_composite else name
    if people is None:
        result, differences = effective_votes(scores, sources, None, ratings.prompts)
        return DimensionVotes(called, tuple(result), tuple(differences))
    from persona_panel.statistics.selection import ensemble_distance

    reference = _people_on(name, ratings, people)
    result, differences = effective_votes(scores, sources, reference, ratings.prompts)
    panel = scores[:, judges]
    same_scale = on_limits(people, name, reference, _limits(name, ratings, people, rubric))
    distance = ensemble_distance(
        panel,
        row_means(reference),
        ratings.prompts,
        same_scale=same_scale and not people.lower_is_better,
    )
    return DimensionVotes(
        called,
        tuple(result),
        tuple(differences),
        distance,
        None if distance.chosen is None else ratings.raters[judges[distance.chosen]],
        mean_reliability(reference).value,
        not are_preferences(rubric),
    )


def _limits(name: str, ratings: Ratings, people: Ratings, rubric: Rubric) -> Limits:
    """Return the lowest and highest score of a judge on a dimension, or of their mean over those
    that it is of."""
    every = [item.id for item in rubric.numeric]
    shared = [each for each in every if each in people.dimensions] or every
    ends = mean_limits(rubric, [name] if name in every else shared)
    if len(set(ends)) > 1:
        # Their mean is of shares of these scales.
        return SHARE
    return sum(low for low, _ in ends) / len(ends), sum(high for _, high in ends) / len(ends)


def _sources(judges: Mapping[str, Judge], ratings: Ratings) -> dict[str, list[list[int]]]:
    """Return for each thing that judges differ in the columns of those who differ in nothing
    else."""
    sources: dict[str, dict[tuple[object, ...], list[int]]] = {
        PERSONAS: {}, REPLICATES: {}, REPEATED: {}, MODELS: {}
    }  # fmt: skip
    for column, name in enumerate(ratings.raters):
        judge = judges[name]
        persona, model, asked, replicate = (
            judge.persona, judge.model, judge.elicitation, judge.replicate
        )  # fmt: skip
        if not judge.has_persona:
            sources[REPLICATES].setdefault((model, asked), []).append(column)
            if name in ratings.controls:
                continue
        else:
            sources[PERSONAS].setdefault((model, asked, replicate), []).append(column)
            sources[REPEATED].setdefault((persona, model, asked), []).append(column)
        sources[MODELS].setdefault((persona, asked, replicate), []).append(column)
    return {name: list(sets.values()) for name, sets in sources.items()}


def _scores(ratings: Ratings, composites: Array | None) -> dict[str, Array]:
    """Return each judge's score of each response, by dimension `(responses, judges)`."""
    numeric = ratings.numeric()
    scores = {name: numeric.scores[:, :, d] for d, name in enumerate(numeric.dimensions)}
    if composites is not None:
        return {ALL: composites, **scores}
    return {ALL: numeric.composite().scores[:, :, 0], **scores} if len(scores) > 1 else scores


def _shared_scores(ratings: Ratings, people: Ratings) -> dict[str, Array]:
    """Return the scores on the dimensions that people rated, too, and on their mean."""
    return {
        name: each
        for name, each in _scores(_on_shared(ratings, people), None).items()
        if name == ALL or name in people.numeric().dimensions
    }


def _on_shared(ratings: Ratings, other: Ratings) -> Ratings:
    numeric, known = ratings.numeric(), other.numeric().dimensions
    kept = [d for d, name in enumerate(numeric.dimensions) if name in known]
    return Ratings(
        numeric.scores[:, :, kept],
        numeric.items,
        numeric.raters,
        tuple(numeric.dimensions[d] for d in kept),
        numeric.groups,
        scales={name: ends for name, ends in numeric.scales.items() if name in known},
    )


def _people_on(name: str, ratings: Ratings, people: Ratings) -> Array:
    """Return people's ratings on a dimension, in the order of the run's responses."""
    scored = _scores(_on_shared(people, ratings), None)[name]
    return rows_of(scored, people.items, ratings.items)
