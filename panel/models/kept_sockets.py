"""What waits on a connection that is kept for the next request: a close, or bytes that nobody has
asked for.

libcurl looks only where a connection has been idle for a second. Before that it sends the request,
and takes what is unread for its answer.
"""

from __future__ import annotations

import select
from dataclasses import dataclass
from socket import AF_INET, AF_INET6, MSG_PEEK, socket
from typing import Any

# Where the system cannot tell a close from data, both are readable.
_NEWS = getattr(select, "POLLRDHUP", 0) | getattr(select, "POLLIN", 0)
_PEEKED_BYTES = 64
_TLS_DATA = 0x17
_LONGEST_TLS_ALERT = 32
"""Bytes of an encrypted record that can only be an alert, such as the last word of a connection."""


@dataclass(slots=True)
class _WatchedSocket:
    """A socket, and what tells whether something waits there."""

    descriptor: int
    poll: select.poll
    is_used: bool = False
    is_distrusted: bool = False


class KeptSockets:
    """The sockets of libcurl's connections, by their own address and port: that is all that it
    says of the one that it sends a request on.

    Attributes:
        closes_idle: libcurl closes connections by itself, to keep few.
        explains: an answer was longer than it said: libcurl is asked for its reasons.
    """

    def __init__(self) -> None:
        self._unplaced: set[int] = set()
        self._at: dict[tuple[str, int], _WatchedSocket] = {}
        self.closes_idle = False
        self.explains = False

    def opened(self, descriptor: int, _purpose: int) -> int:
        """Told of each socket that libcurl opens; returns that it is as it should be."""
        # Who had the descriptor before is closed.
        self._at = {at: kept for at, kept in self._at.items() if kept.descriptor != descriptor}
        # Windows has none: there libcurl is trusted.
        if hasattr(select, "poll"):
            self._unplaced.add(descriptor)
        return 0

    def takes_request(self, address: str, port: int, *, is_tls: bool) -> bool:
        """Whether a request may go out on the connection from this address and port: the other end
        has not closed it and has sent nothing; asked before each request, which is when the socket
        of a new one has its address."""
        if self._unplaced:
            self._place_new()
        place = address, port
        if (kept := self._at.get(place)) is None:
            return True
        if kept.is_used:
            takes = not (kept.is_distrusted or kept.poll.poll(0))
        else:
            # A new one may bring TLS's tickets, and its close is for libcurl to name.
            takes = is_tls or not (kept.poll.poll(0) and _unread(kept.descriptor, place))
        kept.is_used = True
        if not takes:
            del self._at[place]
        return takes

    def unread(self, place: tuple[str, int]) -> bytes | None:
        """The beginning of what waits on the connection that the last request went out on; None
        where libcurl has closed it."""
        kept = self._at.get(place)
        news = kept.poll.poll(0) if kept is not None else [(0, select.POLLNVAL)]
        if kept is None or (news and news[0][1] & select.POLLNVAL):
            return None
        return _unread(kept.descriptor, place) if news else b""

    def watches(self, place: tuple[str, int]) -> bool:
        """Whether the connection from there is watched."""
        return place in self._at

    def distrust(self, place: tuple[str, int] | None = None) -> None:
        """Send nothing more on a connection, or on any that is there now."""
        for at, kept in self._at.items():
            kept.is_distrusted |= place in (None, at)

    def _place_new(self) -> None:
        for descriptor in list(self._unplaced):
            if (place := _place_of(descriptor)) is None:
                self._unplaced.discard(descriptor)
            # Without a port it is not connected yet.
            elif place[1]:
                poll = select.poll()
                poll.register(descriptor, _NEWS)
                self._at[place] = _WatchedSocket(descriptor, poll)
                self._unplaced.discard(descriptor)


def is_answer(unread: bytes, *, is_tls: bool) -> bool:
    """Whether what waits after an answer may be another: not a line break too many, and by TLS,
    which hides what it is, no alert."""
    if is_tls:
        length = int.from_bytes(unread[3:5])
        return unread[:1] == bytes([_TLS_DATA]) and length > _LONGEST_TLS_ALERT
    return bool(unread.strip())


def _place_of(descriptor: int) -> tuple[str, int] | None:
    """A socket's own address and port; None where it is another's by now, since another address
    of the same server was quicker."""
    return _asked(descriptor, _name_of)


def _unread(descriptor: int, place: tuple[str, int]) -> bytes | None:
    """The beginning of what can be read; empty after a close, None where the socket is another."""

    def peek(one: socket) -> bytes | None:
        if _name_of(one) != place:
            return None
        try:
            return one.recv(_PEEKED_BYTES, MSG_PEEK)
        except OSError:
            # Reset, which is a close.
            return b""

    found: bytes | None = _asked(descriptor, peek)
    return found


def _name_of(one: socket) -> tuple[str, int] | None:
    name: Any = one.getsockname() if one.family in (AF_INET, AF_INET6) else None
    return name[:2] if name else None


def _asked(descriptor: int, question: Any) -> Any:
    """What a question to a socket of libcurl's brings; None where it is no socket any more."""
    try:
        one = socket(fileno=descriptor)
        try:
            return question(one)
        finally:
            # libcurl's to close.
            one.detach()
    except OSError:
        return None
