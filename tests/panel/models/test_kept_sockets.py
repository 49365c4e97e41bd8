"""Which connections the other end has closed, by their own address and port."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from panel.models.kept_sockets import KeptSockets


@contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    with near, far:
        yield near, far


def test_a_close_by_the_other_end_is_seen_once() -> None:
    """The connection is looked for no more, since its address may be another's next."""
    sockets = KeptSockets()
    with connected() as (near, far):
        sockets.opened(near.fileno(), 0)
        assert not sockets.is_closed(*near.getsockname())
        far.close()
        assert sockets.is_closed(*near.getsockname())
        assert not sockets.is_closed(*near.getsockname())


def test_a_descriptor_that_is_used_again_says_nothing_of_its_last_connection() -> None:
    """What is asked of the earlier connection's address is not answered by the later one."""
    sockets = KeptSockets()
    with connected() as (near, _), connected() as (later, later_far):
        sockets.opened(near.fileno(), 0)
        earlier = near.getsockname()
        assert not sockets.is_closed(*earlier)
        os.dup2(later.fileno(), near.fileno())
        sockets.opened(near.fileno(), 0)
        later_far.close()
        assert not sockets.is_closed(*earlier)
        assert sockets.is_closed(*later.getsockname())


def test_a_descriptor_that_is_no_socket_any_more_is_passed_over() -> None:
    """libcurl tries several addresses of a server, and closes what it does not need."""
    sockets = KeptSockets()
    with connected() as (near, far):
        gone, place = near.fileno(), near.getsockname()
        sockets.opened(gone, 0)
        near.close()
        far.close()
        assert not sockets.is_closed(*place)
    with connected() as (near, far):
        # Not told of, though it may have the descriptor.
        far.close()
        assert not sockets.is_closed(*near.getsockname())
