"""From statistics to rows: intervals, and p-values adjusted over dimensions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, nan

from persona_panel.statistics.core.arrays import Labels, Mask, Resampled
from persona_panel.statistics.core.holm import holm_of_two
from persona_panel.statistics.core.options import AnalysisOptions
from persona_panel.statistics.core.prompts import OverPrompts, resampled_over_prompts
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.core.table import Row
from persona_panel.statistics.resampling.jackknife import EstimateKind, Interval, jackknife


@dataclass(frozen=True, slots=True)
class BlockResult:
    """What a statistic gives for one block of ratings: a row but for its names.

    Attributes:
        statistic: the value, or why there is none.
        resampled: the statistic as a function of resampling weights; its interval is computed
            where the row is made. None: no interval, or `ci`.
        kind, limits: what the statistic is and between which values it lies, as for `jackknife`.
        note: further facts for people to read.
        by, by_value: as for `Row`.
        ci: an interval that is known already.
        p_raw, n_tests, adjusted_over: as for `Row`, where the statistic has adjusted its
            p-value itself; it is then not adjusted over dimensions.
        counted: the items from which it is computed, as for `jackknife`.
    """

    statistic: Statistic
    resampled: Resampled | None = None
    note: str = ""
    kind: EstimateKind = "number"
    limits: tuple[float, float] = (-inf, inf)
    by: str | None = None
    by_value: str | None = None
    ci: Interval | None = None
    p_raw: float = nan
    n_tests: int = 0
    adjusted_over: str | None = None
    counted: Mask | None = None


def mean_over_prompts(
    result: OverPrompts,
    prompts: Labels,
    prompt_kind: str = "prompts",
    *,
    kind: EstimateKind = "mean_correlation",
    limits: tuple[float, float] = (-1.0, 1.0),
    whole: bool = True,
) -> BlockResult:
    """A mean over prompts, with how many there were.

    Args:
        prompt_kind: what the prompts are called.
        kind, limits: as for `BlockResult`.
        whole: whether each is drawn whole or not at all; if not, there is no interval.
    """
    note = f"mean of {len(result.prompts) - result.n_undefined} {prompt_kind}"
    if result.n_undefined:
        note += f", {result.n_undefined} undefined"
    resampled = resampled_over_prompts(result, prompts) if whole else None
    return BlockResult(result.mean, resampled, note, kind, limits)


def no_interval(reason: Reason, options: AnalysisOptions) -> Interval:
    """The interval that is not there, and why."""
    return Interval(nan, nan, nan, nan, options.confidence, 0, reason)


def interval_of(
    result: BlockResult,
    clusters: Labels,
    options: AnalysisOptions,
    judges: Sequence[Sequence[Resampled | None]] = (),
) -> Interval | None:
    """The interval of a result over the clusters, one label an item; None where there is to be
    none. `judges` as for `jackknife`."""
    if result.resampled is None or result.statistic.reason or not options.intervals:
        return None
    return jackknife(
        result.resampled,
        len(clusters),
        clusters,
        kind=result.kind,
        limits=result.limits,
        judges=judges,
        counted=result.counted,
        confidence=options.confidence,
        seed=options.seed,
    )


def rows_of(
    name: str,
    results: Iterable[BlockResult],
    group: str,
    dimension: str,
    clusters: Labels,
    options: AnalysisOptions,
    without_judges: Sequence[Sequence[Iterable[BlockResult]]] = (),
) -> list[Row]:
    """The results of one statistic as rows, each with its interval.

    Args:
        without_judges: for each factor that judges are sampled from, the results without each of
            its levels.
    """
    left_out = [[_resampled(those) for those in factor] for factor in without_judges]
    rows = []
    for result in results:
        key = result.by, result.by_value
        judges = [[those.get(key) for those in factor] for factor in left_out]
        interval = interval_of(result, clusters, options, judges)
        row = _row(name, result, group, dimension, interval)
        rows.append(row if isnan(row.ci_low) else replace(row, ci_over=options.random))
    return rows


def _resampled(
    results: Iterable[BlockResult],
) -> dict[tuple[str | None, str | None], Resampled | None]:
    return {
        (one.by, one.by_value): None if one.statistic.reason else one.resampled for one in results
    }


def adjust_over_dimensions(
    rows: Sequence[Row], composite: Sequence[Row] = (), *, over_strata: bool = False
) -> list[Row]:
    """The rows with p-values adjusted by Holm over the dimensions of a statistic and group, and
    over the strata that rows are of; those of the composite come first, as a family of their own
    beside the dimensions: see `holm_of_two`.

    What a statistic has adjusted itself, or is alone, stays as it is.
    """
    families: dict[tuple[object, ...], tuple[list[int], list[int]]] = {}
    adjusted = [*composite, *rows]
    what = "strata and dimensions" if over_strata else "dimensions"
    names = {
        (False, True): what,
        (True, True): f"composite, {what}" if over_strata else f"composite and {what}",
        (True, False): "strata",
    }
    for place, row in enumerate(adjusted):
        if not isnan(row.p_value) and row.adjusted_over in (None, *names.values()):
            stratum = None if over_strata else row.by_value
            family = families.setdefault((row.statistic, row.group, row.by, stratum), ([], []))
            family[place >= len(composite)].append(place)
    for family in families.values():
        n_tests = sum(map(len, family))
        if n_tests < 2:
            continue
        p_values = holm_of_two(*([adjusted[place].p_raw for place in those] for those in family))
        for places, found in zip(family, p_values, strict=True):
            for place, p_value in zip(places, found, strict=True):
                adjusted[place] = replace(
                    adjusted[place],
                    p_value=float(p_value),
                    n_tests=n_tests,
                    adjusted_over=names[bool(family[0]), bool(family[1])],
                )
    return adjusted


def labels_of(labels: Sequence[Hashable] | None, items: Iterable[int]) -> list[Hashable] | None:
    """The labels of these items, None where there are none."""
    return None if labels is None else [labels[item] for item in items]


def _row(
    name: str, result: BlockResult, group: str, dimension: str, interval: Interval | None
) -> Row:
    found = result.statistic
    if interval is None:
        interval = result.ci
    there = interval is not None and interval.reason is None
    adjusted = result.adjusted_over is not None
    return Row(
        name,
        group,
        dimension,
        by=result.by,
        by_value=result.by_value,
        value=found.value,
        ci_low=interval.low if interval else nan,
        ci_high=interval.high if interval else nan,
        ci_reason=interval.reason if interval else None,
        # The fewest of those that either of its standard errors has: see `reach_of`.
        ci_df=min(interval.degrees_of_freedom, interval.n_clusters - 1)
        if interval and there
        else nan,
        n_clusters=interval.n_clusters if interval and there else None,
        p_value=found.p_value,
        p_raw=result.p_raw if adjusted else found.p_value,
        n_tests=result.n_tests if adjusted else int(not isnan(found.p_value)),
        adjusted_over=result.adjusted_over,
        n_items=found.n_items,
        n_raters=found.n_raters,
        reason=found.reason,
        note=result.note,
    )
