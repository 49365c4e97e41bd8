"""The statistics of `panel_quality`, also in `agree`: reliability, variance, the worth of each
judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from persona_panel.statistics.agreement import PanelBlock, panel_quality_statistics
from persona_panel.statistics.core.arrays import Reason, Statistic, has_ratings
from persona_panel.statistics.core.display import number, percent, signed
from persona_panel.statistics.core.registry import (
    ANY_LEVEL,
    BlockResult,
    StatisticTable,
    interval_of,
)
from persona_panel.statistics.core.table import kept_without
from persona_panel.statistics.designs import (
    ITEM,
    crossed_factors,
    design_name,
    designs_around,
    present_levels,
)
from persona_panel.statistics.generalizability import (
    BETWEEN,
    RESIDUAL,
    d_study,
    variance_components,
)
from persona_panel.statistics.panel_size import (
    THRESHOLD,
    leave_one_judge_out,
    smallest_subset,
    spearman_brown,
)
from persona_panel.statistics.reliability import icc, krippendorff_alpha, resampled_icc


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
def of_the_mean(block: PanelBlock) -> Iterator[BlockResult]:
    """Yield the reliability where judges are interchangeable: other personas on one model, or
    raters."""
    if not block.interchangeable:
        return
    single = icc(block.ratings, "icc2")
    judges = [
        [resampled_icc(block.ratings[:, kept], "icc2") for kept in levels]
        for levels in kept_without(block.sampled if block.options.random != "prompts" else {})
    ]
    whole = BlockResult(
        single,
        resampled_icc(block.ratings, "icc2"),
        limits=(-np.inf, 1.0),
        counted=has_ratings(block.ratings),
    )
    interval = interval_of(whole, block.clusters, block.options, judges)
    n_judges = len(block.judges)
    sizes = {*(2**n for n in range(n_judges.bit_length())), n_judges, 2 * n_judges}
    for size in sorted(sizes):
        by, by_value = "judges", f"{size}"
        if single.reason or single.value <= 0:
            undefined = Statistic.undefined(
                single.reason or Reason.NOT_RELIABLE,
                n_items=single.n_items,
                n_raters=single.n_raters,
            )
            yield BlockResult(undefined, by=by, by_value=by_value)
            continue
        value = replace(single, value=float(spearman_brown(single.value, size)))
        if interval is None:
            yield BlockResult(value, by=by, by_value=by_value)
            continue
        low, high = (
            0.0 if end <= 0 else float(spearman_brown(end, size))
            for end in (interval.low, interval.high)
        )
        of_all = replace(interval, low=low, high=high)
        yield BlockResult(value, by=by, by_value=by_value, ci=of_all)


@panel_quality_statistics.register(
    "reliability_by_design",
    "reliability",
    table=StatisticTable(
        "Reliability of the mean, by design (D-study)",
        columns="dimension",
        all_raters_only=True,
        remark="The dependability Φ of a response's mean rating: this design, and with half and "
        "twice as many of each. More personas on the same models do not average out what these "
        "models have in common. The figures rest on few models and personas, and have no "
        "intervals. `plan` has standard errors, systems and costs.",
    ),
    order=11,
)
def of_designs(block: PanelBlock) -> Iterator[BlockResult]:
    """Yield the reliability by design where judges are crossed; for others, see `reliability`."""
    if block.interchangeable:
        return
    rows = {ITEM: np.arange(len(block.ratings))}
    components = variance_components(
        block.ratings.ravel(), crossed_factors(block.ratings.shape, rows, block.judge_factors)
    )
    if components.reason is not None:
        yield BlockResult(block.undefined(components.reason), by="design")
        return
    for levels in designs_around(components, ITEM, present_levels(components, ITEM)):
        value = d_study(components, ITEM, levels).dependability
        defined = not np.isnan(value)
        yield BlockResult(
            block.counted(value) if defined else block.undefined(Reason.NOT_POSITIVE),
            by="design",
            by_value=design_name(levels),
        )


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
def of_components(block: PanelBlock) -> Iterator[BlockResult]:
    """Yield the share of each component; only of interactions that the design identifies."""
    rows = {ITEM: np.arange(len(block.ratings))}
    components = variance_components(
        block.ratings.ravel(), crossed_factors(block.ratings.shape, rows, block.judge_factors)
    )
    for name, share in components.shares.items():
        if BETWEEN in name and (components.reason or name in components.unidentified):
            continue
        defined = not np.isnan(share)
        yield BlockResult(
            block.counted(share)
            if defined
            else block.undefined(components.reason or Reason.ONE_LEVEL),
            note=_note(name, components.variances[name], components.unidentified)
            if defined
            else "",
            by="component",
            by_value=name,
        )


def _note(name: str, variance: float, unidentified: Mapping[str, Reason]) -> str:
    note = f"variance {variance:.4g}"
    if variance < 0:
        note += ", taken as 0"
    held = [of for of, why in unidentified.items() if why is Reason.IN_RESIDUAL]
    return f"{note}, with {held[0]}" if name == RESIDUAL and held else note


@panel_quality_statistics.register(
    "alpha_without",
    "Krippendorff α",
    table=StatisticTable(
        "Krippendorff α without a judge", columns="dimension", all_raters_only=True
    ),
    levels=ANY_LEVEL,
    order=30,
)
def without_each_judge(block: PanelBlock) -> Iterator[BlockResult]:
    """Yield α without each judge; the row with nobody left out has no `by_value`."""
    if block.sparse:
        return
    alphas = leave_one_judge_out(
        block.ratings, lambda ratings: krippendorff_alpha(ratings, block.level), block.judges
    )
    yield BlockResult(alphas.full, note=block.level, by="judge left out")
    for judge, alpha, change in zip(alphas.judges, alphas.without, alphas.change, strict=True):
        note = block.level if np.isnan(change) else f"{block.level}, changed by {signed(change, 4)}"
        yield BlockResult(alpha, note=note, by="judge left out", by_value=str(judge))


@panel_quality_statistics.register(
    "smallest_subset",
    "judges",
    table=StatisticTable(
        "Smallest subset reproducing the full panel's ranking",
        columns="none",
        all_raters_only=True,
    ),
    order=40,
)
def that_keeps_the_ranking(block: PanelBlock) -> Iterator[BlockResult]:
    """Yield the number of judges, and by `judge` who they are: the position at which each was
    chosen."""
    if block.sparse:
        yield BlockResult(block.undefined(Reason.SPARSE))
        return
    options = block.options
    subset = smallest_subset(
        block.sign * block.ratings, block.prompts, confidence=options.confidence, seed=options.seed
    )
    if subset.reason:
        best = subset.low[-2] if subset.reason is Reason.NOT_REACHED else np.nan
        note = "" if np.isnan(best) else f"τ_b of all judges but one: at least {number(best, 3)}"
        yield BlockResult(block.undefined(subset.reason), note=note)
        return
    note = (
        f"τ_b with the full panel on other prompts shown to be at least {THRESHOLD:g} (test at "
        f"{percent(1 - options.confidence)}), {percent(subset.cost_saved)} of the cost saved if "
        "judges cost alike"
    )
    yield BlockResult(block.counted(float(len(subset.judges))), note=note)
    for place, judge in enumerate(subset.judges):
        yield BlockResult(block.counted(place + 1.0), by="judge", by_value=block.judges[judge])
