"""The rows of `correlate`: every registered statistic of a panel compared with people."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from persona_panel.statistics.core.arrays import (
    DEFAULT_OPTIONS,
    AnalysisOptions,
    Array,
    Statistic,
    count_raters,
    row_means,
)
from persona_panel.statistics.core.display import ALL
from persona_panel.statistics.core.registry import Block, OnStep, Registry, StatisticTable
from persona_panel.statistics.core.sampled_mean import UNLIMITED, Limits
from persona_panel.statistics.core.table import (
    HUMANS,
    Ratings,
    Row,
    limits_of_people,
    on_composite,
    ranges_differ,
)
from persona_panel.statistics.strata import (
    PROMPT,
    Strata,
    StratumPart,
    difference_rows,
    parts_of,
    stratum_rows,
    without_permutations,
)

FURTHER_COMPARISONS = StatisticTable("Further comparisons with people")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ComparisonBlock(Block):
    """A panel's and people's ratings of the same items on one dimension, on the composite, or on
    all dimensions together.

    Of the composite and of all dimensions, a rater's rating is the mean over them, NaN where one of
    them is missing.

    Attributes: as of `Block`, and
        judges: `(items, judges)`, higher is better, as of `controls`, NaN where there is no rating;
            of the people's side there are none, `(items, 0)`.
        humans: `(items, humans)`, likewise.

        by_dimension: the ratings of judges and of people on each dimension.
        judges_sign, humans_sign: the factor that turns a side's ratings back into the given ones.
        sources: one an item, None where there are none.
        same_scale: whether both sides give scores, or both ranks.
        other_scale: whether their scores are known to be on different scales, of all dimensions
            together also those of two dimensions.
        judge_names, human_names: of the columns of `judges` and `humans`.
        limits: the ends of the given ratings' scale, of the side whose figures are computed.
    """

    judges: Array
    humans: Array
    by_dimension: Mapping[str, tuple[Array, Array]]
    judges_sign: int
    humans_sign: int
    sources: list[Hashable] | None
    same_scale: bool
    judge_names: tuple[str, ...]
    human_names: tuple[str, ...]
    other_scale: bool = False
    limits: Limits = UNLIMITED

    def _further(self) -> dict[str, bool]:
        return {"sources": self.sources is not None, "same_scale": self.same_scale}

    @property
    def panel_mean(self) -> Array:
        """Return the mean of the judges who rated an item `(items,)`."""
        return row_means(self.judges)

    @property
    def target(self) -> Array:
        """Return people's mean score, with which the panel is compared `(items,)`."""
        return row_means(self.humans)

    def of_both(self, result: Statistic) -> Statistic:
        """Return a statistic of two means, with all raters counted who rated anything."""
        return replace(result, n_raters=count_raters(self.judges) + count_raters(self.humans))


comparison_statistics: Registry[ComparisonBlock] = Registry(
    "persona_panel.statistics.registered", FURTHER_COMPARISONS
)
"""The statistics of `correlate`."""


def correlate(
    panel: Ratings,
    humans: Ratings,
    options: AnalysisOptions = DEFAULT_OPTIONS,
    on_step: OnStep | None = None,
    only: Collection[str] | None = None,
    by: Literal["dimension"] | Strata = "dimension",
) -> list[Row]:
    """Return every comparison of a panel with people, for each group of judges and dimension.

    The panel's score is the mean of its judges, people's that of theirs; only items and dimensions
    that both name are compared. What people achieve in the panel's place has the group `humans`. κ
    and α need one scale: they are left out where one side gives ranks and the other scores, and
    undefined on different scales; the custom loss is there where all its dimensions are, in [0, 1].
    Of categories the labels are compared, by majority and each judge.

    Prompts and sources are people's, or the panel's where people name none. Intervals are over
    prompts, or items where there are none. p-values are from permutations: of correlations within
    prompts inside these, without prompts over all items; adjusted by Holm over dimensions. Rows of
    the `composite` come first, where it is the mean of several dimensions that people rated, too;
    its p-values are a family of their own. `on_step` is called with the share that is done; `only`
    names the comparisons to compute.

    `by` strata of the panel's items or judges there are rows of each stratum, which the rows' `by`
    and `by_value` name; of judges all of a stratum are one group, `all`. Statistics that have rows
    of several kinds are then shown by their main row alone, and strata without an item of the
    people's left out; p-values are adjusted over strata, too.
    """
    strata = None if by == "dimension" else by
    parts = _parts(panel, humans, options, strata)
    return stratum_rows(comparison_statistics, parts, strata, on_step, only)


def correlation_differences(
    panel: Ratings,
    humans: Ratings,
    by: Literal["dimension"] | Strata,
    options: AnalysisOptions = DEFAULT_OPTIONS,
) -> list[Row]:
    """Test whether the panel agrees with people more in one stratum, or on one dimension, than on
    the others, and return rows of all judges together, of strata also on the composite; see
    `persona_panel.statistics.strata`."""
    strata = None if by == "dimension" else by
    parts = _parts(panel, humans, without_permutations(options), strata)
    return difference_rows(comparison_statistics, parts, panel, strata)


def _parts(
    panel: Ratings, humans: Ratings, options: AnalysisOptions, strata: Strata | None
) -> list[StratumPart[ComparisonBlock]]:
    parts = _parts_of(panel, humans, options, strata)
    if (sides := on_composite(panel, humans)) is None:
        return parts
    ours, theirs = sides
    names = panel.composite_of or panel.numeric().dimensions
    other = any(_on_other_scales(panel, humans, name) for name in names)
    of_composite = [
        (stratum, replace(block, of="composite", other_scale=other), group, dimension)
        for stratum, block, group, dimension in _parts_of(ours, theirs, options, strata)
        if block.of == "dimension"
    ]
    return [*of_composite, *parts]


def _parts_of(
    panel: Ratings, humans: Ratings, options: AnalysisOptions, strata: Strata | None
) -> list[StratumPart[ComparisonBlock]]:
    _shared(panel, humans)  # for what it refuses, of all strata together
    of_raters = strata is not None and strata.of == "raters"
    if strata is not None and strata.by == PROMPT:
        humans = replace(humans, prompts=None)
    known = set(humans.items)

    def blocks(own: Ratings) -> list[tuple[ComparisonBlock, str, str]]:
        if not known.intersection(own.items):
            return []
        own = replace(own, groups=(ALL,) * len(own.raters)) if of_raters else own
        # People are the same in each stratum of raters.
        return [
            each for each in _blocks(own, humans, options) if not of_raters or each[1] != HUMANS
        ]

    return parts_of(panel, strata, blocks)


def _blocks(
    panel: Ratings, humans: Ratings, options: AnalysisOptions
) -> list[tuple[ComparisonBlock, str, str]]:
    ours, theirs, dimensions = _shared(panel, humans)
    numeric = [name for name in dimensions if name not in panel.categories]
    prompts, sources = (
        list[Hashable](labels) if labels else None
        for labels in (theirs.prompts or ours.prompts, theirs.sources or ours.sources)
    )
    sides: dict[str, tuple[Literal["panel", "humans"], list[int]]] = {
        HUMANS: ("humans", []),
        **{group: ("panel", raters) for group, raters in panel.raters_by_group().items()},
    }
    nothing = np.empty((len(theirs.items), 0))
    blocks: dict[str, ComparisonBlock] = {}
    for group, (side, raters) in sides.items():
        by_dimension = {
            name: (_on(ours, name)[:, raters], _on(theirs, name)) for name in dimensions
        }
        judges, people = (
            np.mean([by_dimension[name][of] for name in numeric], axis=0) if numeric else nothing
            for of in (0, 1)
        )
        blocks[group] = ComparisonBlock(
            side=side, judges=judges, humans=people,
            by_dimension=by_dimension, judges_sign=panel.sign, humans_sign=humans.sign,
            prompts=prompts, sources=sources, options=options, controls=nothing,
            clusters=prompts or list[Hashable](theirs.items),
            same_scale=panel.lower_is_better == humans.lower_is_better,
            judge_names=tuple(panel.raters[rater] for rater in raters),
            human_names=humans.raters, of="all",
        )  # fmt: skip
    every: list[tuple[ComparisonBlock, str, str]] = []
    for dimension in dimensions:
        for group, whole in blocks.items():
            judges, people = whole.by_dimension[dimension]
            block = replace(
                whole,
                judges=judges,
                humans=people,
                controls=_on(ours, dimension)[:, panel.controls_of(group)],
                categories=panel.categories.get(dimension, ()),
                of="dimension",
                other_scale=_on_other_scales(panel, humans, dimension),
                limits=(
                    limits_of_people(panel, humans, dimension)
                    if whole.side == "humans"
                    else panel.scales.get(dimension, UNLIMITED)
                ),
            )
            every.append((block, group, dimension))
    if numeric:
        other = _dimensions_differ(panel, humans, numeric)
        for group, whole in blocks.items():
            own = {name: whole.by_dimension[name] for name in numeric}
            every.append((replace(whole, by_dimension=own, other_scale=other), group, ALL))
    return every


def _dimensions_differ(panel: Ratings, humans: Ratings, numeric: Sequence[str]) -> bool:
    """Return whether dimensions, or the two sides of one, lie on different scales."""
    sides = panel, humans
    known = [{side.scales.get(name) for name in numeric} for side in sides]
    apart = any(_on_other_scales(panel, humans, name) for name in numeric)
    return apart or any(len(scales) > 1 for scales in known) or ranges_differ(sides, numeric)


def _on(ratings: Ratings, dimension: str) -> Array:
    """Return `(items, raters)`, higher is better; of categories, their codes."""
    sign = 1 if dimension in ratings.categories else ratings.sign
    return sign * ratings.scores[:, :, ratings.dimensions.index(dimension)]


def _shared(panel: Ratings, humans: Ratings) -> tuple[Ratings, Ratings, list[str]]:
    """Return both sides' ratings of the items that both name, and the dimensions that both have."""
    if HUMANS in panel.groups:
        raise ValueError(f"a group of judges is called {HUMANS!r}, the name of the other side")
    place = {name: index for index, name in enumerate(panel.items)}
    shared = [index for index, name in enumerate(humans.items) if name in place]
    dimensions = [name for name in humans.dimensions if name in panel.dimensions]
    if not shared or not dimensions:
        raise ValueError(f"panel and people share no {'dimension' if shared else 'item'}")
    for name in dimensions:
        if panel.categories.get(name) != humans.categories.get(name):
            raise ValueError(
                f"panel and people have different categories of {name!r}; `load_aligned_ratings` "
                "gives both the same"
            )
    ours = panel.of_items([place[humans.items[index]] for index in shared])
    return ours, humans.of_items(shared), dimensions


def _on_other_scales(panel: Ratings, humans: Ratings, dimension: str) -> bool:
    """Return whether a dimension's scores are known to be on different scales."""
    sides = panel, humans
    scores = [side.scores[:, :, side.dimensions.index(dimension)] for side in sides]
    if dimension in panel.categories or any(np.isnan(own).all() for own in scores):
        return False
    ours, theirs = (side.scales.get(dimension) for side in sides)
    if ours is not None and theirs is not None:
        return ours != theirs
    for scale, others in ((ours, scores[1]), (theirs, scores[0])):
        if scale is not None:
            return bool(np.nanmin(others) < scale[0] or np.nanmax(others) > scale[1])
    shares = [
        bool(np.nanmin(own) >= 0 and np.nanmax(own) <= 1 and (own % 1 > 0).any()) for own in scores
    ]
    return shares[0] != shares[1] and bool(np.nanmax(scores[shares[0]]) > 1)
