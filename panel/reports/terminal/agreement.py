"""Inter-rater agreement in the terminal: agreement by group of raters, then panel quality."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from panel.conclusions.agree import agree_conclusion
from panel.conclusions.wording import WITHOUT_PEOPLE
from panel.reports.terminal.judge_names import in_short, names_on, what_is_left_out
from panel.reports.terminal.rows import remark, show_conclusion
from panel.reports.terminal.statistics import show_statistics, show_stratum_differences
from panel.statistics import (
    Ratings,
    Row,
    agreement_statistics,
    panel_quality_statistics,
)
from panel.statistics.core.table import ALL


def show_agreement(rows: Sequence[Row], ratings: Ratings, by: str, console: Console) -> None:
    """What may be concluded; the main statistics of every group; all others, and panel quality, of
    all raters together.

    Of each stratum there are the main statistics of all raters only: the others would fill screens.
    """
    *_, all_raters = ratings.raters_by_group()
    main_only = by not in ("dimension", "group")
    show_conclusion(agree_conclusion(rows, ratings, by), console)
    if main_only:
        rows = [row for row in rows if row.group in (all_raters, ALL)]
    names = names_on(console, ratings)
    rows = in_short(rows, names)
    show_statistics(rows, agreement_statistics, console, all_raters=all_raters, main_only=main_only)
    if not main_only and any(
        row.statistic == "effective_judges" and not row.reason for row in rows
    ):
        remark(
            console,
            f"Effective number of judges: {WITHOUT_PEOPLE} `correlate --human` has the number of "
            "what judges say beyond people's mean.",
        )
        console.print()
    show_stratum_differences(rows, agreement_statistics, by, console)
    show_statistics(rows, panel_quality_statistics, console, all_raters=all_raters)
    sampled = "prompts" if ratings.prompts else "items"
    over = (
        f"over {sampled}, with these raters as they are"
        if all(row.ci_over != "prompts-and-judges" for row in rows)
        else f"over {sampled} and raters, as a sample of such raters"
    )
    if names and not main_only:
        remark(console, what_is_left_out(ratings))
    counts = f"{len(ratings.items):,} items, {len(ratings.raters):,} raters."
    if not main_only and all_raters != ratings.groups[0]:
        counts += " The first table has each group of raters, the others all raters together."
    strata = " and strata" if main_only else ""
    remark(
        console,
        f"{counts} In brackets: 95 % confidence intervals, {over}. p: permutation tests, adjusted "
        f"by Holm's method over dimensions{strata}. --json has every statistic of every group.",
    )
