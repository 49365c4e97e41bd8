"""Labels of a panel compared with those of humans: κ, confusion, agreement on each label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from persona_panel.statistics.agreement.kappa import cohen_kappa, resampled_cohen_kappa
from persona_panel.statistics.agreement.labels import agreement_on, confusion, majority, same_label
from persona_panel.statistics.agreement.pairwise import pairwise, resampled_pairwise
from persona_panel.statistics.core.arrays import (
    Array,
    Mask,
    Resampled,
    has_two_ratings,
    mean_of,
    paired_scores,
    unit_weights,
)
from persona_panel.statistics.core.registry import ANY_LEVEL, StatisticTable
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.humans.correlate import ComparisonBlock, comparison_statistics
from persona_panel.statistics.registered.agreement.labels import ANNOTATORS_SHOWN, kappa_matrix
from persona_panel.statistics.resampling.weights import resampled_mean

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
    """Each judge with each person."""
    found = [
        (cohen_kappa(judge, human, "none"), resampled_cohen_kappa(judge, human, "none"))
        for judge in block.judges.T
        for human in block.humans.T
    ]
    sides = block.judges, block.humans
    counted = np.all([(~np.isnan(side)).any(axis=1) for side in sides], axis=0)
    yield _mean_kappa(found, counted)


@comparison_statistics.register(
    "human_label_kappa", _KAPPA, table=LABELS, levels=ANY_LEVEL, needs=("categories",),
    side="humans", summary="people: κ with the others", order=1,
)  # fmt: skip
def human_kappa(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Each person with the majority of the others."""
    if _why_no_humans(block) is Reason.FEW_PEOPLE:
        yield BlockResult(Statistic.undefined(Reason.FEW_PEOPLE))
        return
    found = []
    for place, human in enumerate(block.humans.T):
        sides = block.humans[:, [place]], np.delete(block.humans, place, axis=1)
        others = majority(sides[1])
        found.append(
            (
                _named(cohen_kappa(human, others, "none"), *sides),
                resampled_cohen_kappa(human, others, "none"),
            )
        )
    yield _mean_kappa(found, has_two_ratings(block.humans))


@comparison_statistics.register(
    "human_label_agreement", _SAME, table=LABELS, levels=ANY_LEVEL, needs=("categories",),
    side="humans", order=2,
)  # fmt: skip
def human_agreement(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Each person with the majority of the others, the mean over people."""
    by_human = [
        same_label(human, majority(np.delete(block.humans, place, axis=1)))
        for place, human in enumerate(block.humans.T)
    ]
    defined = [same for same in by_human if not np.isnan(same).all()]
    if not defined:
        yield BlockResult(Statistic.undefined(_why_no_humans(block)))
        return
    resampled = mean_of([resampled_mean(same) for same in defined])
    value = float(resampled(unit_weights(len(block.humans)))[0])
    n_items = int((~np.isnan(np.array(defined))).any(axis=0).sum())
    yield BlockResult(
        Statistic(value, n_items, len(defined)), resampled, kind="share", limits=(0.0, 1.0)
    )


@comparison_statistics.register(
    "human_label_kappa_pairs", _PAIRS, table=LABELS, levels=ANY_LEVEL, needs=("categories",),
    side="humans", order=3,
)  # fmt: skip
def human_pairs(block: ComparisonBlock) -> Iterator[BlockResult]:
    found = pairwise(block.humans, "cohen_kappa_none")
    yield BlockResult(
        found.mean,
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
        value = float(resampled(unit_weights(len(both)))[0])
        if not n_items:
            found = Statistic.undefined(why_not_shared(block.judges, block.humans))
        elif np.isnan(value):
            found = Statistic.undefined(Reason.NO_RATINGS, n_items=n_items)
        else:
            found = block.of_both(Statistic(value, n_items, 2))
        yield BlockResult(
            found, resampled, kind="share", limits=(0.0, 1.0), by="label", by_value=name
        )


@comparison_statistics.register(
    "confusion", "items", table=CONFUSION, levels=ANY_LEVEL, needs=("categories",), order=5
)
def table(block: ComparisonBlock) -> Iterator[BlockResult]:
    """A row for each pair of labels: `by` is that of people, `by_value` that of the panel."""
    counts = confusion(majority(block.humans), majority(block.judges), len(block.categories))
    n_items = int(counts.sum())
    for theirs, row in zip(block.categories, counts, strict=True):
        for ours, count in zip(block.categories, row, strict=True):
            found = block.of_both(Statistic(float(count), n_items, 2))
            yield BlockResult(found, by=f"humans: {theirs}", by_value=f"panel: {ours}")


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
    """The two majorities, the judges and the people; of at most `ANNOTATORS_SHOWN`."""
    names = ["majority of people", "majority of the panel"]
    names += [*block.judge_names, *block.human_names]
    sides = [majority(block.humans), majority(block.judges), *block.judges.T, *block.humans.T]
    if len(names) <= ANNOTATORS_SHOWN:
        yield from kappa_matrix(np.stack(sides, axis=1), names)


def _mean(values: Array, block: ComparisonBlock) -> BlockResult:
    defined = ~np.isnan(values)
    if not defined.any():
        return BlockResult(Statistic.undefined(why_not_shared(block.judges, block.humans)))
    found = block.of_both(Statistic(float(values[defined].mean()), int(defined.sum()), 2))
    return BlockResult(found, resampled_mean(values), kind="share", limits=(0.0, 1.0))


def _mean_kappa(found: list[tuple[Statistic, Resampled]], counted: Mask) -> BlockResult:
    """The mean over pairs whose κ is defined."""
    defined = [(one, resampled) for one, resampled in found if one.reason is None]
    if not defined:
        reasons = [one.reason for one, _ in found if one.reason]
        reason = next(iter(reasons), Reason.FEW_PEOPLE)
        tied = Reason.NO_MAJORITY in reasons
        return BlockResult(Statistic.undefined(Reason.NO_MAJORITY if tied else reason))
    value = float(np.mean([one.value for one, _ in defined]))
    n_items = max(one.n_items for one, _ in defined)
    n_left_out = len(found) - len(defined)
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
    """Why no item has a majority of each side `(items, raters)`: no item was rated by all of them,
    or the raters of a side are tied wherever it was."""
    rated = np.all([(~np.isnan(side)).any(axis=1) for side in sides], axis=0)
    return Reason.NO_MAJORITY if rated.any() else Reason.NO_SHARED_ITEMS


def _named(found: Statistic, first: Array, second: Array) -> Statistic:
    """A statistic of the majorities of two sides `(items, raters)`, with the true reason where
    there is none."""
    if found.reason is not Reason.NO_SHARED_ITEMS:
        return found
    return replace(found, reason=why_not_shared(first, second))


def _without_majority(block: ComparisonBlock) -> str:
    """Return how many items are left out, because a side that rated them has no majority."""
    told = []
    for side, labels in (("panel", block.judges), ("humans", block.humans)):
        rated = (~np.isnan(labels)).any(axis=1)
        if n := int((rated & np.isnan(majority(labels))).sum()):
            told.append(f"left out: {n} items without a majority of the {side}")
    return "; ".join(told)
