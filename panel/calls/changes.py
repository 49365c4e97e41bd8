"""What processes that share a cache change in it, and what comes of their changes together.

Their changes reach the database in another order than they were made in: each process notes its own
in a journal and moves them later. So a reply is dropped by what it says, not by its key alone: who
drops late an answer that several were served does not drop what was put in its place meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from persona_panel.calls.stored_replies import is_among

_DROPPED = b"-"
"""What a note begins with that drops a reply; a stored one begins with a brace or zlib's header."""


class ReplyChange(NamedTuple):
    """What becomes of a key: `stored` is kept under it, unless that is empty, and replies in
    `dropped` no longer are."""

    stored: bytes = b""
    dropped: tuple[bytes, ...] = ()

    def then(self, later: ReplyChange) -> ReplyChange:
        """Return this change and a later one of the same process as one."""
        if not self.dropped and not later.dropped:
            return later if later.stored else self
        stored = b"" if is_among(self.stored, later.dropped) else self.stored
        # A model may say the same again.
        still = [each for each in self.dropped if not is_among(each, [later.stored])]
        return ReplyChange(later.stored or stored, (*still, *later.dropped))


Changes = dict[bytes, ReplyChange]
"""Of one page, by key."""


def dropping(stored: bytes) -> bytes:
    """Return the note that drops a stored reply."""
    return _DROPPED + stored


def change_of(noted: bytes) -> ReplyChange:
    """Return the change that a journal's entry notes: a stored reply, or a `dropping` of one."""
    is_drop = noted.startswith(_DROPPED)
    return ReplyChange(dropped=(noted[1:],)) if is_drop else ReplyChange(noted)


def merged(
    kept: Iterable[tuple[bytes, bytes]], *changes: Mapping[bytes, ReplyChange]
) -> dict[bytes, bytes]:
    """Return the stored replies of a page by their keys.

    Args:
        kept: those in the database, the later of two under one key last.
        changes: of several processes, in an order that may be wrong.
    """
    dropped: dict[bytes, list[bytes]] = {}
    stored = list(kept)
    for each in changes:
        for key, change in each.items():
            if change.stored:
                stored.append((key, change.stored))
            if change.dropped:
                dropped.setdefault(key, []).extend(change.dropped)
    if not dropped:
        return dict(stored)
    return {key: reply for key, reply in stored if not is_among(reply, dropped.get(key, ()))}
