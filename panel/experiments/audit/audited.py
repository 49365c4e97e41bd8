"""A run's folder as an audit of bias wants it: ratings, the scales they are on, lengths
and comparisons.

Reads what `persona_panel.runs.folder` writes; the ratings by `persona_panel.files.ratings`.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from math import nan
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter, ValidationError

from persona_panel.experiments.audit.bias import ScaleRange
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.judgments import Compared, read_comparisons
from persona_panel.files.limits import json_of
from persona_panel.files.outputs import own_rows, text_of
from persona_panel.files.ratings import load_ratings
from persona_panel.files.wording import shown
from persona_panel.rubrics import CategoryScale, Dimension, Scale
from persona_panel.runs.kept import require_folder
from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.table import Ratings

_DIMENSIONS = TypeAdapter(tuple[Dimension, ...])


@dataclass(frozen=True, slots=True, eq=False)
class AuditedRun:
    """The data of a run that an audit of bias needs. `scales` are of the dimensions rated by
    numbers; `lengths` are in words `(items,)`, NaN where verdicts.csv has none; `comparisons` are
    empty unless judges compared."""

    ratings: Ratings
    scales: dict[str, ScaleRange]
    lengths: Array
    comparisons: list[Compared]


def load_audited_run(folder: str | Path) -> AuditedRun:
    """Read a run's panel. Judges without a persona that it is compared with are left out.

    Raises:
        InputError: it is no run's folder, or a file in it cannot be read; lists every fault.
    """
    path = Path(folder)
    require_folder(path, str(folder))
    ratings = load_ratings(path)
    judges = [rater for rater in ratings.raters if rater not in ratings.controls]
    ratings = ratings.by(judges)
    lengths = _lengths(path / "verdicts.csv")
    return AuditedRun(
        ratings,
        _spans(path / "run.json"),
        np.array([lengths.get(item, nan) for item in ratings.items], dtype=np.float64),
        [
            comparison
            for comparison in read_comparisons(path / "judgments.jsonl")
            if comparison.judge in judges
        ],
    )


def _spans(path: Path) -> dict[str, ScaleRange]:
    try:
        document = json_of(path)
        dimensions = _DIMENSIONS.validate_python(
            (document.get("output_rubric") or document["rubric"])["dimensions"]
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ValidationError):
        fault = Fault(str(path), "no rubric with dimensions", "a rubric, as a run writes it")
        raise InputError([fault]) from None
    return {
        dimension.id: ScaleRange(
            dimension.scale.min, dimension.scale.max, isinstance(dimension.scale, Scale)
        )
        for dimension in dimensions
        if not isinstance(dimension.scale, CategoryScale)
    }


def _lengths(path: Path) -> dict[str, float]:
    """Return the number of words by item; empty where there is no such file or column."""
    lengths: dict[str, float] = {}
    try:
        for row in own_rows(path):
            if row.get("words"):
                item = "/".join(text_of(row[name]) for name in ("prompt_id", "id"))
                lengths[item] = float(row["words"])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, csv.Error) as error:
        fault = Fault(str(path), shown(str(error)), "the columns that a run writes")
        raise InputError([fault]) from None
    return lengths
