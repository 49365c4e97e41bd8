"""Votes in a terminal: the conclusion, then judges of each source and their differences."""

from __future__ import annotations

from math import isnan

from rich.console import Console
from rich.text import Text

from persona_panel.reports.formats.terminal.cells import interval_cell, value_cell
from persona_panel.reports.formats.terminal.rows import remark, show_conclusion
from persona_panel.reports.formats.terminal.tables import TableRow, legible, show_table
from persona_panel.results.conclusions.wording import WITHOUT_PEOPLE
from persona_panel.runs.votes import VotesReport
from persona_panel.runs.votes_conclusion import votes_conclusion
from persona_panel.statistics.core.display import number
from persona_panel.statistics.core.table import ALL, COMPOSITE


def _errors(report: VotesReport) -> str:
    """What the errors are of, and how that differs from what `correlate` prints."""
    told = (
        "Errors are those against people's mean, corrected for its noise (reliability "
        f"{number(report.main.reliability)})."
    )
    if len(report.dimensions) == 1:
        return told
    return (
        f"{told} They are of the composite: `correlate` prints the effective number of judges of "
        "each dimension, with the reliability of people's mean on that one; --json has both."
    )


def show_votes(report: VotesReport, console: Console) -> None:
    """The composite; dimensions are in the formats for programs."""
    main = report.main
    show_conclusion(votes_conclusion(report), console)
    console.print()
    of = "" if main.dimension in (ALL, COMPOSITE) else f" ({legible(main.dimension)})"
    k = main.sources[0].n_judges
    show_table(
        console,
        f"Effective number of votes of {k:,} judges{of}",
        ["judges differ in"],
        ["votes", "95 % interval", "mean\ncorrelation", "largest set", "sets"],
        [
            TableRow(
                one.source,
                [
                    value_cell(one.votes),
                    interval_cell(one.ci_low, one.ci_high),
                    value_cell(one.correlation),
                    Text(f"{one.largest_set:,}"),
                    Text(f"{one.n_sets:,}"),
                ],
            )
            for one in main.sources
        ],
    )
    if main.differences:
        show_table(
            console,
            f"Differences in effective votes at equal cost{of}",
            ["judges"],
            ["difference", "95 % interval"],
            [
                TableRow(
                    f"{one.a} − {one.b}",
                    [value_cell(one.difference), interval_cell(one.ci_low, one.ci_high)],
                )
                for one in main.differences
            ],
        )
    for reason in dict.fromkeys(one.reason for one in main.sources if one.reason is not None):
        those = [one.source for one in main.sources if one.reason is reason]
        remark(console, f"No interval for {' or '.join(those)}: {reason}.")
    if any(one.largest_set < k for one in main.sources):
        remark(
            console,
            f"Where the largest set is smaller than {k:,}, the number is that of {k:,} judges who "
            "correlate as those do.",
        )
    if not isnan(main.reliability):
        remark(console, _errors(report))
    if not report.n_people:
        told = WITHOUT_PEOPLE.format("judge")
        if main.differences:
            told += " The differences compare like with like."
        remark(console, told)
    if report.deliberated:
        remark(
            console,
            "Judges saw each other's ratings in the deliberation, so that these are no longer "
            "independent; votes before it take a run without --deliberate.",
        )
