"""An object in short, as text and as HTML: what a Python prompt and a notebook show of it.

Names come from files and models: in both forms what cannot be printed is escaped, and in HTML
everything that is markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import isnan

_LONGEST_NAME = 60
_MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class Facts:
    """What is shown of an object.

    Attributes:
        kind: its class.
        facts: a few words each.
        header, rows: a table, in HTML alone; a float there has two decimals, NaN and None are
            dashes.
    """

    kind: str
    facts: Sequence[str]
    header: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()

    @property
    def text(self) -> str:
        """On one line."""
        return f"<{self.kind}: {', '.join(map(in_short, self.facts))}>"

    def html(self) -> str:
        """The facts, and the table's first twenty rows; the number of others is said."""
        said = escape(", ".join(map(in_short, self.facts)))
        parts = [f"<div><strong>{escape(self.kind)}</strong>: {said}"]
        if self.rows:
            head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.header)
            body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in self.rows[:_MOST_ROWS])
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        if (more := len(self.rows) - _MOST_ROWS) > 0:
            parts.append(f"<p>and {more} more</p>")
        return "".join([*parts, "</div>"])


def in_short(name: str) -> str:
    """A name from anywhere: cut where it is long, escaped where it cannot be printed."""
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in short)


def counted(n: int, things: str) -> str:
    """How many there are: `1 rater`, `2 raters`, of a word whose plural is given.

    >>> counted(1, "raters"), counted(12_000, "scores")
    ('1 rater', '12,000 scores')
    """
    return f"{n:,} {things.removesuffix('s') if n == 1 else things}"


def interval(low: float, high: float) -> str:
    """A 95 % interval as it is shown, a dash where there is none."""
    return "–" if isnan(low) or isnan(high) else f"{low:.2f} to {high:.2f}".replace("-", "−")


def _cell(value: object) -> str:
    if isinstance(value, float):
        value = None if isnan(value) else f"{value:.2f}".replace("-", "−")
    return f"<td>{escape(in_short('–' if value is None else str(value)))}</td>"
