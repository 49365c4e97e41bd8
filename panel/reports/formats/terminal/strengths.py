"""Bradley-Terry strengths in a terminal, below the leaderboard of systems that were compared."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from persona_panel.reports.formats.terminal.rows import remark
from persona_panel.results.cells import interval_cell, value_cell
from persona_panel.results.conclusions.wording import SAMPLES
from persona_panel.results.console import TableRow, legible, show_table
from persona_panel.statistics.core.strengths import Strengths


def show_strengths(strengths: Strengths, console: Console) -> None:
    """The systems that have a strength, then why others have none, or no interval."""
    defined = [one for one in strengths.systems if one.reason is None]
    if defined:
        show_table(
            console,
            "Strengths of systems (Bradley-Terry)",
            ["system"],
            ["strength", "95 % interval", "win\nprobability", "95 % interval", "prompts"],
            [
                TableRow(
                    one.system,
                    [
                        value_cell(one.strength),
                        interval_cell(one.ci_low, one.ci_high),
                        value_cell(one.win_probability),
                        interval_cell(one.win_low, one.win_high),
                        Text(str(one.n_prompts)),
                    ],
                )
                for one in defined
            ],
        )
    else:
        console.print(Text("Strengths of systems (Bradley-Terry)", "bold"))
    for one, reasons in (
        ("strength", [(one.system, one.reason) for one in strengths.systems]),
        ("interval", [(one.system, one.ci_reason) for one in defined]),
    ):
        for reason in dict.fromkeys(reason for _, reason in reasons if reason is not None):
            those = [legible(system) for system, of in reasons if of is reason]
            named = f": {'; '.join(those)}" if len(those) < len(reasons) else ""
            remark(console, f"No {one}{named} ({reason}).")
    if defined:
        others = "" if len(defined) == len(strengths.systems) else " of those listed"
        remark(
            console,
            f"Strength: log-odds of being preferred; 0 is the mean{others}. Win probability: "
            "against a system of strength 0, a tie counting half. Intervals are "
            f"{SAMPLES[strengths.random]}. Whether systems differ is tested above.",
        )
    console.print()
