"""Closes a gap of the HTTP clients in providers' packages: what a server sends unasked on a kept
connection is taken for the next request's answer.

httpx looks for it in the system's buffer only, not in the one of h11 that holds what was read with
the answer before; aiohttp keeps what comes while a connection is idle for its next use. What came
while an answer was awaited was taken for it: that is seen when the answer itself comes, and said.
"""

from __future__ import annotations

import sys
from typing import Any
from weakref import WeakSet

from persona_panel.models.kept_sockets import is_stray, waiting_at, warn_of_strays

UNASKED = "the server sent an answer that no request asked for, next to another: neither is used"
_mended: set[str] = set()
_connections: WeakSet[Any] = WeakSet()
_distrusted: set[str] = set()
"""Origins that have sent strays: no connection to them is used twice."""


def refuse_stray_answers() -> None:
    """Have the clients that are imported by now refuse such answers, in the whole process: an error
    as of a connection that broke off, or a new connection."""
    for name, mend in _MENDS.items():
        if name in sys.modules and name not in _mended:
            _mended.add(name)
            mend(sys.modules[name])


def look_for_strays() -> None:
    """Warn of answers that wait on connections of httpx which no request has used since."""
    for connection in list(_connections):
        if connection.is_idle():
            _look_at(connection)


def _mend_h11(h11: Any) -> None:
    read_event = h11.Connection.next_event

    def next_event(self: Any) -> Any:
        event = read_event(self)
        is_end = type(event) is h11.EndOfMessage and self.our_role is h11.CLIENT
        # A line break too many is no answer.
        if is_end and self.trailing_data[0].strip():
            # Else the connection would be used again.
            self._process_error(self.their_role)
            raise h11.RemoteProtocolError(UNASKED)
        return event

    h11.Connection.next_event = next_event


def _mend_httpcore(http11: Any) -> None:
    expired = http11.AsyncHTTP11Connection.has_expired

    def has_expired(self: Any) -> Any:
        # Asked after each answer, and before a connection is used again.
        is_expired = expired(self)
        if not self.is_idle():
            return is_expired
        _connections.add(self)
        if is_expired:
            _look_at(self)
        return is_expired or str(self._origin) in _distrusted

    http11.AsyncHTTP11Connection.has_expired = has_expired


def _look_at(connection: Any) -> None:
    stream = connection._network_stream
    # TLS hides what it is, and may be a ticket.
    if stream.get_extra_info("ssl_object") is None:
        socket = stream.get_extra_info("socket")
        if socket is not None and is_stray(waiting_at(socket.fileno())):
            if str(connection._origin) not in _distrusted:
                warn_of_strays()
            _distrusted.add(str(connection._origin))


def _mend_aiohttp(protocols: Any) -> None:
    is_open = protocols.ResponseHandler.is_connected

    def is_connected(self: Any) -> bool:
        # Asked before a connection is used again.
        tail = getattr(self, "_tail", b"")
        if is_stray(tail):
            warn_of_strays()
        return is_open(self) and not (tail or getattr(self, "_buffer", ()))

    protocols.ResponseHandler.is_connected = is_connected


_MENDS = {
    "h11": _mend_h11,
    "httpcore._async.http11": _mend_httpcore,
    "httpcore2._async.http11": _mend_httpcore,
    "aiohttp.client_proto": _mend_aiohttp,
}
