"""What waits on a connection that is kept for the next request: a close, or bytes that nobody has
asked for.

libcurl looks only where a connection has been idle for a second. Before that it sends the request,
and takes what is unread for its answer.
"""

from __future__ import annotations

import logging
import select
import socket as sockets
import struct
from dataclasses import dataclass
from socket import AF_INET, MSG_PEEK, socket
from typing import Any, NamedTuple

logger = logging.getLogger(__name__)

# Where the system cannot tell a close from data, both are readable.
_NEWS = getattr(select, "POLLRDHUP", 0) | getattr(select, "POLLIN", 0)
_PEEKED_BYTES = 64
_TCP_INFO = getattr(sockets, "TCP_INFO", None)
_TCP_INFO_BYTES = 216
_RECEIVED, _SENT = 128, 200
"""Where Linux counts a connection's bytes: received; sent, and of these sent again."""
_TLS_DATA = 0x17
_LONGEST_TLS_ALERT = 32
"""Bytes of an encrypted record that can only be an alert, such as the last word of a connection."""


@dataclass(slots=True, eq=False)
class KeptSocket:
    """A connection of libcurl's, and what tells whether something waits there.

    Attributes:
        place: its own address and port.
        n_requests: how many requests went out on it.
        is_distrusted: no further request is sent on it.
        unasked: the beginning of what waited when a further request was to go out, which was sent
            on another connection therefore; None where there was no such request.
    """

    place: tuple[str, int]
    descriptor: int
    poll: select.poll
    n_requests: int = 0
    is_distrusted: bool = False
    unasked: bytes | None = None


class Traffic(NamedTuple):
    """How many bytes a connection has brought and taken, as the system counts them."""

    received: int
    sent: int


class KeptSockets:
    """The sockets of libcurl's connections, by their own address and port: that is all that it
    says of the one that it sends a request on.

    Attributes:
        closes_idle: libcurl closes connections by itself, to keep few.
        explains: an answer was longer than it said: libcurl is asked for its reasons.
        has_strays: the server has sent answers that no request asked for.
    """

    def __init__(self) -> None:
        self._unplaced: set[int] = set()
        self._at: dict[tuple[str, int], KeptSocket] = {}
        self.closes_idle = False
        self.explains = False
        self.has_strays = False

    def opened(self, descriptor: int, _purpose: int) -> int:
        """Told of each socket that libcurl opens; returns that it is as it should be."""
        # Who had the descriptor before is closed.
        self._at = {at: kept for at, kept in self._at.items() if kept.descriptor != descriptor}
        # Windows has none: there libcurl is trusted.
        if hasattr(select, "poll"):
            self._unplaced.add(descriptor)
        return 0

    def at(self, address: str, port: int) -> KeptSocket | None:
        """Return the connection from this address and port, None where the system cannot watch it;
        asked before each request, which is when the socket of a new one has its address."""
        if self._unplaced:
            self._place_new()
        return self._at.get((address, port))

    def takes_request(self, kept: KeptSocket, *, is_tls: bool) -> bool:
        """Return whether a request may go out on a connection, and count it: the other end has not
        closed it and has sent nothing."""
        news = kept.poll.poll(0)
        if kept.n_requests:
            takes = not (kept.is_distrusted or news)
        else:
            # A new one may bring TLS's tickets, and its close is for libcurl to name.
            takes = is_tls or not (news and _unread(kept))
        if takes:
            kept.n_requests += 1
            return True
        kept.unasked = (_unread(kept) or b"") if news else b""
        if kept.n_requests and not is_tls:
            self._report(kept.unasked)
        del self._at[kept.place]
        return False

    def unread(self, kept: KeptSocket, n: int) -> bytes | None:
        """Return the beginning of what came behind the answer to a connection's n-th request; None
        where libcurl has closed it."""
        if kept.n_requests != n:
            # Nothing waited there when the next one went out.
            return b""
        if kept.unasked is not None:
            return kept.unasked
        news = kept.poll.poll(0)
        if self._at.get(kept.place) is not kept or (news and news[0][1] & select.POLLNVAL):
            return None
        return _unread(kept) if news else b""

    def traffic(self, kept: KeptSocket) -> Traffic | None:
        """Return what went over a connection so far; None where the system does not say."""
        if _TCP_INFO is None or self._at.get(kept.place) is not kept:
            return None
        return _asked(kept.descriptor, _traffic_of)  # type: ignore[no-any-return]

    def distrust(self, kept: KeptSocket | None = None) -> None:
        """Send nothing more on a connection, or on any that is there now: a stray answer came on
        it."""
        self.has_strays = True
        for each in self._at.values() if kept is None else (kept,):
            each.is_distrusted = True

    def look_for_strays(self) -> None:
        """Warn of an answer that waits on a connection which is about to be closed: a server that
        answered once too often may have answered with another's before."""
        for kept in self._at.values():
            if kept.n_requests and kept.poll.poll(0):
                self._report(_unread(kept))

    def _report(self, unread: bytes | None) -> None:
        """Warn, once, of an answer that came while nobody waited for any."""
        if is_stray(unread) and not self.has_strays:
            self.has_strays = True
            warn_of_strays()

    def _place_new(self) -> None:
        for descriptor in list(self._unplaced):
            if (place := _place_of(descriptor)) is None:
                self._unplaced.discard(descriptor)
            # Without a port it is not connected yet.
            elif place[1]:
                poll = select.poll()
                poll.register(descriptor, _NEWS)
                self._at[place] = KeptSocket(place, descriptor, poll)
                self._unplaced.discard(descriptor)


def is_stray(unread: bytes | None) -> bool:
    """Whether what waits on an idle connection is an answer that no request asked for."""
    # Some servers announce with an error that they close what is idle.
    return unread is not None and unread.startswith(b"HTTP/") and unread[9:10] == b"2"


def waiting_at(descriptor: int) -> bytes | None:
    """Return the beginning of what can be read at a socket; None where nothing is."""

    def peek(one: socket) -> bytes:
        return one.recv(_PEEKED_BYTES, MSG_PEEK | getattr(sockets, "MSG_DONTWAIT", 0))

    return _asked(descriptor, peek)  # type: ignore[no-any-return]


def warn_of_strays() -> None:
    """Warn of an answer that nobody asked for, on a connection that took requests before."""
    logger.warning(
        "A server sent an answer that no request asked for. It was thrown away, with its "
        "connection. The answer before it on that connection may be another request's. "
        "Check the server, or the proxy before it."
    )


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
    found: tuple[str, int] | None = _asked(descriptor, _name_of)
    return found


def _unread(kept: KeptSocket) -> bytes | None:
    """The beginning of what can be read; empty after a close, None where the socket is another."""

    def peek(one: socket) -> bytes | None:
        if _name_of(one) != kept.place:
            return None
        try:
            return one.recv(_PEEKED_BYTES, MSG_PEEK)
        except OSError:
            # Reset, which is a close.
            return b""

    found: bytes | None = _asked(kept.descriptor, peek)
    return found


def _traffic_of(one: socket) -> Traffic | None:
    found = one.getsockopt(sockets.IPPROTO_TCP, sockets.TCP_INFO, _TCP_INFO_BYTES)
    if len(found) < _TCP_INFO_BYTES:
        return None
    sent, again = struct.unpack_from("QQ", found, _SENT)
    return Traffic(struct.unpack_from("Q", found, _RECEIVED)[0], sent - again)


def _name_of(one: socket) -> tuple[str, int] | None:
    name: Any = one.getsockname()
    # That of another kind of socket is a path.
    return name[:2] if isinstance(name, tuple) else None


def _asked(descriptor: int, question: Any) -> Any:
    """What a question to a socket of libcurl's brings; None where it is no socket any more."""
    try:
        # Its family is not asked for: a question about the name brings that.
        one = socket(AF_INET, sockets.SOCK_STREAM, 0, descriptor)
        try:
            return question(one)
        finally:
            # libcurl's to close.
            one.detach()
    except OSError:
        return None
