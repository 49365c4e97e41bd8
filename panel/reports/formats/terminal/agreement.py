"""Inter-rater agreement in the terminal: agreement by group of raters, then panel quality."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from rich.console import Console

from persona_panel.reports.formats.terminal.judge_names import in_short, names_on, what_is_left_out
from persona_panel.reports.formats.terminal.rows import remark, show_conclusion
from persona_panel.reports.formats.terminal.statistics import (
    show_statistics,
    show_stratum_differences,
)
from persona_panel.reports.formats.terminal.summary import WHERE_THE_REST_IS, show_summary
from persona_panel.results.conclusions.agree import agree_conclusion
from persona_panel.results.conclusions.judge_names import rater_word
from persona_panel.results.conclusions.labels import labelled_rows
from persona_panel.results.conclusions.wording import WITHOUT_PEOPLE
from persona_panel.results.console import has_ids
from persona_panel.statistics import (
    Ratings,
    Row,
    agreement_statistics,
    panel_quality_statistics,
)
from persona_panel.statistics.core.names import ALL

_PERSONAS_ADD = (
    "Disagreement that personas add, beyond what the model varies by itself: this cannot show that "
    "they change ratings for the better; only ratings by people can (correlate --human)."
)


def show_agreement(
    rows: Sequence[Row], ratings: Ratings, by: str, console: Console, *, full: bool
) -> None:
    """What may be concluded; the main statistics of all raters together, a line a dimension.

    Args:
        full: whether all tables are shown in place of that one: the main statistics of every group,
            all others, and panel quality, of all raters together. Of each stratum there are the
            main statistics of all raters only: the others would fill screens.
    """
    *_, all_raters = ratings.raters_by_group()
    word = rater_word(ratings)
    show_conclusion(agree_conclusion(rows, ratings, by), console)
    if not has_ids(console):
        rows, (ratings,) = labelled_rows(rows, ratings)
    broken_down = by not in ("dimension", "group")
    of_all = [row for row in rows if row.group in (all_raters, ALL)]
    if full:
        _show_tables(of_all if broken_down else rows, ratings, by, console, all_raters)
    else:
        shown = rows if by == "group" else of_all
        columns = show_summary("Agreement", shown, agreement_statistics, console, by, word)
        if "disagreement_added" in columns:
            remark(console, _PERSONAS_ADD)
    sampled = "prompts" if ratings.prompts else "items"
    over = (
        f"over {sampled}, with these {word}s as they are"
        if all(row.ci_over != "prompts-and-judges" for row in rows)
        else f"over {sampled} and {word}s, as a sample of such {word}s"
    )
    said = [
        f"{len(ratings.items):,} items, {ratings.counted_raters(word)}.",
    ]
    if any(not isnan(row.ci_low) for row in rows):
        said.append(f"In brackets: 95 % confidence intervals, {over}.")
    if full:
        if not broken_down and all_raters != ratings.groups[0]:
            said.insert(
                1, f"The first table has each group of {word}s, the others all {word}s together."
            )
        strata = " and strata" if broken_down else ""
        said.append(
            f"p: permutation tests, adjusted by Holm's method over dimensions{strata}. --json has "
            "every statistic of every group."
        )
    else:
        said.append(WHERE_THE_REST_IS)
    remark(console, " ".join(said))


def _show_tables(
    rows: Sequence[Row], ratings: Ratings, by: str, console: Console, all_raters: str
) -> None:
    main_only, word = by not in ("dimension", "group"), rater_word(ratings)
    names = names_on(console, ratings)
    rows = in_short(rows, names)
    show_statistics(
        rows, agreement_statistics, console, all_raters=all_raters, main_only=main_only, word=word
    )
    if not main_only and any(
        row.statistic == "effective_judges" and not row.reason for row in rows
    ):
        remark(
            console,
            f"Effective number of {word}s: {WITHOUT_PEOPLE.format(word)} `correlate --human` has "
            f"the number of what {word}s say beyond people's mean.",
        )
        console.print()
    show_stratum_differences(rows, agreement_statistics, by, console, word)
    show_statistics(rows, panel_quality_statistics, console, all_raters=all_raters, word=word)
    if names and not main_only:
        remark(console, what_is_left_out(ratings))
