"""The exchange that elicitations share: ask, read, and ask once more what cannot be read.

What is asked, and how an answer is read, is in the elicitations. A reply that no reader
could use is known here: a refusal, one that was cut off, an empty one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rubrics.elicitation import Ask, Dialogue, Reading, Reply
from rubrics.replies import Unreadable, is_refusal

Read = Callable[[Reply], Reading]
"""Reads a reply that `unusable` lets pass; raises Unreadable with what is wrong."""


def ask_twice(ask: Ask, read: Read, wanted: str) -> Dialogue:
    """Ask; where the answer cannot be read, say why and ask for `wanted` once more.

    A reading that is still `unparsed` after that keeps its text.
    """
    reply = yield ask
    first = _reading(reply, read)
    if first.status != "unparsed":
        return first
    correction = f"That answer cannot be used: {first.error}. {wanted}"
    reply = yield replace(ask, exchange=((reply.text, correction),))
    return _reading(reply, read)


def unusable(reply: Reply) -> Reading | None:
    """The reading of a reply in which there is nothing to read; None where there may be."""
    raw = reply.text
    if reply.refusal is not None:
        return Reading("refused", raw=raw or reply.refusal, error=reply.refusal)
    if reply.finish_reason == "length":
        return Reading("unparsed", raw=raw, error="it was cut off at the token limit")
    if not raw.strip():
        return Reading("unparsed", raw=raw, error="it is empty")
    return None


def _reading(reply: Reply, read: Read) -> Reading:
    if (nothing := unusable(reply)) is not None:
        return nothing
    try:
        return read(reply)
    except Unreadable as error:
        # Only where nothing could be read, so that a rationale may say "I cannot".
        if "{" not in reply.text and is_refusal(reply.text):
            return Reading("refused", raw=reply.text, error="the judge declined to rate")
        return Reading("unparsed", raw=reply.text, error=str(error))
