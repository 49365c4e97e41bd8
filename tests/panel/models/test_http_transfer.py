"""Which connections can take a further request, and what came behind an answer."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pycurl
import pytest

from persona_panel.models.http_responses import Headers
from persona_panel.models.http_transfer import (
    KeptSocket,
    KeptSockets,
    NoHttpResponse,
    Transfer,
    is_answer,
)

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    # As libcurl has its own.
    near.setblocking(False)
    with near, far:
        yield near, far


@contextmanager
def asked() -> Iterator[tuple[KeptSockets, KeptSocket, socket.socket]]:
    """A connection on which a request went out, and its other end."""
    sockets = KeptSockets()
    with connected() as (near, far):
        sockets.opened(near.fileno(), 0)
        kept = sockets.at(*near.getsockname())
        assert kept is not None
        assert sockets.takes_request(kept, is_tls=False)
        yield sockets, kept, far


def test_a_quiet_connection_takes_one_request_after_the_other() -> None:
    """Nothing waits there, so that each request may go out, and nothing is behind the last."""
    with asked() as (sockets, kept, _):
        assert sockets.takes_request(kept, is_tls=False)
        assert kept.n_requests == 2
        assert sockets.unread(kept, 2) == b""


def test_an_answer_to_the_next_request_is_no_stray(caplog: pytest.LogCaptureFixture) -> None:
    """libcurl may send the next request before it says that the last one is answered: what comes
    then is the next one's answer. Once that is answered, too, nobody waits for more."""
    with asked() as (sockets, kept, far), caplog.at_level(logging.WARNING):
        assert sockets.takes_request(kept, is_tls=False)
        sockets.answered(kept, 1, 0.01, is_success=True)
        far.sendall(ANSWER)
        sockets.look_for_strays()
        assert not sockets.has_strays and not caplog.records
        sockets.answered(kept, 2, 0.01, is_success=True)
        sockets.look_for_strays()
        assert sockets.has_strays and len(caplog.records) == 1


def test_a_close_by_the_other_end_is_seen_once() -> None:
    """The connection is looked for no more, since its address may be another's next."""
    with asked() as (sockets, kept, far):
        far.close()
        assert not sockets.takes_request(kept, is_tls=False)
        assert sockets.at(*kept.place) is None
        assert not sockets.has_strays


def test_a_connection_with_unread_bytes_takes_no_request(caplog: pytest.LogCaptureFixture) -> None:
    """What a server sent unasked would be taken for the next answer; it is warned of once, and the
    answer before it can be refused."""
    with asked() as (sockets, kept, far), caplog.at_level(logging.WARNING):
        far.sendall(ANSWER)
        assert sockets.unread(kept, 1) == ANSWER
        assert not sockets.takes_request(kept, is_tls=False)
        assert sockets.unread(kept, 1) == ANSWER
        assert sockets.has_strays
        assert len(caplog.records) == 1


def test_a_new_connection_on_which_the_server_speaks_first_takes_no_request() -> None:
    """Bytes that came before any request can be the answer to none."""
    sockets = KeptSockets()
    with connected() as (near, far):
        sockets.opened(near.fileno(), 0)
        far.sendall(ANSWER)
        kept = sockets.at(*near.getsockname())
        assert kept is not None
        assert not sockets.takes_request(kept, is_tls=False)


def test_the_answer_to_a_later_request_is_not_behind_an_earlier_one() -> None:
    """Where the connection has taken a further request, what comes there belongs to that."""
    with asked() as (sockets, kept, far):
        assert sockets.takes_request(kept, is_tls=False)
        far.sendall(ANSWER)
        assert sockets.unread(kept, 1) == b""
        assert sockets.unread(kept, 2) == ANSWER


def test_a_connection_that_is_distrusted_takes_no_request() -> None:
    """A stray answer came on it, or may have: the answer before is not refused by that alone."""
    with asked() as (sockets, kept, _):
        sockets.distrust()
        assert not sockets.takes_request(kept, is_tls=False)
        assert sockets.unread(kept, 1) == b""


def test_a_descriptor_that_is_used_again_says_nothing_of_its_last_connection() -> None:
    """What is asked of the earlier connection is not answered by the later one."""
    with asked() as (sockets, kept, _), connected() as (later, later_far):
        os.dup2(later.fileno(), kept.descriptor)
        sockets.opened(kept.descriptor, 0)
        later_far.sendall(ANSWER)
        assert sockets.at(*kept.place) is None
        # libcurl has closed it.
        assert sockets.unread(kept, 1) is None
        new = sockets.at(*later.getsockname())
        assert new is not None and not sockets.takes_request(new, is_tls=False)


def test_a_descriptor_that_is_no_socket_any_more_is_passed_over() -> None:
    """libcurl tries several addresses of a server, and closes what it does not need."""
    sockets = KeptSockets()
    with connected() as (near, _):
        place = near.getsockname()
        sockets.opened(near.fileno(), 0)
        near.close()
        assert sockets.at(*place) is None


@pytest.mark.parametrize(
    ("unread", "is_tls", "is_one"),
    [
        (ANSWER, False, True),
        (b"\r\n", False, False),
        (b"\x17\x03\x03\x01\x00", True, True),
        (b"\x17\x03\x03\x00\x13", True, False),  # as long as an alert
        (b"\x15\x03\x03\x00\x02", True, False),
    ],
)
def test_what_may_be_an_answer(unread: bytes, is_tls: bool, is_one: bool) -> None:
    """A line break too many is none, nor is by TLS what only an alert is as short as."""
    assert is_answer(unread, is_tls=is_tls) is is_one


def test_an_answer_behind_which_another_waits_is_refused_and_not_for_a_line_break() -> None:
    """What is unread on the connection decides: a line break too many is no other answer."""
    with asked() as (sockets, kept, far):
        transfer = Transfer(pycurl.Curl(), cast(Any, None), sockets, is_tls=False)
        transfer._kept, transfer._number = kept, kept.n_requests
        headers = Headers(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        far.sendall(b"\r\n")
        assert kept.poll.poll(1_000)
        transfer._require_own(headers, b"")
        far.sendall(ANSWER)
        with pytest.raises(NoHttpResponse, match="next to another"):
            transfer._require_own(headers, b"")
