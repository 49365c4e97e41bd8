"""Objects in short, as text and as HTML, and numbers in words.

What cannot be printed is escaped and, in HTML, everything that is markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, copysign, floor, isnan, log10

ALL = "all"
"""The group of all raters, and the dimension of a statistic over all dimensions."""
COMPOSITE = "composite"
"""The dimension of a mean over dimensions, where it stands beside them."""


_LONGEST_NAME = 60
_MOST_ROWS = 20
NONE = "–"
"""The sign for a missing number."""
_ROUNDING = 1e-9
"""Values nearer to 0, or to each other, than this are rounding."""
_PLACES = 9
"""With so many digits a value is written as it is."""


@dataclass(frozen=True, slots=True)
class Facts:
    """A short view of an object: its class, a few words each, and a table (`header`, `rows`), in
    HTML alone; a float there has two decimals, NaN and None are dashes."""

    kind: str
    facts: Sequence[str]
    header: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()

    @property
    def text(self) -> str:
        """Return the kind and the facts on one line."""
        return f"<{self.kind}: {', '.join(map(_short, self.facts))}>"

    def html(self) -> str:
        """Return the facts and the table's first twenty rows, with a note of how many are left
        out."""
        facts = escape(", ".join(map(_short, self.facts)))
        parts = [f"<div><strong>{escape(self.kind)}</strong>: {facts}"]
        if self.rows:
            head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.header)
            body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in self.rows[:_MOST_ROWS])
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        if (more := len(self.rows) - _MOST_ROWS) > 0:
            parts.append(f"<p>and {more} more</p>")
        return "".join([*parts, "</div>"])


def _short(name: str) -> str:
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in short)


def counted(n: int, what: str) -> str:
    """Return a number with its noun, in the plural where needed."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def counted_beside(n: int, n_controls: int, what: str) -> str:
    """Return the number of raters, and that of the controls (without a persona) beside them."""
    beside = f" with a persona and {n_controls:,} without" if n_controls else ""
    return f"{counted(n, what)}{beside}"


def percent(share: float) -> str:
    """Return a share as a whole number of per cent."""
    return f"{number(100 * share, 0)} %"


def number(value: float | None, digits: int = 2) -> str:
    """Format a number for people: `digits` digits after the point, a true minus sign, no sign on a
    zero, a dash for none. From two digits on, what is below 1 has as many as keep it from 1.00.

    >>> number(0.998), number(1.002)
    ('0.998', '1.00')
    """
    if value is None or isnan(value):
        return NONE
    if digits > 1 and abs(value) < 1:
        digits = digits_apart(abs(value), digits, (1.0,))
    return _with_minus(f"{rounded(value, digits) + 0:.{digits}f}")


def rounded(value: float, digits: int = 2) -> float:
    """Return a value rounded as its decimals are read: a half goes away from zero, whatever sums
    left of it in the last binary places.

    >>> rounded(5.405), rounded(5.405 - 1e-14), rounded(-0.125)
    (5.41, 5.41, -0.13)
    """
    nudge = _ROUNDING if digits < _PLACES else 0.0
    return round(float(value) + copysign(nudge, value), digits)


def small_number(value: float | None, digits: int = 2) -> str:
    """Format a number as `number` does, with more digits where it is small, so that two of them are
    significant: on a scale from 0 to 1 an error of 0.004 is not 0.00."""
    if value is not None and _ROUNDING < abs(value) < 10.0 ** (1 - digits):
        digits = 1 - floor(log10(abs(value)))
    return number(value, digits)


def clock(seconds: float) -> str:
    """Format a duration in figures, rounded up to whole seconds."""
    minutes, rest = divmod(ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def general(value: float, digits: int = 6) -> str:
    """Format a number as short as possible, with at most `digits` significant digits: the end of a
    scale."""
    return _with_minus(f"{float(value) + 0:.{digits}g}")


def signed(value: float | None, digits: int = 2) -> str:
    """Format a difference with its sign; a zero has none."""
    text = number(value, digits)
    return f"+{text}" if value is not None and rounded(value, digits) > 0 else text


def ends(
    low: float | None, high: float | None, digits: int = 2, limits: Iterable[float] = ()
) -> str:
    """Format the ends of an interval, a dash where there is none; `limits` as of `interval_end`."""
    if low is None or high is None or isnan(low) or isnan(high):
        return NONE
    return f"{interval_end(low, digits, limits)} to {interval_end(high, digits, limits)}"


def interval_end(value: float, digits: int = 2, limits: Iterable[float] = ()) -> str:
    """Format an end of an interval as `number` does, with more digits where it would be shown as 0,
    or as an end of the scale (`limits`), and is not.

    >>> interval_end(-0.004), interval_end(0.0), interval_end(4.998, limits=(1, 5))
    ('−0.004', '0.00', '4.998')
    """
    return number(value, digits_apart(value, digits, (0.0, *limits)))


def digits_apart(value: float, digits: int, places: Iterable[float]) -> int:
    """Return with how many digits a value is not shown as one of these places, at which it does not
    lie; `digits` at least."""
    gaps = [gap for of in places if _ROUNDING < (gap := abs(value - of)) < 0.5 * 10.0**-digits]
    return max([digits, *(-floor(log10(gap)) for gap in gaps)])


def p_value(p: float | None) -> str:
    """Format a p-value to two digits, a dash for none."""
    if p is None or isnan(p):
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def _cell(value: object) -> str:
    text = number(value) if isinstance(value, float) or value is None else str(value)
    return f"<td>{escape(_short(text))}</td>"


def _with_minus(text: str) -> str:
    return text.replace("-", "−")
