"""The precision of the means of a run, or of a file of ratings, and what another design would give
and cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from persona_panel.files.aligned_ratings import align_ratings, load_human_ratings
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.ratings import GivenScale, load_ratings
from persona_panel.files.records import ColumnMapping
from persona_panel.models.config import total_cost
from persona_panel.runs.collected import judge_composites
from persona_panel.runs.load import load_run
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import composite_limits, in_points
from persona_panel.statistics.core.estimate import RATED_PROMPTS
from persona_panel.statistics.core.sampled_mean import UNLIMITED
from persona_panel.statistics.core.table import Coverage, Ratings, RatingsOrigin
from persona_panel.statistics.designs import (
    ITEM,
    SYSTEM,
    DesignStudy,
    design_studies,
    rater_groups,
)
from persona_panel.statistics.generalizability import DStudy, Goal

FEW_LEVELS = 5
"""With fewer levels of a facet its variance is rough."""


@dataclass(frozen=True, slots=True)
class JudgmentCost:
    """The average cost of a judgment of this run over its models: calls, and US dollars, None where
    a price is not known."""

    calls: float
    usd: float | None


@dataclass(frozen=True, slots=True)
class PrecisionTarget:
    """The precision that a design is to reach, in points: an interval of a system's mean of this
    `half_width` at most, or this small a `difference` of two systems, detected with 80 % power."""

    kind: Literal["half_width", "difference"]
    points: float

    @property
    def goal(self) -> tuple[Goal, float]:
        """Return the target in the terms of a D-study: widths are from end to end."""
        return ("width", 2 * self.points) if self.kind == "half_width" else (self.kind, self.points)


@dataclass(frozen=True, slots=True)
class DesignReport:
    """The result of `persona-panel plan`: studies of responses and of systems, the composite first,
    and of people's ratings of them (None without any). `cost` is that of a judgment (None for a
    file of ratings), `target` what was asked for, `with_these_judges` the design that reaches it by
    more prompts alone, `cheapest` that with the fewest ratings. Raters are in `grouped` groups, 0
    where they are not. `in_points`: means are points of a scale, and no shares; `rescaled`: the
    composite is of dimensions on different scales; `origin`: how people's ratings were read."""

    studies: tuple[DesignStudy, ...]
    n_systems: int
    cost: JudgmentCost | None
    target: PrecisionTarget | None = None
    with_these_judges: DStudy | None = None
    cheapest: DStudy | None = None
    deliberated: bool = False
    grouped: int = 0
    people: DesignReport | None = None
    coverage: Coverage | None = None
    in_points: bool = True
    rescaled: bool = False
    origin: RatingsOrigin | None = None

    def few(self) -> dict[str, int]:
        """Return the number of levels of each facet that has several and fewer than five."""
        levels = {
            name: n
            for kind in (SYSTEM, ITEM)
            if (study := self.main(kind)) is not None
            for name, n in study.components.levels.items()
            if name not in (SYSTEM, ITEM)
        }
        return {name: n for name, n in levels.items() if 1 < n < FEW_LEVELS}

    def warnings(self) -> list[str]:
        """Return the reasons why the figures are not to be taken at their word."""
        sentences = []
        if self.rescaled:
            sentences.append(
                "Dimensions are on different scales: in the composite each rating counts as the "
                "share of its scale's width, from 0 to 1."
            )
        if self.grouped:
            sentences.append(
                f"Raters are of {self.grouped} groups, whose raters may have something in common "
                "(a model, say): each group's mean counts as one rater. Figures are for groups of "
                "such a size; what more raters in each would give is not known."
            )
        if turns := next(filter(None, (study.in_turn for study in self.studies)), None):
            facet, each, n = turns
            sentences.append(
                f"A response was rated by {each} of {n} {facet}s. Designs are of {facet}s who rate "
                "every response."
            )
        if few := self.few():
            levels = " and ".join(f"{n} {name}s" for name, n in few.items())
            sentences.append(
                f"All figures are rough: they rest on {levels}. From fewer than {FEW_LEVELS} a "
                "variance may be off by a factor of several."
            )
        return sentences

    def main(self, measured: str) -> DesignStudy | None:
        """Return the study of `item` or `system` means that is shown: of the composite, where there
        is one."""
        return next((study for study in self.studies if study.measured == measured), None)

    def calls(self, measured: str, result: DStudy) -> int:
        """Return the calls for all systems, or for one response; a rating is one where it is not
        known."""
        each = 1.0 if self.cost is None else self.cost.calls
        n = self.n_systems if measured == SYSTEM else 1
        return round(n * result.n_ratings * each)

    def usd(self, measured: str, result: DStudy) -> float | None:
        """Return the cost of these calls in US dollars; None where that is not known."""
        if self.cost is None or self.cost.usd is None:
            return None
        n = self.n_systems if measured == SYSTEM else 1
        return n * result.n_ratings * self.cost.usd


def design_report(
    source: str,
    target: PrecisionTarget | None = None,
    human: str | None = None,
    human_mapping: ColumnMapping | None = None,
    *,
    human_scale: GivenScale | None = None,
    allow_unmatched: bool = False,
) -> DesignReport:
    """Report on a run's folder, or a file of ratings as `load_ratings` reads it. `target`: what a
    design is to reach; `human`: people's ratings of the same responses, of which the same is said;
    `human_mapping`, `human_scale`, `allow_unmatched`: of people's ratings; see
    `load_aligned_ratings`. Raises InputError: anything is wrong with it, nothing is rated by
    numbers, or a target is given and systems and prompts are not known or cannot be
    distinguished."""
    ratings = load_ratings(source, min_raters=2)
    run = load_run(source) if Path(source).is_dir() else None
    composites = None if run is None else judge_composites(run, ratings)
    low, high = UNLIMITED if run is None else composite_limits(run.rubric)
    studies = tuple(design_studies(ratings, composites, high - low))
    result = _reaching(
        source, studies, ratings, target, None if run is None else judgment_cost(run)
    )
    if run is not None:
        result = replace(
            result,
            deliberated=run.before is not None,
            coverage=ratings.coverage,
            in_points=in_points(run.rubric),
            rescaled=bool(run.rubric.rescaled),
        )
    if human is None:
        return result
    theirs = load_human_ratings(
        human, human_mapping, min_raters=2, human_scale=human_scale, allow_unmatched=allow_unmatched
    )
    ours, people = align_ratings(ratings, theirs, source, human)
    people = _of_the_same_systems(people, ours)
    # With fewer the panel's means could not be corrected by what people say.
    of_people = _reaching(
        human, tuple(design_studies(people)), people, target, None, fewest_prompts=RATED_PROMPTS
    )
    return replace(result, people=replace(of_people, origin=people.origin))


def _reaching(
    source: str,
    studies: tuple[DesignStudy, ...],
    ratings: Ratings,
    target: PrecisionTarget | None,
    cost: JudgmentCost | None,
    *,
    fewest_prompts: int = 2,
) -> DesignReport:
    """Report on these ratings, with the designs that reach the target."""
    if not studies:
        raise InputError([Fault(source, "categories only", "a dimension that is rated by numbers")])
    systems = next((study for study in studies if study.measured == SYSTEM), None)
    cheapest = present = None
    if target is not None:
        if systems is None or systems.reason is not None or systems.components.levels["prompt"] < 2:
            what = (
                "no sources and prompts"
                if systems is None
                else str(systems.reason or "a single prompt")
            )
            expected = "systems that answered the same prompts, to plan for a precision"
            raise InputError([Fault(source, what, expected)])
        goal, points = target.goal
        cheapest = systems.cheapest(points, goal=goal, fewest_prompts=fewest_prompts)
        present = systems.cheapest(
            points, goal=goal, present_judges=True, fewest_prompts=fewest_prompts
        )
    return DesignReport(
        studies,
        0 if ratings.sources is None else len(set(ratings.sources)),
        cost,
        target,
        present,
        cheapest,
        grouped=len(rater_groups(ratings)),
    )


def _of_the_same_systems(people: Ratings, ours: Ratings) -> Ratings:
    """Return people's ratings of what the panel rated."""
    place = {name: i for i, name in enumerate(ours.items)}
    kept = [i for i, name in enumerate(people.items) if name in place]
    raters = [j for j in range(len(people.raters)) if not np.isnan(people.scores[kept][:, j]).all()]
    of_ours = [place[people.items[i]] for i in kept]
    return replace(
        people,
        scores=people.scores[np.ix_(kept, raters)],
        items=tuple(people.items[i] for i in kept),
        raters=tuple(people.raters[j] for j in raters),
        groups=tuple(people.groups[j] for j in raters),
        personas=None,
        prompts=None if ours.prompts is None else tuple(ours.prompts[i] for i in of_ours),
        sources=None if ours.sources is None else tuple(ours.sources[i] for i in of_ours),
    )


def judgment_cost(run: Run) -> JudgmentCost | None:
    """Return the average cost of a judgment; None where no judgment was made."""
    coverage = run.coverage
    made = coverage.expected - coverage.missing.get("skipped", 0)
    if not made:
        return None
    usd = total_cost(run.prices, run.usage)
    # Replies from the cache are calls of a run that has none yet; of a run that was killed nothing
    # is recorded, and a judgment is a call.
    calls = max(1.0, (run.calls.made + run.calls.cached) / made)
    return JudgmentCost(calls, None if usd is None else usd / made)


def cost_of_prompts(run: Run, n: int) -> float | None:
    """Return what so many new prompts cost, in US dollars, at the average cost of a judgment; None
    where that is not known."""
    each = judgment_cost(run)
    if each is None or each.usd is None:
        return None
    return n * len({item.system for item in run.items}) * len(run.judges) * each.usd
