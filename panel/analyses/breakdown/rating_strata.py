"""What ratings from a run's folder, or from a file, are broken down by."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Literal

from persona_panel.analyses.breakdown.columns import (
    column_in,
    mapping_of,
    no_column,
    stratum_label,
    warn_of_mapped,
)
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.limits import json_of
from persona_panel.files.records import ColumnMapping, Fields, Report, read_records
from persona_panel.runs.kept import RESPONSES, kept_lines, metadata_in
from persona_panel.statistics.core.table import Ratings
from persona_panel.statistics.strata import Strata

logger = logging.getLogger(__name__)

_OF_A_RUN = ("persona", "axis", "model", "prompt", "dimension", "source")


def strata_of(
    source: str, ratings: Ratings, by: str, mapping: ColumnMapping | None = None
) -> Literal["dimension"] | Strata:
    """Return the strata of ratings that were read from `source`.

    Of a run: `persona`, `axis` and `model` of its judges, `prompt`, `dimension`, `source` (the
    system), or any column of its responses' metadata. Of a file: `prompt`, `dimension`, `source`,
    or any column that has one value for each item or one for each rater. An item or rater without
    a value is in no stratum.

    Args:
        ratings: as they were read; those of a run may go by the ids of responses alone.
        mapping: as it was given to read them.

    Raises:
        InputError: there is no such column, or it is empty; names what there is.
    """
    if by == "dimension":
        return "dimension"
    result = _strata_of(source, ratings, by, mapping)
    n_without = sum(label is None for label in result.labels)
    if n_without == len(result.labels):
        raise InputError([Fault(source, f"no value in the column {by!r}", "values to go by")])
    if n_without:
        logger.warning(
            "%s: %d of %d %s have no value of %r and are left out",
            source, n_without, len(result.labels), result.of, by,
        )  # fmt: skip
    return result


def _strata_of(source: str, ratings: Ratings, by: str, mapping: ColumnMapping | None) -> Strata:
    folder = Path(source)
    if not folder.is_dir():
        return _of_a_file(source, ratings, by, mapping)
    if by in ("persona", "model", "axis"):
        warn_of_mapped(by, mapping_of(folder), source)
    if by in ("persona", "model", "prompt", "source"):
        return Strata.named(ratings, by)
    if by == "axis":
        document: Any = json_of(folder / "run.json")
        axes = {item["id"]: item["axis"] for item in document.get("personas", ())}
        return Strata(
            by, "raters", [axes.get(persona) or None for persona in ratings.personas or ()]
        )
    return Strata(by, "items", _column(folder, ratings, by))


def _column(folder: Path, ratings: Ratings, name: str) -> list[str | None]:
    path = folder / RESPONSES
    lines = kept_lines(path) if path.is_file() else ()
    metadata = (((line["prompt_id"], line["id"]), metadata_in(line)) for _, _, line in lines)
    values: dict[str, str | None] = {}
    result = column_in(metadata, name, str(folder), _OF_A_RUN, mapping_of(folder))
    for (prompt_id, id_), value in result.items():
        # Ratings that are compared with people's may be under the ids alone.
        values |= {f"{prompt_id}/{id_}": value, id_: value}
    return [values.get(item) for item in ratings.items]


def _of_a_file(source: str, ratings: Ratings, by: str, mapping: ColumnMapping | None) -> Strata:
    if (by == "prompt" and ratings.prompts) or (by == "source" and ratings.sources):
        return Strata.named(ratings, by)
    if by in ("prompt", "source"):
        raise InputError([Fault(source, f"no {by}s", f"a column {by!r}, to go by it")])
    if source == "-":
        actual = f"no {by!r} to go by on standard input"
        raise InputError([Fault("-", actual, "a file, whose other columns can be gone by")])
    own = {name: column for name, column in (mapping or {}).items() if name in ("item", "rater")}
    names = (("item", ("item",)), ("rater", ("rater",)), (by, (by,)))
    report = Report(source, own)
    cells: dict[str, dict[str, set[str]]] = {"item": {}, "rater": {}}
    columns: dict[str, None] = {}
    there = False
    for record in read_records(source, Fields(names, frozenset({by})).mapped(own, source), report):
        columns.update(dict.fromkeys(record.cells))
        there |= by in record.names
        label = stratum_label(record.cells.get(record.names[by])) if by in record.names else None
        for owner, values in cells.items():
            if label is not None and owner in record.names:
                name = str(record.cells[record.names[owner]]).strip()
                values.setdefault(name, set()).add(label)
    if not there:
        own_fields = ("item", "rater", "score", "rank", "label", *(own or {}).values())
        there_are = [name for name in columns if name not in own_fields]
        raise no_column(source, by, ("dimension", *there_are))
    for owner, of in (("item", ratings.items), ("rater", ratings.raters)):
        if all(len(labels) == 1 for labels in cells[owner].values()):
            kind: Literal["items", "raters"] = "items" if owner == "item" else "raters"
            return Strata(by, kind, [min(cells[owner].get(name, ()), default=None) for name in of])
    actual = f"several values of {by!r} for an item and for a rater"
    raise InputError([Fault(source, actual, "one for each item, or one for each rater")])
