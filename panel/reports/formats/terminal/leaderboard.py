"""The leaderboard in a terminal: the systems with their intervals, and how far each two of them
differ."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from rich.console import Console
from rich.text import Text

from persona_panel.reports.formats.terminal.rows import remark
from persona_panel.results.cells import interval_cell, p_cell, value_cell
from persona_panel.results.conclusions.wording import SAMPLES, counted
from persona_panel.results.console import TableRow, is_narrow, legible, show_table
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.display import NONE, number
from persona_panel.statistics.core.levels import LEVEL
from persona_panel.statistics.core.ranking import Leaderboard, SystemDifference, SystemRank

_DIFFERENCES_SHOWN = 6

_SAME = (
    "Where both intervals are the same, judges add too little to what the prompts leave open; an "
    "interval over prompts and judges is never narrower than that over prompts."
)


def show_leaderboard(
    title: str, board: Leaderboard, console: Console, *, composite: str = ""
) -> None:
    """The systems, then their differences, each with the reasons for what they lack.

    Args:
        composite: what the composite is, a sentence.
    """
    numbers = {entry.n_prompts for entry in board.systems}
    # A column that is the same in all lines parts the table where names are long.
    alike = is_narrow(console) and len(numbers) == 1
    show_table(
        console,
        f"{title}, {counted(numbers.pop(), 'prompt')} each" if alike else title,
        ["system"],
        [
            "rank",
            "composite",
            "95 % interval,\nover prompts",
            "over prompts\nand judges",
            *(["prompts"] * (not alike)),
        ],
        [
            TableRow(
                entry.system,
                [
                    Text(_rank(entry)),
                    value_cell(entry.composite),
                    interval_cell(entry.ci_low, entry.ci_high),
                    interval_cell(entry.judges_ci_low, entry.judges_ci_high),
                    *([Text(str(entry.n_prompts))] * (not alike)),
                ],
            )
            for entry in board.systems
        ],
    )
    _show_reasons(board.systems, console, composite)
    if board.differences:
        _show_differences(board, console)


def score(value: float) -> str:
    """A composite or a mean as tables show it."""
    return number(value)


def _show_differences(board: Leaderboard, console: Console) -> None:
    shown = sorted(board.differences, key=lambda one: one.a != board.systems[0].system)
    # A column that is the same in all lines makes the table too wide for 80 columns.
    unequal = len({one.n_prompts for one in shown}) > 1
    show_table(
        console,
        "Differences between systems",
        ["systems"],
        ["difference", "95 % interval", "p, adjusted", "effect\nsize", *(["prompts"] * unequal)],
        [
            TableRow(
                f"{one.a} − {one.b}",
                [
                    value_cell(one.difference),
                    interval_cell(one.ci_low, one.ci_high),
                    p_cell(one.p_adjusted),
                    value_cell(one.effect_size),
                    *([Text(str(one.n_prompts))] * unequal),
                ],
            )
            for one in shown[:_DIFFERENCES_SHOWN]
        ],
    )
    _show_why_untested(shown[:_DIFFERENCES_SHOWN], console)
    more = len(shown) - _DIFFERENCES_SHOWN
    remark(
        console,
        f"Differences and ranges of ranks are {SAMPLES[board.random]}{_prompts_of(shown)}. "
        "p: paired t-tests, adjusted by Holm's method over all pairs. Effect size: the mean of "
        "the prompts' differences, divided by their standard deviation. Ranges of ranks, in "
        f"brackets, leave out a place only where p, adjusted, is below {LEVEL}. Intervals are "
        "each at 95 %, not widened for the number of pairs: an interval may leave out 0 where "
        f"the adjusted p is above {LEVEL}."
        + (f" {more:,} more differences are in summary.json." if more > 0 else ""),
    )
    console.print()


def _prompts_of(differences: Sequence[SystemDifference]) -> str:
    """How many prompts all pairs rest on; nothing where that differs, and is in the table."""
    numbers = {one.n_prompts for one in differences}
    return f"; each pair shares {counted(numbers.pop(), 'prompt')}" if len(numbers) == 1 else ""


def _show_why_untested(differences: Sequence[SystemDifference], console: Console) -> None:
    """Why differences have no interval and no p-value, each reason once."""
    pairs: dict[Reason, list[str]] = {}
    for one in differences:
        if one.reason is not None:
            pairs.setdefault(one.reason, []).append(f"{legible(one.a)} − {legible(one.b)}")
    for reason, names in pairs.items():
        of = "" if len(names) == len(differences) else f" for {'; '.join(names)}"
        remark(console, f"No interval and no p{of}: {reason}.")


def _show_reasons(systems: Sequence[SystemRank], console: Console, composite: str) -> None:
    """What the composite is, and why there are no intervals, each reason once."""
    if composite:
        remark(console, composite)
    kinds = {
        "over prompts": [entry.ci_reason for entry in systems],
        "over prompts and judges": [entry.judges_ci_reason for entry in systems],
    }
    lines: dict[Reason, list[str]] = {}
    for kind, reasons in kinds.items():
        for reason in dict.fromkeys(reason for reason in reasons if reason is not None):
            lines.setdefault(reason, []).append(kind)
    declining = lines.pop(Reason.DECLINES, None)
    if declining is not None:
        names = [
            f"{legible(entry.system)} ({entry.n_abstained:,} of {entry.n_judged:,})"
            for entry in systems
            if entry.declines
        ]
        told = "; ".join(names)
        remark(console, f"Not ranked, as more than half of the judgments are abstentions: {told}.")
    for reason, those in lines.items():
        remark(console, f"No interval {' or '.join(those)}: {reason}.")
    same = any(
        not isnan(entry.ci_low)
        and interval_cell(entry.ci_low, entry.ci_high)
        == interval_cell(entry.judges_ci_low, entry.judges_ci_high)
        for entry in systems
    )
    if same:
        remark(console, _SAME)
    if composite or lines or same or declining:
        console.print()


def _rank(entry: SystemRank) -> str:
    if entry.rank is None:
        return NONE
    if entry.rank_low is None or entry.rank_low == entry.rank_high:
        return str(entry.rank)
    return f"{entry.rank} ({entry.rank_low}-{entry.rank_high})"
