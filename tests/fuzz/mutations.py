"""Changes of an input that keep its structure: of JSON a value, of text a line, a cell or a piece.

Random bytes seldom get past a parser. Where the input, or a line of it, holds JSON, a value of it
is replaced by another; what a byte-wise fuzzer changes by itself is left to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

LONGEST = 20_000
"""Bytes of an input."""

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**64, -(2**63) - 1, 10**400, 0.5, 1e308, float("nan"),
    float("inf"), -float("inf"), "", " ", "\0", "\ud800", "nan", "1e999", "é" * 50, "a\nb", "=1+1",
    "{}", "[]", [], {}, [[]], [None], {"": None}, {"a": {"b": {"c": []}}}, [1, "a", None],
)  # fmt: skip
PIECES = (
    b"\n", b"\r", b"\r\n", b'"', b"'", b",", b";", b"\t", b"\0", b"\xef\xbb\xbf", b"\xff\xfe",
    b"\xff", b"\xed\xa0\x80", b"{", b"}", b"[", b"]", b":", b"&a", b"*a", b"<<: *a", b"!!python/x",
    b"---", b"- ", b"null", b"NaN", b"1e999", b"-", b"9" * 400, b"\\ud800", b"\\u0000", b"\x1b[2J",
)  # fmt: skip


def changed(data: bytes, random: Random) -> bytes:
    """The input with one to three changes, of at most `LONGEST` bytes."""
    for _ in range(random.randint(1, 3)):
        data = _changed(data, random)[:LONGEST]
    return data


def _changed(data: bytes, random: Random) -> bytes:
    lines = data.split(b"\n")
    places = [place for place, line in enumerate(lines) if line[:1] in (b"{", b"[")]
    if places and random.random() < 0.7:
        # A document that has several lines is one value.
        whole = _mutated(b"\n".join(lines[places[0] :]), random)
        if whole is not None:
            return b"\n".join([*lines[: places[0]], whole])
        place = random.choice(places)
        line = _mutated(lines[place], random)
        if line is not None:
            lines[place] = line
            return b"\n".join(lines)
    if len(lines) > 1 and random.random() < 0.5:
        place, other = random.randrange(len(lines)), random.choice(lines)
        match random.randrange(4):
            case 0:
                del lines[place]
            case 1:
                lines.insert(place, other)
            case 2:
                lines[place] = other
            case _:
                cells = lines[place].split(b",")
                cells[random.randrange(len(cells))] = _text(random.choice(ODD))
                lines[place] = b",".join(cells)
        return b"\n".join(lines)
    start = random.randint(0, len(data))
    end = min(len(data), start + random.choice((0, 0, 1, 1, 4, 100)))
    return data[:start] + random.choice((b"", *PIECES)) * random.choice((1, 1, 1, 50)) + data[end:]


def _text(value: Any) -> bytes:
    # Half a surrogate pair stays an escape.
    return json.dumps(value).encode()


def _mutated(text: bytes, random: Random) -> bytes | None:
    try:
        return _text(_with_another(json.loads(text), random))
    except (ValueError, RecursionError):
        return None


def _odd(random: Random) -> Any:
    # A copy, as it may be changed in its turn.
    return deepcopy(random.choice(ODD))


def _with_another(value: Any, random: Random) -> Any:
    """The document with one of its values changed."""
    places = list(_places(value))
    if not places:
        return _odd(random)
    holder, key = random.choice(places)
    match random.randrange(6):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.append(holder[key])
        case 1:
            holder[str(key) + random.choice(("", "x", "\ud800"))] = _odd(random)
        case 2:
            other, at = random.choice(places)
            # A copy: a value that holds itself could not be written.
            holder[key] = json.loads(_text(other[at])) if at in _keys(other) else None
        case 3:
            inner: Any = _odd(random)
            for _ in range(random.choice((2, 60, 300, 900))):
                inner = [inner] if random.random() < 0.5 else {"a": inner}
            holder[key] = inner
        case _:
            holder[key] = _odd(random)
    return value


def _keys(holder: Any) -> Any:
    return range(len(holder)) if isinstance(holder, list) else holder


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each holder in a document with each of its keys, nearest first, a thousand at most."""
    todo = [value]
    for holder in todo:
        if len(todo) > 1_000:
            return
        if isinstance(holder, dict | list):
            for key in list(_keys(holder)):
                yield holder, key
                todo.append(holder[key])
