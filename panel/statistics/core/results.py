"""From statistics to rows: intervals, and p-values adjusted over dimensions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan

from panel.statistics.core.arrays import Labels, Resampled
from panel.statistics.core.holm import holm
from panel.statistics.core.options import AnalysisOptions
from panel.statistics.core.prompts import OverPrompts, resampled_over_prompts
from panel.statistics.core.statistic import Reason, Statistic
from panel.statistics.core.table import Row
from panel.statistics.resampling.bootstrap import Interval, bootstrap


@dataclass(frozen=True, slots=True)
class Result:
    """What a statistic gives for one block of ratings: a row but for its names.

    Attributes:
        statistic: the value, or why there is none.
        resampled: the statistic as a function of resampling weights; its interval is computed
            where the row is made. None: no interval, or `ci`.
        note: further facts for people to read.
        by, by_value: as for `Row`.
        ci: an interval that is known already, low and high.
        p_raw, n_tests, adjusted_over: as for `Row`, where the statistic has adjusted its
            p-value itself; it is then not adjusted over dimensions.
    """

    statistic: Statistic
    resampled: Resampled | None = None
    note: str = ""
    by: str | None = None
    by_value: str | None = None
    ci: tuple[float, float] | None = None
    p_raw: float = nan
    n_tests: int = 0
    adjusted_over: str | None = None


def mean_over_prompts(
    result: OverPrompts, prompts: Labels, kind: str = "prompts", *, whole: bool = True
) -> Result:
    """A mean over prompts, with how many there were.

    Args:
        kind: what the prompts are called.
        whole: whether each is drawn whole or not at all; if not, there is no interval.
    """
    note = f"mean of {len(result.prompts) - result.n_undefined} {kind}"
    if result.n_undefined:
        note += f", {result.n_undefined} undefined"
    resampled = resampled_over_prompts(result, prompts) if whole else None
    return Result(result.mean, resampled, note)


def interval_of(resampled: Resampled, clusters: Labels, options: AnalysisOptions) -> Interval:
    """The interval under resampling of the clusters, one label an item."""
    return bootstrap(
        resampled,
        len(clusters),
        clusters,
        method=options.method,
        confidence=options.confidence,
        n_resamples=options.n_resamples,
        seed=options.seed,
    )


def rows_of(
    name: str,
    results: Iterable[Result],
    group: str,
    dimension: str,
    clusters: Labels,
    options: AnalysisOptions,
) -> list[Row]:
    """The results of one statistic as rows, each with its interval."""
    return [_row(name, result, group, dimension, clusters, options) for result in results]


def adjust_over_dimensions(rows: Sequence[Row]) -> list[Row]:
    """The rows with p-values adjusted by Holm over the dimensions of a statistic and group.

    What is adjusted already, or alone, stays as it is.
    """
    families: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        if not isnan(row.p_value) and row.adjusted_over is None:
            families[row.statistic, row.group, row.by, row.by_value].append(place)
    adjusted = list(rows)
    for places in families.values():
        if len(places) < 2:
            continue
        p_values = holm([rows[place].p_raw for place in places])
        for place, p_value in zip(places, p_values, strict=True):
            adjusted[place] = replace(
                rows[place],
                p_value=float(p_value),
                n_tests=len(places),
                adjusted_over="dimensions",
            )
    return adjusted


def labels_of(labels: Sequence[Hashable] | None, items: Iterable[int]) -> list[Hashable] | None:
    """The labels of these items, None where there are none."""
    return None if labels is None else [labels[item] for item in items]


def _row(
    name: str,
    result: Result,
    group: str,
    dimension: str,
    clusters: Labels,
    options: AnalysisOptions,
) -> Row:
    found = result.statistic
    low, high = result.ci or (nan, nan)
    reason: Reason | None = None
    note = result.note
    if result.resampled is not None and found.reason is None:
        interval = interval_of(result.resampled, clusters, options)
        low, high, reason = interval.low, interval.high, interval.reason
        if not reason and interval.n_undefined:
            said = f"{interval.n_undefined} of {interval.n_resamples} resamples undefined"
            note = f"{note}; {said}" if note else said
    adjusted = result.adjusted_over is not None
    return Row(
        name,
        group,
        dimension,
        by=result.by,
        by_value=result.by_value,
        value=found.value,
        ci_low=low,
        ci_high=high,
        ci_reason=reason,
        p_value=found.p_value,
        p_raw=result.p_raw if adjusted else found.p_value,
        n_tests=result.n_tests if adjusted else int(not isnan(found.p_value)),
        adjusted_over=result.adjusted_over,
        n_items=found.n_items,
        n_raters=found.n_raters,
        reason=found.reason,
        note=note,
    )
