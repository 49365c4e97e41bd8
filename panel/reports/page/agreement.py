"""How far the judges agree, on the composite and by dimension: Krippendorff's α, of all of them and
of each model's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from persona_panel.graphs.records import controls_among
from persona_panel.runs.judge_sample import composite_terms
from persona_panel.runs.run import Run
from persona_panel.statistics.agreement.reliability import krippendorff_alpha, resampled_alpha
from persona_panel.statistics.core.arrays import Array, has_two_ratings
from persona_panel.statistics.core.options import DEFAULT_OPTIONS, MeasurementLevel
from persona_panel.statistics.core.results import BlockResult, interval_of


@dataclass(frozen=True, slots=True)
class Agreement:
    """α of one dimension, or of the composite.

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
    """The models of which there are several judges, and α of the composite, where it is a mean of
    several dimensions, and of each dimension; none of a single judge."""
    controls = controls_among(run.judges)
    columns = [column for column, judge in enumerate(run.judges) if judge not in controls]
    if len(columns) < 2:
        return [], []
    models = list(dict.fromkeys(run.judges[column].model for column in columns))
    of_model = [[one for one in columns if run.judges[one].model == model] for model in models]
    several = len(models) > 1 and all(len(those) > 1 for those in of_model)
    prompts = [item.prompt_id for item in run.items]
    found = []
    for label, level, ratings in _rated(run):
        whole = krippendorff_alpha(ratings[:, columns], level)
        result = BlockResult(
            whole,
            resampled_alpha(ratings[:, columns], level),
            limits=(-inf, 1),
            counted=has_two_ratings(ratings[:, columns]),
        )
        interval = interval_of(result, prompts, DEFAULT_OPTIONS)
        found.append(
            Agreement(
                label,
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


def _rated(run: Run) -> Iterator[tuple[str, MeasurementLevel, Array]]:
    """What is rated, at which level, and the ratings `(responses, judges)`."""
    terms = composite_terms(run.ratings, run.rubric, run.dimensions, run.categories)
    if terms is not None and terms.shape[2] > 1:
        yield "Composite", "ordinal", terms.mean(axis=2)
    for place, dimension in enumerate(run.rubric.dimensions):
        level: MeasurementLevel = "nominal" if dimension.id in run.categories else "ordinal"
        yield dimension.label, level, run.ratings[:, :, place]
