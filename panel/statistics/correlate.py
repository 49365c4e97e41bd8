"""A panel against humans: every statistic, as rows, with the humans' own figure beside it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import nan
from typing import get_args

import numpy as np

from panel.statistics.added_raters import added_raters
from panel.statistics.arrays import Array, row_means
from panel.statistics.bootstrap import resampled_mean
from panel.statistics.ceiling import (
    human_ceiling,
    human_ceiling_by_prompt,
    resampled_human_ceiling,
)
from panel.statistics.correlation import Correlation, resampled_correlation, within_prompts
from panel.statistics.estimate import Estimate, Reason
from panel.statistics.losses import CUSTOM_DIMENSIONS, Loss, custom_loss, pairwise_error
from panel.statistics.measures import Measure, hold_over_dimensions, over, rows_of, subset_of
from panel.statistics.permutation import correlation_test
from panel.statistics.preferences import preferences, resampled_preferences
from panel.statistics.prompts import over_prompts, resampled_over_prompts
from panel.statistics.ranks import ranks_within
from panel.statistics.sources import source_means
from panel.statistics.substitution import MeanKappa, resampled_substitution, substitution
from panel.statistics.table import ALL, DEFAULTS, Ratings, Row, Settings
from panel.statistics.worth import effective_judges, resampled_effective_judges

HUMANS = "humans"
"""The group of rows that say what humans achieve in the panel's place."""

KINDS: tuple[Correlation, ...] = get_args(Correlation)

Labelled = list[Hashable] | None


@dataclass(frozen=True, slots=True)
class _Side:
    """One side's ratings of the shared items `(items, raters, dimensions)`."""

    ratings: Ratings
    items: list[int]

    def of(self, dimension: str, raters: list[int] | None = None) -> Array:
        """`(items, raters)`, higher is better."""
        scores = self.ratings.scores[self.items, :, self.ratings.dimensions.index(dimension)]
        return self.ratings.sign * (scores if raters is None else scores[:, raters])


@dataclass(frozen=True, slots=True)
class _Humans:
    """The humans' ratings of one dimension `(items, raters)`, those ratings or their ranks as
    they are compared, and what the items belong to. `same_scale`: the panel's values mean
    the same."""

    ratings: Array
    compared: Array
    prompts: Labelled
    sources: Labelled
    same_scale: bool

    @property
    def target(self) -> Array:
        """What a panel is held against `(items,)`."""
        return row_means(self.compared)


def correlate(panel: Ratings, humans: Ratings, settings: Settings = DEFAULTS) -> list[Row]:
    """Every comparison of a panel with humans, for each group of judges and dimension.

    The panel's score is the mean of its judges, the humans' that of theirs; only items and
    dimensions that both name are compared. What humans achieve in the panel's place has
    the group `humans`; what is said of one source names it in the group. κ needs one
    scale, so it is left out where one side gives ranks and the other scores; the custom
    loss is there where all its dimensions are, in [0, 1].

    Prompts and sources are the humans', or the panel's where humans name none. Intervals
    resample prompts, or items where there are none. p-values are from permutations inside
    prompts, corrected by Holm over dimensions. `alpha_added` is the change of the humans' α
    as the first 1, 2, … judges of a group join them.

    Raises:
        ValueError: the two share no item or no dimension, or as the statistics do.
    """
    panel, humans = panel.numeric(), humans.numeric()
    place = {name: index for index, name in enumerate(panel.items)}
    shared = [index for index, name in enumerate(humans.items) if name in place]
    dimensions = [name for name in humans.dimensions if name in panel.dimensions]
    if not shared or not dimensions:
        raise ValueError(f"panel and humans share no {'dimension' if shared else 'item'}")
    theirs = _Side(humans, shared)
    ours = _Side(panel, [place[humans.items[index]] for index in shared])
    prompts = subset_of(humans.prompts, theirs.items) or subset_of(panel.prompts, ours.items)
    sources = subset_of(humans.sources, theirs.items) or subset_of(panel.sources, ours.items)
    clusters = prompts or [humans.items[index] for index in shared]
    groups = panel.raters_by_group()

    rows: list[Row] = []
    for dimension in dimensions:
        people = theirs.of(dimension)
        ranked = settings.target == "rank"
        compared = -ranks_within(-people, prompts).ranks if ranked else people
        same_scale = panel.lower_is_better == humans.lower_is_better
        side = _Humans(people, compared, prompts, sources, same_scale)
        rows += rows_of(_of_humans(side, settings), HUMANS, dimension, clusters, settings)
        rows += _by_source(side, people, humans.sign, HUMANS, dimension, clusters, settings)
        for group, raters in groups.items():
            judges = ours.of(dimension, raters)
            measures = [*_counting(_of_panel(judges, side, settings), judges, people)]
            measures.append(_independence(judges, side.target))
            rows += rows_of(measures, group, dimension, clusters, settings)
            mean = row_means(judges)[:, None]
            rows += _by_source(side, mean, panel.sign, group, dimension, clusters, settings)
    for group, raters in groups.items():
        rows += rows_of(_custom(theirs, ours, raters, prompts), group, ALL, clusters, settings)
    rows = hold_over_dimensions(rows)
    if panel.lower_is_better == humans.lower_is_better:
        for group, raters in groups.items():
            for dimension in dimensions:
                rows += _added(theirs, ours, raters, group, dimension, clusters, settings)
    return rows


def _of_humans(side: _Humans, settings: Settings) -> Iterator[Measure]:
    for kind in KINDS:
        ceiling = human_ceiling(side.compared, kind)
        note = f"{ceiling.n_undefined} constant raters left out" if ceiling.n_undefined else ""
        resampled = resampled_human_ceiling(side.compared, kind)
        yield Measure(f"human_ceiling_{kind}", ceiling.mean, resampled, note)
        if side.prompts:
            inside = human_ceiling_by_prompt(side.compared, side.prompts, kind)
            yield over(f"human_ceiling_{kind}_within_prompts", inside, side.prompts)
    if side.same_scale:
        yield from _kappas("human_kappa", side, side.target, settings, panel_side=False)


def _of_panel(judges: Array, side: _Humans, settings: Settings) -> Iterator[Measure]:
    panel = row_means(judges)
    for kind in KINDS:
        found = correlation_test(
            panel,
            side.target,
            kind,
            side.prompts,
            n_permutations=settings.n_permutations,
            seed=settings.seed,
        )
        yield Measure(kind, found, resampled_correlation(panel, side.target, kind))
        if side.prompts:
            inside = over_prompts(within_prompts(panel, side.target, side.prompts, kind))
            yield over(f"{kind}_within_prompts", inside, side.prompts)
    if side.same_scale:
        yield from _kappas("substituted_kappa", side, panel, settings, panel_side=True)
    if side.sources:
        means = source_means(panel, side.ratings, side.sources)
        yield Measure("source_pearson", means.pearson, note="items are sources")
    if side.prompts:
        for weighted, name in ((False, "pairwise_error"), (True, "weighted_pairwise_error")):
            loss = pairwise_error(side.target, panel, side.prompts, weighted=weighted)
            yield _loss(name, loss, side.prompts)


def _independence(judges: Array, target: Array) -> Measure:
    return Measure(
        "effective_judges",
        effective_judges(judges, target),
        resampled_effective_judges(judges, target),
        "of what judges say beyond the humans' mean",
    )


def _counting(measures: Iterable[Measure], *sides: Array) -> Iterator[Measure]:
    """The measures with their raters counted: two means are compared, of all these raters."""
    n_raters = sum(int(np.sum(~np.isnan(side).all(axis=0))) for side in sides)
    for measure in measures:
        yield replace(measure, estimate=replace(measure.estimate, n_raters=n_raters))


def _kappas(
    name: str, side: _Humans, panel: Array, settings: Settings, *, panel_side: bool
) -> Iterator[Measure]:
    """The mean κ with constant raters as 0, as its authors do, and without those pairs."""
    result = substitution(side.ratings, panel, min_shared=settings.min_shared)
    found: MeanKappa = result.panel if panel_side else result.humans
    note = f"{found.n_pairs} pairs, {found.n_constant} with a constant rater"
    if found.n_missing:
        note += f", {found.n_missing} that the panel did not rate"
    for suffix, estimate, zeros, said in (
        ("", found.with_zeros, True, "counted as 0"),
        ("_without_constant", found.without, False, "left out"),
    ):
        both = resampled_substitution(
            side.ratings, panel, min_shared=settings.min_shared, zeros=zeros
        )
        yield Measure(name + suffix, estimate, both[panel_side], f"{note} {said}")


def _by_source(
    side: _Humans,
    raters: Array,
    sign: int,
    name: str,
    dimension: str,
    clusters: list[Hashable],
    settings: Settings,
) -> list[Row]:
    """Mean, win rate and share of first places of each source, as rankings imply them.

    Args:
        raters: `(items, raters)`, higher is better; times `sign`, as they were given.
    """
    if side.sources is None:
        return []
    found = preferences(raters, side.sources, side.prompts)
    resampled = resampled_preferences(raters, side.sources, side.prompts) if side.prompts else {}
    means = sign * row_means(raters)
    n_raters = int(np.sum(~np.isnan(raters).all(axis=0)))
    rows: list[Row] = []
    for place, source in enumerate(found.sources):
        mine = np.array([label == source for label in side.sources])
        own = np.where(mine, means, np.nan)
        n_items = int(np.sum(~np.isnan(own)))
        functions = resampled.get(source, (None, None))
        comparisons, rankings = found.n_comparisons[place], found.n_rankings[place]
        measures = [
            Measure("source_mean", _value(_mean(own), n_items, n_raters), resampled_mean(own)),
            Measure(
                "win_rate",
                _value(found.win_rate[place], n_items, n_raters),
                functions[0],
                f"{comparisons} comparisons",
            ),
            Measure(
                "first_place",
                _value(found.first_place[place], n_items, n_raters),
                functions[1],
                f"{rankings} rankings",
            ),
        ]
        rows += rows_of(measures, f"{name} / {source}", dimension, clusters, settings)
    return rows


def _value(value: float, n_items: int, n_raters: int) -> Estimate:
    if np.isnan(value):
        reason = Reason.NO_RATINGS if n_items == 0 else Reason.FEW_SOURCES
        return Estimate.undefined(reason, n_items=n_items, n_raters=n_raters)
    return Estimate(float(value), n_items, n_raters)


def _mean(values: Array) -> float:
    rated = values[~np.isnan(values)]
    return float(rated.mean()) if len(rated) else nan


def _added(
    humans: _Side,
    panel: _Side,
    raters: list[int],
    group: str,
    dimension: str,
    clusters: list[Hashable],
    settings: Settings,
) -> Iterator[Row]:
    """How far α of the humans changes as judges join them, in the panel's order."""
    people, judges = humans.of(dimension), panel.of(dimension, raters)
    found = added_raters(
        people,
        judges,
        settings.level,
        clusters,
        confidence=settings.confidence,
        n_resamples=settings.n_resamples,
        seed=settings.seed,
    )
    alone = found.alphas[0]
    for place, alpha in enumerate(found.alphas[1:]):
        reason = alone.reason or alpha.reason
        said = f"alpha {alone.value:.4g} of humans, {alpha.value:.4g} with judges"
        yield Row(
            "alpha_added",
            f"{group} / {place + 1} added",
            dimension,
            float(found.change[place]),
            float(found.low[place]),
            float(found.high[place]),
            float(found.p_holm[place]),
            alpha.n_items,
            alpha.n_raters,
            f"undefined: {reason}" if reason else f"{said}; p by Holm over numbers of judges",
        )


def _custom(humans: _Side, panel: _Side, raters: list[int], prompts: Labelled) -> Iterator[Measure]:
    """The custom loss, where all its dimensions are there and in [0, 1]."""
    both = {*humans.ratings.dimensions} & {*panel.ratings.dimensions}
    if prompts is None or not both >= set(CUSTOM_DIMENSIONS):
        return
    sides = [
        np.stack([side.of(name, who) for name in CUSTOM_DIMENSIONS], axis=2)
        for side, who in ((humans, None), (panel, raters))
    ]
    if any(((side < 0) | (side > 1)).any() for side in sides):
        return
    human, judge = (
        np.stack([row_means(side[:, :, place]) for place in range(side.shape[2])], axis=1)
        for side in sides
    )
    measure = _loss("custom_loss", custom_loss(human, judge, prompts), prompts)
    flat = (side.swapaxes(1, 2).reshape(-1, side.shape[1]) for side in sides)
    yield from _counting([measure], *flat)


def _loss(name: str, loss: Loss, prompts: list[Hashable]) -> Measure:
    note = f"smaller is better, {loss.baseline:.3g} at random, {loss.n_terms} terms"
    resampled = resampled_over_prompts(loss.by_position, prompts)
    return Measure(name, loss.by_position.mean, resampled, note)
