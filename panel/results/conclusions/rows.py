"""Figures of a group of raters, and of strata, for conclusions from rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import atanh, isnan, nan, tanh

from persona_panel.results.conclusions.wording import (
    counted,
    dimension_called,
    first_of,
    first_upper,
    in_brackets,
    interval,
    listed,
    p_adjusted,
)
from persona_panel.statistics.core.display import ALL, number
from persona_panel.statistics.core.estimate import LEVEL
from persona_panel.statistics.core.means import spread_of_interval, widened
from persona_panel.statistics.core.table import Ratings, Row
from persona_panel.statistics.strata import LESS_OTHERS


def by_dimension(rows: Iterable[Row], group: str, statistic: str) -> dict[str, Row]:
    """A group's rows of a statistic that is not broken down, by dimension."""
    return {
        row.dimension: row
        for row in rows
        if (row.statistic, row.group, row.by) == (statistic, group, None)
    }


def split_composite(rows: Sequence[Row], ratings: Ratings) -> tuple[list[Row], list[Row]]:
    """The rows of a composite of these ratings' dimensions, which stands beside them, and the
    rest."""
    beside = [row for row in rows if row.dimension not in (*ratings.dimensions, ALL)]
    return beside, [row for row in rows if row.dimension in (*ratings.dimensions, ALL)]


def figure(row: Row) -> str:
    """A value with its interval and p-value, as far as they are there."""
    facts = interval(row.ci_low, row.ci_high), p_of(row)
    return f"{number(row.value)}{in_brackets(*facts)}"


def from_to(rows: Sequence[Row], digits: int) -> str:
    """From the lowest value to the highest: `from 0.51 to 0.64`; one where both look alike."""
    values = [row.value for row in rows]
    low, high = (number(pick(values), digits) for pick in (min, max))
    return low if low == high else f"from {low} to {high}"


def p_of(row: Row) -> str:
    """A row's p-value in words; nothing where there is none."""
    text = p_adjusted(row.p_value)
    return text if row.adjusted_over is not None else text.removeprefix("adjusted ")


def on_dimensions(names: Sequence[str], of: Collection[str], every: str) -> str:
    """On which of the dimensions `of`, behind a space; nothing where they are not distinguished.

    Args:
        every: what is said for all of several: `all dimensions`, `any dimension`.

    >>> on_dimensions(["a"], ["a", "b"], "all dimensions"), on_dimensions(["a"], ["a"], "")
    (' on a', ' on a')
    """
    if ALL in of:
        return ""
    if len(names) == len(of) > 1:
        return f" on {every}"
    return f" on {listed([dimension_called(name) for name in names], 'dimensions')}"


def clusters_of(ratings: Ratings) -> str:
    """Return what intervals are over, `prompt` or `item`."""
    return "item" if ratings.prompts is None else "prompt"


def adjusted_ends(row: Row, n_tests: int, *, fisher: bool = False) -> tuple[float, float]:
    """A row's interval, widened for so many claims that are made together, by Student's t with the
    interval's own degrees of freedom; NaN without one.

    `fisher`: whether it was formed on Fisher's scale, as those of correlations are.
    """
    if isnan(row.ci_low):
        return nan, nan
    ends = row.value, row.ci_low, row.ci_high
    if not fisher:
        return widened(*ends, row.ci_df, n_tests)
    if any(abs(end) >= 1 for end in ends):
        return -1.0, 1.0
    value, low, high = map(atanh, ends)
    low, high = widened(value, low, high, row.ci_df, n_tests)
    return tanh(low), tanh(high)


def sign_of(ends: tuple[float, float]) -> int:
    """1 or −1 where an interval lies above or below 0, else 0; 0 without one (NaN)."""
    low, high = ends
    return int(low > 0) - int(high < 0)


def reasons_of(rows: Iterable[Row]) -> str:
    """Return why figures are undefined, each reason once."""
    return "; ".join(dict.fromkeys(str(row.reason) for row in rows))


def spread_of(row: Row, low: float, high: float) -> float:
    """The standard deviation over prompts (or items) behind a row's interval from `low` to `high`:
    its own ends, or these on another scale. NaN without an interval."""
    if row.n_clusters is None:
        return nan
    return spread_of_interval(low, high, row.n_clusters, row.ci_df)


_SHOWN = 2


def strata_differ(rows: Sequence[Row], statistic: str, name: str, by: str) -> list[str]:
    """In which strata a statistic is higher or lower than in the others, where that was tested.

    Args:
        name: of the statistic, as a sentence has it.
        by: what strata are.
    """
    own = [row for row in rows if row.by == f"{by}{LESS_OTHERS}" and row.statistic == statistic]
    if not own:
        return []
    tested = [row for row in own if row.reason is None]
    if not tested:
        reasons = "; ".join(dict.fromkeys(str(row.reason) for row in own))
        return [f"Whether {name} differs by {by} cannot be tested: {reasons}."]
    shown = sorted((row for row in tested if row.p_value < LEVEL), key=lambda row: row.p_value)
    if not shown:
        tests = counted(len(tested), "test")
        return [f"{first_upper(name)} is not shown to differ by {by} ({tests})."]
    largest = first_of([*map(_in_words, shown)], _SHOWN)
    return [f"{first_upper(name)} differs by {by}: {largest}."]


def range_over(values: Sequence[Row]) -> str:
    """From the lowest to the highest of some values, with the stratum and the dimension of each."""
    low, high = (pick(values, key=lambda row: row.value) for pick in (min, max))
    if len(values) == 1:
        return f"is defined in one of them alone: {_value_in(low)}"
    return f"is from {_value_in(low)} to {_value_in(high)}"


def _value_in(row: Row) -> str:
    of = row.by_value if row.dimension == ALL else f"{row.by_value}, {row.dimension}"
    return f"{number(row.value)} ({of})"


def _in_words(row: Row) -> str:
    on = "" if row.dimension == ALL else f" on {dimension_called(row.dimension)}"
    low, high = row.ci_low, row.ci_high
    ends = (low, high) if row.value > 0 else (-high, -low)
    facts = in_brackets(interval(*ends), p_adjusted(row.p_value))
    than = f"{number(abs(row.value))} {'higher' if row.value > 0 else 'lower'}"
    return f"{row.by_value}{on} is {than} than the mean of the others{facts}"
