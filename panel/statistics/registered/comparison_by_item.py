"""The statistics of `correlate` item by item: correlations, labels, losses, gains from personas."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from math import inf

import numpy as np

from persona_panel.statistics.comparison import ComparisonBlock, comparison_statistics
from persona_panel.statistics.core.arrays import (
    Array,
    Mask,
    Reason,
    Resampled,
    Statistic,
    difference_of,
    has_two_ratings,
    mean_of,
    paired_scores,
    row_means,
    value_of,
)
from persona_panel.statistics.core.correlation import (
    CorrelationKind,
    correlation_test,
    resampled_correlation,
    within_prompts,
)
from persona_panel.statistics.core.jackknife import resampled_mean
from persona_panel.statistics.core.means import over_prompts, resampled_over_prompts
from persona_panel.statistics.core.registry import (
    ANY_LEVEL,
    OF_SCORES,
    BlockResult,
    StatisticTable,
    mean_over_prompts,
)
from persona_panel.statistics.human_raters import (
    NOT_COMPARABLE,
    human_ceiling,
    human_ceiling_by_prompt,
    resampled_human_ceiling,
)
from persona_panel.statistics.kappa import (
    agreement_on,
    cohen_kappa,
    confusion,
    majority,
    resampled_cohen_kappa,
    same_label,
)
from persona_panel.statistics.pairs import pairwise, resampled_pairwise
from persona_panel.statistics.registered.agreement import ANNOTATORS_SHOWN, kappa_matrix
from persona_panel.statistics.scores import CUSTOM_DIMENSIONS, Loss, custom_loss, pairwise_error
from persona_panel.statistics.votes import (
    correlation_gain,
    gain_within_prompts,
    resampled_correlation_gain,
    why_no_gain,
)

OVER_ALL_ITEMS = StatisticTable(
    "Correlation with the mean human rating, over all items; people: each with the others' mean",
    remark=NOT_COMPARABLE,
)
WITHIN_PROMPTS = StatisticTable(
    "Correlation with the mean human rating, within prompts; people: each with the others' mean"
)


def _register_correlation(kind: CorrelationKind, heading: str, order: int) -> None:
    @comparison_statistics.register(
        kind,
        heading,
        table=OVER_ALL_ITEMS,
        of=OF_SCORES,
        summary=f"{heading}, over all items" if kind == "tau_b" else "",
        order=order,
    )
    def panel(block: ComparisonBlock) -> Iterator[BlockResult]:
        # Items of different prompts are not exchangeable: with prompts the test is of the
        # correlation within them.
        statistic = correlation_test(
            block.panel_mean,
            block.target,
            kind,
            n_permutations=0 if block.prompts else block.options.n_permutations,
            seed=block.options.seed,
        )
        resampled = resampled_correlation(block.panel_mean, block.target, kind)
        counted = paired_scores(block.panel_mean, block.target)[2]
        yield BlockResult(block.of_both(statistic), resampled, kind="correlation", counted=counted)

    @comparison_statistics.register(
        f"human_ceiling_{kind}",
        heading,
        table=OVER_ALL_ITEMS,
        side="humans",
        of=OF_SCORES,
        order=order,
    )
    def humans(block: ComparisonBlock) -> Iterator[BlockResult]:
        ceiling = human_ceiling(block.compared, kind)
        note = f"{ceiling.n_undefined} constant raters left out" if ceiling.n_undefined else ""
        resampled = resampled_human_ceiling(block.compared, kind)
        counted = has_two_ratings(block.compared)
        yield BlockResult(ceiling.mean, resampled, note, "correlation", counted=counted)

    @comparison_statistics.register(
        f"{kind}_within_prompts",
        heading,
        table=WITHIN_PROMPTS,
        needs=("prompts",),
        of=OF_SCORES,
        summary=f"{heading}, within prompts" if kind == "tau_b" else "",
        order=order + 100,
    )
    def panel_within_prompts(block: ComparisonBlock) -> Iterator[BlockResult]:
        prompts = block.prompts or []
        means = over_prompts(within_prompts(block.panel_mean, block.target, prompts, kind))
        result = mean_over_prompts(
            means, prompts, kind="mean_pearson" if kind == "pearson" else "mean_correlation"
        )
        tested = correlation_test(
            block.panel_mean,
            block.target,
            kind,
            prompts,
            n_permutations=block.options.n_permutations,
            seed=block.options.seed,
        )
        counted = paired_scores(block.panel_mean, block.target)[2]
        yield replace(result, statistic=block.of_both(tested), counted=counted)

    @comparison_statistics.register(
        f"human_ceiling_{kind}_within_prompts",
        heading,
        table=WITHIN_PROMPTS,
        needs=("prompts",),
        side="humans",
        of=OF_SCORES,
        order=order + 100,
    )
    def humans_within_prompts(block: ComparisonBlock) -> Iterator[BlockResult]:
        prompts = block.prompts or []
        yield mean_over_prompts(human_ceiling_by_prompt(block.compared, prompts, kind), prompts)


_register_correlation("tau_b", "τ_b", 10)
_register_correlation("tau_c", "τ_c", 20)
_register_correlation("spearman", "Spearman ρ", 30)
_register_correlation("pearson", "Pearson r", 40)


LOSSES = StatisticTable("Losses against the mean human rating, averaged over prompts")


def _register_loss(name: str, heading: str, order: int, *, weighted: bool) -> None:
    @comparison_statistics.register(
        name, heading, table=LOSSES, needs=("prompts",), show_note=True, order=order
    )
    def ranking_error(block: ComparisonBlock) -> Iterator[BlockResult]:
        prompts = block.prompts or []
        loss = pairwise_error(block.target, block.panel_mean, prompts, weighted=weighted)
        result = _loss(loss, prompts)
        # Seldom wrong, and then by much: as skewed as a share.
        yield replace(result, statistic=block.of_both(result.statistic), kind="share")


@comparison_statistics.register(
    "custom_loss",
    "custom loss",
    table=LOSSES,
    needs=("prompts",),
    of=("all",),
    show_note=True,
    order=330,
)
def custom(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Yield the loss where all its dimensions are rated, in [0, 1]."""
    if block.prompts is None or not set(CUSTOM_DIMENSIONS) <= set(block.by_dimension):
        return
    ours, theirs = (
        [block.by_dimension[name][side] for name in CUSTOM_DIMENSIONS] for side in (0, 1)
    )
    if any(((ratings < 0) | (ratings > 1)).any() for ratings in (*ours, *theirs)):
        return
    loss = custom_loss(_means(theirs), _means(ours), block.prompts)
    n_raters = sum(int(np.any(~np.isnan(side), axis=(0, 1)).sum()) for side in (ours, theirs))
    result = _loss(loss, block.prompts)
    yield replace(result, statistic=replace(result.statistic, n_raters=n_raters))


def _means(ratings: list[Array]) -> Array:
    """Return the mean rater on each dimension `(items, dimensions)`."""
    return np.stack([row_means(ratings_on) for ratings_on in ratings], axis=1)


def _loss(loss: Loss, prompts: list[Hashable]) -> BlockResult:
    note = f"smaller is better, {loss.baseline:.3g} at random, {loss.n_terms} terms"
    resampled = resampled_over_prompts(loss.by_position, prompts)
    return BlockResult(loss.by_position.mean, resampled, note, "mean", (0, inf))


_register_loss("pairwise_error", "pairwise\nranking error", 310, weighted=False)
_register_loss("weighted_pairwise_error", "weighted pairwise\nranking error", 320, weighted=True)


LABELS = StatisticTable("Labels compared with people's; people: each with the others")
BY_LABEL = StatisticTable("Agreement of the two majorities on each label (F1)", columns="by_value")
CONFUSION = StatisticTable(
    "Labels by the majority of people (lines) and of the panel (columns), numbers of items",
    columns="crossed",
    all_raters_only=True,
)
BY_JUDGE = StatisticTable(
    "Cohen κ of each judge with the majority of people",
    columns="dimension",
    all_raters_only=True,
)
MATRIX = StatisticTable(
    "Cohen κ of every two annotators, judges and people", columns="crossed", all_raters_only=True
)
_KAPPA, _SAME, _PAIRS = (
    "Cohen κ of\nthe majorities",
    "share of\nthe same label",
    "mean κ of\ntwo annotators",
)


@comparison_statistics.register(
    "label_kappa", _KAPPA, table=LABELS, levels=ANY_LEVEL, needs=("categories",), show_note=True,
    summary="Cohen κ of the majorities", order=1,
)  # fmt: skip
def kappa(block: ComparisonBlock) -> Iterator[BlockResult]:
    ours, theirs = majority(block.judges), majority(block.humans)
    yield BlockResult(
        block.of_both(_named(cohen_kappa(ours, theirs, "none"), block.judges, block.humans)),
        resampled_cohen_kappa(ours, theirs, "none"),
        _without_majority(block),
        kind="kappa",
        limits=(-1.0, 1.0),
        counted=paired_scores(ours, theirs)[2],
    )


@comparison_statistics.register(
    "label_agreement", _SAME, table=LABELS, levels=ANY_LEVEL, needs=("categories",), order=2
)
def agreement(block: ComparisonBlock) -> Iterator[BlockResult]:
    same = same_label(majority(block.judges), majority(block.humans))
    yield _mean(same, block)


@comparison_statistics.register(
    "label_kappa_pairs", _PAIRS, table=LABELS, levels=ANY_LEVEL, needs=("categories",), order=3
)
def pairs(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Yield the mean κ of each judge with each person."""
    kappas = [
        (cohen_kappa(judge, human, "none"), resampled_cohen_kappa(judge, human, "none"))
        for judge in block.judges.T
        for human in block.humans.T
    ]
    sides = block.judges, block.humans
    counted = np.all([(~np.isnan(side)).any(axis=1) for side in sides], axis=0)
    yield _mean_kappa(kappas, counted)


@comparison_statistics.register(
    "human_label_kappa", _KAPPA, table=LABELS, levels=ANY_LEVEL, needs=("categories",),
    side="humans", summary="people: κ with the others", order=1,
)  # fmt: skip
def human_kappa(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Yield the mean κ of each person with the majority of the others."""
    if _why_no_humans(block) is Reason.FEW_PEOPLE:
        yield BlockResult(Statistic.undefined(Reason.FEW_PEOPLE))
        return
    kappas = []
    for place, human in enumerate(block.humans.T):
        sides = block.humans[:, [place]], np.delete(block.humans, place, axis=1)
        others = majority(sides[1])
        kappas.append(
            (
                _named(cohen_kappa(human, others, "none"), *sides),
                resampled_cohen_kappa(human, others, "none"),
            )
        )
    yield _mean_kappa(kappas, has_two_ratings(block.humans))


@comparison_statistics.register(
    "human_label_agreement", _SAME, table=LABELS, levels=ANY_LEVEL, needs=("categories",),
    side="humans", order=2,
)  # fmt: skip
def human_agreement(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Yield the accuracy of each person against the majority of the others, the mean over
    people."""
    by_human = [
        same_label(human, majority(np.delete(block.humans, place, axis=1)))
        for place, human in enumerate(block.humans.T)
    ]
    defined = [same for same in by_human if not np.isnan(same).all()]
    if not defined:
        yield BlockResult(Statistic.undefined(_why_no_humans(block)))
        return
    resampled = mean_of([resampled_mean(same) for same in defined])
    value = value_of(resampled, len(block.humans))
    n_items = int((~np.isnan(np.array(defined))).any(axis=0).sum())
    yield BlockResult(
        Statistic(value, n_items, len(defined)), resampled, kind="share", limits=(0.0, 1.0)
    )


@comparison_statistics.register(
    "human_label_kappa_pairs", _PAIRS, table=LABELS, levels=ANY_LEVEL, needs=("categories",),
    side="humans", order=3,
)  # fmt: skip
def human_pairs(block: ComparisonBlock) -> Iterator[BlockResult]:
    kappas = pairwise(block.humans, "cohen_kappa_none")
    yield BlockResult(
        kappas.mean,
        resampled_pairwise(block.humans, "cohen_kappa_none"),
        kind="kappa",
        limits=(-1.0, 1.0),
        counted=has_two_ratings(block.humans),
    )


@comparison_statistics.register(
    "agreement_on_label", "agreement", table=BY_LABEL, levels=ANY_LEVEL, needs=("categories",),
    order=4,
)  # fmt: skip
def by_label(block: ComparisonBlock) -> Iterator[BlockResult]:
    both = np.stack([majority(block.judges), majority(block.humans)], axis=1)
    n_items = int((~np.isnan(both)).all(axis=1).sum())
    for code, name in enumerate(block.categories):
        resampled = agreement_on(both, code)
        value = value_of(resampled, len(both))
        if not n_items:
            statistic = Statistic.undefined(why_not_shared(block.judges, block.humans))
        elif np.isnan(value):
            statistic = Statistic.undefined(Reason.NO_RATINGS, n_items=n_items)
        else:
            statistic = block.of_both(Statistic(value, n_items, 2))
        yield BlockResult(
            statistic, resampled, kind="share", limits=(0.0, 1.0), by="label", by_value=name
        )


@comparison_statistics.register(
    "confusion", "items", table=CONFUSION, levels=ANY_LEVEL, needs=("categories",), order=5
)
def table(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Yield the count of each pair of labels: `by` is that of people, `by_value` that of the
    panel."""
    counts = confusion(majority(block.humans), majority(block.judges), len(block.categories))
    n_items = int(counts.sum())
    for theirs, row in zip(block.categories, counts, strict=True):
        for ours, count in zip(block.categories, row, strict=True):
            statistic = block.of_both(Statistic(float(count), n_items, 2))
            yield BlockResult(statistic, by=f"humans: {theirs}", by_value=f"panel: {ours}")


@comparison_statistics.register(
    "judge_label_kappa", "Cohen κ", table=BY_JUDGE, levels=ANY_LEVEL, needs=("categories",), order=6
)
def by_judge(block: ComparisonBlock) -> Iterator[BlockResult]:
    humans = majority(block.humans)
    for name, judge in zip(block.judge_names, block.judges.T, strict=True):
        yield BlockResult(
            _named(cohen_kappa(judge, humans, "none"), judge[:, None], block.humans),
            resampled_cohen_kappa(judge, humans, "none"),
            kind="kappa",
            limits=(-1.0, 1.0),
            by="judge",
            by_value=name,
            counted=paired_scores(judge, humans)[2],
        )


@comparison_statistics.register(
    "kappa_of_two", "Cohen κ", table=MATRIX, levels=ANY_LEVEL, needs=("categories",), order=7
)
def matrix(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Yield κ of the two majorities, the judges and the people; of at most `ANNOTATORS_SHOWN`."""
    names = ["majority of people", "majority of the panel"]
    names += [*block.judge_names, *block.human_names]
    sides = [majority(block.humans), majority(block.judges), *block.judges.T, *block.humans.T]
    if len(names) <= ANNOTATORS_SHOWN:
        yield from kappa_matrix(np.stack(sides, axis=1), names)


def _mean(values: Array, block: ComparisonBlock) -> BlockResult:
    defined = ~np.isnan(values)
    if not defined.any():
        return BlockResult(Statistic.undefined(why_not_shared(block.judges, block.humans)))
    statistic = block.of_both(Statistic(float(values[defined].mean()), int(defined.sum()), 2))
    return BlockResult(statistic, resampled_mean(values), kind="share", limits=(0.0, 1.0))


def _mean_kappa(kappas: list[tuple[Statistic, Resampled]], counted: Mask) -> BlockResult:
    """Return the mean over pairs whose κ is defined."""
    defined = [(kappa, resampled) for kappa, resampled in kappas if kappa.reason is None]
    if not defined:
        reasons = [kappa.reason for kappa, _ in kappas if kappa.reason]
        reason = next(iter(reasons), Reason.FEW_PEOPLE)
        tied = Reason.NO_MAJORITY in reasons
        return BlockResult(Statistic.undefined(Reason.NO_MAJORITY if tied else reason))
    value = float(np.mean([kappa.value for kappa, _ in defined]))
    n_items = max(kappa.n_items for kappa, _ in defined)
    n_left_out = len(kappas) - len(defined)
    note = f"{len(defined)} pairs" + (
        f", {n_left_out} with a constant rater or no shared item left out" if n_left_out else ""
    )
    resampled = mean_of([resampled for _, resampled in defined])
    return BlockResult(
        Statistic(value, n_items, len(defined) + 1),
        resampled,
        note,
        kind="kappa",
        limits=(-1.0, 1.0),
        counted=counted,
    )


def _why_no_humans(block: ComparisonBlock) -> Reason:
    if (~np.isnan(block.humans)).any(axis=0).sum() < 2:
        return Reason.FEW_PEOPLE
    several = (~np.isnan(block.humans)).sum(axis=1) > 1
    return Reason.NO_MAJORITY if several.any() else Reason.NO_SHARED_ITEMS


def why_not_shared(*sides: Array) -> Reason:
    """Return why no item has a majority of each side `(items, raters)`: no item was rated by all of
    them, or the raters of a side are tied wherever it was."""
    rated = np.all([(~np.isnan(side)).any(axis=1) for side in sides], axis=0)
    return Reason.NO_MAJORITY if rated.any() else Reason.NO_SHARED_ITEMS


def _named(statistic: Statistic, first: Array, second: Array) -> Statistic:
    """Return a statistic of two majorities, with the true reason where there is none."""
    if statistic.reason is not Reason.NO_SHARED_ITEMS:
        return statistic
    return replace(statistic, reason=why_not_shared(first, second))


def _without_majority(block: ComparisonBlock) -> str:
    """Say how many items are left out because a side that rated them has no majority."""
    parts = []
    for side, labels in (("panel", block.judges), ("humans", block.humans)):
        rated = (~np.isnan(labels)).any(axis=1)
        if n := int((rated & np.isnan(majority(labels))).sum()):
            parts.append(f"left out: {n} items without a majority of the {side}")
    return "; ".join(parts)


_REMARK = (
    "Above 0: the mean of the judges with personas correlates more with people than the mean "
    "of the replicates without. An interval that contains 0 shows neither that personas add nor "
    "that they take away. The figures are of these models, this rubric and these prompts, and do "
    "not show which persona it is."
)
_LIMITS = (-2.0, 2.0)
"""Between which the difference of two correlations or kappas lies."""

GAIN = StatisticTable(
    "What personas add: correlation with the mean human rating, judges with personas less "
    "replicates without, over all items",
    remark=_REMARK,
)
GAIN_WITHIN = StatisticTable(
    "What personas add: correlation with the mean human rating, judges with personas less "
    "replicates without, within prompts",
)


def _register_gain(kind: CorrelationKind, heading: str, order: int) -> None:
    @comparison_statistics.register(
        f"persona_gain_{kind}", heading, table=GAIN, of=OF_SCORES, needs=("controls",),
        show_note=kind == "tau_b",
        summary="personas add, over all items" if kind == "tau_b" else "", order=order,
    )  # fmt: skip
    def gain(block: ComparisonBlock) -> Iterator[BlockResult]:
        sides = block.panel_mean, row_means(block.controls), block.target
        result = BlockResult(
            correlation_gain(*sides, kind),
            resampled_correlation_gain(*sides, kind),
            kind="difference",
            limits=_LIMITS,
            counted=~np.isnan(np.sum(sides, axis=0)),
        )
        yield _of_all(block, result)

    @comparison_statistics.register(
        f"persona_gain_{kind}_within_prompts", heading, table=GAIN_WITHIN, of=OF_SCORES,
        needs=("controls", "prompts"), order=order + 5,
    )  # fmt: skip
    def gain_within(block: ComparisonBlock) -> Iterator[BlockResult]:
        prompts = block.prompts or []
        sides = block.panel_mean, row_means(block.controls), block.target
        gains = over_prompts(gain_within_prompts(*sides, prompts, kind))
        yield _of_all(
            block, mean_over_prompts(gains, prompts, kind="mean_difference", limits=_LIMITS)
        )


@comparison_statistics.register(
    "persona_gain_kappa", "Cohen κ",
    table=StatisticTable(
        "What personas add: κ with the majority of people, majority of the judges with "
        "personas less majority of the replicates without",
        remark=_REMARK.replace("mean of the", "majority of the").replace(
            "correlates more", "agrees more"
        ),
    ),
    levels=ANY_LEVEL, needs=("controls", "categories"), show_note=True, order=204,
)  # fmt: skip
def kappa_gain(block: ComparisonBlock) -> Iterator[BlockResult]:
    sides = [majority(each) for each in (block.judges, block.controls, block.humans)]
    missing = np.isnan(sides).any(axis=0)
    ours, theirs, target = (np.where(missing, np.nan, side) for side in sides)
    kappas = [cohen_kappa(side, target, "none") for side in (ours, theirs)]
    first, second = (resampled_cohen_kappa(side, target, "none") for side in (ours, theirs))
    reason = next((kappa.reason for kappa in kappas if kappa.reason is not None), None)
    if reason is Reason.NO_SHARED_ITEMS:
        reason = why_not_shared(block.judges, block.controls, block.humans)
    statistic = (
        Statistic.undefined(reason)
        if reason is not None
        else replace(kappas[0], value=kappas[0].value - kappas[1].value)
    )
    yield _of_all(
        block,
        BlockResult(
            statistic,
            difference_of(first, second),
            kind="difference",
            limits=_LIMITS,
            counted=~np.isnan(target),
        ),
    )


def _of_all(block: ComparisonBlock, result: BlockResult) -> BlockResult:
    """Return the result with all raters counted; undefined where replicates are one judgment."""
    if result.statistic.reason is None and (why := why_no_gain(block.controls)) is not None:
        return BlockResult(Statistic.undefined(why))
    n_judges, n_replicates, n_humans = (
        int((~np.isnan(side)).any(axis=0).sum())
        for side in (block.judges, block.controls, block.humans)
    )
    note = f"{n_judges} judges with a persona, {n_replicates} replicates without"
    if n_judges != n_replicates:
        note += ", so not at equal cost: more judges agree better by their number alone"
    return replace(
        result,
        statistic=replace(result.statistic, n_raters=n_judges + n_replicates + n_humans)
        if result.statistic.reason is None
        else result.statistic,
        note=f"{note}; {result.note}" if result.note else note,
    )


_register_gain("tau_b", "τ_b", 201)
_register_gain("spearman", "Spearman ρ", 202)
_register_gain("pearson", "Pearson r", 203)
