"""A panel's ratings compared with human ratings, in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan

import numpy as np
from rich.console import Console

from panel.conclusions.correlate import correlate_conclusion
from panel.reports.terminal.judge_names import in_short, names_on, what_is_left_out
from panel.reports.terminal.rows import remark, show, show_conclusion
from panel.reports.terminal.statistics import show_statistics, show_stratum_differences
from panel.statistics import Ratings, Reason, Row, comparison_statistics, score_distributions
from panel.statistics.breakdown.stratum_rows import broken_down_by
from panel.statistics.humans.correlate import HUMANS

_ALL = "all"
_PANEL = "panel"
_VALUES_SHOWN = 12


def show_comparison(rows: Sequence[Row], ours: Ratings, theirs: Ratings, console: Console) -> None:
    """What may be concluded, the statistics, how often each side gives each score, and what was
    compared."""
    show_conclusion(correlate_conclusion(rows, ours, theirs), console)
    *_, all_judges = ours.raters_by_group()
    if set(ours.groups) == {_ALL}:
        # The group's name says more than `all` where there is no other group of judges.
        rows = [replace(row, group=_PANEL) if row.group == _ALL else row for row in rows]
        all_judges = _PANEL
    by = broken_down_by(rows)
    main_only = by not in (None, "dimension")
    if main_only:
        rows = [row for row in rows if row.group in (all_judges, _ALL, HUMANS)]
    names = names_on(console, ours, taken=theirs.raters)
    rows = in_short(rows, names)
    show_statistics(
        rows, comparison_statistics, console, all_raters=all_judges, main_only=main_only
    )
    if by is not None:
        show_stratum_differences(rows, comparison_statistics, by, console)
    if not main_only:
        _show_scores(ours, theirs, console)
    if any(row.by_value in names.values() for row in rows):
        remark(console, what_is_left_out(ours))
    resampled = "prompts" if theirs.prompts or ours.prompts else "items"
    n_shared = len(set(ours.items) & set(theirs.items))
    remark(
        console,
        f"{n_shared:,} items of {len(ours.items):,} of the panel's and {len(theirs.items):,} of "
        f"the humans'; judges: {len(ours.raters):,}, humans: {len(theirs.raters):,}. In brackets: "
        f"95 % confidence intervals over {resampled}. p: permutation tests, "
        f"adjusted by Holm's method over dimensions{' and strata' if main_only else ''}. "
        "--json has every statistic.",
    )


def _show_scores(ours: Ratings, theirs: Ratings, console: Console) -> None:
    """How often each side gives each score to the items that both have, to the whole number
    where there are many scores."""
    shared = set(ours.items) & set(theirs.items)
    cells: dict[tuple[str, tuple[str, ...]], Row] = {}
    sides = {"humans": theirs, _PANEL: ours}
    for dimension in theirs.dimensions:
        if dimension in theirs.categories or dimension not in ours.dimensions:
            continue
        if ours.lower_is_better != theirs.lower_is_better:
            continue
        scores = [
            side.scores[[name in shared for name in side.items]][
                :, :, side.dimensions.index(dimension)
            ]
            for side in sides.values()
        ]
        found = score_distributions(*scores)
        means = found.means
        if len(found.values) > _VALUES_SHOWN:
            found = score_distributions(*map(np.round, scores))
        if len(found.values) > _VALUES_SHOWN:
            remark(console, f"{dimension}: too many distinct scores for a distribution.")
            continue
        for row, side in enumerate(sides):
            figures = {
                f"{v:g}": share for v, share in zip(found.values, found.shares[row], strict=True)
            }
            for name, value in {"mean": means[row], **figures}.items():
                reason = Reason.NO_RATINGS if isnan(value) else None
                cells[name, (side, dimension)] = Row(
                    name, side, dimension, value=float(value), reason=reason
                )
    values = sorted({name for name, _ in cells} - {"mean"}, key=float)
    show(
        console,
        "Score distributions: mean, and the share of each score (rounded)",
        cells,
        ("mean", *values),
        heads=("raters", "dimension"),
    )
