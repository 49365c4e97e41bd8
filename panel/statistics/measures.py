"""From statistics to rows: intervals, notes, and p-values corrected over dimensions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan

from panel.statistics.arrays import Labels, Resampled
from panel.statistics.bootstrap import Interval, bootstrap
from panel.statistics.estimate import Estimate, Reason
from panel.statistics.holm import holm
from panel.statistics.prompts import OverPrompts, resampled_over_prompts
from panel.statistics.table import Row, Settings


@dataclass(frozen=True, slots=True)
class Measure:
    """A statistic on its way to a row. Without `resampled` it has no interval."""

    statistic: str
    estimate: Estimate
    resampled: Resampled | None = None
    note: str = ""


def over(
    name: str, result: OverPrompts, prompts: Labels, kind: str = "prompts", *, whole: bool = True
) -> Measure:
    """A mean over prompts, with how many there were.

    Args:
        kind: what the prompts are called.
        whole: whether each is drawn whole or not at all; if not, there is no interval.
    """
    note = f"mean of {len(result.prompts) - result.n_undefined} {kind}"
    if result.n_undefined:
        note += f", {result.n_undefined} undefined"
    resampled = resampled_over_prompts(result, prompts) if whole else None
    return Measure(name, result.mean, resampled, note)


def rows_of(
    measures: Iterable[Measure],
    group: str,
    dimension: str,
    clusters: Labels,
    settings: Settings,
) -> list[Row]:
    """Each measure with its interval under resampling of the clusters, one label an item."""
    rows = []
    for measure in measures:
        estimate = measure.estimate
        interval = None
        if measure.resampled is not None and estimate.reason is None:
            interval = bootstrap(
                measure.resampled,
                len(clusters),
                clusters,
                method=settings.method,
                confidence=settings.confidence,
                n_resamples=settings.n_resamples,
                seed=settings.seed,
            )
        rows.append(
            Row(
                measure.statistic,
                group,
                dimension,
                estimate.value,
                interval.low if interval else nan,
                interval.high if interval else nan,
                estimate.p_value,
                estimate.n_items,
                estimate.n_raters,
                _note(measure.note, estimate.reason, interval),
            )
        )
    return rows


def hold_over_dimensions(rows: Sequence[Row]) -> list[Row]:
    """The rows with p-values corrected by Holm over the dimensions of a statistic and group.

    The note of a corrected row keeps the raw p-value.
    """
    families: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        if not isnan(row.p_value):
            families[row.statistic, row.group].append(place)
    corrected = list(rows)
    for places in families.values():
        if len(places) < 2:
            continue
        adjusted = holm([rows[place].p_value for place in places])
        for place, p_value in zip(places, adjusted, strict=True):
            row = rows[place]
            said = f"p of {len(places)} dimensions by Holm, alone {row.p_value:.4g}"
            corrected[place] = replace(row, p_value=float(p_value), note=_join(row.note, said))
    return corrected


def subset_of(labels: Sequence[Hashable] | None, items: Iterable[int]) -> list[Hashable] | None:
    """The labels of these items, None where there are none."""
    return None if labels is None else [labels[item] for item in items]


def _note(said: str, reason: Reason | None, interval: Interval | None) -> str:
    parts = [said, f"undefined: {reason}" if reason else ""]
    if interval and interval.reason:
        parts.append(f"no interval: {interval.reason}")
    elif interval and interval.n_undefined:
        parts.append(f"{interval.n_undefined} of {interval.n_resamples} resamples undefined")
    return _join(*parts)


def _join(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
