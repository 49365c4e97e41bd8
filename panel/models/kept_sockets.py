"""Whether a server has closed a connection that is kept for the next request.

libcurl looks only where one has been idle for a second. Before that it sends the request, and
nobody can tell afterwards whether the server has read it.
"""

from __future__ import annotations

import select
from socket import AF_INET, AF_INET6, socket
from typing import NamedTuple

# Where the system cannot tell a close from data: an idle connection brings none.
_CLOSED = getattr(select, "POLLRDHUP", getattr(select, "POLLIN", 0))


class _WatchedSocket(NamedTuple):
    """A socket, and what tells whether its connection was closed."""

    descriptor: int
    poll: select.poll


class KeptSockets:
    """The sockets of libcurl's connections, by their own address and port: that is all that it
    says of the one that it sends a request on."""

    def __init__(self) -> None:
        self._unplaced: set[int] = set()
        self._at: dict[tuple[str, int], _WatchedSocket] = {}

    def opened(self, descriptor: int, _purpose: int) -> int:
        """Told of each socket that libcurl opens; returns that it is as it should be."""
        # Who had the descriptor before is closed.
        self._at = {at: kept for at, kept in self._at.items() if kept.descriptor != descriptor}
        # Windows has none: there libcurl is trusted.
        if hasattr(select, "poll"):
            self._unplaced.add(descriptor)
        return 0

    def is_closed(self, address: str, port: int) -> bool:
        """Whether the other end has closed the connection from this address and port; asked
        before each request, which is when the socket of a new one has its address."""
        if self._unplaced:
            self._place_new()
        place = address, port
        if (kept := self._at.get(place)) is None:
            return False
        if not kept.poll.poll(0):
            return False
        del self._at[place]
        return True

    def _place_new(self) -> None:
        for descriptor in list(self._unplaced):
            if (place := _place_of(descriptor)) is None:
                self._unplaced.discard(descriptor)
            # Without a port it is not connected yet.
            elif place[1]:
                poll = select.poll()
                poll.register(descriptor, _CLOSED)
                self._at[place] = _WatchedSocket(descriptor, poll)
                self._unplaced.discard(descriptor)


def _place_of(descriptor: int) -> tuple[str, int] | None:
    """A socket's own address and port; None where it is another's by now, since another address
    of the same server was quicker."""
    try:
        one = socket(fileno=descriptor)
        try:
            name = one.getsockname() if one.family in (AF_INET, AF_INET6) else None
        finally:
            # libcurl's to close.
            one.detach()
    except OSError:
        return None
    return name[:2] if name else None
