"""Systems within strata in a terminal: how many differences are established, then each mean."""

from __future__ import annotations

from math import isnan

from rich.console import Console
from rich.text import Text

from persona_panel.analyses.breakdown.strata import SystemsBy
from persona_panel.reports.formats.terminal.leaderboard import score
from persona_panel.reports.formats.terminal.rows import remark
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.console import TableRow, show_table
from persona_panel.statistics.core.display import NONE, ends, p_value, percent, signed

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
                Text(ends(one.ci_low, one.ci_high)),
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
    said = f"Differences between systems by {found.by}: {len(shown):,} of {len(tested):,} "
    said += "established (p adjusted by Holm's method over all of them)."
    if interactions := [one for one in found.interactions if one.reason is None]:
        seen = sum(one.shown for one in interactions)
        said += f" An interaction of system and {found.by} is shown by {seen:,} of "
        said += f"{counted(len(interactions), 'test')}."
    if found.n_without:
        said += f" {counted(found.n_without, 'response')} without a value left out."
    if (more := len(found.systems) - _SHOWN) > 0:
        said += f" {more:,} more lines: --json."
    remark(console, said)
    console.print()
    if found.between:
        _show_between(found, console)
    if found.authors:
        _show_authors(found, console)


def _show_between(found: SystemsBy, console: Console) -> None:
    """Which strata are rated higher than the others."""
    lines = [
        TableRow(
            one.stratum,
            [
                Text(signed(one.difference)),
                Text(ends(one.ci_low, one.ci_high)),
                Text(p_value(one.p_adjusted)),
                Text(str(one.n_prompts)),
            ],
        )
        for one in found.between[:_SHOWN]
    ]
    title = f"Composite by {found.by}: above the mean of the others"
    heads = ["difference", "95 % interval,\nover prompts", "p,\nadjusted", "prompts"]
    show_table(console, title, [found.by], heads, lines)
    for reason in dict.fromkeys(one.reason for one in found.between if one.reason is not None):
        remark(console, f"Not compared where there is a dash: {reason}.")
    console.print()


def _show_authors(found: SystemsBy, console: Console) -> None:
    """How often texts with one value are ahead of those with another, to the same prompts."""
    lines = [
        TableRow(
            "best text" if one.figure == "first place" else f"{one.figure} text",
            [
                Text(percent(one.share)),
                Text(_interval(one.ci_low, one.ci_high)),
                Text(percent(one.chance)),
                Text(p_value(one.p_adjusted)),
                Text(str(one.n_prompts)),
            ],
            f"{one.a} above {one.b or 'all others'}",
        )
        for one in found.authors[:_SHOWN]
    ]
    title = f"By {found.by}: who is ahead, to the same prompts"
    heads = ["share", "95 % interval,\nover prompts", "by\nchance", "p,\nadjusted", "prompts"]
    show_table(console, title, ["", ""], heads, lines)
    for reason in dict.fromkeys(one.reason for one in found.authors if one.reason is not None):
        remark(console, f"No interval and no p where there is a dash: {reason}.")
    remark(
        console,
        "Each text: share of pairs, one text of either. Best text: share of prompts whose best "
        "text it is. A prompt counts once, a tie in equal parts; p adjusted by Holm's method over "
        "all lines.",
    )
    console.print()


def _interval(low: float, high: float) -> str:
    return NONE if isnan(low) else f"{percent(low)} to {percent(high)}"
