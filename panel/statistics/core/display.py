"""An object in short, as text and as HTML: what a Python prompt and a notebook show of it.

Names come from files and models: in both forms what cannot be printed is escaped, and in HTML
everything that is markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isnan, log10

_LONGEST_NAME = 60
_MOST_ROWS = 20
NONE = "–"
"""What stands for a number that there is none of."""
_ROUNDING = 1e-9
"""What is nearer to 0 is rounding."""


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
        return f"<{self.kind}: {', '.join(map(_short, self.facts))}>"

    def html(self) -> str:
        """The facts, and the table's first twenty rows; the number of others is said."""
        said = escape(", ".join(map(_short, self.facts)))
        parts = [f"<div><strong>{escape(self.kind)}</strong>: {said}"]
        if self.rows:
            head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.header)
            body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in self.rows[:_MOST_ROWS])
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        if (more := len(self.rows) - _MOST_ROWS) > 0:
            parts.append(f"<p>and {more} more</p>")
        return "".join([*parts, "</div>"])


def _short(name: str) -> str:
    """A name from anywhere: cut where it is long, escaped where it cannot be printed."""
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in short)


def counted(n: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "rater"), counted(12_000, "score")
    ('1 rater', '12,000 scores')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def counted_beside(n: int, n_controls: int, what: str) -> str:
    """A number of raters, and of those without a persona who are compared with them.

    >>> counted_beside(10, 5, "judge"), counted_beside(3, 0, "rater")
    ('10 judges, and 5 without a persona', '3 raters')
    """
    return counted(n, what) + (f", and {n_controls:,} without a persona" if n_controls else "")


def percent(share: float) -> str:
    """A share as a whole number of per cent.

    >>> percent(0.954)
    '95 %'
    """
    return f"{100 * share:.0f} %"


def number(value: float | None, digits: int = 2) -> str:
    """A number as people read it: to so many digits after the point, with a minus that is one, a
    zero without a sign; a dash for none.

    It is the only way in which sentences, tables and pages write a number that may be below 0.
    What a person is to type, and what a program reads, has the hyphen of ASCII.

    >>> number(-1.234), number(float("nan")), number(-0.001)
    ('−1.23', '–', '0.00')
    """
    if value is None or isnan(value):
        return NONE
    return _with_minus(f"{round(float(value), digits) + 0:.{digits}f}")


def small_number(value: float | None, digits: int = 2) -> str:
    """A number as `number` writes it; what is small has so many digits that two of them say
    something: on a scale from 0 to 1 an error of 0.004 is not 0.00.

    >>> small_number(0.00123), small_number(1.5), small_number(1e-12)
    ('0.0012', '1.50', '0.00')
    """
    if value is not None and _ROUNDING < abs(value) < 10.0 ** (1 - digits):
        digits = 1 - floor(log10(abs(value)))
    return number(value, digits)


def clock(seconds: float) -> str:
    """A duration in figures, to whole seconds, rounded up.

    >>> clock(30.2), clock(725), clock(12_010)
    ('0:31', '12:05', '3:20:10')
    """
    minutes, rest = divmod(ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def general(value: float, digits: int = 6) -> str:
    """A number that is written as short as it can be, to so many digits: the end of a scale.

    >>> general(-10), general(0.5), general(-2.0)
    ('−10', '0.5', '−2')
    """
    return _with_minus(f"{float(value) + 0:.{digits}g}")


def signed(value: float | None, digits: int = 2) -> str:
    """A difference, with its sign; a zero has none.

    >>> signed(0.5, 1), signed(-0.04, 1), signed(-2)
    ('+0.5', '0.0', '−2.00')
    """
    told = number(value, digits)
    return f"+{told}" if value is not None and round(float(value), digits) > 0 else told


def ends(low: float | None, high: float | None, digits: int = 2) -> str:
    """The ends of an interval, a dash where there is none.

    >>> ends(-0.5, 2), ends(float("nan"), float("nan"))
    ('−0.50 to 2.00', '–')
    """
    if low is None or high is None or isnan(low) or isnan(high):
        return NONE
    return f"{number(low, digits)} to {number(high, digits)}"


def p_value(p: float | None) -> str:
    """A p-value to two digits, a dash for none."""
    if p is None or isnan(p):
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def _cell(value: object) -> str:
    told = number(value) if isinstance(value, float) or value is None else str(value)
    return f"<td>{escape(_short(told))}</td>"


def _with_minus(told: str) -> str:
    return told.replace("-", "−")
