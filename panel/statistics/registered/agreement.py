"""The statistics of `agree`: reliability, agreement, rankings, labels, personas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import combinations
from math import inf, isnan, nan
from typing import Any

import numpy as np

from persona_panel.statistics.agreement import (
    AGREEMENT,
    AgreementBlock,
    agreement_statistics,
    panel_quality_statistics,
)
from persona_panel.statistics.concordance import (
    concordances,
    incomplete_concordance,
    perfect_agreement,
)
from persona_panel.statistics.core.arrays import (
    Array,
    Reason,
    Statistic,
    count_raters,
    has_ratings,
    resampled_mean,
)
from persona_panel.statistics.core.display import number, percent, signed
from persona_panel.statistics.core.means import OverPrompts, by_prompt
from persona_panel.statistics.core.registry import ANY_LEVEL, OF_SCORES, StatisticTable, interval_of
from persona_panel.statistics.core.table import kept_without, with_several_levels
from persona_panel.statistics.designs import ITEM, crossed_factors
from persona_panel.statistics.generalizability import (
    BETWEEN,
    RESIDUAL,
    VarianceComponents,
    variance_components,
)
from persona_panel.statistics.rater_pairs import PairStatistic, fleiss_kappa, pairwise
from persona_panel.statistics.reliability import disagreement_by_item, icc, krippendorff_alpha
from persona_panel.statistics.selection import THRESHOLD, smallest_subset
from persona_panel.statistics.votes import all_alike, effective_judges, spearman_brown

GROUPS_SHOWN = 12
"""Above this number of groups there would be too many pairs to look at."""


@agreement_statistics.register(
    "alpha_of_two_groups", "Krippendorff α",
    table=StatisticTable("Krippendorff α of every two groups together", columns="crossed",
                all_raters_only=True),
    levels=ANY_LEVEL, needs=("groups",), order=75,
)  # fmt: skip
def alpha_matrix(block: AgreementBlock) -> Iterator[Statistic]:
    """Yield α of every two groups together: `by` is the first group, `by_value` the other."""
    names = list(dict.fromkeys(block.groups))
    if not 2 < len(names) <= GROUPS_SHOWN:
        # Of two groups it is the α of all raters.
        return
    for first, other in combinations(names, 2):
        ratings = block.ratings[:, [group in (first, other) for group in block.groups]]
        alpha = krippendorff_alpha(ratings, block.level)
        yield replace(alpha, note=block.level, by=first, by_value=other)


agreement_statistics.register("icc1", "ICC(1,1)", order=190)(
    lambda block: [icc(block.ratings, "icc1")]
)
agreement_statistics.register("icc2", "ICC(2,1)", table=AGREEMENT, order=40)(
    lambda block: [icc(block.ratings, "icc2")]
)
agreement_statistics.register("fleiss_kappa", "Fleiss κ", levels=ANY_LEVEL, order=180)(
    lambda block: [fleiss_kappa(block.ratings)]
)


@agreement_statistics.register(
    "perfect_agreement", "perfect\nagreement", levels=ANY_LEVEL, order=200
)
def same_rating(block: AgreementBlock) -> Iterator[Statistic]:
    agreement = perfect_agreement(block.ratings)
    yield replace(agreement.share, note=f"{int(agreement.subset.sum())} items")


# Both come from the same shuffles, which take most of the time.
@lru_cache(maxsize=64)
def _concordances(block: AgreementBlock) -> tuple[OverPrompts, OverPrompts]:
    return concordances(block.ratings, block.prompts, **_shuffles(block))


agreement_statistics.register(
    "kendall_w", "Kendall\nW", table=AGREEMENT, of=OF_SCORES, summary="Kendall W", order=20
)(lambda block: [block.over_prompts(_concordances(block)[0], "share")])
agreement_statistics.register("kendall_w_ties", "W, corrected\nfor ties", order=110)(
    lambda block: [block.over_prompts(_concordances(block)[1], "share")]
)


def _shuffles(block: AgreementBlock) -> dict[str, int]:
    return {"n_permutations": block.options.n_permutations, "seed": block.options.seed}


@agreement_statistics.register(
    "kendall_w_incomplete", "W, incomplete\nrankings", table=AGREEMENT,
    needs=("incomplete_rankings",), of=OF_SCORES, show_note=True, summary="W, incomplete rankings",
    order=25,
)  # fmt: skip
def of_incomplete_rankings(block: AgreementBlock) -> Iterator[Statistic]:
    """Yield W of incomplete rankings, beside Kendall's W, which leaves out raters who rated only
    some items of a prompt."""
    concordance = incomplete_concordance(block.ratings, block.prompts, **_shuffles(block))
    result = block.over_prompts(concordance.over_prompts, "share", (0.0, 1.0))
    if isnan(concordance.statistic):
        yield result
        return
    test = (
        f"Skillings-Mack T {concordance.statistic:.1f}; "
        f"at random T {concordance.statistic_by_chance:.1f} and W {concordance.by_chance:.3f}"
    )
    yield replace(result, note=f"{test}; {result.note}" if result.note else test)


def _register_pairs(statistic: PairStatistic, heading: str, name: str = "", **options: Any) -> None:
    @agreement_statistics.register(name or statistic, heading, **options)
    def over_pairs(block: AgreementBlock) -> Iterator[Statistic]:
        pairs = pairwise(block.ratings, statistic, min_shared=block.options.min_shared or 2)
        note = f"{len(pairs.pairs)} pairs of raters"
        if pairs.n_undefined:
            note += f", {pairs.n_undefined} with a constant rater left out"
        yield replace(pairs.mean, note=note)


_register_pairs("tau_b", "mean\nτ_b", "mean_tau_b", table=AGREEMENT, order=30)
_register_pairs("spearman", "mean\nSpearman ρ", "mean_spearman", order=130)
_register_pairs("cohen_kappa_none", "Cohen κ", levels=ANY_LEVEL, order=150)
_register_pairs("cohen_kappa_linear", "Cohen κ,\nlinear weights", order=160)
_register_pairs("cohen_kappa_quadratic", "Cohen κ,\nquadratic weights", order=170)


@agreement_statistics.register(
    "mean_tau_b_within_prompts", "mean τ_b,\nwithin prompts", needs=("prompts",), order=120
)
def within_prompts(block: AgreementBlock) -> Iterator[Statistic]:
    inside = by_prompt(
        lambda items: pairwise(block.ratings[items], "tau_b").mean,
        block.prompts,
        len(block.ratings),
    )
    yield replace(block.over_prompts(inside), counted=has_ratings(block.ratings, 2))


@agreement_statistics.register(
    "effective_judges", "effective\nnumber of\njudges", table=AGREEMENT, of=OF_SCORES,
    summary="effective number of judges", order=60,
)  # fmt: skip
def of_all_agreement(block: AgreementBlock) -> Iterator[Statistic]:
    votes = effective_judges(
        block.ratings, None, block.clusters,
        [[left.ratings for left in levels] for levels in block.without_judges()],
        intervals=block.options.intervals, seed=block.options.seed,
    )  # fmt: skip
    yield replace(votes, ci=None) if votes.reason else votes


PERSONAS = StatisticTable(
    "Judges with personas compared with replicates of a judge without one, by item: variance of "
    "the ratings, of categories the share of pairs that differ",
    remark="More disagreement among personas than among replicates: personas change ratings beyond "
    "what the model varies by itself. This cannot show that they change them for the better: only "
    "ratings by people can (correlate --human). Equal disagreement does not show that personas do "
    "nothing: all may move ratings alike.",
)


_of_personas = partial(
    agreement_statistics.register, table=PERSONAS, levels=ANY_LEVEL, needs=("controls",)
)
_of_personas("persona_disagreement", "among\npersonas", order=51)(
    lambda block: [replace(_mean(block, _by_item(block)[0], block.ratings), limits=(0.0, inf))]
)
_of_personas("replicate_disagreement", "among replicates\nwithout persona", order=52)(
    lambda block: [replace(_mean(block, _by_item(block)[1], block.controls), limits=(0.0, inf))]
)


@_of_personas(
    "disagreement_added", "difference", of=OF_SCORES, show_note=True,
    summary="disagreement that personas add", order=53,
)  # fmt: skip
def added(block: AgreementBlock) -> Iterator[Statistic]:
    personas, replicates = _by_item(block)
    result = _mean(block, personas - replicates, np.hstack([block.ratings, block.controls]))
    if result.reason is None and all_alike(block.controls):
        yield Statistic.undefined(Reason.IDENTICAL_REPLICATES)
        return
    n_personas, n_replicates = map(count_raters, (block.ratings, block.controls))
    note = f"{n_personas} judges with a persona, {n_replicates} replicates without"
    yield replace(result, note=note)


def _by_item(block: AgreementBlock) -> tuple[Array, Array]:
    sides = [disagreement_by_item(side, block.level) for side in (block.ratings, block.controls)]
    missing = np.isnan(sides[0]) | np.isnan(sides[1])
    first, second = (np.where(missing, np.nan, side) for side in sides)
    return first, second


def _mean(block: AgreementBlock, by_item: Array, ratings: Array) -> Statistic:
    defined = ~np.isnan(by_item)
    n_raters = count_raters(ratings[defined])
    if not defined.any():
        few = count_raters(block.controls) < 2
        return Statistic.undefined(Reason.FEW_RATERS if few else Reason.NO_SHARED_ITEMS)
    whole = Statistic(float(by_item[defined].mean()), int(defined.sum()), n_raters)
    return whole.with_weights(resampled_mean(by_item), kind="mean")


@panel_quality_statistics.register(
    "reliability",
    "reliability",
    table=StatisticTable(
        "Reliability of the mean, by number of judges (Spearman-Brown)",
        columns="by_value",
        all_raters_only=True,
        remark=(
            "Of judges who all rate every item. With gaps, ICC(2,k) is of fewer: its k is the "
            "(harmonic) mean number of ratings of an item."
        ),
    ),
    order=10,
)
def of_the_mean(block: AgreementBlock) -> Iterator[Statistic]:
    """Yield the reliability where judges are interchangeable: other personas on one model, or
    raters. Of crossed judges `plan` has it, by design."""
    if not _interchangeable(block):
        return
    single = icc(block.ratings, "icc2")
    sampled = with_several_levels(block.judge_facets)
    judges = [
        [icc(block.ratings[:, kept], "icc2").resampled for kept in levels]
        for levels in kept_without(sampled if block.options.random != "prompts" else {})
    ]
    interval = interval_of(single, block.clusters, block.options, judges)
    n_judges = len(block.raters)
    sizes = {*(2**n for n in range(n_judges.bit_length())), n_judges, 2 * n_judges}
    if single.reason or single.value <= 0:
        interval = None
        single = replace(single, value=nan, reason=single.reason or Reason.NOT_RELIABLE)
    for size in sorted(sizes):
        ci = interval and replace(
            interval, low=_of_mean(interval.low, size), high=_of_mean(interval.high, size)
        )
        value = _of_mean(single.value, size)
        yield single.without_interval(value=value, by="judges", by_value=f"{size}", ci=ci)


def _of_mean(icc2: float, size: int) -> float:
    return 0.0 if icc2 <= 0 else float(spearman_brown(icc2, size))


@panel_quality_statistics.register(
    "variance_share",
    "share",
    table=StatisticTable(
        "Variance components, as shares of the variance of scores",
        columns="dimension",
        all_raters_only=True,
        remark="item: what judges agree on. item:model: models disagree about which items are "
        "better. residual: the highest interaction, unless replicates separate it, and error. "
        "Components have no intervals: those that were tried did not cover.",
    ),
    order=20,
)
def of_components(block: AgreementBlock) -> Iterator[Statistic]:
    """Yield the share of each component; only of interactions that the design identifies."""
    components = _components(block)
    held = [of for of, why in components.unidentified.items() if why is Reason.IN_RESIDUAL]
    for name, share in components.shares.items():
        if BETWEEN in name and (components.reason or name in components.unidentified):
            continue
        variance = components.variances[name]
        note = f"variance {variance:.4g}" + ", taken as 0" * (variance < 0)
        note += f", with {held[0]}" if name == RESIDUAL and held else ""
        value = block.counted(share, components.reason or Reason.ONE_LEVEL)
        note = "" if value.reason else note
        yield replace(value, note=note, by="component", by_value=name)


def _components(block: AgreementBlock) -> VarianceComponents:
    rows = {ITEM: np.arange(len(block.ratings))}
    factors = crossed_factors(block.ratings.shape, rows, block.judge_facets)
    return variance_components(block.ratings.ravel(), factors)


_MIN_SHARE_RATED = 0.5
"""Judges who rated less than this share of the items cannot stand for each other."""


def _is_sparse(block: AgreementBlock) -> bool:
    return bool((np.mean(~np.isnan(block.ratings), axis=0) < _MIN_SHARE_RATED).any())


def _interchangeable(block: AgreementBlock) -> bool:
    """Return whether judges differ by one factor, and none is a replicate of another."""
    several = [set(labels) for labels in with_several_levels(block.judge_facets).values()]
    return len(several) == 1 and len(several[0]) == len(block.raters)


@panel_quality_statistics.register(
    "alpha_without",
    "Krippendorff α",
    table=StatisticTable(
        "Krippendorff α without a judge", columns="dimension", all_raters_only=True
    ),
    levels=ANY_LEVEL,
    order=30,
)
def without_each_judge(block: AgreementBlock) -> Iterator[Statistic]:
    """Yield α without each judge; the row with nobody left out has no `by_value`."""
    if _is_sparse(block):
        return
    full = krippendorff_alpha(block.ratings, block.level)
    yield full.without_interval(note=block.level, by="judge left out")
    for column, judge in enumerate(block.raters):
        alpha = krippendorff_alpha(np.delete(block.ratings, column, axis=1), block.level)
        change = alpha.value - full.value
        note = block.level if isnan(change) else f"{block.level}, changed by {signed(change, 4)}"
        yield alpha.without_interval(note=note, by="judge left out", by_value=judge)


@panel_quality_statistics.register(
    "smallest_subset",
    "judges",
    table=StatisticTable(
        "Smallest subset reproducing the full panel's ranking", columns="none", all_raters_only=True
    ),
    order=40,
)
def that_keeps_the_ranking(block: AgreementBlock) -> Iterator[Statistic]:
    """Yield the number of judges, and by `judge` who they are: the position at which each was
    chosen."""
    if _is_sparse(block):
        yield block.counted(nan, Reason.SPARSE)
        return
    options = block.options
    subset = smallest_subset(block.sign * block.ratings, block.prompts, seed=options.seed)
    if subset.reason:
        best = subset.low[-2] if subset.reason is Reason.NOT_REACHED else np.nan
        note = "" if np.isnan(best) else f"τ_b of all judges but one: at least {number(best, 3)}"
        yield replace(block.counted(nan, subset.reason), note=note)
        return
    note = (
        f"τ_b with the full panel on other prompts shown to be at least {THRESHOLD:g} (test at "
        f"5 %), {percent(subset.cost_saved)} of the cost saved if judges cost alike"
    )
    yield replace(block.counted(float(len(subset.judges))), note=note)
    for place, judge in enumerate(subset.judges):
        yield replace(block.counted(place + 1.0), by="judge", by_value=block.raters[judge])
