"""What an audit shows about biases of a panel and its judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import nan

from persona_panel.results.conclusions.rows import adjusted_ends, figure, sign_of
from persona_panel.results.conclusions.wording import counted, listed
from persona_panel.statistics.core.display import number, signed
from persona_panel.statistics.core.names import ALL
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.core.table import Row

_OF_THE_PANEL = {
    "length_correlation": ("longer responses score higher", "longer responses score lower"),
    "self_preference": (
        "judges prefer responses of their own model family",
        "judges prefer responses of other model families",
    ),
    "position_bias": ("the response shown first wins more", "the response shown second wins more"),
}
_NAMES = {
    "length_correlation": "correlation with length",
    "self_preference": "own-family bonus",
    "position_bias": "position bias",
}


def bias_conclusion(rows: Sequence[Row]) -> list[str]:
    """Which biases of the panel are established, and which judges are lenient or severe.

    A bias is established, and a judge lenient or severe, where the interval, widened for all biases
    and judges together, leaves 0 out. They are of all dimensions together, or of the only one.
    """
    names = {row.dimension for row in rows if row.statistic == "length_correlation"}
    main = ALL if ALL in names else min(names, default=ALL)
    panel = {
        row.statistic: row
        for row in rows
        if row.group == ALL and row.statistic in _OF_THE_PANEL and row.dimension in (main, ALL)
    }
    judges = {
        row.group: row
        for row in rows
        if row.statistic == "leniency" and row.dimension == main and not row.reason
    }
    compared = are_of_comparisons((row.statistic, row.reason) for row in rows)
    n_tests = len(judges) + sum(not row.reason for row in panel.values())
    return [
        *_of_the_panel(panel, n_tests, compared=compared),
        *_of_judges(judges, n_tests, compared=compared),
    ]


def are_of_comparisons(rows: Iterable[tuple[str, str | None]]) -> bool:
    """Whether judges compared responses, so that scores are shares of the other responses to which
    one is preferred, and no points.

    Args:
        rows: the statistic of each row of biases, and why it is undefined.
    """
    return ("leniency", Reason.COMPARED) in rows


def _of_the_panel(panel: Mapping[str, Row], n_tests: int, *, compared: bool) -> list[str]:
    measured = {name: row for name, row in panel.items() if not row.reason}
    signs = {name: _sign(row, n_tests) for name, row in measured.items()}
    said = []
    for name, sign in signs.items():
        if sign:
            told = _OF_THE_PANEL[name][sign < 0]
            unit = " points" if name == "self_preference" and not compared else ""
            said.append(
                f"Established: {told} ({_NAMES[name]} {signed(measured[name].value)}{unit}, 95 % "
                f"interval {number(measured[name].ci_low)} to {number(measured[name].ci_high)})."
            )
    if open_ := [name for name, sign in signs.items() if not sign]:
        # The p-value of a row is not adjusted for these biases.
        told = "; ".join(
            f"{_NAMES[name]} {figure(replace(measured[name], p_value=nan))}" for name in open_
        )
        said.append(f"Not established, and not ruled out: {told}.")
    # Why stands with the figures.
    if without := [_NAMES[name] for name, row in panel.items() if row.reason]:
        said.append(f"Not measured: {listed(without)}.")
    return said


def _of_judges(judges: Mapping[str, Row], n_tests: int, *, compared: bool) -> list[str]:
    if compared:
        return [
            "Leniency cannot be measured: judges compared responses, and what a judge prefers does "
            "not depend on how lenient it is."
        ]
    if not judges:
        return ["Leniency cannot be measured: no two judges rated the same response."]
    signs = {name: _sign(row, n_tests) for name, row in judges.items()}
    parts = [
        f"{listed(names, 'judges')} {'is' if len(names) == 1 else 'are'} more {how} than the panel"
        for sign, how in ((1, "lenient"), (-1, "severe"))
        if (names := [name for name, its in signs.items() if its == sign])
    ]
    n = counted(len(judges), "judge")
    if not parts:
        return [f"None of {n} is shown to be more lenient or more severe than the panel."]
    return [f"Of {n}, {'; '.join(parts)}."]


def _sign(row: Row, n_tests: int) -> int:
    fisher = row.statistic == "length_correlation"
    return sign_of(adjusted_ends(row, n_tests, fisher=fisher))
