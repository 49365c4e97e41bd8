"""A store of replies in memory: `MemoryReplyStore`."""

from __future__ import annotations

from dataclasses import replace

from persona_panel.calls.cache import CannotBeKept
from persona_panel.rubrics import ModelResponse


class MemoryReplyStore:
    """A `ReplyStore` that forgets all when the process ends.

    `replies` is where they are kept; two stores of one mapping see the same.
    """

    location = "memory"

    def __init__(self, replies: dict[tuple[str, bytes], ModelResponse] | None = None) -> None:
        self._replies = {} if replies is None else replies

    def get(self, page: str, key: bytes) -> ModelResponse | None:
        return self._replies.get((page, key))

    def put(self, page: str, key: bytes, reply: ModelResponse) -> None:
        try:
            reply.text.encode()
        except UnicodeEncodeError as error:
            raise CannotBeKept(str(error)) from None
        self._replies[page, key] = replace(reply, cached=True)

    def forget(self, page: str, key: bytes, reply: ModelResponse) -> None:
        if self._replies.get((page, key)) == replace(reply, cached=True):
            del self._replies[page, key]

    def close(self) -> None:
        """There is nothing to close."""
