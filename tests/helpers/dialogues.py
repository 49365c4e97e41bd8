"""A dialogue played with replies written beforehand."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TypeVar

from persona_panel.rubrics import ModelRequest, ModelResponse

FoundT = TypeVar("FoundT")


def played(
    dialogue: Generator[ModelRequest, ModelResponse, FoundT],
    replies: Iterable[ModelResponse | str],
) -> tuple[FoundT, list[ModelRequest]]:
    """What a dialogue returns after these replies, all of them, and what it asked."""
    asks = [next(dialogue)]
    left = [ModelResponse(reply) if isinstance(reply, str) else reply for reply in replies]
    try:
        while True:
            asks.append(dialogue.send(left.pop(0)))
    except StopIteration as done:
        assert not left, "the dialogue ended before the script did"
        found: FoundT = done.value
        return found, asks
