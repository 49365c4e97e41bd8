"""How far the judges agree, on the composite and by dimension: Krippendorff's α, of all of them and
of each model's."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, nan
from typing import Any

from markupsafe import Markup

from persona_panel.graphs.records import controls_among
from persona_panel.results.formats.html import section
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.runs.collected import composite_terms
from persona_panel.runs.run import Run
from persona_panel.statistics.core.arrays import (
    DEFAULT_OPTIONS,
    Array,
    MeasurementLevel,
    has_two_ratings,
)
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.core.registry import BlockResult, interval_of
from persona_panel.statistics.reliability import krippendorff_alpha, resampled_alpha

_CAPTION = "Krippendorff's α: 1 is perfect agreement, 0 what ratings drawn at random give"
_BY_MODEL = "Below the name of a model: of its judges alone."


def agreement(run: Run) -> Markup | None:
    """Return the section on α of the composite, where it is a mean of several dimensions, and of
    each dimension; None of a single judge."""
    controls = controls_among(run.judges)
    columns = [column for column, judge in enumerate(run.judges) if judge not in controls]
    if len(columns) < 2:
        return None
    models = list(dict.fromkeys(run.judges[column].model for column in columns))
    of_model = {
        model: [one for one in columns if run.judges[one].model == model] for model in models
    }
    if len(models) < 2 or any(len(those) < 2 for those in of_model.values()):
        of_model = {}
    prompts = [item.prompt_id for item in run.items]
    rows: list[dict[str, Any]] = []
    for label, level, ratings in _rated(run):
        whole = krippendorff_alpha(ratings[:, columns], level)
        result = BlockResult(
            whole,
            resampled_alpha(ratings[:, columns], level),
            limits=(-inf, 1),
            counted=has_two_ratings(ratings[:, columns]),
        )
        interval = interval_of(result, prompts, DEFAULT_OPTIONS)
        low, high, why = (
            (nan, nan, None) if interval is None else (interval.low, interval.high, interval.reason)
        )
        alpha = Estimate(whole.value, low, high, over="prompts", reason=whole.reason or why)
        by_model = {
            model: krippendorff_alpha(ratings[:, those], level).value
            for model, those in of_model.items()
        }
        rows.append({"dimension": label, "level": level, "alpha": alpha} | by_model)
    table = Table(
        "alpha",
        (Key("dimension", "dimension"),),
        (
            Column("alpha", "estimate", "α"),
            *(Column(model, "number", model) for model in of_model),
            Column("level", "text", "level of measurement"),
        ),
        rows,
        _CAPTION,
        remarks=["The intervals are over prompts.", *([_BY_MODEL] if of_model else [])],
    )
    return section(Result("agreement", (), [table]), "Agreement", level=3)


def _rated(run: Run) -> Iterator[tuple[str, MeasurementLevel, Array]]:
    """What is rated, at which level, and the ratings `(responses, judges)`."""
    terms = composite_terms(run.ratings, run.rubric, run.dimensions, run.categories)
    if terms is not None and terms.shape[2] > 1:
        yield "Composite", "ordinal", terms.mean(axis=2)
    for place, dimension in enumerate(run.rubric.dimensions):
        level: MeasurementLevel = "nominal" if dimension.id in run.categories else "ordinal"
        yield dimension.label, level, run.ratings[:, :, place]
