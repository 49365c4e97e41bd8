"""The axis of a chart on a page: places in per cent of its width, and round ticks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, inf, isfinite, log10

from persona_panel.statistics.core.display import general

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_INTERVALS = 5
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Axis:
    """The axis of a chart, from `low` at the left to `high` at the right.

    Places on it are in per cent of its width, so that a chart is as wide as its cell on any screen,
    while marks and text keep their size.
    """

    low: float
    high: float

    @classmethod
    def of(cls, limits: tuple[float, float], values: Iterable[float]) -> Axis:
        """From limit to limit; where there is none, as far as the finite values reach."""
        known = [value for value in values if isfinite(value)] or [0.0]
        low = limits[0] if isfinite(limits[0]) else min(known)
        high = limits[1] if isfinite(limits[1]) else max(known)
        low, high = float(low), float(high)
        return cls(low, high) if high > low else cls(low - 0.5, high + 0.5)

    @classmethod
    def about_zero(cls, values: Iterable[float], least: float = 0.0) -> Axis:
        """Return an axis as far to either side of 0 as the largest of the values, in whole steps.
        What rounding leaves of 0 is 0: no axis magnifies it.

        >>> Axis.about_zero([4e-17, -1e-16])
        Axis(low=-1.0, high=1.0)
        """
        sizes = [abs(value) for value in values if isfinite(value) and abs(value) > _ROUNDING]
        most = max([*sizes, least]) or 1.0
        step = _step(2 * most)
        reach = ceil(most / step - 1e-9) * step
        return cls(-reach, reach)

    def at(self, value: float) -> str:
        """The place of a value; one outside stands at the edge.

        >>> Axis(1.0, 9.0).at(3), Axis(1.0, 9.0).at(20)
        ('25.00%', '100.00%')
        """
        share = (value - self.low) / (self.high - self.low)
        return f"{100 * min(1.0, max(0.0, share)):.2f}%"

    @property
    def ticks(self) -> list[tuple[str, str]]:
        """Places and labels of round values, ends included where they are round.

        >>> [[label for _, label in Axis(*ends).ticks] for ends in ((1.0, 10.0), (-1.0, 1.0))]
        [['1', '4', '7', '10'], ['−1', '−0.5', '0', '0.5', '1']]
        """
        span = self.high - self.low
        if self.low > 0 and self.low.is_integer() and span.is_integer():
            # A scale from 1 on: its own ends, and what lies evenly between them.
            step = next((span / n for n in (3, 4, 5, 2) if span % n == 0), span)
            values = [self.low + step * n for n in range(round(span / step) + 1)]
        else:
            step = _step(span)
            first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
            values = [step * n for n in range(first, last + 1)]
        return [(self.at(value), general(round(value, 6))) for value in values]


def _step(span: float) -> float:
    """A round step of which about five reach over a span."""
    if not 0 < span < inf:
        return 1.0
    size = 10.0 ** floor(log10(span / _INTERVALS))
    return min((size * step for step in _STEPS), key=lambda step: abs(span / step - _INTERVALS))
