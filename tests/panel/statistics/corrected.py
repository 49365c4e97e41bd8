"""Corrected means of plain scores and ratings."""

from __future__ import annotations

from typing import Any

from persona_panel.statistics import CorrectedMean, RatedPart
from persona_panel.statistics import corrected_mean as mean_of_sides
from persona_panel.statistics.core.sampled_mean import UNLIMITED, Limits


def corrected_mean(
    panel: Any,
    human: Any,
    prompts: Any = None,
    *,
    inclusion: Any = None,
    limits: Limits = UNLIMITED,
) -> CorrectedMean:
    """Return the mean of the panel's scores and people's ratings of these prompts."""
    return mean_of_sides(RatedPart.of(panel, human, prompts, inclusion), limits=limits)


def corrected_difference(*sides: Any, limits: Limits = UNLIMITED) -> CorrectedMean:
    """Return the difference of two sides, each as of a mean."""
    return mean_of_sides(*(RatedPart.of(*side) for side in sides), limits=limits)
