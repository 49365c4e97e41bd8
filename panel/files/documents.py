"""JSON of values that came from models and servers: whatever they hold, it can be written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from persona_panel.rubrics.unicode import well_formed

_MOST = 2**63
_LEVELS = 200


def as_json(value: Any, option: int = 0) -> bytes:
    """JSON, with orjson's options. What JSON in UTF-8 cannot hold is changed into what it can: half
    a surrogate pair into the replacement character, a whole number of more than 64 bits into a
    float, an object of another type into its text."""
    try:
        return orjson.dumps(value, option=option)
    # Looked at piece by piece only where that is needed: it takes a hundred times as long.
    except TypeError:
        return orjson.dumps(mended(value), option=option)


def json_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """JSONL: `as_json` of each on a line of its own."""
    return b"".join(as_json(row) + b"\n" for row in rows)


def json_number(value: float) -> float | None:
    """A float as files show it: with six decimal places, None (null) for NaN."""
    return None if math.isnan(value) else round(value, 6)


def mended(value: Any, levels: int = _LEVELS) -> Any:
    """The value as JSON's types, all of which can be written. Of what is nested more than so many
    levels deep, which orjson does not write, there is a sign in place of the innermost."""
    match value:
        case str():
            return well_formed(value)
        case None | bool() | float():
            return value
        case int():
            return value if -_MOST <= value < _MOST else _as_float(value)
        case Mapping() | list() | tuple() if not levels:
            return "…"
        case Mapping():
            return {well_formed(str(name)): mended(one, levels - 1) for name, one in value.items()}
        case list() | tuple():
            return [mended(one, levels - 1) for one in value]
    return well_formed(str(value))


def _as_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
