"""A column of metadata, to break ratings down by."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.limits import json_of

logger = logging.getLogger(__name__)

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
