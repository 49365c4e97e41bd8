"""An answer over HTTP as it came: its headers, its chunks, and what its body says.

Nearly all bodies are JSON in UTF-8, which orjson reads. What it does not take and can be read all
the same is read here: an answer that was paid for is not thrown away for its form.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from persona_panel.files.outputs import mended

MOST_BYTES = 8_000_000
"""The most bytes of a body: three times an answer of a thousand tokens with twenty
log-probabilities each, the longest there is."""
_PACKINGS = frozenset({"gzip", "x-gzip", "deflate"})
_MOST_PACKINGS = 5
_DIGITS = re.compile(rb"[0-9A-Fa-f]+")
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
"""The logarithm that OpenAI's servers write for a probability of 0."""


class HttpResponse(NamedTuple):
    """A server's answer. `whole` is False where the body was longer than is read; `body` is then
    its beginning."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    whole: bool = True


class Headers(Mapping[str, str]):
    """The headers that count of a request's or an answer's heads, in any case; read when they are
    looked at, since most are not."""

    def __init__(self, heads: bytes) -> None:
        self._heads = heads

    @property
    def are_whole(self) -> bool:
        """Return whether their end has come, an empty line."""
        return self._heads.endswith(b"\r\n\r\n") or b"\n\n" in self._last

    @property
    def tell_of_packing(self) -> bool:
        """Return whether there may be a Content-Encoding among them."""
        return b"content-encoding" in self._heads.lower()

    @property
    def are_chunked(self) -> bool:
        """Return whether the body comes in chunks."""
        # Looked for first, as most answers have no need to be read for it.
        is_named = b"transfer-encoding" in self._heads.lower()
        return is_named and "chunked" in self._header("transfer-encoding")

    @property
    def keep_connection(self) -> bool:
        """Return whether libcurl has a reason to keep the connection: the answer says where it
        ends, and does not say that the connection does."""
        ends = "Content-Length" in self or "Transfer-Encoding" in self
        closes = "close" in self._header("connection") + self._header("proxy-connection")
        return ends and not closes and self._last.startswith(b"HTTP/1.1")

    @property
    def times_packed(self) -> int:
        """The number of times that the body was packed by an encoding that was asked for; other
        encodings are passed over."""
        named = self._header("content-encoding").split(",")
        return min(sum(name.strip() in _PACKINGS for name in named), _MOST_PACKINGS)

    def _header(self, name: str) -> str:
        return ",".join(self._values.get(name, ())[1:]).lower()

    @cached_property
    def _last(self) -> bytes:
        return bytes(last_head(self._heads)).replace(b"\r\n", b"\n")

    @cached_property
    def _values(self) -> dict[str, list[str]]:
        """Each header's name as it came, then its values; by the name in lower case."""
        values: dict[str, list[str]] = {}
        # Those of a trailer follow an empty line.
        for line in self._last.partition(b"\n\n")[0].decode("latin-1").split("\n")[1:]:
            name, _, value = line.partition(":")
            values.setdefault(name.strip().lower(), [name.strip()]).append(value.strip())
        return values

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()][1]

    def __iter__(self) -> Iterator[str]:
        return (name for name, *_ in self._values.values())

    def __len__(self) -> int:
        return len(self._values)


def last_head(heads: bytes | bytearray) -> bytes | bytearray:
    """Return the status line and the headers that count: others may come before, such as 100
    Continue."""
    return heads[heads.rfind(b"\nHTTP/") + 1 :]


def without_chunks(body: bytes) -> tuple[bytes, bytes]:
    """Return what the chunks of a body hold, as far as they go, and what follows the last and its
    trailer. libcurl has seen that they are in order."""
    parts, at = [], 0
    while (end := body.find(b"\n", at)) >= 0:
        # libcurl ignores whatever follows the digits.
        digits = _DIGITS.match(body, at)
        length = int(digits[0], 16) if digits else 0
        at = end + 1
        if not length:
            break
        parts.append(body[at : at + length])
        # Past the line break behind it.
        at = body.find(b"\n", at + length) + 1 or len(body)
    while (end := body.find(b"\n", at)) >= 0:
        line, at = body[at:end], end + 1
        if not line.strip():
            break
    return b"".join(parts), body[at:]


def content_of(body: bytes, headers: Mapping[str, str] = MappingProxyType({})) -> Any:
    """Return a body as JSON's types; None where it is no JSON.

    Read besides plain JSON: a byte order mark, another encoding that `headers` declare,
    NaN and infinities (as text, which is no number), numbers of any length, halves of
    surrogate pairs (which become the replacement character), something other than JSON after
    the JSON, and a stream of server-sent events that nobody asked for.
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


def _constant(name: str) -> float | str:
    # Not None: of a log-probability that stands for one too small to be told.
    return _NEXT_TO_NEVER if name == "-Infinity" else name


_reader = json.JSONDecoder(parse_int=_whole, parse_constant=_constant, strict=False)


def _first_in(text: str) -> Any:
    """Return the JSON that a text begins with."""
    value, end = _reader.raw_decode(text)
    if "{" in text[end:]:
        raise ValueError("it contains two answers that differ")
    return mended(value)


def _from_events(text: str) -> Any:
    """Return the completion that a stream of events adds up to; None where it breaks off."""
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
        for name, text in (choice.get("delta") or {}).items():
            if isinstance(text, str) and name != "role":
                message[name] = message.get(name, "") + text
        match choice.get("logprobs"):
            case {"content": [*more]}:
                positions += more
    # How many there are is for the reader to judge.
    completion["choices"] = [whole] * max(1, len(places))
    if positions:
        whole["logprobs"] = {"content": positions}
    return completion if message and (ended or whole["finish_reason"]) else None
