"""The statistics of labels: of `agree` and of `correlate`, on dimensions of categories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, product

import numpy as np

from persona_panel.statistics.agreement import AgreementBlock, agreement_statistics
from persona_panel.statistics.comparison import ComparisonBlock, comparison_statistics
from persona_panel.statistics.core.arrays import (
    Array,
    Mask,
    Reason,
    Statistic,
    count_raters,
    has_ratings,
    mean_of,
    value_of,
)
from persona_panel.statistics.core.registry import ANY_LEVEL, StatisticTable
from persona_panel.statistics.rater_pairs import agreement_on, cohen_kappa, confusion, majority
from persona_panel.statistics.registered.comparison import GAIN_REMARK, of_all_raters

ANNOTATORS_SHOWN = 40
"""The most annotators for which κ of every two is computed; for more, only the mean."""
_OF_KAPPA = (-1.0, 1.0)
_OF_SHARE = (0.0, 1.0)


def kappa_matrix(labels: Array, names: Sequence[str]) -> Iterator[Statistic]:
    """Yield unweighted κ of every two annotators `(items, annotators)`, each pair once: `by` and
    `by_value` are their names; nothing of more than `ANNOTATORS_SHOWN`."""
    if len(names) <= ANNOTATORS_SHOWN:
        for (a, name), (b, other) in combinations(enumerate(names), 2):
            kappa = cohen_kappa(labels[:, a], labels[:, b], "none")
            yield kappa.without_interval(by=name, by_value=other)


@agreement_statistics.register(
    "agreement_on_label", "agreement",
    table=StatisticTable("Agreement of two annotators on each label", columns="by_value"),
    levels=ANY_LEVEL, needs=("categories",), order=70,
)  # fmt: skip
def of_annotators(block: AgreementBlock) -> Iterator[Statistic]:
    n_raters = count_raters(block.ratings[has_ratings(block.ratings, 2)])
    for statistic in _on_labels(block, block.ratings, Reason.NO_RATINGS):
        yield replace(statistic, n_raters=n_raters)


def _on_labels(
    block: AgreementBlock | ComparisonBlock, ratings: Array, otherwise: Reason
) -> Iterator[Statistic]:
    """Yield the agreement on each label, with none of the raters counted."""
    n_items = int(has_ratings(ratings, 2).sum())
    for code, name in enumerate(block.categories):
        resampled = agreement_on(ratings, code)
        statistic = Statistic.of(value_of(resampled, len(ratings)), n_items, 0, otherwise)
        named = replace(statistic, by="label", by_value=name)
        yield named.with_weights(resampled, None, "share", _OF_SHARE)


agreement_statistics.register(
    "kappa_of_two", "Cohen κ",
    table=StatisticTable(
        "Cohen κ of every two annotators", columns="crossed", all_raters_only=True
    ),
    levels=ANY_LEVEL, needs=("categories",), order=80,
)(lambda block: kappa_matrix(block.ratings, block.raters))  # fmt: skip

LABELS = StatisticTable("Labels compared with people's; people: each with the others")
BY_LABEL = StatisticTable("Agreement of the two majorities on each label (F1)", columns="by_value")
CONFUSION = StatisticTable(
    "Labels by the majority of people (lines) and of the panel (columns), numbers of items",
    columns="crossed",
    all_raters_only=True,
)
BY_JUDGE = StatisticTable(
    "Cohen κ of each judge with the majority of people", columns="dimension", all_raters_only=True
)
MATRIX = StatisticTable(
    "Cohen κ of every two annotators, judges and people", columns="crossed", all_raters_only=True
)
_of_labels = partial(comparison_statistics.register, levels=ANY_LEVEL, needs=("categories",))
_KAPPA = "Cohen κ of\nthe majorities"


@_of_labels(
    "label_kappa", _KAPPA, table=LABELS, show_note=True, summary="Cohen κ of the majorities",
    order=1,
)  # fmt: skip
def kappa(block: ComparisonBlock) -> Iterator[Statistic]:
    sides = block.judges, block.humans
    left_out = [
        f"left out: {n} items without a majority of the {name}"
        for name, side in zip(("panel", "humans"), sides, strict=True)
        if (n := int((has_ratings(side) & np.isnan(majority(side))).sum()))
    ]
    of_majorities = _kappa(*map(majority, sides), *sides)
    yield replace(block.of_both(of_majorities), note="; ".join(left_out))


@_of_labels(
    "human_label_kappa", _KAPPA, table=LABELS, side="humans", summary="people: κ with the others",
    order=1,
)  # fmt: skip
def human_kappa(block: ComparisonBlock) -> Iterator[Statistic]:
    """Yield the mean κ of each person with the majority of the others."""
    if count_raters(block.humans) < 2:
        yield Statistic.undefined(Reason.FEW_PEOPLE)
        return
    kappas = [
        _kappa(human, majority(others), human[:, None], others)
        for place, human in enumerate(block.humans.T)
        for others in [np.delete(block.humans, place, axis=1)]
    ]
    yield _mean_kappa(kappas, has_ratings(block.humans, 2))


@_of_labels("agreement_on_label", "agreement", table=BY_LABEL, order=4)
def by_label(block: ComparisonBlock) -> Iterator[Statistic]:
    sides = block.judges, block.humans
    both = np.stack([majority(side) for side in sides], axis=1)
    why = Reason.NO_RATINGS if has_ratings(both, 2).any() else _why_not_shared(*sides)
    for statistic in _on_labels(block, both, why):
        yield statistic if statistic.reason else block.of_both(statistic)


@_of_labels("confusion", "items", table=CONFUSION, order=5)
def table(block: ComparisonBlock) -> Iterator[Statistic]:
    """Yield the count of each pair of labels: `by` is that of people, `by_value` the panel's."""
    counts = confusion(majority(block.humans), majority(block.judges), len(block.categories))
    of_pairs = product(block.categories, block.categories)
    for (theirs, ours), count in zip(of_pairs, counts.ravel().tolist(), strict=True):
        statistic = block.of_both(Statistic(count, int(counts.sum()), 2))
        yield replace(statistic, by=f"humans: {theirs}", by_value=f"panel: {ours}")


@_of_labels("judge_label_kappa", "Cohen κ", table=BY_JUDGE, order=6)
def by_judge(block: ComparisonBlock) -> Iterator[Statistic]:
    humans = majority(block.humans)
    for name, judge in zip(block.judge_names, block.judges.T, strict=True):
        of_judge = _kappa(judge, humans, judge[:, None], block.humans)
        yield replace(of_judge, by="judge", by_value=name)


@_of_labels("kappa_of_two", "Cohen κ", table=MATRIX, order=7)
def matrix(block: ComparisonBlock) -> Iterator[Statistic]:
    """Yield κ of the two majorities, the judges and the people."""
    sides = [majority(block.humans), majority(block.judges), *block.judges.T, *block.humans.T]
    names = ["majority of people", "majority of the panel"]
    names += [*block.judge_names, *block.human_names]
    yield from kappa_matrix(np.stack(sides, axis=1), names)


@comparison_statistics.register(
    "persona_gain_kappa", "Cohen κ",
    table=StatisticTable(
        "What personas add: κ with the majority of people, majority of the judges with "
        "personas less majority of the replicates without",
        remark=GAIN_REMARK.replace("mean of the", "majority of the").replace(
            "correlates more", "agrees more"
        ),
    ),
    levels=ANY_LEVEL, needs=("controls", "categories"), show_note=True, order=204,
)  # fmt: skip
def kappa_gain(block: ComparisonBlock) -> Iterator[Statistic]:
    sides = block.judges, block.controls, block.humans
    majorities = np.array([majority(side) for side in sides])
    ours, theirs, target = np.where(np.isnan(majorities).any(axis=0), np.nan, majorities)
    first, second = (_kappa(side, target, *sides) for side in (ours, theirs))
    change = first.less(second, n_raters=2)
    if change.reason:
        change = Statistic.undefined(change.reason)
    yield of_all_raters(block, change)


def _kappa(x: Array, y: Array, *sides: Array) -> Statistic:
    """Return unweighted κ; where nothing is shared, with the reason why by who rated what."""
    kappa = cohen_kappa(x, y, "none")
    if kappa.reason is not Reason.NO_SHARED_ITEMS:
        return kappa
    return replace(kappa, reason=_why_not_shared(*sides))


def _mean_kappa(kappas: list[Statistic], counted: Mask) -> Statistic:
    """Return the mean over pairs whose κ is defined."""
    defined = [kappa for kappa in kappas if kappa.reason is None]
    if not defined:
        reasons = [kappa.reason for kappa in kappas if kappa.reason]
        reason = next(iter(reasons), Reason.FEW_PEOPLE)
        tied = Reason.NO_MAJORITY in reasons
        return Statistic.undefined(Reason.NO_MAJORITY if tied else reason)
    value = float(np.mean([kappa.value for kappa in defined]))
    n_items = max(kappa.n_items for kappa in defined)
    n_left_out = len(kappas) - len(defined)
    note = f"{len(defined)} pairs" + (
        f", {n_left_out} with a constant rater or no shared item left out" if n_left_out else ""
    )
    return Statistic(value, n_items, len(defined) + 1, note=note).with_weights(
        mean_of([kappa.resampled for kappa in defined]), counted, "kappa", _OF_KAPPA
    )


def _why_not_shared(*sides: Array) -> Reason:
    """Return why no item has a majority of each side: not rated by all of them, or ties."""
    rated = np.all([has_ratings(side) for side in sides], axis=0)
    return Reason.NO_MAJORITY if rated.any() else Reason.NO_SHARED_ITEMS
