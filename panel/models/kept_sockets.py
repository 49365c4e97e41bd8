"""The sockets of libcurl's connections, and what tells whether something waits there.

A connection that is not to be used again, but may still bring an answer too many, is watched for a
while after libcurl has closed it.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket as sockets
import struct
import time
from collections import deque
from dataclasses import dataclass, field, replace
from socket import socket
from typing import Any, NamedTuple

from persona_panel.models.stray_answers import (
    ON_ITS_CONNECTION,
    AnswerTimes,
    TakenAnswers,
    asked,
    being_taken,
    is_stray,
    unread_at,
    warn_of_strays,
    watch,
)

# Where the system cannot tell a close from data, both are readable.
_NEWS = getattr(select, "POLLRDHUP", 0) | getattr(select, "POLLIN", 0)
_TCP_INFO = getattr(sockets, "TCP_INFO", None)
_TCP_INFO_BYTES = 216
_RECEIVED, _SENT = 128, 200
"""Offsets of a connection's bytes in Linux's counts: received; sent, and of these sent again."""
_TLS_DATA = 0x17
_LONGEST_TLS_ALERT = 32
"""Bytes of an encrypted record that can only be an alert, such as the last word of a connection."""
_LOOK_EVERY_S = 0.25
_MOST_CLOSING = 64
"""Connections that are watched after their end."""


class Traffic(NamedTuple):
    """The numbers of bytes that a connection has brought and taken, as the system counts them."""

    received: int
    sent: int


@dataclass(slots=True, eq=False)
class KeptSocket:
    """A connection of libcurl's, and what tells whether something waits there.

    Attributes:
        place: its own address and port.
        n_requests: how many requests went out on it.
        is_tls: they went out by TLS.
        is_distrusted: no further request is sent on it.
        unasked: the beginning of what waited when a further request was to go out, which was sent
            on another connection therefore; None where there was no such request.
        is_busy: an answer is awaited on it.
        taken: the answers that came on it.
        closed_at: when libcurl closed it; it has a descriptor of its own here since then.
    """

    place: tuple[str, int]
    descriptor: int
    poll: select.poll
    n_requests: int = 0
    is_tls: bool = False
    is_distrusted: bool = False
    unasked: bytes | None = None
    is_busy: bool = False
    taken: TakenAnswers = field(default_factory=TakenAnswers)
    closed_at: float = 0.0

    def peek(self) -> bytes | None:
        """Return the beginning of what can be read; empty where nothing is or after a close by the
        other end, None where the descriptor is closed, or another connection's by now."""

        return asked(
            self.descriptor, lambda near: unread_at(near) if _place_of(near) == self.place else None
        )


class KeptSockets:
    """The sockets of libcurl's connections, by their own address and port: that is all that it
    says of the one that it sends a request on.

    Attributes:
        closes_idle: libcurl closes connections by itself, to keep few.
        explains: an answer was longer than it said: libcurl is asked for its reasons.
        times: how the server answers.

    Args:
        loop: in which the connections are; None, they are not looked at from any.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._unplaced: set[int] = set()
        self._at: dict[tuple[str, int], KeptSocket] = {}
        self._closing: deque[KeptSocket] = deque()
        self._loop = loop
        self._looked_at = 0.0
        self.closes_idle = False
        self.explains = False
        self.times = AnswerTimes()
        watch(self)

    @property
    def has_strays(self) -> bool:
        """Return whether the server has sent answers that no request asked for."""
        return self.times.has_strays

    def is_here(self) -> bool:
        """See `persona_panel.models.stray_answers.Watcher`."""
        return self._loop is asyncio.get_running_loop()

    def opened(self, descriptor: int, _purpose: int) -> int:
        """Note a socket that libcurl has opened; return that it is as it should be."""
        # Who had the descriptor before is closed.
        self._at = {at: kept for at, kept in self._at.items() if kept.descriptor != descriptor}
        # Windows has none: there libcurl is trusted.
        if hasattr(select, "poll"):
            self._unplaced.add(descriptor)
        return 0

    def at(self, address: str, port: int) -> KeptSocket | None:
        """Return the connection from this address and port, None where the system cannot watch it;
        asked before each request, which is when the socket of a new one has its address."""
        for descriptor in list(self._unplaced):
            place = asked(descriptor, _place_of)
            # Without a port it is not connected yet; without a place it is another's by now, since
            # another address of the same server was quicker.
            if place is None or place[1]:
                self._unplaced.discard(descriptor)
            if place is not None and place[1]:
                poll = select.poll()
                poll.register(descriptor, _NEWS)
                self._at[place] = KeptSocket(place, descriptor, poll)
        return self._at.get((address, port))

    def takes_request(self, kept: KeptSocket, *, is_tls: bool) -> bool:
        """Return whether a request may go out on a connection, and count it: the other end has not
        closed it and has sent nothing."""
        news = kept.poll.poll(0)
        if kept.n_requests:
            # Of a server that has sent strays each answer has a connection of its own.
            is_used_up = kept.is_distrusted or self.has_strays or kept.taken.is_full
            takes = not (news or is_used_up)
        else:
            # A new one may bring TLS's tickets, and its close is for libcurl to name.
            takes = is_tls or not (news and kept.peek())
        if takes:
            kept.n_requests += 1
            kept.is_tls = is_tls
            kept.is_busy = True
            return True
        kept.unasked = (kept.peek() or b"") if news else b""
        del self._at[kept.place]
        if kept.n_requests:
            self._report(kept, kept.unasked)
            if not news:
                self._watch_closing(kept)
        return False

    def answered(self, kept: KeptSocket, n: int, seconds: float, *, is_success: bool) -> None:
        """Note that the answer to a connection's n-th request has come, after so many seconds. No
        further request is sent where it came so soon that it may be none to this one."""
        # libcurl may have sent the next one before it says that this one is answered.
        if kept.n_requests == n:
            kept.is_busy = False
        kept.taken.add(being_taken())
        if is_success and self.times.add(seconds, time.monotonic()):
            kept.is_distrusted = True

    def unread(self, kept: KeptSocket, n: int) -> bytes | None:
        """Return the beginning of what came behind the answer to a connection's n-th request; None
        where libcurl has closed it."""
        if kept.n_requests != n:
            # Nothing waited there when the next one went out.
            return b""
        if kept.unasked is not None:
            return kept.unasked
        # Not by `poll`: a descriptor that libcurl has closed is soon another's.
        return kept.peek() if self._at.get(kept.place) is kept else None

    def traffic(self, kept: KeptSocket) -> Traffic | None:
        """Return what went over a connection so far; None where the system does not say."""
        if _TCP_INFO is None or self._at.get(kept.place) is not kept:
            return None
        return asked(
            kept.descriptor,
            lambda near: _traffic_of(near) if _place_of(near) == kept.place else None,
        )

    def distrust(self, kept: KeptSocket | None = None) -> None:
        """Send nothing more on a connection, or on any that is there now: a stray answer came on
        it. All answers that came on that connection are taken back."""
        self.times.has_strays = True
        for each in self._at.values() if kept is None else (kept,):
            each.is_distrusted = True
        if kept is not None:
            kept.taken.take_back(ON_ITS_CONNECTION)

    def look_now_and_then(self) -> None:
        """Look for stray answers, unless that was done a moment ago."""
        if (now := time.monotonic()) - self._looked_at >= _LOOK_EVERY_S:
            self._looked_at = now
            self.look_for_strays()

    def look_for_strays(self) -> None:
        """Warn of an answer that waits on a connection which no request uses, and take back those
        that came on it: a server that answered once too often has answered with another's before.
        """
        for kept in (*self._at.values(), *self._closing):
            if kept.n_requests and not kept.is_busy and kept.poll.poll(0):
                self._report(kept, kept.peek())
        keeps_s = max(_LOOK_EVERY_S, 2 * self.times.longest_s)
        until = time.monotonic() - keeps_s
        while self._closing and self._closing[0].closed_at < until:
            os.close(self._closing.popleft().descriptor)

    def close(self) -> None:
        """Look for the last time, and watch nothing any more."""
        self.look_for_strays()
        while self._closing:
            os.close(self._closing.popleft().descriptor)

    def _watch_closing(self, kept: KeptSocket) -> None:
        """Go on with watching a connection that libcurl closes now."""
        try:
            descriptor = os.dup(kept.descriptor)
        except OSError:
            # Too many are open.
            return
        poll = select.poll()
        poll.register(descriptor, _NEWS)
        now = time.monotonic()
        self._closing.append(replace(kept, descriptor=descriptor, poll=poll, closed_at=now))
        if len(self._closing) > _MOST_CLOSING:
            self.look_for_strays()
            os.close(self._closing.popleft().descriptor)

    def _report(self, kept: KeptSocket, unread: bytes | None) -> None:
        """Take back what came on a connection on which an answer came that nobody waited for, and
        warn of such, once."""
        is_unasked = is_answer(unread or b"", is_tls=True) if kept.is_tls else is_stray(unread)
        if is_unasked:
            if not self.has_strays:
                warn_of_strays()
            self.distrust(kept)


def is_answer(unread: bytes, *, is_tls: bool) -> bool:
    """Return whether what waits after an answer may be another: not a line break too many, and by
    TLS, which hides what it is, no alert."""
    if is_tls:
        length = int.from_bytes(unread[3:5])
        return unread[:1] == bytes([_TLS_DATA]) and length > _LONGEST_TLS_ALERT
    return bool(unread.strip())


def _place_of(near: socket) -> tuple[str, int] | None:
    name: Any = near.getsockname()
    # That of another kind of socket is a path.
    return name[:2] if isinstance(name, tuple) else None


def _traffic_of(near: socket) -> Traffic | None:
    counts = near.getsockopt(sockets.IPPROTO_TCP, sockets.TCP_INFO, _TCP_INFO_BYTES)
    if len(counts) < _TCP_INFO_BYTES:
        return None
    sent, again = struct.unpack_from("QQ", counts, _SENT)
    return Traffic(struct.unpack_from("Q", counts, _RECEIVED)[0], sent - again)
