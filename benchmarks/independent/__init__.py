"""Simulations whose data and comparison tests share no code with `panel/statistics`.

python -m benchmarks.independent [winner] [judges] [alike] [agreement] [missing] [intervals]
    [alpha] [screen] [sweeps] [planning] [rasch] [claims] [--runs 500] [--data PATH]   a
    table in Markdown; PATH: the folder of real ratings
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from typing import NamedTuple


class Row(NamedTuple):
    """A line of the table: shares of runs, in each of the cases of one kind.

    Attributes:
        figure: the claim or interval.
        where: from what its data are drawn.
        errors: false claims, or intervals that cover.
        runs: of each case.
        powers: claims where there is something to claim, and those of the best valid test.
    """

    figure: str
    where: str
    errors: tuple[float, ...]
    runs: int
    powers: tuple[tuple[float, float], ...] = ()

    def text(self) -> str:
        """Return the line: the least and the largest, with their larger simulation error; of power
        over that of the best valid test, the least in one design."""
        own = sorted(self.errors)
        error = max(1.96 * (end * (1 - end) / self.runs) ** 0.5 for end in (own[0], own[-1]))
        powers = [_ends(each) for each in zip(*self.powers, strict=True)] or ["–", "–"]
        if ratios := [own / best for own, best in self.powers if best > 0]:
            powers[1] += f" (ratio at least {min(ratios):.2f})"
        return "|".join(["", self.figure, self.where, f"{_ends(own)} ± {error:.3f}", *powers, ""])


HEAD = """|claim or interval|data|false claims or coverage|power|best valid test|
|---|---|---|---|---|"""


def _ends(values: Iterable[float]) -> str:
    own = sorted(values)
    if isnan(own[0]):
        return "–"
    return f"{own[0]:.3f}" if own[0] == own[-1] else f"{own[0]:.3f}–{own[-1]:.3f}"
