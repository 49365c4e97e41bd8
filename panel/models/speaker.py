"""What a panel needs of a model: answer one `Ask`, or say precisely why not.

Providers are the neighbouring modules. Retrying, limits and the cache are not their
business: those stand above, in `panel.calls`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from rubrics import Ask, Reply

FaultKind = Literal["transient", "rejected", "permanent"]
"""`transient`: the same call may succeed later (429, 5xx, a timeout, a broken body).
`rejected`: this call never will, others may (a text too long, say).
`permanent`: no call to this model will (a bad key, an unknown model)."""


class CallError(Exception):
    """A call brought no reply.

    `retry_after` is the provider's own word, in seconds, on when to ask again.
    `status` is the HTTP status where there was one. The message never holds a key or
    a header.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: FaultKind,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.status = status
        self.retry_after = retry_after


class Speaker(Protocol):
    """A model as the panel calls it."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Everything about this model that changes an answer, JSON-serialisable; no secrets."""

    async def reply(self, ask: Ask) -> Reply:
        """Answer one ask.

        Raises:
            CallError: no usable reply came; its kind says what that means.
            TimeoutError: none came in time, which each speaker keeps itself.
        """

    async def aclose(self) -> None:
        """Give back connections and memory. Calling it twice does no harm."""
