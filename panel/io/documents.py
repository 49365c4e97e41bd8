"""JSON of values that came from models and servers: whatever they hold, it can be written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar

import orjson

from rubrics.unicode import well_formed

_MOST = 2**63
_OBJECTS_HELD = 64

ObjectT = TypeVar("ObjectT")
MadeT = TypeVar("MadeT")


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


def mended(value: Any) -> Any:
    """The value as JSON's types, all of which can be written."""
    match value:
        case str():
            return well_formed(value)
        case None | bool() | float():
            return value
        case int():
            return value if -_MOST <= value < _MOST else _as_float(value)
        case Mapping():
            return {well_formed(str(name)): mended(one) for name, one in value.items()}
        case list() | tuple():
            return [mended(one) for one in value]
    return well_formed(str(value))


def _as_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def once_an_object(make: Callable[[ObjectT], MadeT]) -> Callable[[ObjectT], MadeT]:
    """Work out what follows from an object once, for objects that many calls share and nobody
    changes; those given last are held in memory."""
    made: dict[int, tuple[ObjectT, MadeT]] = {}

    @wraps(make)
    def kept(shared: ObjectT) -> MadeT:
        found = made.get(id(shared))
        if found is None:
            if len(made) >= _OBJECTS_HELD:
                made.clear()
            # Held with what was made of it: nothing else gets its id meanwhile.
            found = made[id(shared)] = (shared, make(shared))
        return found[1]

    return kept
