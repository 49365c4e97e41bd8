"""Strata of ratings from a run's folder, or from a file, by a column of metadata or by judges."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.limits import json_of
from persona_panel.files.records import ColumnMapping, Fields, Report, read_records
from persona_panel.runs.kept import RESPONSES, kept_lines, metadata_in
from persona_panel.statistics.core.table import Ratings
from persona_panel.statistics.strata import Strata

_Key = TypeVar("_Key", bound=Hashable)


def stratum_label(value: object) -> str | None:
    """Return a value as the name of a stratum; None where it is empty."""
    return None if value is None or str(value).strip() == "" else str(value)


def column_in(
    metadata: Iterable[tuple[_Key, Mapping[str, Any]]],
    name: str,
    source: str,
    others: Iterable[str],
    mapping: Mapping[str, str] | None = None,
) -> dict[_Key, str | None]:
    """Return the column of that name, by what each metadata are of.

    Args:
        source: where they are from, for errors.
        others: what can be gone by besides columns.
        mapping: by field, which column was mapped to it and is therefore no column of metadata.

    Raises:
        InputError: none of them has the column; names those there are.
    """
    known: dict[str, None] = {}
    values = {}
    for key, item in metadata:
        known.update(dict.fromkeys(item))
        values[key] = stratum_label(item.get(name))
    if name not in known:
        raise no_column(source, name, (*others, *known), mapping)
    return values


def no_column(
    source: str, name: str, there: Iterable[str], mapping: Mapping[str, str] | None = None
) -> InputError:
    """Say that there is no such column, with what there is; of a mapped one, what it was mapped
    to."""
    expected = f"one of {', '.join(dict.fromkeys(there))}"
    actual = f"no column {name!r} to go by"
    if (field := _field_of(name, mapping)) is not None:
        actual += f", as it was mapped to the {field} (--map {field}={name})"
    return InputError([Fault(source, actual, expected)])


def warn_of_mapped(by: str, mapping: Mapping[str, str], source: str) -> None:
    """Warn which is meant where strata of judges have the name of a column that was mapped."""
    if (field := _field_of(by, mapping)) is not None:
        logger.warning(
            "%s: --by %s goes by that of the judges; the column %r of the responses was mapped to "
            "the %s (--map %s=%s)",
            source, by, by, field, field, by,
        )  # fmt: skip


def mapping_of(folder: Path) -> dict[str, str]:
    """Return by field which column of its responses a run's folder was written with; none where
    they were not mapped."""
    path = folder / "run.json"
    document: Any = json_of(path) if path.is_file() else {}
    inputs = [item for start in document.get("starts", ())[-1:] for item in start.get("inputs", ())]
    # Responses are the first input; human ratings may have a mapping of their own.
    result: dict[str, str] = dict(inputs[0].get("mapping", {})) if inputs else {}
    return result


def _field_of(name: str, mapping: Mapping[str, str] | None) -> str | None:
    fields = (field for field, column in (mapping or {}).items() if column == name)
    return next((field for field in fields if field != name), None)


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
    cells: dict[str, dict[str, set[str]]] = {"item": defaultdict(set), "rater": defaultdict(set)}
    columns: dict[str, None] = {}
    there = False
    fields = Fields(names, frozenset({by})).mapped(own, source)
    for record in read_records(source, fields, Report(source, own)):
        columns.update(dict.fromkeys(record.cells))
        there |= by in record.names
        label = stratum_label(record.cells.get(record.names[by])) if by in record.names else None
        for owner, values in cells.items():
            if label is not None and owner in record.names:
                values[str(record.cells[record.names[owner]]).strip()].add(label)
    if not there:
        own_fields = ("item", "rater", "score", "rank", "label", *own.values())
        others = (name for name in columns if name not in own_fields)
        raise no_column(source, by, ("dimension", *others))
    kinds: tuple[Literal["items", "raters"], ...] = "items", "raters"
    for kind, labels, of in zip(
        kinds, cells.values(), (ratings.items, ratings.raters), strict=True
    ):
        if all(len(several) == 1 for several in labels.values()):
            return Strata(by, kind, [min(labels.get(name, ()), default=None) for name in of])
    actual = f"several values of {by!r} for an item and for a rater"
    raise InputError([Fault(source, actual, "one for each item, or one for each rater")])
