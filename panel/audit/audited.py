"""A run's folder as an audit of bias wants it: ratings, the scales they are on, lengths
and comparisons.

Reads what `panel.files.run_folder` writes; the ratings by `panel.files.ratings`.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from math import nan
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter, ValidationError

from panel.audit.bias import Span
from panel.errors import Fault, InputError
from panel.files.comparisons import Compared, read_comparisons
from panel.files.ratings import load_ratings
from panel.files.wording import shown, unreadable
from panel.statistics.arrays import Array
from panel.statistics.table import Ratings
from rubrics import CategoryScale, Dimension, Scale

_DIMENSIONS = TypeAdapter(tuple[Dimension, ...])


@dataclass(frozen=True, slots=True, eq=False)
class Audited:
    """`spans` are of the dimensions rated by numbers; `lengths` are in words `(items,)`, NaN
    where verdicts.csv does not tell; `comparisons` are none unless judges compared."""

    ratings: Ratings
    spans: dict[str, Span]
    lengths: Array
    comparisons: list[Compared]


def load_audited(folder: str | Path) -> Audited:
    """Read a run.

    Raises:
        InputError: it is no run's folder, or a file in it cannot be read; lists every fault.
    """
    path = Path(folder)
    if not path.is_dir():
        found = "a file" if path.is_file() else unreadable(path)
        raise InputError([Fault(str(folder), found, "a run's folder, as `score --out` writes it")])
    ratings = load_ratings(path)
    lengths = _lengths(path / "verdicts.csv")
    return Audited(
        ratings,
        _spans(path / "run.json"),
        np.array([lengths.get(item, nan) for item in ratings.items], dtype=np.float64),
        read_comparisons(path / "judgments.jsonl"),
    )


def _spans(path: Path) -> dict[str, Span]:
    try:
        document = json.loads(path.read_bytes())
        dimensions = _DIMENSIONS.validate_python(
            (document.get("rated") or document["rubric"])["dimensions"]
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ValidationError):
        fault = Fault(str(path), "no rubric with dimensions", "what a run writes into it")
        raise InputError([fault]) from None
    return {
        dimension.id: Span(
            dimension.scale.min, dimension.scale.max, isinstance(dimension.scale, Scale)
        )
        for dimension in dimensions
        if not isinstance(dimension.scale, CategoryScale)
    }


def _lengths(path: Path) -> dict[str, float]:
    """Words by item; none where there is no such file or column."""
    lengths: dict[str, float] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row.get("words"):
                    lengths[f"{row['prompt_id']}/{row['id']}"] = float(row["words"])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, csv.Error) as error:
        fault = Fault(str(path), shown(str(error)), "what a run writes into it")
        raise InputError([fault]) from None
    return lengths
