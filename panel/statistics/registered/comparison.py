"""The statistics of `correlate`: correlations, losses, gains from personas, sources."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import lru_cache
from math import inf, isnan, nan
from typing import Literal

import numpy as np

from persona_panel.statistics.comparison import ComparisonBlock, comparison_statistics
from persona_panel.statistics.core.arrays import (
    Array,
    Labels,
    Reason,
    Resampled,
    Statistic,
    count_raters,
    difference_of,
    encode_labels,
    has_ratings,
    means_by,
    resampled_mean,
    row_means,
)
from persona_panel.statistics.core.correlation import (
    CorrelationKind,
    correlation_by_prompt,
    correlation_test,
)
from persona_panel.statistics.core.display import number
from persona_panel.statistics.core.jackknife import Interval
from persona_panel.statistics.core.means import by_prompt
from persona_panel.statistics.core.registry import OF_SCORES, StatisticTable, mean_over_prompts
from persona_panel.statistics.core.sampled_mean import sampled_mean
from persona_panel.statistics.human_raters import (
    NOT_COMPARABLE,
    human_ceiling,
    human_difference,
    human_difference_by_prompt,
    mean_reliability,
)
from persona_panel.statistics.scores import CUSTOM_DIMENSIONS, Loss, custom_loss, pairwise_error
from persona_panel.statistics.sources import Preferences, preferences, source_means
from persona_panel.statistics.votes import all_alike, correlation_gain, effective_judges

OVER_ALL_ITEMS = StatisticTable(
    "Correlation with the mean human rating, over all items; people: each with the others' mean",
    remark=NOT_COMPARABLE,
)
WITHIN_PROMPTS = StatisticTable(
    "Correlation with the mean human rating, within prompts; people: each with the others' mean"
)


_OF_DEVIATIONS = "of deviations from the prompts' means"


def _register_correlation(kind: CorrelationKind, heading: str, order: int) -> None:
    @comparison_statistics.register(
        kind, heading, table=OVER_ALL_ITEMS, of=OF_SCORES,
        summary="r, over all items" if kind == "pearson" else "", order=order,
    )  # fmt: skip
    def panel(block: ComparisonBlock) -> Iterator[Statistic]:
        # Items of different prompts are not exchangeable: with prompts the test is of the
        # correlation within them.
        yield _tested(block, kind, None, 0 if block.prompts else block.options.n_permutations)

    @comparison_statistics.register(
        f"human_ceiling_{kind}", heading, table=OVER_ALL_ITEMS, side="humans", of=OF_SCORES,
        order=order,
    )  # fmt: skip
    def humans(block: ComparisonBlock) -> Iterator[Statistic]:
        yield human_ceiling(block.humans, kind)

    @comparison_statistics.register(
        f"{kind}_within_prompts", heading, table=WITHIN_PROMPTS, needs=("prompts",), of=OF_SCORES,
        summary="r, within prompts" if kind == "pearson" else "",
        order=order + 100,
    )  # fmt: skip
    def panel_within_prompts(block: ComparisonBlock) -> Iterator[Statistic]:
        prompts, sides = block.prompts or [], (block.panel_mean, block.target)
        tested = _tested(block, kind, prompts, block.options.n_permutations)
        if kind == "pearson":
            yield replace(tested, note=_OF_DEVIATIONS)
            return
        result = mean_over_prompts(correlation_by_prompt(*sides, prompts, kind), prompts)
        counted = ~np.isnan(sides[0] + sides[1])
        tested = replace(tested, note=result.note)
        yield tested.with_weights(result.resampled, counted, result.kind, result.limits)

    @comparison_statistics.register(
        f"human_ceiling_{kind}_within_prompts", heading, table=WITHIN_PROMPTS, needs=("prompts",),
        side="humans", of=OF_SCORES, order=order + 100,
    )  # fmt: skip
    def humans_within_prompts(block: ComparisonBlock) -> Iterator[Statistic]:
        prompts, people = block.prompts or [], block.humans
        if kind == "pearson":
            yield replace(human_ceiling(people, kind, prompts), note="")
            return
        yield mean_over_prompts(
            by_prompt(lambda items: human_ceiling(people[items], kind), prompts, len(people)),
            prompts,
        )


def _tested(
    block: ComparisonBlock, kind: CorrelationKind, prompts: Labels | None, n_permutations: int
) -> Statistic:
    tested = correlation_test(
        block.panel_mean, block.target, kind, prompts, n_permutations=n_permutations,
        seed=block.options.seed,
    )  # fmt: skip
    return block.of_both(tested)


_register_correlation("tau_b", "τ_b", 10)
_register_correlation("tau_c", "τ_c", 20)
_register_correlation("spearman", "Spearman ρ", 30)
_register_correlation("pearson", "Pearson r", 40)


LOSSES = StatisticTable("Losses against the mean human rating, averaged over prompts")


def _register_loss(name: str, heading: str, order: int, *, weighted: bool) -> None:
    @comparison_statistics.register(
        name, heading, table=LOSSES, needs=("prompts",), show_note=True, order=order
    )
    def ranking_error(block: ComparisonBlock) -> Iterator[Statistic]:
        prompts = block.prompts or []
        loss = pairwise_error(block.target, block.panel_mean, prompts, weighted=weighted)
        result = _loss(loss, prompts)
        # Seldom wrong, and then by much: as skewed as a share.
        yield replace(block.of_both(result), kind="share")


CUSTOM_LOSSES = StatisticTable(
    "Custom loss: each judge's against each person, averaged, or the mean judge's against the mean "
    "person",
    remark=(
        "The first is the conceptual-critiques paper's. The loss of means is smaller where errors "
        "cancel."
    ),
)


def _register_custom_loss(
    order: int, of: Literal["losses", "means"], over: Literal["items", "prompts"]
) -> None:
    name = f"custom_loss{'_of_means' * (of == 'means')}{'_over_prompts' * (over == 'prompts')}"
    what = {"losses": "mean of losses", "means": "loss of means"}[of]

    @comparison_statistics.register(
        name, f"{what},\nover {over}", table=CUSTOM_LOSSES, of=("all",), order=order,
        needs=("prompts",) if over == "prompts" else (), show_note=name == "custom_loss",
    )  # fmt: skip
    def custom(block: ComparisonBlock) -> Iterator[Statistic]:
        """Yield the loss where all its dimensions are rated, in [0, 1]."""
        if not set(CUSTOM_DIMENSIONS) <= set(block.by_dimension):
            return
        ours, theirs = (
            np.stack([block.by_dimension[name][side] for name in CUSTOM_DIMENSIONS], axis=1)
            for side in (0, 1)
        )
        if any(((ratings < 0) | (ratings > 1)).any() for ratings in (ours, theirs)):
            return
        prompts = block.prompts if over == "prompts" else None
        result = _loss(custom_loss(theirs, ours, prompts, of=of), prompts or list(range(len(ours))))
        n_raters = sum(int(np.any(~np.isnan(side), axis=(0, 1)).sum()) for side in (ours, theirs))
        yield replace(result, n_raters=n_raters)


_register_custom_loss(330, "losses", "items")
_register_custom_loss(331, "losses", "prompts")
_register_custom_loss(332, "means", "items")
_register_custom_loss(333, "means", "prompts")


def _loss(loss: Loss, prompts: list[Hashable]) -> Statistic:
    note = f"smaller is better, {loss.baseline:.3g} at random, {loss.n_terms} terms"
    mean = mean_over_prompts(loss.by_position, prompts, kind="mean", limits=(0, inf))
    return replace(mean, note=note)


_register_loss("pairwise_error", "pairwise\nranking error", 310, weighted=False)
_register_loss("weighted_pairwise_error", "weighted pairwise\nranking error", 320, weighted=True)


SQUARED_ERROR = StatisticTable(
    "Mean squared error against the mean human rating; a constant judge always gives people's mean",
    remark=(
        "Difference below 0: the panel's error is smaller than the constant judge's, whose score "
        "is the best that is the same for all of these items."
    ),
)


def _register_squared_error(name: str, heading: str, order: int, *, less_constant: bool) -> None:
    @comparison_statistics.register(
        name, heading, table=SQUARED_ERROR, needs=("same_scale",), of=OF_SCORES,
        show_note=not less_constant, order=order,
    )  # fmt: skip
    def squared_error(block: ComparisonBlock) -> Iterator[Statistic]:
        if block.other_scale:
            yield Statistic.undefined(Reason.OTHER_SCALE)
            return
        people = row_means(block.humans)
        errors = resampled_mean((block.panel_mean - people) ** 2)
        there = ~np.isnan(block.panel_mean + people)
        deviations = np.where(there, people - people[there].mean() if there.any() else nan, nan)
        mean, mean_square = resampled_mean(deviations), resampled_mean(deviations**2)

        def variance(weights: Array) -> Array:
            return mean_square(weights) - mean(weights) ** 2

        result = Statistic.of_weights(
            difference_of(errors, variance) if less_constant else errors, there, 0,
            Reason.NO_RATINGS, "difference" if less_constant else "mean",
            (-inf if less_constant else 0, inf),
        )  # fmt: skip
        constant = float(variance(np.ones((1, len(there))))[0])
        note = f"smaller is better, {constant:.3g} by a constant judge"
        yield replace(block.of_both(result), note="" if result.reason else note)


_register_squared_error("squared_error", "mean squared\nerror", 340, less_constant=False)
_register_squared_error(
    "squared_error_difference", "difference from\na constant judge", 341, less_constant=True
)


GAIN_REMARK = (
    "Above 0: the mean of the judges with personas correlates more with people than the mean "
    "of the replicates without. An interval that contains 0 shows neither that personas add nor "
    "that they take away. The figures are of these models, this rubric and these prompts, and do "
    "not show which persona it is."
)

GAIN = StatisticTable(
    "What personas add: correlation with the mean human rating, judges with personas less "
    "replicates without, over all items",
    remark=GAIN_REMARK,
)
GAIN_WITHIN = StatisticTable(
    "What personas add: correlation with the mean human rating, judges with personas less "
    "replicates without, within prompts"
)


@comparison_statistics.register(
    "persona_gain_tau_b", "τ_b", table=GAIN, of=OF_SCORES, needs=("controls",), show_note=True,
    summary="personas add, over all items", order=201,
)  # fmt: skip
def gain(block: ComparisonBlock) -> Iterator[Statistic]:
    sides = block.panel_mean, row_means(block.controls), block.target
    yield of_all_raters(block, correlation_gain(*sides, "tau_b"))


@comparison_statistics.register(
    "persona_gain_tau_b_within_prompts", "τ_b", table=GAIN_WITHIN, of=OF_SCORES,
    needs=("controls", "prompts"), order=206,
)  # fmt: skip
def gain_within(block: ComparisonBlock) -> Iterator[Statistic]:
    ours, plain, target = block.panel_mean, row_means(block.controls), block.target
    gains = by_prompt(
        lambda items: correlation_gain(ours[items], plain[items], target[items], "tau_b"),
        block.prompts,
        len(ours),
    )
    limits = (-2.0, 2.0)
    result = mean_over_prompts(gains, block.prompts or [], kind="mean_difference", limits=limits)
    yield of_all_raters(block, result)


def of_all_raters(block: ComparisonBlock, result: Statistic) -> Statistic:
    """Return the result with all raters counted; undefined where replicates are one judgment."""
    if result.reason is None and all_alike(block.controls):
        return Statistic.undefined(Reason.IDENTICAL_REPLICATES)
    n_judges, n_replicates, n_humans = map(
        count_raters, (block.judges, block.controls, block.humans)
    )
    plural = "s" * (n_replicates != 1)
    note = f"{n_judges} judges with a persona, {n_replicates} replicate{plural} without"
    if n_judges != n_replicates:
        note += ", so not at equal cost: more judges agree better by their number alone"
    n_raters = result.n_raters if result.reason else n_judges + n_replicates + n_humans
    return replace(result, n_raters=n_raters, note="; ".join(filter(None, (note, result.note))))


BY = "comparison"
NAMES = ("panel − human", "judge − human", "panel − judge")

_TITLE = "Panel and one person compared with the same other people: difference of correlations, "
DIFFERENCE_OVER_ITEMS = StatisticTable(
    _TITLE + "over all items",
    all_raters_only=True,
    remark=(
        "Each person is left out in turn: that person, the panel and its judges are correlated "
        "with the mean of the other people, over the same items. Above 0: agrees with people more "
        "than one of them does. panel − judge is what averaging gains, as it would for people; "
        "whether judges rate as people do is judge − human. An interval that contains 0 shows no "
        "difference; none says anything of other judges or other people. τ_b is computed for "
        "panel − human alone, as for every judge it would take minutes."
    ),
)
DIFFERENCE_WITHIN = StatisticTable(_TITLE + "within prompts", all_raters_only=True)


def _register_difference(kind: CorrelationKind, heading: str, order: int) -> None:
    @comparison_statistics.register(
        f"human_difference_{kind}", heading, table=DIFFERENCE_OVER_ITEMS, of=OF_SCORES,
        summary="panel − one person, over all items" if kind == "tau_b" else "", order=order,
    )  # fmt: skip
    def difference(block: ComparisonBlock) -> Iterator[Statistic]:
        judges, people, n_rows = block.judges, block.humans, _n_rows(block)
        n_raters = count_raters(judges) + count_raters(people)
        if kind == "tau_b":
            # τ of every judge with every person takes minutes where there are thousands of items.
            judges, n_rows = row_means(judges)[:, None], 1
        differences = human_difference(judges, people, kind)
        counted = has_ratings(people, 2) & ~np.isnan(block.panel_mean)
        for name, statistic in list(zip(NAMES, differences, strict=True))[:n_rows]:
            yield replace(statistic, by=BY, by_value=name, counted=counted, n_raters=n_raters)


_register_difference("tau_b", "τ_b", 181)
_register_difference("pearson", "Pearson r", 183)


@comparison_statistics.register(
    "human_difference_tau_b_within_prompts", "τ_b", table=DIFFERENCE_WITHIN, of=OF_SCORES,
    needs=("prompts",), summary="panel − one person, within prompts", order=186,
)  # fmt: skip
def difference_within(block: ComparisonBlock) -> Iterator[Statistic]:
    prompts = block.prompts or []
    differences = human_difference_by_prompt(block.judges, block.humans, prompts, "tau_b")
    for name, means in list(zip(NAMES, differences, strict=True))[: _n_rows(block)]:
        result = mean_over_prompts(means, prompts, kind="skewed_difference", limits=(-2.0, 2.0))
        yield replace(result, by=BY, by_value=name)


def _n_rows(block: ComparisonBlock) -> int:
    return len(NAMES) if count_raters(block.judges) > 1 else 1


@comparison_statistics.register(
    "effective_judges", "effective number",
    table=StatisticTable("Effective number of judges, from the correlation of their errors"),
    show_note=True, order=410,
)  # fmt: skip
def of_errors(block: ComparisonBlock) -> Iterator[Statistic]:
    """Yield the effective number of judges by their errors, corrected for the noise of people's
    mean where its reliability can be estimated; else a lower bound."""
    options, reliability = block.options, mean_reliability(block.humans)
    known = reliability.reason is None
    votes = effective_judges(
        block.judges, block.humans if known else block.target, block.clusters,
        intervals=options.intervals, seed=options.seed,
    )  # fmt: skip
    note = f"a lower bound, as the noise of people's mean is not known ({reliability.reason})"
    if known:
        bound = effective_judges(block.judges, block.target, intervals=False)
        uncorrected = "undefined" if bound.reason else f"{bound.value:.1f}"
        note = (
            f"corrected for the noise of people's mean (reliability "
            f"{number(reliability.value)}); without the correction {uncorrected}, a lower bound"
        )
    if votes.reason is not None and votes.ci is not None and not isnan(votes.ci.low):
        # Judges whose errors seem independent have no number, but a bound.
        note += f"; 95 % interval {votes.ci.low:.1f} to {votes.ci.high:.1f}"
    yield replace(votes, note=note, ci=None if votes.reason else votes.ci)


BY_SOURCE = StatisticTable(
    "By source",
    columns="group",
    remark=(
        "Share of first places: of the rankings (one rater's of one prompt) that the source is in; "
        "a tie counts in equal parts. Shares add up to 1 only if every ranking has every source."
    ),
)


@comparison_statistics.register(
    "source_pearson", "Pearson r",
    table=StatisticTable("Correlation of the means by source, the panel's with people's"),
    needs=("sources",), order=540,
)  # fmt: skip
def correlation_over_sources(block: ComparisonBlock) -> Iterator[Statistic]:
    means = source_means(block.panel_mean, block.humans, block.sources or [])
    yield block.of_both(means.pearson).without_interval(note="items are sources")


@comparison_statistics.register(
    "source_mean", "mean", table=BY_SOURCE, needs=("sources",), side="both", order=510
)
def mean(block: ComparisonBlock) -> Iterator[Statistic]:
    """Yield the mean over prompts with the interval that a system's mean has everywhere."""
    sign = block.judges_sign if block.side == "panel" else block.humans_sign
    means = sign * row_means(_ratings(block))
    _, of_prompt = encode_labels(block.clusters, len(means))
    for source in _preferences(block).sources:
        over = sampled_mean(means_by(_own(block, source, means), of_prompt), limits=block.limits)
        error, df = over.errors[0] if over.errors else (nan, nan)
        ci = Interval(*over.interval(), error, df, over.n_prompts, over.reason)
        statistic = _of_source(block, source, over.mean, None, "")
        yield statistic if statistic.reason else replace(statistic, ci=ci)


def _register_tally(name: str, heading: str, counted: str, order: int) -> None:
    @comparison_statistics.register(
        name, heading, table=BY_SOURCE, needs=("sources",), side="both", order=order
    )
    def tally(block: ComparisonBlock) -> Iterator[Statistic]:
        tallies = _preferences(block)
        for place, source in enumerate(tallies.sources):
            value = float(getattr(tallies, name)[place])
            own = tallies.resampled[name][place] if block.prompts else None
            n = getattr(tallies, f"n_{counted}")[place]
            yield _of_source(block, source, value, own, f"{n} {counted}")


_register_tally("win_rate", "win rate", "comparisons", 520)
_register_tally("first_place", "share of\nfirst places", "rankings", 530)


def _ratings(block: ComparisonBlock) -> Array:
    """Return people's ratings, or the panel's mean as one rater's `(items, raters)`."""
    return block.humans if block.side == "humans" else block.panel_mean[:, None]


@lru_cache(maxsize=1)  # the same comparisons give wins and first places
def _preferences(block: ComparisonBlock) -> Preferences:
    return preferences(_ratings(block), block.sources or [], block.prompts)


def _own(block: ComparisonBlock, source: Hashable, values: Array) -> Array:
    """Return the values of a source's items, NaN for the others."""
    mine = np.array([label == source for label in block.sources or ()])
    return np.where(mine, values, np.nan)


def _of_source(
    block: ComparisonBlock,
    source: Hashable,
    value: float,
    resampled: Resampled | None,
    note: str,
) -> Statistic:
    ratings = _ratings(block)
    n_items = int(np.sum(~np.isnan(_own(block, source, row_means(ratings)))))
    reason = Reason.NO_RATINGS if n_items == 0 else Reason.FEW_SOURCES
    statistic = Statistic.of(value, n_items, count_raters(ratings), reason)
    statistic = replace(statistic, note=note, by="source", by_value=str(source))
    if resampled is None:
        return statistic
    return statistic.with_weights(resampled, kind="share", limits=(0.0, 1.0))
