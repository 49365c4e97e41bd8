"""Contested responses in a terminal: how many there are, then each with who stands where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from persona_panel.analyses.breakdown import Contested
from persona_panel.reports.formats.terminal.rows import show_conclusion
from persona_panel.results.conclusions.wording import p_adjusted
from persona_panel.results.console import legible
from persona_panel.statistics.core.display import number, percent, signed

_NAMED = 3


def show_contested(
    found: Sequence[Contested], conclusion: Sequence[str], top: int, console: Console
) -> None:
    """The conclusion, then the first of the responses, with reasons."""
    show_conclusion(conclusion, console)
    shown = [one for one in found[:top] if one.reason is None]
    for place, one in enumerate(shown, start=1):
        console.print()
        console.print(Text(f"{place}. {headline(one)}"))
        figures = (
            f"spread {number(one.spread)}; {percent(one.share)} of the variance between judges is "
        )
        figures += f"between personas; {p_adjusted(one.p_adjusted)}"
        console.print(Padding(Text(figures, "dim"), (0, 0, 0, 3), expand=False))
        for sentence in one.why:
            console.print(Padding(Text(sentence), (0, 0, 0, 3), expand=False))
    if shown and (more := len(found) - len(found[:top])) > 0:
        console.print()
        console.print(Text(f"{more:,} more responses: --top {len(found)}, or --json.", "dim"))


def headline(one: Contested) -> str:
    """Which response it is: its system, its prompt's and its own id, and how the prompt begins."""
    ids = f"{legible(one.system)}, {legible(one.prompt_id)}/{legible(one.id)}"
    return ids if one.title == one.prompt_id else f"{ids} ({legible(one.title)})"


def apart(one: Contested, names: Mapping[str, str]) -> str:
    """Who stands farthest from the panel, in short: those who do beyond noise; where nobody does by
    itself, how far personas differ. `names` are the personas' labels by their ids."""
    if not one.named:
        return f"spread {number(one.spread)}, no persona by itself beyond noise"
    order = sorted(one.named, key=lambda persona: -abs(one.departures[persona]))
    told = [f"{legible(names[name])} {signed(one.departures[name])}" for name in order[:_NAMED]]
    more = f" and {len(order) - _NAMED} more" if len(order) > _NAMED else ""
    return f"{', '.join(told)}{more}"
