"""The leaderboard in a terminal: who is ahead, the systems with their intervals, and how far each
two of them differ."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from rich.console import Console
from rich.text import Text

from panel.reports.terminal.rows import remark
from panel.reports.terminal.tables import TableRow, legible, show_table
from panel.statistics.core.ranking import LEVEL, Difference, Leaderboard, SystemRank
from panel.statistics.core.statistic import Reason

_DIFFERENCES_SHOWN = 10
_SAMPLES = {
    "prompts": "over prompts, with these judges as they are",
    "prompts-and-judges": "over prompts and judges, as a sample of such judges",
}

_SAME = (
    "Where both intervals are the same, judges add too little to what the prompts leave open; an "
    "interval over prompts and judges is never narrower than that over prompts."
)


def show_leaderboard(title: str, board: Leaderboard, console: Console) -> None:
    """Who is ahead in a sentence, then the systems, then their differences."""
    if (told := conclusion(board)) is not None:
        console.print(Text(told))
        console.print()
    show_table(
        console,
        title,
        ["system"],
        [
            "rank",
            "composite",
            "95 % interval,\nover prompts",
            "95 % interval, over\nprompts and judges",
            "prompts",
        ],
        [
            TableRow(
                entry.system,
                [
                    Text(_rank(entry)),
                    Text(score(entry.composite)),
                    Text(_interval(entry.ci_low, entry.ci_high)),
                    Text(_interval(entry.judges_ci_low, entry.judges_ci_high)),
                    Text(str(entry.n_prompts)),
                ],
            )
            for entry in board.systems
        ],
    )
    _show_reasons(board.systems, console)
    if board.differences:
        _show_differences(board, console)


def conclusion(board: Leaderboard) -> str | None:
    """Who is ahead, or that it cannot be said and why; None with fewer than two systems."""
    ranked = [entry for entry in board.systems if entry.rank is not None]
    if len(ranked) < 2:
        return None
    first = legible(ranked[0].system)
    if board.winner is not None:
        others = "the other system" if len(ranked) == 2 else "every other system"
        return f"{first} is ahead of {others} (adjusted p < {LEVEL})."
    tested = [one for one in board.differences if one.reason is None]
    if not tested:
        reasons = dict.fromkeys(one.reason for one in board.differences if one.reason)
        return f"Who is ahead cannot be said: {'; '.join(reasons)}."
    close = [one for one in tested if ranked[0].system in (one.a, one.b) and not one.shown]
    if not close:
        return "Who is ahead cannot be said: some systems answered too few of the same prompts."
    one = min(close, key=lambda one: abs(one.difference))
    other = legible(one.b if one.a == ranked[0].system else one.a)
    return (
        f"Who is ahead cannot be said: {first} has the highest composite, but its difference from "
        f"{other} may be chance ({_told(one)}, over {one.n_prompts:,} prompts)."
    )


def score(value: float) -> str:
    """A composite or a mean as tables show it."""
    return "-" if isnan(value) else f"{value:.2f}"


def _show_differences(board: Leaderboard, console: Console) -> None:
    shown = sorted(board.differences, key=lambda one: one.a != board.systems[0].system)
    show_table(
        console,
        "Differences between systems",
        ["systems"],
        ["difference", "95 % interval", "p, adjusted", "effect\nsize", "prompts"],
        [
            TableRow(
                f"{one.a} - {one.b}",
                [
                    Text(score(one.difference)),
                    Text(_interval(one.ci_low, one.ci_high)),
                    Text("-" if isnan(one.p_adjusted) else f"{one.p_adjusted:.2g}"),
                    Text(score(one.effect_size)),
                    Text(str(one.n_prompts)),
                ],
            )
            for one in shown[:_DIFFERENCES_SHOWN]
        ],
    )
    more = len(shown) - _DIFFERENCES_SHOWN
    remark(
        console,
        f"Differences and ranges of ranks are {_SAMPLES[board.random]}. p: paired t-tests, "
        "adjusted by Holm's method over all pairs; a range of ranks leaves out the places of the "
        "systems that differ so."
        + (f" {more:,} more differences are in summary.json." if more > 0 else ""),
    )
    console.print()


def _show_reasons(systems: Sequence[SystemRank], console: Console) -> None:
    """Why there are no intervals, each reason once."""
    kinds = {
        "over prompts": [entry.ci_reason for entry in systems],
        "over prompts and judges": [entry.judges_ci_reason for entry in systems],
    }
    lines: dict[Reason, list[str]] = {}
    for kind, reasons in kinds.items():
        for reason in dict.fromkeys(reason for reason in reasons if reason is not None):
            lines.setdefault(reason, []).append(kind)
    for reason, those in lines.items():
        remark(console, f"No interval {' or '.join(those)}: {reason}.")
    same = any(
        not isnan(entry.ci_low)
        and _interval(entry.ci_low, entry.ci_high)
        == _interval(entry.judges_ci_low, entry.judges_ci_high)
        for entry in systems
    )
    if same:
        remark(console, _SAME)
    if lines or same:
        console.print()


def _rank(entry: SystemRank) -> str:
    if entry.rank is None:
        return "-"
    if entry.rank_low is None or entry.rank_low == entry.rank_high:
        return str(entry.rank)
    return f"{entry.rank} ({entry.rank_low}-{entry.rank_high})"


def _interval(low: float, high: float) -> str:
    return "-" if isnan(low) else f"{low:.2f} to {high:.2f}"


def _told(one: Difference) -> str:
    told = f"{abs(one.difference):.2f} points"
    if isnan(one.p_adjusted):
        return told
    return f"{told}, adjusted p {one.p_adjusted:.2g}"
