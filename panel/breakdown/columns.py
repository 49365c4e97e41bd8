"""A column of metadata, to break ratings down by."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeVar

from panel.errors import Fault, InputError

_Key = TypeVar("_Key", bound=Hashable)


def label_of(value: object) -> str | None:
    """A value as the name of a stratum; None where it is empty."""
    return None if value is None or str(value).strip() == "" else str(value)


def column_in(
    metadata: Iterable[tuple[_Key, Mapping[str, Any]]],
    name: str,
    source: str,
    others: Iterable[str],
) -> dict[_Key, str | None]:
    """The column of that name, by what each metadata are of.

    Args:
        source: where they are from, for errors.
        others: what can be gone by besides columns.

    Raises:
        InputError: none of them has the column; names those there are.
    """
    known: dict[str, None] = {}
    values = {}
    for key, one in metadata:
        known.update(dict.fromkeys(one))
        values[key] = label_of(one.get(name))
    if name not in known:
        raise no_column(source, name, (*others, *known))
    return values


def no_column(source: str, name: str, there: Iterable[str]) -> InputError:
    """That there is no such column, with what there is."""
    expected = f"one of {', '.join(dict.fromkeys(there))}"
    return InputError([Fault(source, f"no column {name!r} to go by", expected)])
