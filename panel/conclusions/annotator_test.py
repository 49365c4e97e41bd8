"""What the alternative annotator test shows: whether the panel may take the place of a human, and
which of its judges pass."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from panel.conclusions.rows import by_dimension, figure, on_dimensions
from panel.conclusions.wording import NAMES_SHOWN, counted, listed
from panel.statistics.core.statistic import Reason
from panel.statistics.core.table import Row

PASSED = 0.5
"""The winning rate from which on a judge passes."""
_RATE, _ADVANTAGE, _NEEDED = "alt_test_winning_rate", "alt_test_advantage", "alt_test_items_needed"


def annotator_test_conclusion(
    rows: Sequence[Row], group: str, correlated: Collection[str]
) -> list[str]:
    """A sentence for each dimension on the panel, and one on its judges; one for each reason why
    the test is undefined; none where it was not asked for.

    Where people's ratings are noisy, one score for every item passes the test, too: with a
    reliability of their mean of 0.56 in 95 % of simulated tables. So a panel that passes is said to
    be fit to take a human's place only where it also goes with people.

    Args:
        correlated: the dimensions on which a correlation, or agreement of labels, with the humans
            is established.
    """
    rates = by_dimension(rows, group, _RATE)
    advantages, needed = (by_dimension(rows, group, name) for name in (_ADVANTAGE, _NEEDED))
    said = _undefined(rates)
    for dimension, rate in rates.items():
        on = on_dimensions([dimension], rates, "")
        if rate.reason:
            continue
        figures = (
            f"winning rate ω {rate.value:.2f} ({rate.note}), advantage ρ "
            f"{figure(advantages[dimension])}"
        )
        if not _passed(rate):
            how = "is not shown to be as good as a human"
        elif dimension in correlated:
            how = "may take the place of a human"
        else:
            how = "is as near to the others as a human is"
            figures += (
                ". No correlation with the humans is established, and one score for every item may "
                "be as near: that the panel may take the place of a human is not shown"
            )
        said.append(f"By the alternative annotator test the panel {how}{on}: {figures}.")
        if not _passed(rate) and not needed[dimension].reason:
            n = counted(int(needed[dimension].value), "item")
            said.append(
                f"If the differences{on} are as observed, {n} rated by each human would give a "
                f"winning rate of {PASSED:g} (80 % power)."
            )
        said += _judges(rows, group, dimension, on)
    return said


def _undefined(rates: Mapping[str, Row]) -> list[str]:
    """A sentence for each reason, with all dimensions that it is the reason of."""
    by_reason: dict[Reason, list[str]] = {}
    for dimension, rate in rates.items():
        if rate.reason:
            by_reason.setdefault(rate.reason, []).append(dimension)
    said = []
    for reason, names in by_reason.items():
        on = on_dimensions(names, rates, "every dimension")
        said.append(f"The alternative annotator test is undefined{on}: {reason}.")
    return said


def _judges(rows: Sequence[Row], group: str, dimension: str, on: str) -> list[str]:
    """Which of several judges pass."""
    those = [
        row
        for row in rows
        if (row.statistic, row.group, row.dimension) == (_RATE, group, dimension)
        and row.by is not None
        and not row.reason
    ]
    if len(those) < 2:
        return []
    passed = [row.by_value or "" for row in those if _passed(row)]
    names = f": {listed(passed)}" if 0 < len(passed) <= NAMES_SHOWN else ""
    n = f"{len(passed):,}" if passed else "none"
    return [f"Of its {counted(len(those), 'judge')} alone{on}, {n} pass it{names}."]


def _passed(row: Row) -> bool:
    return row.value >= PASSED
