"""How far the judges agree, by dimension: Krippendorff's α, of all of them and of each model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from graphs.records import controls_among
from panel.runs.run import Run
from panel.statistics.agreement.reliability import krippendorff_alpha, resampled_alpha
from panel.statistics.core.arrays import has_two_ratings
from panel.statistics.core.options import DEFAULT_OPTIONS, MeasurementLevel
from panel.statistics.core.results import Result, interval_of


@dataclass(frozen=True, slots=True)
class Agreement:
    """α of one dimension.

    Attributes:
        level: of measurement.
        low, high: the 95 % interval over prompts, NaN where there is none.
        by_model: α of the judges of each model alone.
        reason: why there is no value, or no interval.
    """

    label: str
    level: str
    value: float
    low: float
    high: float
    by_model: Sequence[float]
    reason: str | None


def agreement(run: Run) -> tuple[Sequence[str], Sequence[Agreement]]:
    """The models of which there are several judges, and α of each dimension; none of a single
    judge."""
    controls = controls_among(run.judges)
    columns = [column for column, judge in enumerate(run.judges) if judge not in controls]
    if len(columns) < 2:
        return [], []
    models = list(dict.fromkeys(run.judges[column].model for column in columns))
    of_model = [[one for one in columns if run.judges[one].model == model] for model in models]
    several = len(models) > 1 and all(len(those) > 1 for those in of_model)
    prompts = [item.prompt_id for item in run.items]
    found = []
    for place, dimension in enumerate(run.rubric.dimensions):
        ratings = run.ratings[:, :, place]
        level: MeasurementLevel = "nominal" if dimension.id in run.categories else "ordinal"
        whole = krippendorff_alpha(ratings[:, columns], level)
        result = Result(
            whole,
            resampled_alpha(ratings[:, columns], level),
            limits=(-inf, 1),
            counted=has_two_ratings(ratings[:, columns]),
        )
        interval = interval_of(result, prompts, DEFAULT_OPTIONS)
        found.append(
            Agreement(
                dimension.label,
                level,
                whole.value,
                np.nan if interval is None else interval.low,
                np.nan if interval is None else interval.high,
                [krippendorff_alpha(ratings[:, those], level).value for those in of_model]
                if several
                else [],
                str(whole.reason or (interval.reason if interval else None) or "") or None,
            )
        )
    return (models if several else []), found
