"""A panel's ratings compared with human ratings, in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan

import numpy as np
from rich.console import Console

from persona_panel.reports.formats.terminal.judge_names import in_short, names_on, what_is_left_out
from persona_panel.reports.formats.terminal.rows import remark, show, show_conclusion
from persona_panel.reports.formats.terminal.statistics import (
    show_statistics,
    show_stratum_differences,
)
from persona_panel.reports.formats.terminal.summary import WHERE_THE_REST_IS, show_summary
from persona_panel.results.conclusions.correlate import correlate_conclusion, n_claimed
from persona_panel.results.conclusions.labels import labelled_rows, whole_label
from persona_panel.results.console import has_ids
from persona_panel.statistics import (
    Ratings,
    Reason,
    Row,
    comparison_statistics,
    score_distributions,
)
from persona_panel.statistics.breakdown.stratum_rows import broken_down_by
from persona_panel.statistics.core.display import general
from persona_panel.statistics.humans.correlate import HUMANS

_ALL = "all"
_PANEL = "panel"
_PEOPLE = "people"
_VALUES_SHOWN = 12
_PERSONAS_ADD = (
    "Personas add: τ_b with personas less that of replicates without. An interval that contains 0 "
    "shows neither that personas add nor that they take away."
)
_ONE_HUMAN = (
    "Panel − one person: each person is left out in turn, and that person and the panel are "
    "correlated (τ_b) with the mean of the others. Above 0, the panel agrees with them more."
)
_WIDENED = (
    " A difference is claimed where its interval, widened for {n} dimensions (over all items with "
    "half of the degrees of freedom), leaves 0 out."
)
_NOT_WIDENED = " A difference is claimed where its interval leaves 0 out."


def show_comparison(
    rows: Sequence[Row], ours: Ratings, theirs: Ratings, console: Console, *, full: bool
) -> None:
    """What may be concluded; the main statistics of all judges together, a line a dimension; what
    was compared.

    Args:
        full: whether all tables are shown in place of that one, and how often each side gives each
            score.
    """
    show_conclusion(correlate_conclusion(rows, ours, theirs), console)
    whole = _ALL if has_ids(console) else whole_label(ours, theirs)
    if not has_ids(console):
        rows, (ours, theirs) = labelled_rows(rows, ours, theirs)
    by = broken_down_by(rows) or "dimension"
    *_, all_judges = ours.raters_by_group()
    if full:
        _show_tables(rows, ours, theirs, by, console)
    else:
        shown = [
            replace(row, dimension=whole) if row.dimension == _ALL else row
            for row in rows
            if row.group in (all_judges, _ALL, HUMANS)
        ]
        title = "Panel and people"
        columns = show_summary(title, shown, comparison_statistics, console, by)
        if any(name.startswith("human_difference") for name in columns):
            n = n_claimed(rows, all_judges)
            remark(console, _ONE_HUMAN + (_WIDENED.format(n=n) if n > 1 else _NOT_WIDENED))
        if "persona_gain_tau_b" in columns:
            remark(console, _PERSONAS_ADD)
    resampled = "prompts" if theirs.prompts or ours.prompts else "items"
    n_shared = len(set(ours.items) & set(theirs.items))
    strata = " and strata" if by != "dimension" else ""
    rest = (
        f"p: permutation tests, adjusted by Holm's method over dimensions{strata}. --json has "
        "every statistic."
        if full
        else WHERE_THE_REST_IS
    )
    remark(
        console,
        f"{n_shared:,} items of {len(ours.items):,} of the panel's and {len(theirs.items):,} of "
        f"people's; judges: {len(ours.raters):,}, people: {len(theirs.raters):,}. In brackets: "
        f"95 % confidence intervals over {resampled}. {rest}",
    )


def _show_tables(
    rows: Sequence[Row], ours: Ratings, theirs: Ratings, by: str, console: Console
) -> None:
    *_, all_judges = ours.raters_by_group()
    if set(ours.groups) == {_ALL}:
        # The group's name says more than `all` where there is no other group of judges.
        rows = [replace(row, group=_PANEL) if row.group == _ALL else row for row in rows]
        all_judges = _PANEL
    main_only = by != "dimension"
    if main_only:
        rows = [row for row in rows if row.group in (all_judges, _ALL, HUMANS)]
    names = names_on(console, ours, taken=theirs.raters)
    rows = in_short(rows, names)
    if not has_ids(console) and _PEOPLE not in ours.groups:
        rows = [_as_people(row) for row in rows]
    show_statistics(
        rows, comparison_statistics, console, all_raters=all_judges, main_only=main_only
    )
    show_stratum_differences(rows, comparison_statistics, by, console)
    if not main_only:
        _show_scores(ours, theirs, console)
    if any(row.by_value in names.values() for row in rows):
        remark(console, what_is_left_out(ours))


def _as_people(row: Row) -> Row:
    """A row with people called so, where its names call them humans."""
    group = _PEOPLE if row.group == HUMANS else row.group
    by = row.by and row.by.replace(f"{HUMANS}: ", f"{_PEOPLE}: ", 1)
    return replace(row, group=group, by=by)


def _show_scores(ours: Ratings, theirs: Ratings, console: Console) -> None:
    """How often each side gives each score to the items that both have, to the whole number
    where there are many scores."""
    shared = set(ours.items) & set(theirs.items)
    cells: dict[tuple[str, tuple[str, ...]], Row] = {}
    sides = {_PEOPLE: theirs, _PANEL: ours}
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
                general(v): share for v, share in zip(found.values, found.shares[row], strict=True)
            }
            for name, value in {"mean": means[row], **figures}.items():
                reason = Reason.NO_RATINGS if isnan(value) else None
                cells[name, (side, dimension)] = Row(
                    name, side, dimension, value=float(value), reason=reason
                )
    values = sorted(
        {name for name, _ in cells} - {"mean"}, key=lambda name: float(name.replace("−", "-"))
    )
    show(
        console,
        "Score distributions: mean, and the share of each score (rounded)",
        cells,
        ("mean", *values),
        heads=("raters", "dimension"),
    )
