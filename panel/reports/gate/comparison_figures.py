"""The figures of `compare` that a requirement may name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import nan
from pathlib import PurePath

from persona_panel.analyses.comparison.result import RunComparison, RunDifference
from persona_panel.reports.gate.run_figures import ADJUSTED, NO_INTERVAL, OVER
from persona_panel.results.requirements.figures import Figure, FigureKey, exact
from persona_panel.statistics.core.names import COMPOSITE
from persona_panel.statistics.core.options import Random

UNDEFINED = "the two cannot be compared on it"


def comparison_figures(found: RunComparison) -> list[Figure]:
    """`difference[b, a, dimension]`, b − a, with `effect_size` and `p`, and the same from a's side.

    a and b are runs, as the comparison calls them, or the last names of their folders, where no
    other run has the same. A dimension that is not named is the composite.
    """
    last = [PurePath(name).name for name in found.runs]
    labels = {
        name: own
        for name, own in zip(found.runs, last, strict=True)
        if last.count(own) == 1 and own not in found.runs
    }
    return [
        one
        for row in found.rows
        for sign in (1, -1)
        for one in _of_row(row, sign, found.random, labels)
    ]


def _of_row(
    row: RunDifference, sign: int, random: Random, labels: Mapping[str, str]
) -> Iterator[Figure]:
    names = (row.b, row.a) if sign > 0 else (row.a, row.b)
    of = FigureKey(row.dimension, may_be_left_out=row.dimension == COMPOSITE)
    keys = (*(FigureKey(name, labels.get(name, "")) for name in names), of)
    ends = sorted((sign * row.ci_low, sign * row.ci_high))
    n = row.n_prompts
    yield Figure(
        "difference", keys, "", sign * row.difference, ends[0], ends[1], OVER[random],
        reason=row.reason, n_prompts=n, df=n - 1.0 if random == "prompts" else nan,
    )  # fmt: skip
    yield Figure(
        "effect_size", keys, value=sign * row.effect_size, reason=row.reason or NO_INTERVAL
    )
    yield exact("p", row.p_adjusted, ADJUSTED, keys, reason=row.reason or UNDEFINED)
