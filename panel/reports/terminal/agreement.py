"""Inter-rater agreement in the terminal: agreement by group of raters, then panel quality."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from panel.conclusions.agree import agree_conclusion
from panel.reports.terminal.rows import remark, show_conclusion
from panel.reports.terminal.statistics import show_statistics
from panel.statistics import (
    Breakdown,
    Ratings,
    Row,
    agreement_statistics,
    panel_quality_statistics,
)


def show_agreement(rows: Sequence[Row], ratings: Ratings, by: Breakdown, console: Console) -> None:
    """What may be concluded; the main statistics of every group; all others, and panel quality, of
    all raters together.

    Of each prompt or source there are the main statistics only: the others would fill screens.
    """
    *_, all_raters = ratings.raters_by_group()
    main_only = by in ("source", "prompt")
    show_conclusion(agree_conclusion(rows, ratings, by), console)
    show_statistics(rows, agreement_statistics, console, all_raters=all_raters, main_only=main_only)
    show_statistics(rows, panel_quality_statistics, console, all_raters=all_raters)
    sampled = "prompts" if ratings.prompts else "items"
    over = (
        f"over {sampled}, with these raters as they are"
        if all(row.ci_over != "prompts-and-judges" for row in rows)
        else f"over {sampled} and raters, as a sample of such raters"
    )
    counts = f"{len(ratings.items):,} items, {len(ratings.raters):,} raters."
    if not main_only and all_raters != ratings.groups[0]:
        counts += " The first table has each group of raters, the others all raters together."
    remark(
        console,
        f"{counts} In brackets: 95 % confidence intervals, {over}. p: "
        "permutation tests, adjusted by Holm's method over dimensions. --json has every "
        "statistic of every group.",
    )
