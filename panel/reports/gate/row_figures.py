"""The figures of `agree` and `correlate` that a requirement may name: their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan

from persona_panel.reports.gate.run_figures import NO_INTERVAL, OVER
from persona_panel.results.requirements.figures import Figure, FigureKey, exact
from persona_panel.statistics.core.names import ALL, COMPOSITE
from persona_panel.statistics.core.table import NO_PERSONA_GROUP, Row
from persona_panel.statistics.humans.correlate import HUMANS

NOT_TESTED = "it was not tested"
_LABELS = {"alt_test_winning_rate": "omega", "alt_test_advantage": "rho"}
_DECIDED = "alt_test_winning_rate"
"""It counts decisions of tests, which allow for chance already: its value decides."""


def row_figures(
    rows: Sequence[Row], labels: Mapping[str, str] | None = None, *, of_items: bool = False
) -> list[Figure]:
    """A figure for each row, `statistic[dimension, group, what it is broken down by, value]`, and
    its p-value, `p[statistic, dimension, …]`.

    Where several are there, a group that is not named is that of all raters, and a dimension the
    whole, or the composite.

    Args:
        labels: of dimensions, by their ids.
        of_items: whether intervals are over items, as there are no prompts.
    """
    main = _main_group(rows)
    return [one for row in rows for one in _of_row(row, main, labels or {}, of_items)]


def _main_group(rows: Sequence[Row]) -> str | None:
    """The group of all raters; None where there is none."""
    groups = dict.fromkeys(
        row.group
        for row in rows
        if row.group != HUMANS and not row.group.endswith(NO_PERSONA_GROUP)
    )
    return ALL if ALL in groups else next(iter(groups)) if len(groups) == 1 else None


def _of_row(
    row: Row, main: str | None, labels: Mapping[str, str], of_items: bool
) -> Iterator[Figure]:
    keys = [
        FigureKey(row.dimension, labels.get(row.dimension, ""), row.dimension in (ALL, COMPOSITE)),
        FigureKey(row.group, may_be_left_out=row.group == main),
    ]
    if row.by is not None and row.by_value is not None:
        keys += [FigureKey(row.by, may_be_left_out=True), FigureKey(row.by_value)]
    there = not isnan(row.ci_low)
    why = row.reason or (None if there else row.ci_reason or NO_INTERVAL)
    yield Figure(
        row.statistic,
        tuple(keys),
        label=_LABELS.get(row.statistic, ""),
        is_exact=row.statistic == _DECIDED,
        detail=row.note if row.statistic == _DECIDED else "",
        value=row.value,
        low=row.ci_low,
        high=row.ci_high,
        over=OVER[row.ci_over].replace("prompts", "items") if of_items else OVER[row.ci_over],
        reason=why,
        n_prompts=row.n_clusters,
        of_items=of_items,
        df=row.ci_df,
    )
    if not isnan(row.p_value):
        adjusted = "" if row.adjusted_over is None else "adjusted"
        yield exact("p", row.p_value, adjusted, (FigureKey(row.statistic), *keys))
