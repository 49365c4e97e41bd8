"""Replies as stores keep them: JSON, compressed where it is long."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable
from typing import Any

import orjson

from persona_panel.files.unpacking import UnreadablePacking, unpacked
from persona_panel.models.usage import sound
from persona_panel.rubrics import ModelResponse, Position, Usage

_WORTH_COMPRESSING = 2_000
_MOST_BYTES = 16_000_000
"""How long the JSON of a reply may be: twice the longest answer that is read."""
_NOTED = (8, 6)
"""How many fields are noted of a reply, and of its usage."""


def encoded(reply: ModelResponse, page: str, key: bytes) -> bytes:
    """A reply as it is stored, when that was (Unix time), and under what.

    Raises:
        TypeError: JSON in UTF-8 cannot hold it.
    """
    usage = reply.usage
    # A dictionary is written as JSON in half the time that a dataclass with slots takes.
    document = {
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        "refusal": reply.refusal,
        "logprobs": reply.logprobs,
        "usage": {
            "input": usage.input,
            "cached": usage.cached,
            "output": usage.output,
            "written": usage.written,
            "odd": usage.odd,
            "reasoning": usage.reasoning,
        },
        "latency_s": reply.latency_s,
        "cached": reply.cached,
        "model": reply.model,
        "at": int(time.time()),
        "under": _place(page, key),
    }
    return as_stored(orjson.dumps(document))


def as_stored(document: bytes) -> bytes:
    """The JSON of a reply, compressed where it is long."""
    # Log-probabilities shrink to a fifth; a reply of a few numbers is not worth the time.
    return document if len(document) < _WORTH_COMPRESSING else zlib.compress(document, level=1)


def document_of(stored: bytes) -> dict[str, Any]:
    """What a stored reply says: the fields of a `ModelResponse`, `at` and `under`; replies that
    were kept before `model`, `at` or `under` were noted lack them.

    Raises:
        ValueError: something else is stored, or more than a reply may have.
    """
    if not stored.startswith(b"{"):
        try:
            stored = unpacked(stored, _MOST_BYTES + 1)
        except UnreadablePacking as error:
            raise ValueError(f"it {error}") from None
    if len(stored) > _MOST_BYTES:
        raise ValueError(f"it is longer than {_MOST_BYTES:,} bytes")
    document = orjson.loads(stored)
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")
    return document


def decoded(stored: bytes, page: str = "", key: bytes = b"") -> ModelResponse | None:
    """The reply, or None where something else stands, or one that was kept under another page or
    key than these, if they are said: it is asked for again."""
    try:
        fields = document_of(stored)
        fields.pop("at", None)
        if (under := fields.pop("under", None)) and key and under != _place(page, key):
            return None
        fields["cached"] = True
        # Replies that were kept long ago lack some.
        refusal = fields.get("refusal")
        if not (
            type(fields["text"]) is type(fields.get("finish_reason", "")) is str
            and (refusal is None or type(refusal) is str)
        ):
            return None
        used, logprobs = fields["usage"], tuple(map(_position, fields["logprobs"]))
        if (len(fields), len(used)) != _NOTED:
            # Kept before some of them were noted.
            fields |= {"usage": sound(Usage(**used)), "logprobs": logprobs}
            return ModelResponse(**fields)
        # By place, in half the time.
        usage = sound(
            Usage(
                used["input"],
                used["cached"],
                used["output"],
                used["written"],
                used["odd"],
                used["reasoning"],
            )
        )
        return ModelResponse(
            fields["text"],
            fields["finish_reason"],
            fields["refusal"],
            logprobs,
            usage,
            fields["latency_s"],
            True,
            fields["model"],
        )
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


def _place(page: str, key: bytes) -> str:
    """Where a reply belongs, short."""
    return page[:16] + key[:8].hex()


def _position(stored: dict[str, Any]) -> Position:
    top = tuple((token, p) for token, p in stored["top"])
    return Position(stored["token"], top, stored.get("logprob"))


def is_among(stored: bytes, others: Iterable[bytes]) -> bool:
    """Return whether a stored reply is one of the others, whenever each was stored."""
    return any(_is_same(stored, other) for other in others)


def _is_same(stored: bytes, other: bytes) -> bool:
    if stored == other:
        return True
    reply = decoded(stored)
    return reply is not None and reply == decoded(other)
