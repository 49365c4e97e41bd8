"""Systems within strata in a terminal: how many differences are established, then each mean."""

from __future__ import annotations

from math import isnan

from rich.console import Console
from rich.text import Text

from panel.breakdown.strata import SystemsBy
from panel.conclusions.wording import counted
from panel.reports.terminal.leaderboard import score
from panel.reports.terminal.rows import remark
from panel.reports.terminal.tables import TableRow, show_table

_SHOWN = 40
"""How many lines a terminal shows."""


def show_systems_by(found: SystemsBy, console: Console) -> None:
    """What is established, the means with their intervals, and what is left out."""
    tested = [one for one in found.differences if one.reason is None]
    shown = [one for one in tested if one.shown]
    lines = [
        TableRow(
            one.system,
            [
                Text(score(one.mean)),
                Text("-" if isnan(one.ci_low) else f"{one.ci_low:.2f} to {one.ci_high:.2f}"),
                Text(str(one.n_prompts)),
            ],
            one.stratum,
        )
        for one in found.systems[:_SHOWN]
    ]
    if not lines:
        console.print(Text(f"There is nothing to go by: no {found.by} is known."))
        return
    show_table(
        console,
        f"Systems by {found.by}",
        [found.by, "system"],
        ["mean", "95 % interval,\nover prompts", "prompts"],
        lines,
    )
    said = f"By {found.by}, {len(shown):,} of {counted(len(tested), 'difference')} between systems "
    said += "are established (p adjusted by Holm's method over all of them)."
    if found.interactions:
        seen = [one for one in found.interactions if one.shown]
        of = counted(len(found.interactions), "test")
        said += f" That they see systems differently is shown by {len(seen):,} of {of}."
    if found.n_without:
        said += f" {counted(found.n_without, 'response')} without a value left out."
    if (more := len(found.systems) - _SHOWN) > 0:
        said += f" {more:,} more lines: --json."
    remark(console, said)
    console.print()
