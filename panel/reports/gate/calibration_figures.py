"""The figures of `calibrate` that a requirement may name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan

from persona_panel.reports.gate.run_figures import ADJUSTED, OVER
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.conclusions.wording import p_adjusted as told_p
from persona_panel.results.gate.figures import Figure, FigureKey, exact
from persona_panel.statistics.core.table import ALL, COMPOSITE
from persona_panel.statistics.core.tested import LEVEL
from persona_panel.statistics.humans.calibration import Calibration
from persona_panel.statistics.humans.prediction_powered import CorrectedMean

UNDEFINED = "it is not computed"


def calibration_figures(found: Calibration) -> list[Figure]:
    """`corrected[system, dimension]` and `human_only` of the same, and of every two systems
    `corrected_difference[a, b, dimension]` with `corrected_p`, from either side.

    A dimension that is not named is the composite, or the only one there is; a system may be left
    out where there is one.
    """
    one = len({each.dimension for each in found.systems}) == 1
    alone = len({each.system for each in found.systems}) == 1

    def of(*systems: str, dimension: str) -> tuple[FigureKey, ...]:
        keys = (FigureKey(name, may_be_left_out=alone) for name in systems)
        return *keys, FigureKey(dimension, may_be_left_out=one or dimension in (ALL, COMPOSITE))

    figures: list[Figure] = []
    for each in found.systems:
        figures += _of_mean(each.found, of(each.system, dimension=each.dimension))
    for pair in found.pairs:
        for names, sign in (((pair.a, pair.b), 1), ((pair.b, pair.a), -1)):
            keys = of(*names, dimension=pair.dimension)
            figures += _of_difference(pair.found, pair.p_adjusted, keys, sign)
    return figures


def _of_mean(found: CorrectedMean, keys: Sequence[FigureKey]) -> Iterator[Figure]:
    corrected = Figure(
        "corrected",
        tuple(keys),
        value=found.corrected,
        low=found.ci_low,
        high=found.ci_high,
        over=OVER["prompts"],
        reason=str(found.reason or UNDEFINED),
        n_prompts=found.n_human_prompts,
    )
    yield corrected
    yield replace(
        corrected,
        name="human_only",
        value=found.human_only,
        low=found.human_ci_low,
        high=found.human_ci_high,
        reason=str(found.human_reason or UNDEFINED),
    )


def _of_difference(
    found: CorrectedMean, p_adjusted: float, keys: Sequence[FigureKey], sign: int
) -> Iterator[Figure]:
    low, high = sorted((sign * found.ci_low, sign * found.ci_high))
    why = str(found.reason or UNDEFINED)
    detail = ""
    if p_adjusted >= LEVEL and (low > 0 or high < 0):
        # The interval is of this pair alone.
        detail = (
            f"{counted(found.n_human_prompts, 'prompt')}; after adjustment for the number of pairs "
            f"a difference is not established, {told_p(p_adjusted)}"
        )
    yield Figure(
        "corrected_difference",
        tuple(keys),
        value=sign * found.corrected,
        low=low,
        high=high,
        over=OVER["prompts"],
        reason=why,
        n_prompts=found.n_human_prompts,
        detail=detail,
    )
    known = None if isnan(p_adjusted) else p_adjusted
    yield exact("corrected_p", known, ADJUSTED, tuple(keys), reason=why)
