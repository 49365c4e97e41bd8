"""The exchange that elicitations share: ask, read, and ask once more what cannot be read.

What is asked, and how an answer is read, is in the elicitations. A reply that no reader
could use is known here: a refusal, one that was cut off, an empty one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from persona_panel.rubrics.elicitation import Dialogue, ModelRequest, ModelResponse, ParsedJudgment
from persona_panel.rubrics.fence import fence_for, fenced
from persona_panel.rubrics.replies import Unreadable, is_refusal

Read = Callable[[ModelResponse], ParsedJudgment]
"""Reads a reply that `unusable` lets pass; raises Unreadable with what is wrong."""


def ask_twice(request: ModelRequest, read: Read, wanted: str) -> Dialogue:
    """Ask; where the answer cannot be read, say why and ask for `wanted` once more.

    A reading that is still `unparsed` after that keeps its text. An answer that was cut off is
    not asked for again: at the same limit it would be cut off again.
    """
    reply = yield request
    first = _reading(reply, read)
    if first.status != "unparsed":
        return first
    told = correction(str(first.error), wanted)
    reply = yield replace(request, exchange=((reply.text, told),))
    return _reading(reply, read)


def correction(fault: str, wanted: str) -> str:
    """What a model is told of an answer that cannot be used.

    The fault is fenced: it quotes the answer, and an answer may quote a text under judgment.
    """
    fence = fence_for(fault)
    return (
        f"That answer cannot be used. What is wrong with it stands between marks that carry "
        f"{fence}.\n\n{fenced('fault', fault, fence)}\n\n{wanted}"
    )


def unusable(reply: ModelResponse) -> ParsedJudgment | None:
    """The reading of a reply in which there is nothing to read; None where there may be."""
    raw = reply.text
    if reply.refusal is not None:
        # As texts, whatever a model of a user's own says.
        return ParsedJudgment("refused", raw=raw or str(reply.refusal), error=str(reply.refusal))
    if reply.finish_reason == "length":
        return ParsedJudgment("truncated", raw=raw, error="it was cut off at the token limit")
    if not raw.strip():
        return ParsedJudgment("unparsed", raw=raw, error="it is empty")
    return None


def _reading(reply: ModelResponse, read: Read) -> ParsedJudgment:
    if (nothing := unusable(reply)) is not None:
        return nothing
    try:
        return read(reply)
    except Unreadable as error:
        # Only where nothing could be read, so that a rationale may say "I cannot".
        if "{" not in reply.text and is_refusal(reply.text):
            return ParsedJudgment("refused", raw=reply.text, error="the judge declined to rate")
        return ParsedJudgment("unparsed", raw=reply.text, error=str(error))
