"""Groups of people and their personas compared, in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from persona_panel.analyses.fidelity.result import FidelityReport
from persona_panel.reports.formats.terminal.rows import remark, show_conclusion
from persona_panel.results.cells import interval_below
from persona_panel.results.conclusions.fidelity import contrast_label
from persona_panel.results.console import TableRow, show_table

_COLUMNS = ("people", "personas", "ratio", "items,\nraters")


def show_fidelity(found: FidelityReport, console: Console) -> None:
    """What may be concluded, then a table of contrasts, then how to read it."""
    show_conclusion(found.conclusion(), console)
    several = len({row.dimension for row in found.rows}) > 1
    lines = [
        TableRow(
            row.verdict,
            [
                interval_below(row.human, row.human_ci_low, row.human_ci_high, 3),
                interval_below(row.panel, row.panel_ci_low, row.panel_ci_high, 3),
                interval_below(row.ratio, row.ratio_ci_low, row.ratio_ci_high, 3),
                Text(f"{row.n_items:,}\n{row.n_raters:,}"),
            ],
            f"{contrast_label(row, several)}{', null control' if row.control else ''}",
        )
        for row in found.rows
    ]
    heads = ["contrast", "verdict"]
    show_table(console, "Differences between groups, A - B", heads, _COLUMNS, lines)
    people, personas = (
        ", or ".join(dict.fromkeys(over))
        for over in zip(*((row.human_over, row.panel_over) for row in found.rows), strict=True)
    )
    remark(
        console,
        f"95 % intervals: people's over {people}, the personas' over {personas}; of the ratio, "
        "Fieller's. Verdicts rest on intervals that are widened for the number of contrasts.",
    )
    reasons: dict[str, list[str]] = {}
    for row in found.rows:
        if row.reason is not None:
            reasons.setdefault(row.reason, []).append(contrast_label(row, several))
    for reason, labels in reasons.items():
        remark(console, f"Not measurable: {'; '.join(labels)}: {reason}.")
    for note in found.notes:
        remark(console, note)
