"""The sentence on whether a figure differs between strata."""

from __future__ import annotations

from collections.abc import Sequence

from persona_panel.results.conclusions.wording import (
    counted,
    dimension_called,
    first_of,
    in_brackets,
    interval,
    p_adjusted,
)
from persona_panel.statistics.core.display import ALL, number
from persona_panel.statistics.core.levels import LEVEL
from persona_panel.statistics.core.table import Row
from persona_panel.statistics.strata import LESS_OTHERS

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
        return [f"{_first_upper(name)} is not shown to differ by {by} ({tests})."]
    largest = first_of([*map(_in_words, shown)], _SHOWN)
    return [f"{_first_upper(name)} differs by {by}: {largest}."]


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


def _first_upper(name: str) -> str:
    return f"{name[0].upper()}{name[1:]}"
