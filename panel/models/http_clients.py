"""Closes a gap of the HTTP clients in providers' packages: what a server sends unasked on a kept
connection is taken for the next request's answer.

httpx looks for it in the system's buffer only, not in the one of h11 that holds what was read with
the answer before; aiohttp keeps what comes while a connection is idle for its next use.
"""

from __future__ import annotations

import sys
from typing import Any

UNASKED = "the server sent an answer that no request asked for, next to another: neither is used"
_mended: set[str] = set()


def refuse_stray_answers() -> None:
    """Have the clients that are imported by now refuse such answers, in the whole process: an error
    as of a connection that broke off, or a new connection."""
    for name, mend in (("h11", _mend_h11), ("aiohttp.client_proto", _mend_aiohttp)):
        if name in sys.modules and name not in _mended:
            _mended.add(name)
            mend(sys.modules[name])


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


def _mend_aiohttp(protocols: Any) -> None:
    is_open = protocols.ResponseHandler.is_connected

    def is_connected(self: Any) -> bool:
        # Asked before a connection is used again.
        return is_open(self) and not (getattr(self, "_tail", b"") or getattr(self, "_buffer", ()))

    protocols.ResponseHandler.is_connected = is_connected
