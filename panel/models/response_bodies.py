"""From the bytes of an answer to what they say.

Nearly all are JSON in UTF-8, which orjson reads. What it does not take and can be read all the
same is read here: an answer that was paid for is not thrown away for its form.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import orjson

from persona_panel.files.documents import mended

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # UTF-32's begins with UTF-16's.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LONGEST_WHOLE = 18
"""Digits of a whole number that surely fits into 64 bits."""
_NEXT_TO_NEVER = -9999.0
"""What OpenAI's servers write for the logarithm of a probability of 0."""


def content_of(body: bytes, headers: Mapping[str, str] = MappingProxyType({})) -> Any:
    """What a body holds, as JSON's types; None where it holds no JSON.

    Read besides plain JSON: a byte order mark, another encoding that `headers` declare,
    NaN and infinities, numbers of any length, halves of surrogate pairs (which become the
    replacement character), something other than JSON after the JSON, and a stream of
    server-sent events that nobody asked for.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        text = _decoded(body, headers.get("Content-Type", "")).strip("\ufeff\0 \t\r\n")
    try:
        if text.startswith(("data:", "event:", "id:", ":")):
            return _from_events(text)
        return _first_in(text)
    except (ValueError, RecursionError):
        return None


def _decoded(body: bytes, content_type: str) -> str:
    encodings = [name for mark, name in _MARKS if body.startswith(mark)][:1]
    if declared := _CHARSET.search(content_type):
        encodings.append(declared[1])
    for encoding in [*encodings, "utf-8"]:
        try:
            return body.decode(encoding)
        # An encoding that nobody knows, or one that these bytes are not in.
        except (LookupError, ValueError):
            continue
    return body.decode(errors="replace")


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_WHOLE else float(digits)


_reader = json.JSONDecoder(
    parse_int=_whole, parse_constant={"-Infinity": _NEXT_TO_NEVER}.get, strict=False
)


def _first_in(text: str) -> Any:
    """The JSON that a text begins with.

    Raises:
        ValueError: there is none, or more than one.
        RecursionError: it is nested too deeply.
    """
    value, end = _reader.raw_decode(text)
    if "{" in text[end:]:
        raise ValueError("it contains two answers that differ")
    return mended(value)


def _from_events(text: str) -> Any:
    """The completion that a stream of events adds up to; None where it breaks off."""
    pieces, ended = [], False
    for data in _data_in(text):
        if data == "[DONE]":
            ended = True
            break
        piece = _first_in(data)
        if not isinstance(piece, dict):
            return None
        match piece:
            # An error, or a whole completion in one event.
            case {"error": error} if error:
                return piece
            case {"choices": [{"message": _} | {"error": _}, *_]}:
                return piece
        pieces.append(piece)
    return _added_up(pieces, ended)


def _data_in(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("data:"):
            yield line.removeprefix("data:").strip()


def _added_up(pieces: list[dict[str, Any]], ended: bool) -> dict[str, Any] | None:
    message: dict[str, Any] = {}
    whole: dict[str, Any] = {"finish_reason": None, "message": message}
    completion: dict[str, Any] = {"choices": [whole]}
    positions: list[Any] = []
    places = set[str]()
    for piece in pieces:
        completion |= {name: piece[name] for name in ("model", "usage") if piece.get(name)}
        match piece.get("choices"):
            case [dict() as choice, *_]:
                pass
            case _:
                continue
        places.add(str(choice.get("index", 0)))
        whole["finish_reason"] = choice.get("finish_reason") or whole["finish_reason"]
        for name, said in (choice.get("delta") or {}).items():
            if isinstance(said, str) and name != "role":
                message[name] = message.get(name, "") + said
        match choice.get("logprobs"):
            case {"content": [*more]}:
                positions += more
    # How many there are is for the reader to judge.
    completion["choices"] = [whole] * max(1, len(places))
    if positions:
        whole["logprobs"] = {"content": positions}
    return completion if message and (ended or whole["finish_reason"]) else None
