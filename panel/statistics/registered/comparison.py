"""The statistics of `correlate` item by item: correlations, labels, losses, gains from personas."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product
from math import inf, isnan, nan
from typing import Literal

import numpy as np

from persona_panel.statistics.annotators import (
    LEAST_CLUSTERS,
    LEAST_ITEMS,
    AlignmentScore,
    AnnotatorTest,
    Substitution,
    annotator_test,
    left_out,
    substitution,
)
from persona_panel.statistics.comparison import ComparisonBlock, comparison_statistics
from persona_panel.statistics.concordance import pairwise
from persona_panel.statistics.core.arrays import (
    Array,
    EstimateKind,
    Mask,
    Reason,
    Resampled,
    Statistic,
    has_two_ratings,
    mean_of,
    ranks_within,
    row_means,
    value_of,
)
from persona_panel.statistics.core.correlation import (
    CorrelationKind,
    correlation_by_prompt,
    correlation_test,
)
from persona_panel.statistics.core.display import general, number, percent
from persona_panel.statistics.core.jackknife import resampled_mean
from persona_panel.statistics.core.means import by_prompt, resampled_over_prompts
from persona_panel.statistics.core.registry import (
    ANY_LEVEL,
    OF_SCORES,
    BlockResult,
    StatisticTable,
    mean_over_prompts,
)
from persona_panel.statistics.human_raters import (
    NOT_COMPARABLE,
    added_raters,
    human_ceiling,
    human_difference,
    human_difference_by_prompt,
    mean_reliability,
)
from persona_panel.statistics.kappa import (
    agreement_on,
    cohen_kappa,
    confusion,
    majority,
    same_label,
)
from persona_panel.statistics.registered.agreement import ANNOTATORS_SHOWN, kappa_matrix
from persona_panel.statistics.scores import CUSTOM_DIMENSIONS, Loss, custom_loss, pairwise_error
from persona_panel.statistics.sources import (
    Preferences,
    preferences,
    resampled_preferences,
    source_means,
)
from persona_panel.statistics.votes import (
    correlation_gain,
    effective_judges,
    effective_judges_interval,
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
        kind, heading, table=OVER_ALL_ITEMS, of=OF_SCORES,
        summary=f"{heading}, over all items" if kind == "tau_b" else "", order=order,
    )  # fmt: skip
    def panel(block: ComparisonBlock) -> Iterator[BlockResult]:
        # Items of different prompts are not exchangeable: with prompts the test is of the
        # correlation within them.
        n_permutations = 0 if block.prompts else block.options.n_permutations
        sides, seed = (block.panel_mean, block.target), block.options.seed
        statistic = correlation_test(*sides, kind, n_permutations=n_permutations, seed=seed)
        yield BlockResult.of(block.of_both(statistic))

    @comparison_statistics.register(
        f"human_ceiling_{kind}", heading, table=OVER_ALL_ITEMS, side="humans", of=OF_SCORES,
        order=order,
    )  # fmt: skip
    def humans(block: ComparisonBlock) -> Iterator[BlockResult]:
        ceiling = human_ceiling(block.compared, kind)
        note = f"{ceiling.n_undefined} constant raters left out" if ceiling.n_undefined else ""
        yield BlockResult.of(ceiling.mean, note)

    @comparison_statistics.register(
        f"{kind}_within_prompts", heading, table=WITHIN_PROMPTS, needs=("prompts",), of=OF_SCORES,
        summary=f"{heading}, within prompts" if kind == "tau_b" else "", order=order + 100,
    )  # fmt: skip
    def panel_within_prompts(block: ComparisonBlock) -> Iterator[BlockResult]:
        prompts, options = block.prompts or [], block.options
        sides = block.panel_mean, block.target
        means = correlation_by_prompt(*sides, prompts, kind)
        result = mean_over_prompts(
            means, prompts, kind="mean_pearson" if kind == "pearson" else "mean_correlation"
        )
        tested = correlation_test(
            *sides, kind, prompts, n_permutations=options.n_permutations, seed=options.seed
        )
        counted = ~np.isnan(sides[0] + sides[1])
        yield replace(result, statistic=block.of_both(tested), counted=counted)

    @comparison_statistics.register(
        f"human_ceiling_{kind}_within_prompts", heading, table=WITHIN_PROMPTS, needs=("prompts",),
        side="humans", of=OF_SCORES, order=order + 100,
    )  # fmt: skip
    def humans_within_prompts(block: ComparisonBlock) -> Iterator[BlockResult]:
        prompts, people = block.prompts or [], block.compared
        yield mean_over_prompts(
            by_prompt(lambda items: human_ceiling(people[items], kind).mean, prompts, len(people)),
            prompts,
        )


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
    what = "mean of losses" if of == "losses" else "loss of means"

    @comparison_statistics.register(
        name, f"{what},\nover {over}", table=CUSTOM_LOSSES, of=("all",), order=order,
        needs=("prompts",) if over == "prompts" else (), show_note=name == "custom_loss",
    )  # fmt: skip
    def custom(block: ComparisonBlock) -> Iterator[BlockResult]:
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
        yield replace(result, statistic=replace(result.statistic, n_raters=n_raters))


_register_custom_loss(330, "losses", "items")
_register_custom_loss(331, "losses", "prompts")
_register_custom_loss(332, "means", "items")
_register_custom_loss(333, "means", "prompts")


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
_of_labels = partial(comparison_statistics.register, levels=ANY_LEVEL, needs=("categories",))
_KAPPA, _SAME, _PAIRS = (
    "Cohen κ of\nthe majorities",
    "share of\nthe same label",
    "mean κ of\ntwo annotators",
)


@_of_labels(
    "label_kappa", _KAPPA, table=LABELS, show_note=True, summary="Cohen κ of the majorities",
    order=1,
)  # fmt: skip
def kappa(block: ComparisonBlock) -> Iterator[BlockResult]:
    of_majorities = cohen_kappa(majority(block.judges), majority(block.humans), "none")
    named = block.of_both(_named(of_majorities, block.judges, block.humans))
    yield BlockResult.of(named, _without_majority(block))


_of_labels("label_agreement", _SAME, table=LABELS, order=2)(
    lambda block: [_mean(same_label(majority(block.judges), majority(block.humans)), block)]
)


@_of_labels("label_kappa_pairs", _PAIRS, table=LABELS, order=3)
def pairs(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Yield the mean κ of each judge with each person."""
    sides_of_pairs = product(block.judges.T, block.humans.T)
    kappas = [cohen_kappa(judge, human, "none") for judge, human in sides_of_pairs]
    sides = block.judges, block.humans
    counted = np.all([(~np.isnan(side)).any(axis=1) for side in sides], axis=0)
    yield _mean_kappa(kappas, counted)


@_of_labels(
    "human_label_kappa", _KAPPA, table=LABELS, side="humans",
    summary="people: κ with the others", order=1,
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
        kappas.append(_named(cohen_kappa(human, others, "none"), *sides))
    yield _mean_kappa(kappas, has_two_ratings(block.humans))


@_of_labels("human_label_agreement", _SAME, table=LABELS, side="humans", order=2)
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
    yield _of_share(Statistic(value, n_items, len(defined)), resampled)


@_of_labels("human_label_kappa_pairs", _PAIRS, table=LABELS, side="humans", order=3)
def human_pairs(block: ComparisonBlock) -> Iterator[BlockResult]:
    yield BlockResult.of(pairwise(block.humans, "cohen_kappa_none").mean, limits=_OF_KAPPA)


@_of_labels("agreement_on_label", "agreement", table=BY_LABEL, order=4)
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
        yield _of_share(statistic, resampled, by="label", by_value=name)


@_of_labels("confusion", "items", table=CONFUSION, order=5)
def table(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Yield the count of each pair of labels: `by` is that of people, `by_value` that of the
    panel."""
    counts = confusion(majority(block.humans), majority(block.judges), len(block.categories))
    n_items = int(counts.sum())
    for theirs, row in zip(block.categories, counts, strict=True):
        for ours, count in zip(block.categories, row, strict=True):
            statistic = block.of_both(Statistic(float(count), n_items, 2))
            yield BlockResult(statistic, by=f"humans: {theirs}", by_value=f"panel: {ours}")


@_of_labels("judge_label_kappa", "Cohen κ", table=BY_JUDGE, order=6)
def by_judge(block: ComparisonBlock) -> Iterator[BlockResult]:
    humans = majority(block.humans)
    for name, judge in zip(block.judge_names, block.judges.T, strict=True):
        kappa_of = _named(cohen_kappa(judge, humans, "none"), judge[:, None], block.humans)
        yield BlockResult.of(kappa_of, by="judge", by_value=name)


@_of_labels("kappa_of_two", "Cohen κ", table=MATRIX, order=7)
def matrix(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Yield κ of the two majorities, the judges and the people; of at most `ANNOTATORS_SHOWN`."""
    names = ["majority of people", "majority of the panel"]
    names += [*block.judge_names, *block.human_names]
    sides = [majority(block.humans), majority(block.judges), *block.judges.T, *block.humans.T]
    if len(names) <= ANNOTATORS_SHOWN:
        yield from kappa_matrix(np.stack(sides, axis=1), names)


_OF_KAPPA = (-1.0, 1.0)
_of_share = partial(BlockResult, kind="share", limits=(0.0, 1.0))


def _mean(values: Array, block: ComparisonBlock) -> BlockResult:
    defined = ~np.isnan(values)
    if not defined.any():
        return BlockResult(Statistic.undefined(why_not_shared(block.judges, block.humans)))
    statistic = block.of_both(Statistic(float(values[defined].mean()), int(defined.sum()), 2))
    return _of_share(statistic, resampled_mean(values))


def _mean_kappa(kappas: list[Statistic], counted: Mask) -> BlockResult:
    """Return the mean over pairs whose κ is defined."""
    defined = [kappa for kappa in kappas if kappa.reason is None]
    if not defined:
        reasons = [kappa.reason for kappa in kappas if kappa.reason]
        reason = next(iter(reasons), Reason.FEW_PEOPLE)
        tied = Reason.NO_MAJORITY in reasons
        return BlockResult(Statistic.undefined(Reason.NO_MAJORITY if tied else reason))
    value = float(np.mean([kappa.value for kappa in defined]))
    n_items = max(kappa.n_items for kappa in defined)
    n_left_out = len(kappas) - len(defined)
    note = f"{len(defined)} pairs" + (
        f", {n_left_out} with a constant rater or no shared item left out" if n_left_out else ""
    )
    mean_kappa = Statistic(value, n_items, len(defined) + 1).with_weights(
        mean_of([kappa.resampled for kappa in defined]), counted, "kappa", _OF_KAPPA
    )
    return BlockResult.of(mean_kappa, note)


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
    if statistic.reason is not Reason.NO_SHARED_ITEMS:
        return statistic
    return replace(statistic, reason=why_not_shared(first, second))


def _without_majority(block: ComparisonBlock) -> str:
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
        yield _of_all(block, BlockResult.of(correlation_gain(*sides, kind)))

    @comparison_statistics.register(
        f"persona_gain_{kind}_within_prompts", heading, table=GAIN_WITHIN, of=OF_SCORES,
        needs=("controls", "prompts"), order=order + 5,
    )  # fmt: skip
    def gain_within(block: ComparisonBlock) -> Iterator[BlockResult]:
        prompts = block.prompts or []
        ours, plain, target = block.panel_mean, row_means(block.controls), block.target
        gains = by_prompt(
            lambda items: correlation_gain(ours[items], plain[items], target[items], kind),
            prompts,
            len(ours),
        )
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
    first, second = (cohen_kappa(side, target, "none") for side in (ours, theirs))
    change = first.less(second, n_raters=2)
    if reason := change.reason:
        if reason is Reason.NO_SHARED_ITEMS:
            reason = why_not_shared(block.judges, block.controls, block.humans)
        change = Statistic.undefined(reason)
    yield _of_all(block, BlockResult.of(change))


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
    def difference(block: ComparisonBlock) -> Iterator[BlockResult]:
        sides = _judges(block), block.compared
        differences = human_difference(*sides, kind)
        counted = has_two_ratings(block.compared) & ~np.isnan(block.panel_mean)
        # τ of every judge with every person takes minutes where there are thousands of items.
        n_rows = 1 if kind == "tau_b" else _n_rows(block)
        for name, statistic in list(zip(NAMES, differences, strict=True))[:n_rows]:
            yield BlockResult.of(statistic, by=BY, by_value=name, counted=counted)

    @comparison_statistics.register(
        f"human_difference_{kind}_within_prompts", heading, table=DIFFERENCE_WITHIN, of=OF_SCORES,
        needs=("prompts",), summary="panel − one person, within prompts" if kind == "tau_b" else "",
        order=order + 5,
    )  # fmt: skip
    def difference_within(block: ComparisonBlock) -> Iterator[BlockResult]:
        prompts = block.prompts or []
        differences = human_difference_by_prompt(_judges(block), block.compared, prompts, kind)
        for name, means in list(zip(NAMES, differences, strict=True))[: _n_rows(block)]:
            result = mean_over_prompts(means, prompts, kind="skewed_difference", limits=_LIMITS)
            yield replace(result, by=BY, by_value=name)


def _judges(block: ComparisonBlock) -> Array:
    if block.options.target == "score":
        return block.judges
    return -ranks_within(-block.judges, block.prompts).ranks


def _n_rows(block: ComparisonBlock) -> int:
    n_judges = int(np.sum(~np.isnan(block.judges).all(axis=0)))
    return len(NAMES) if n_judges > 1 else 1


_register_difference("tau_b", "τ_b", 181)
_register_difference("spearman", "Spearman ρ", 182)
_register_difference("pearson", "Pearson r", 183)


RATER = "rater"
"""The breakdown of a single judge's rows; the panel's own row has none."""

ANNOTATOR_TEST = StatisticTable(
    "Alternative annotator test, by judge; first the panel",
    all_raters_only=True,
    remark=(
        "Each person is left out in turn: who is closer to the other people, the judge or that "
        "person? Winning rate ω: the share of people over whom the judge wins, with an allowance "
        "of epsilon; at 0.5 or more it may take the place of a person, by this test. Advantage ρ: "
        "how often it is at least as near as a person. Items needed: how many items each person "
        "would have to rate for ω of 0.5, with 80 % power, if differences are as observed. Where "
        "people's ratings are noisy, one score for everything can pass: look at correlations."
    ),
)


def _register_test_figure(name: str, heading: str, order: int, summary: str = "") -> None:
    @comparison_statistics.register(
        name, heading, table=ANNOTATOR_TEST, levels=ANY_LEVEL, of=OF_SCORES, summary=summary,
        order=order,
    )  # fmt: skip
    def results(block: ComparisonBlock) -> Iterator[BlockResult]:
        """Yield the panel's result, then each judge's; nothing without an epsilon."""
        if block.options.epsilon is None:
            return
        for judge, test in _tests(block):
            of = {
                "alt_test_winning_rate": test.winning_rate,
                "alt_test_advantage": test.advantage,
                "alt_test_items_needed": test.items_needed,
            }[name]
            note = _note(block, test) if name == "alt_test_winning_rate" else ""
            resampled = of.resampled if name == "alt_test_advantage" else None
            by = None if judge is None else RATER
            yield BlockResult(of, resampled, note, "share", (0.0, 1.0), by, judge)


@lru_cache(maxsize=2)  # three statistics come from the same tests
def _tests(block: ComparisonBlock) -> list[tuple[str | None, AnnotatorTest]]:
    score = _score(block)
    panel = majority(block.judges) if score == "accuracy" else block.panel_mean
    if block.other_scale or "same_scale" not in block.has:
        none = Statistic.undefined(Reason.OTHER_SCALE)
        return [(None, AnnotatorTest(none, none, none, ()))]
    tests = []
    for name, candidate in [(None, panel), *zip(block.judge_names, block.judges.T, strict=True)]:
        tested = annotator_test(
            candidate,
            block.humans,
            score=score,
            epsilon=block.options.epsilon or 0.0,
            clusters=block.clusters,
        )
        tests.append((name, tested))
    return tests


def _score(block: ComparisonBlock) -> AlignmentScore:
    return "accuracy" if block.categories else "neg_rmse"


def _note(block: ComparisonBlock, test: AnnotatorTest) -> str:
    n_tested = sum(person.is_tested for person in test.humans)
    n_wins = round(test.winning_rate.value * n_tested) if n_tested else 0
    said = [f"epsilon {block.options.epsilon:g}"]
    if n_tested:
        said.append(f"wins over {n_wins} of {n_tested} people")
    few = [
        block.human_names[person.human] for person in test.humans if person.n_items < LEAST_ITEMS
    ]
    prompts = [
        block.human_names[person.human]
        for person in test.humans
        if not person.is_tested and person.n_items >= LEAST_ITEMS
    ]
    for names, what in (
        (few, f"fewer than {LEAST_ITEMS} shared items"),
        (prompts, f"fewer than {LEAST_CLUSTERS} prompts"),
    ):
        if names:
            said.append(left_out(names, len(test.humans), what))
    return "; ".join(said)


_register_test_figure("alt_test_winning_rate", "winning\nrate ω", 190, "winning rate ω")
_register_test_figure("alt_test_advantage", "advantage\nρ", 191, "advantage ρ")
_register_test_figure("alt_test_items_needed", "items\nneeded", 192)


SUBSTITUTION = StatisticTable(
    "Quadratically weighted κ of pairs of people, one of them replaced by the panel; "
    "people: neither replaced"
)


def _register_kappa(suffix: str, heading: str, order: int, *, zeros: bool) -> None:
    @comparison_statistics.register(
        f"substituted_kappa{suffix}", heading, table=SUBSTITUTION, needs=("same_scale",),
        show_note=zeros, order=order,
    )  # fmt: skip
    def panel(block: ComparisonBlock) -> Iterator[BlockResult]:
        yield _kappa(block, zeros=zeros)

    @comparison_statistics.register(
        f"human_kappa{suffix}", heading, table=SUBSTITUTION, needs=("same_scale",),
        side="humans", show_note=zeros, order=order,
    )  # fmt: skip
    def humans(block: ComparisonBlock) -> Iterator[BlockResult]:
        yield _kappa(block, zeros=zeros)


def _kappa(block: ComparisonBlock, *, zeros: bool) -> BlockResult:
    of_panel = block.side == "panel"
    if of_panel and block.other_scale:
        return BlockResult(Statistic.undefined(Reason.OTHER_SCALE))
    both = _substitution(block)
    kappas = both.panel if of_panel else both.humans
    note = f"{kappas.n_pairs} pairs, {kappas.n_constant} with a constant rater"
    if kappas.n_missing:
        note += f", {kappas.n_missing} that the panel did not rate"
    statistic = kappas.with_zeros if zeros else kappas.without
    counted = has_two_ratings(block.humans) & ~np.isnan(_stand_in(block))
    statistic = block.of_both(statistic) if of_panel else statistic
    return BlockResult.of(statistic, note, counted=counted)


@lru_cache(maxsize=1)  # κ with and without the zeros come from the same pairs
def _substitution(block: ComparisonBlock) -> Substitution:
    return substitution(block.humans, _stand_in(block), min_shared=block.options.min_shared)


def _stand_in(block: ComparisonBlock) -> Array:
    """Return the ratings that take a person's place; on people's side no ratings do."""
    return block.panel_mean if block.side == "panel" else block.target


_register_kappa("", "pairs with a constant\nrater counted as 0", 210, zeros=True)
_register_kappa("_without_constant", "pairs with a constant\nrater left out", 220, zeros=False)


@comparison_statistics.register(
    "alpha_added",
    "change of α",
    table=StatisticTable(
        "Change of people's Krippendorff α as judges are added",
        columns="by_value",
        remark="Intervals and p here: Student's t over prompts, adjusted by Bonferroni for the "
        "numbers of judges.",
    ),
    levels=ANY_LEVEL,
    needs=("same_scale",),
    order=610,
)
def change_of_alpha(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Yield the change of α as the first 1, 2, … judges join, in the panel's order. p-values and
    intervals are adjusted by Bonferroni for the numbers of judges."""
    if block.other_scale:
        undefined = Statistic.undefined(Reason.OTHER_SCALE)
        yield BlockResult(undefined, by="judges added", by_value="any number")
        return
    options = block.options
    additions = added_raters(
        block.humans,
        block.judges,
        block.level,
        block.clusters,
        confidence=options.confidence,
        seed=options.seed,
    )
    alone = additions.alphas[0]
    for place, alpha in enumerate(additions.alphas[1:]):
        reason = alone.reason or alpha.reason
        statistic = (
            Statistic.undefined(reason, n_items=alpha.n_items, n_raters=alpha.n_raters)
            if reason
            else replace(
                alpha,
                value=float(additions.change[place]),
                p_value=float(additions.p_adjusted[place]),
            )
        )
        yield BlockResult(
            statistic,
            note=""
            if reason
            else f"α {general(alone.value, 4)} of people, {general(alpha.value, 4)} with judges",
            by="judges added",
            by_value=f"{place + 1}",
            ci=additions.intervals[place] if options.intervals and not reason else None,
            p_raw=float(additions.p_value[place]),
            n_tests=len(additions.change),
            adjusted_over="judges added",
        )


ASSUMED = (0.8, 0.5)
"""Reliabilities of people's mean for which the number is given where there is no knowing it."""


@comparison_statistics.register(
    "effective_judges", "effective number",
    table=StatisticTable("Effective number of judges, from the correlation of their errors"),
    show_note=True, order=410,
)  # fmt: skip
def of_errors(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Yield the effective number of judges by their errors, corrected for the noise of people's
    mean where its reliability can be estimated; else a lower bound, and the number for assumed
    reliabilities."""
    options, reliability = block.options, mean_reliability(block.compared)
    bound = effective_judges(block.judges, block.target)
    if reliability.reason is None:
        reference = block.compared
        votes = effective_judges(block.judges, reference)
        note = (
            f"corrected for the noise of people's mean (reliability "
            f"{number(reliability.value)}); without the correction {_number(bound)}, a lower bound"
        )
    else:
        reference, votes = block.target, bound
        assumed = (
            f"{_number(effective_judges(block.judges, block.target, reliability=level))} if its "
            f"reliability were {level}"
            for level in ASSUMED
        )
        note = (
            "a lower bound, as the noise of people's mean is not known "
            f"({reliability.reason}): {', '.join(assumed)}"
        )
    interval = None
    if options.intervals and votes.reason in (None, Reason.NOT_CORRELATED):
        interval = effective_judges_interval(
            block.judges,
            reference,
            clusters=block.clusters,
            confidence=options.confidence,
            seed=options.seed,
        )
    if interval is None:
        yield BlockResult(votes, note=note)
    elif votes.reason is None:
        yield BlockResult(votes, note=note, ci=interval)
    else:
        # Judges whose errors seem independent have no number, but a bound.
        least = (
            ""
            if isnan(interval.low)
            else f"; {percent(options.confidence)} interval {interval.low:.1f} to "
            f"{interval.high:.1f}"
        )
        yield BlockResult(votes, note=note + least)


def _number(votes: Statistic) -> str:
    return "undefined" if votes.reason else f"{votes.value:.1f}"


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
def correlation_over_sources(block: ComparisonBlock) -> Iterator[BlockResult]:
    means = source_means(block.panel_mean, block.humans, block.sources or [])
    yield BlockResult(block.of_both(means.pearson), note="items are sources")


@comparison_statistics.register(
    "source_mean", "mean", table=BY_SOURCE, needs=("sources",), side="both", order=510
)
def mean(block: ComparisonBlock) -> Iterator[BlockResult]:
    sign = block.judges_sign if block.side == "panel" else block.humans_sign
    means = sign * row_means(_ratings(block))
    for source in _preferences(block).sources:
        own = _own(block, source, means)
        rated = own[~np.isnan(own)]
        value = float(rated.mean()) if len(rated) else nan
        yield _of_source(block, source, value, resampled_mean(own), "", "mean")


def _register_tally(
    name: Literal["win_rate", "first_place"], heading: str, counted: str, order: int
) -> None:
    @comparison_statistics.register(
        name, heading, table=BY_SOURCE, needs=("sources",), side="both", order=order
    )
    def tally(block: ComparisonBlock) -> Iterator[BlockResult]:
        tallies, resampled = _preferences(block), _resampled(block)
        for place, source in enumerate(tallies.sources):
            value = float(getattr(tallies, name)[place])
            own = resampled[source][name == "first_place"] if resampled else None
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


def _resampled(block: ComparisonBlock) -> dict[Hashable, tuple[Resampled, Resampled]]:
    if block.prompts is None:
        return {}
    return resampled_preferences(_ratings(block), block.sources or [], block.prompts)


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
    kind: EstimateKind = "share",
) -> BlockResult:
    ratings = _ratings(block)
    n_items = int(np.sum(~np.isnan(_own(block, source, row_means(ratings)))))
    n_raters = int(np.sum(~np.isnan(ratings).all(axis=0)))
    if np.isnan(value):
        reason = Reason.NO_RATINGS if n_items == 0 else Reason.FEW_SOURCES
        statistic = Statistic.undefined(reason, n_items=n_items, n_raters=n_raters)
    else:
        statistic = Statistic(value, n_items, n_raters)
    return BlockResult(statistic, resampled, note, kind, by="source", by_value=str(source))
