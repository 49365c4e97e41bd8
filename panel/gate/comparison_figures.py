"""The figures of `compare` that a requirement may name: its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import Protocol

from panel.gate.figures import Figure, FigureKey, exact
from panel.gate.run_figures import ADJUSTED, NO_INTERVAL, OVER

COMPOSITE = "composite"
"""The dimension of the whole."""
UNDEFINED = "the two cannot be compared on it"


class ComparedPair(Protocol):
    """A row of a comparison: how far `b` is above `a` on a dimension; NaN or None is undefined."""

    @property
    def a(self) -> str: ...
    @property
    def b(self) -> str: ...
    @property
    def dimension(self) -> str: ...
    @property
    def difference(self) -> float | None: ...
    @property
    def ci_low(self) -> float | None: ...
    @property
    def ci_high(self) -> float | None: ...
    @property
    def p_adjusted(self) -> float | None: ...
    @property
    def effect_size(self) -> float | None: ...
    @property
    def n_prompts(self) -> int: ...


def comparison_figures(
    rows: Sequence[ComparedPair], labels: Mapping[str, str] | None = None
) -> list[Figure]:
    """`difference[b, a, dimension]`, b − a, with `effect_size` and `p`, and the same from a's side.

    A dimension that is not named is the composite.

    Args:
        labels: of dimensions, by their ids.
    """
    return [one for row in rows for sign in (1, -1) for one in _of_row(row, sign, labels or {})]


def _of_row(row: ComparedPair, sign: int, labels: Mapping[str, str]) -> Iterator[Figure]:
    names = (row.b, row.a) if sign > 0 else (row.a, row.b)
    of = FigureKey(row.dimension, labels.get(row.dimension, ""), row.dimension == COMPOSITE)
    keys = (*map(FigureKey, names), of)
    value, size, p = map(_number, (row.difference, row.effect_size, row.p_adjusted))
    ends = sorted(sign * _number(end) for end in (row.ci_low, row.ci_high))
    why = None if not isnan(ends[0]) else UNDEFINED if isnan(value) else NO_INTERVAL
    n = row.n_prompts
    yield Figure(
        "difference", keys, "", sign * value, ends[0], ends[1], OVER["prompts"],
        reason=why, n_prompts=n, df=n - 1.0,
    )  # fmt: skip
    yield Figure(
        "effect_size", keys, value=sign * size, reason=UNDEFINED if isnan(size) else NO_INTERVAL
    )
    yield exact("p", p, ADJUSTED, keys, reason=UNDEFINED)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
