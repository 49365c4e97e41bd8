"""Connections to a server: how often they are used, and what is said where no answer comes."""

from __future__ import annotations

import asyncio
import errno
import gzip
import os
import random
import resource
import socket
import struct
import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from persona_panel.models import http_connection, http_transfer
from persona_panel.models.http_connection import HttpConnection
from persona_panel.models.http_responses import MOST_BYTES, HttpResponse
from persona_panel.models.http_transfer import NoHttpResponse
from persona_panel.testing import serving

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Answer = Callable[[asyncio.StreamWriter], None]


class Wire:
    """A server that answers each request by the next of some functions, and what it has seen."""

    def __init__(self, answers: list[Answer]) -> None:
        self.answers = answers
        self.connections = 0
        self.requests: list[bytes] = []
        self.port = 0
        self.url = ""
        self.tasks: set[asyncio.Task[None] | None] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.tasks.add(asyncio.current_task())
        while not writer.is_closing():
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.lower().split(b"\r\n")
                lengths = [int(line[15:]) for line in lines if line.startswith(b"content-length:")]
                body = await reader.readexactly(sum(lengths))
            except (asyncio.IncompleteReadError, ConnectionError):
                break
            self.requests.append(head + body)
            self.answers.pop(0)(writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


@asynccontextmanager
async def wire(*answers: Answer) -> AsyncIterator[tuple[Wire, HttpConnection]]:
    """A server and a connection to it."""
    seen = Wire(list(answers))
    server = await asyncio.start_server(seen.serve, "127.0.0.1", 0)
    seen.port = server.sockets[0].getsockname()[1]
    seen.url = f"http://127.0.0.1:{seen.port}/v1/chat/completions"
    connection = HttpConnection(seen.url, None, timeout_s=5)
    try:
        yield seen, connection
    finally:
        await connection.aclose()
        server.close()
        await asyncio.gather(*filter(None, seen.tasks))


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def kept_alive(port: int | None) -> list[bool]:
    """Of each connection to a port of this machine, whether TCP keeps it alive."""
    alive: list[bool] = []
    for name in Path("/dev/fd").iterdir():
        with suppress(OSError), socket.socket(fileno=os.dup(int(name.name))) as one:
            if one.getpeername() == ("127.0.0.1", port):
                alive.append(bool(one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)))
    return alive


async def lack_descriptors(connection: HttpConnection) -> None:
    """A call while this process can open nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_descriptors(), hard))
    taken: list[socket.socket] = []
    try:
        with pytest.raises(OSError, match="Too many open files"):
            while True:
                taken.append(socket.socket())
        with pytest.raises(OSError, match="Too many open files"):
            await connection.exchange(b"{}")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for one in taken:
            one.close()


def raises(error: Exception) -> Callable[..., Any]:
    def instead(*_: object) -> None:
        raise error

    return instead


def sends(data: bytes) -> Answer:
    return lambda writer: writer.write(data)


def gzipped(data: bytes) -> bytes:
    # Without the time: tests are called after it.
    return gzip.compress(data, mtime=0)


def closes(writer: asyncio.StreamWriter) -> None:
    writer.close()


def answers_and_closes(writer: asyncio.StreamWriter) -> None:
    writer.write(OK)
    writer.close()


def resets(writer: asyncio.StreamWriter) -> None:
    # Closed with a linger of zero seconds, a socket sends a reset.
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def answer_of(data: bytes) -> HttpResponse:
    async with wire(sends(data)) as (_, connection):
        return await connection.exchange(b"{}")


async def test_calls_after_one_another_use_one_connection() -> None:
    """A server sees one connection, and each request whole."""
    async with wire(*[sends(OK)] * 5) as (seen, connection):
        for n in range(5):
            assert (await connection.exchange(b"call %d" % n)).body == b"ok"
    assert seen.connections == 1
    assert [request[-6:] for request in seen.requests] == [b"call %d" % n for n in range(5)]


async def test_idle_connections_hold_no_requests_and_answers() -> None:
    """There may be a hundred of them, and each has served the longest."""
    ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n" + bytes(2_000_000)

    def answers_long_and_closes(writer: asyncio.StreamWriter) -> None:
        writer.write(ok)
        writer.close()

    async with wire(*[answers_long_and_closes] * 3) as (seen, connection):
        tracemalloc.start()
        await asyncio.gather(*(connection.exchange(bytes(2_000_000)) for _ in range(3)))
        # What the server holds is not counted.
        await asyncio.gather(*filter(None, seen.tasks))
        seen.requests.clear()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert held < 1_000_000


@pytest.mark.parametrize("breaks_off", [closes, resets])
@pytest.mark.parametrize("before", [[], [sends(OK)]], ids=["new", "kept"])
async def test_a_request_that_is_not_answered_is_not_sent_again(
    breaks_off: Answer, before: list[Answer]
) -> None:
    """Whoever counts calls has to know of each: on a kept connection, too, the request may have
    been read, and paid for."""
    async with wire(*before, breaks_off, sends(OK)) as (seen, connection):
        for _ in before:
            await connection.exchange(b"first")
        with pytest.raises(NoHttpResponse) as caught:
            await connection.exchange(b"unanswered")
        assert not caught.value.is_unsent
        assert not caught.value.is_final
        assert sum(request.endswith(b"unanswered") for request in seen.requests) == 1
        assert (await connection.exchange(b"later")).body == b"ok"


@pytest.mark.parametrize("idle_s", [0.02, 1.2])
async def test_a_connection_that_the_server_has_closed_is_replaced(idle_s: float) -> None:
    """One that was closed after its answer, unannounced, is no fault of the next call, whose
    request is sent once."""
    async with wire(*[answers_and_closes] * 3, sends(OK)) as (seen, connection):
        for n in range(4):
            assert (await connection.exchange(b"%d" % n * 100_000)).body == b"ok"
            await asyncio.sleep(idle_s)
    assert seen.connections == 4
    assert [request[-100_000:] for request in seen.requests] == [
        b"%d" % n * 100_000 for n in range(4)
    ]


async def test_idle_connections_are_closed_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that goes on with something else holds none, and a later call opens one again."""
    monkeypatch.setattr(http_connection, "_LONGEST_IDLE_S", 1)
    async with wire(*[sends(OK)] * 3) as (seen, connection):
        for _ in range(2):
            await connection.exchange(b"{}")
            await asyncio.sleep(0.05)
        assert seen.connections == 1
        (first,) = seen.tasks
        assert first is not None
        await asyncio.wait_for(asyncio.shield(first), 5)
        assert (await connection.exchange(b"{}")).body == b"ok"
    assert seen.connections == 2


@pytest.mark.parametrize("length", [0, 1, 200_000, 3_000_000])
async def test_a_body_of_any_length_goes_out_whole(length: int) -> None:
    """No leave to send a long one is waited for."""
    data = bytes(n % 251 for n in range(length))
    async with wire(sends(OK)) as (seen, connection):
        await connection.exchange(data)
    head, _, body = seen.requests[0].partition(b"\r\n\r\n")
    assert body == data
    assert b"expect" not in head.lower()
    assert b"chunked" not in head.lower()


async def test_headers_are_found_in_any_case_behind_those_of_earlier_statuses() -> None:
    """A server may send informational statuses first, each with headers."""
    early = b"HTTP/1.1 103 Early Hints\r\nRetry-After: 99\r\n\r\n"
    answer = await answer_of(
        early + OK.replace(b"OK\r\n", b"OK\r\nretry-AFTER: 7\r\nX: caf\xe9\r\n")
    )
    assert answer.status == 200
    assert answer.headers["Retry-After"] == answer.headers["retry-after"] == "7"
    assert answer.headers.get("Location") is None
    assert {name.lower() for name in answer.headers} == {"retry-after", "x", "content-length"}
    assert len(answer.headers) == 3


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzipped(b"whole")),
        ("GZIP", gzipped(b"who") + gzipped(b"le")),
        ("gzip", gzipped(b"whole") + b"\0\0"),
        ("deflate", zlib.compress(b"whole")),
        ("deflate", zlib.compress(b"whole", wbits=-zlib.MAX_WBITS)),
        ("deflate", zlib.compress(b"") + zlib.compress(b"whole")),
        ("gzip,", gzipped(b"whole")),
        ("identity, gzip", gzipped(b"whole")),
        ("deflate, X-Gzip", gzipped(zlib.compress(b"whole"))),
        ("gzip\r\nContent-Encoding: gzip", gzipped(gzipped(b"whole"))),
        ("utf-8", b"whole"),
        ("aws-chunked", b"whole"),
        ("", b"whole"),
    ],
)
async def test_a_packed_body_is_unpacked_and_an_unknown_encoding_is_passed_over(
    encoding: str, body: bytes
) -> None:
    """Servers and proxies write odd things there; the answer has been paid for."""
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(body)}"
    assert (await answer_of(head.encode() + b"\r\n\r\n" + body)).body == b"whole"


JSON = b'\n\n{"choices": [{"message": {"content": "4"}}]}'


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", JSON),
        ("deflate", JSON),
        ("gzip, gzip", gzipped(JSON)),
        ("deflate", b"[" + JSON + b"]"),
    ],
)
async def test_json_that_is_called_packed_is_read_as_it_is(encoding: str, body: bytes) -> None:
    """A proxy may unpack a body and leave the header, and the answer has been paid for."""
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(body)}"
    assert JSON in (await answer_of(head.encode() + b"\r\n\r\n" + body)).body


@pytest.mark.parametrize("packed_twice", [False, True])
async def test_of_a_packed_body_that_is_too_long_the_beginning_is_read(packed_twice: bool) -> None:
    """A few bytes may hold a body of any length: what is over the limit is not unpacked."""
    body = gzipped(b"x" * (MOST_BYTES + 500_000))
    if packed_twice:
        body = gzipped(body)
    encoding = b"gzip, gzip" if packed_twice else b"gzip"
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: %b\r\n" % encoding
    answer = await answer_of(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert answer.body == b"x" * MOST_BYTES
    assert not answer.whole


async def test_a_packed_body_of_many_parts_does_not_keep_others_waiting() -> None:
    """The time that it takes grows with its length, not with the square of it."""
    body = gzipped(b"x") * (MOST_BYTES // 21)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    async with wire(sends(head % len(body) + body)) as (_, connection):
        before = time.process_time()
        answer = await connection.exchange(b"{}")
    assert answer.body == b"x" * (MOST_BYTES // 21)
    # It took 45 s.
    assert time.process_time() - before < 10


async def test_a_packed_body_that_is_damaged_late_is_no_answer() -> None:
    """What could be unpacked before the damage is not passed off as the whole."""
    body = bytearray(gzipped(random.Random(1).randbytes(100_000)))
    body[-8:-4] = b"sums"
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    with pytest.raises(NoHttpResponse, match="cannot be read"):
        await answer_of(head % len(body) + bytes(body))


async def test_what_follows_a_whole_packed_body_is_left_out() -> None:
    """Also where its first pieces can be unpacked."""
    first = random.Random(1).randbytes(100_000)
    later = bytearray(gzipped(first))
    later[-8:-4] = b"sums"
    body = gzipped(first) + later
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    assert (await answer_of(head % len(body) + body)).body == first


async def test_a_body_is_unpacked_five_times_at_most() -> None:
    """A header may name thousands of encodings, and each would be a pass over the body."""
    body = b"whole"
    for _ in range(6):
        body = gzipped(body)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip%b\r\nContent-Length: %d\r\n\r\n"
    answer = await answer_of(head % (b", gzip" * 5, len(body)) + body)
    assert answer.body == gzipped(b"whole")


async def test_a_header_with_a_space_before_its_colon_hides_none() -> None:
    """How long to wait stands behind it."""
    head = b"HTTP/1.1 429 Slow\r\nX : 1\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"
    assert dict((await answer_of(head)).headers)["Retry-After"] == "7"


async def test_an_answer_that_came_before_the_request_was_read_is_one() -> None:
    """A server may need no more of a long request, and close the connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await writer.drain()
        resets(writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connection = HttpConnection(f"http://127.0.0.1:{port}/", None, timeout_s=5)
    heard = 0
    for _ in range(5):
        with suppress(NoHttpResponse):
            heard += (await connection.exchange(b"x" * 20_000_000)).body == b"ok"
    await connection.aclose()
    server.close()
    # A reset may come before what was sent.
    assert heard


@pytest.mark.parametrize("extra", [0, 1, 500_000])
async def test_of_a_long_body_the_beginning_is_read(extra: int) -> None:
    """Up to the limit it is whole; beyond, what has been read is kept, and the next call gets its
    own answer."""
    body = b"x" * (MOST_BYTES + extra)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with wire(sends(head + body), sends(OK)) as (_, connection):
        answer = await connection.exchange(b"")
        assert len(answer.body) == MOST_BYTES
        assert answer.whole is (extra == 0)
        assert await connection.exchange(b"") == (200, {"Content-Length": "2"}, b"ok", True)


@pytest.mark.parametrize(
    "odd",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnot!",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzipped(b"ok")[:-1],
        b"HTTP/1.1 200 OK\r\nConte",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
        b"no HTTP at all",
        b"\x16\x03\x01",
    ],
    ids=["half", "half-chunk", "not-packed", "half-packed", "header", "headers", "words", "tls"],
)
async def test_what_is_no_whole_answer_is_none(odd: bytes) -> None:
    """It may have been paid for, and may be whole another time."""

    def breaks_off(writer: asyncio.StreamWriter) -> None:
        writer.write(odd)
        writer.close()

    async with wire(breaks_off) as (_, connection):
        with pytest.raises(NoHttpResponse) as caught:
            await connection.exchange(b"{}")
    assert not caught.value.is_unsent
    assert not caught.value.is_final


async def test_a_slow_answer_is_waited_for_as_long_as_is_said() -> None:
    """The time spans the whole exchange."""
    async with wire(lambda _: None) as (seen, _):
        connection = HttpConnection(seen.url, None, timeout_s=0.2)
        with pytest.raises(TimeoutError):
            await connection.exchange(b"{}")
        await connection.aclose()


async def test_a_longer_time_is_for_a_server_that_goes_on_sending() -> None:
    """Where an exchange may take longer than a call, silence is waited for no longer than in
    one."""
    async with wire(lambda _: None) as (seen, _):
        connection = HttpConnection(seen.url, None, timeout_s=1)
        before = time.monotonic()
        with pytest.raises(TimeoutError):
            await connection.exchange_at("GET", seen.url, None, "text/plain", timeout_s=60)
        await connection.aclose()
    assert time.monotonic() - before < 10


@pytest.mark.parametrize("timeout_s", [float("inf"), 1e30, 5e9])
async def test_any_length_of_time_may_be_given(timeout_s: float) -> None:
    """What is more than libcurl can count is as long as it can."""
    async with wire(*[sends(OK)] * 2) as (seen, _):
        connection = HttpConnection(seen.url, None, timeout_s)
        assert (await connection.exchange(b"{}")).body == b"ok"
        answer = await connection.exchange_at("GET", seen.url, None, "text/plain", timeout_s)
        assert answer.body == b"ok"
        await connection.aclose()


def test_the_connections_of_a_loop_that_closed_none_are_closed_by_the_next() -> None:
    """A loop that is not run by `asyncio.run` may leave its asynchronous generators open."""
    with serving() as server:
        connection = HttpConnection(server.base_url + "/models", None, timeout_s=5)
        numbers: list[int] = []
        for _ in range(4):
            loop = asyncio.new_event_loop()
            loop.run_until_complete(connection.exchange(b"{}"))
            loop.close()
            numbers.append(open_descriptors())
    assert numbers[-1] == numbers[0]


async def test_a_silent_connection_is_kept_alive() -> None:
    """A router on the way may forget one on which nothing goes by."""
    async with wire(sends(OK)) as (seen, connection):
        await connection.exchange(b"{}")
        assert kept_alive(seen.port) == [True]


async def test_connections_that_are_closed_cancel_nobody() -> None:
    """Another run of the same panel may end first: a call under way has no answer then, and the
    task that waits for it is not cancelled."""
    async with wire(lambda _: None, sends(OK)) as (seen, connection):
        waiting = asyncio.create_task(connection.exchange(b"{}"))
        while not seen.requests:  # noqa: ASYNC110 (the server's state)
            await asyncio.sleep(0.01)
        await connection.aclose()
        with pytest.raises(NoHttpResponse, match="were closed"):
            await waiting
        assert (await connection.exchange(b"{}")).body == b"ok"


async def test_a_call_that_finds_its_connections_closed_can_be_made_again() -> None:
    """Another run may end in the moment in which a connection is replaced: the model is at no
    fault."""
    async with wire(sends(OK), sends(OK)) as (seen, connection):
        await connection.exchange(b"{}")
        (pool,) = connection._pools.values()
        idle = list(pool.idle)
        await connection.aclose()
        idle[0].prepare(b"{}")
        with pytest.raises(NoHttpResponse, match="were closed") as caught:
            await idle[0].answer()
        assert caught.value.is_unsent
        assert not caught.value.is_final
        assert len(seen.requests) == 1


async def test_a_cancelled_call_is_cancelled() -> None:
    """Its connection is not used again, since an answer may still come on it."""
    async with wire(lambda _: None, sends(OK)) as (seen, connection):
        waiting = asyncio.create_task(connection.exchange(b"{}"))
        while not seen.requests:  # noqa: ASYNC110 (the server's state)
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await connection.exchange(b"{}")).body == b"ok"
    assert seen.connections == 2


async def test_without_descriptors_it_is_the_process_that_is_at_fault() -> None:
    """No server is blamed, and with some free again the same connection answers."""
    async with wire(sends(OK)) as (_, connection):
        await lack_descriptors(connection)
        assert (await connection.exchange(b"{}")).body == b"ok"


@pytest.mark.parametrize(("sparing_s", "opened"), [(0.05, range(5, 6)), (60, range(12, 18))])
async def test_after_a_lack_of_descriptors_few_connections_are_kept_for_a_while(
    sparing_s: float, opened: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are idle are closed although a call is in flight; a while later calls keep theirs
    again, and each that follows opens none of its own."""
    monkeypatch.setattr(http_connection, "_SPARING_S", sparing_s)

    def later(writer: asyncio.StreamWriter) -> None:
        asyncio.get_running_loop().call_later(0.02, writer.write, OK)

    async with wire(lambda _: None, *[later] * 16) as (seen, connection):
        waiting = asyncio.create_task(connection.exchange(b"{}"))
        while not seen.requests:  # noqa: ASYNC110 (the server's state)
            await asyncio.sleep(0.01)
        await lack_descriptors(connection)
        await asyncio.sleep(0.1)
        for _ in range(4):
            await asyncio.gather(*(connection.exchange(b"{}") for _ in range(4)))
        assert seen.connections in opened
        waiting.cancel()


async def test_a_lack_of_descriptors_closes_what_is_idle(tmp_path: Path) -> None:
    """With no other call in flight all connections are closed at once."""
    async with wire(*[sends(OK)] * 4) as (seen, connection):
        await asyncio.gather(*(connection.exchange(b"{}") for _ in range(3)))
        assert seen.connections == 3
        lack = OSError(errno.EMFILE, "Too many open files")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(http_transfer, "open_private", raises(lack))
            with pytest.raises(OSError, match="Too many open files"):
                await connection.download(seen.url, tmp_path / "file", 5)
        _, open_still = await asyncio.wait(filter(None, seen.tasks), timeout=2)
        assert not open_still


async def test_a_download_is_a_new_file_and_an_error_is_none(tmp_path: Path) -> None:
    """What is there is left as it is, and a body that tells of an error is returned."""
    missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone"
    empty = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    async with wire(sends(OK), sends(missing), sends(empty), sends(OK)) as (seen, connection):
        answer = await connection.download(seen.url, tmp_path / "there", 5)
        assert (answer.status, answer.body) == (200, b"")
        assert (tmp_path / "there").read_bytes() == b"ok"
        answer = await connection.download(seen.url, tmp_path / "none", 5)
        assert (answer.status, answer.body) == (404, b"none")
        assert not (tmp_path / "none").exists()
        await connection.download(seen.url, tmp_path / "empty", 5)
        assert (tmp_path / "empty").read_bytes() == b""
        with pytest.raises(FileExistsError):
            await connection.download(seen.url, tmp_path / "there", 5)
    assert all(request.startswith(b"GET ") for request in seen.requests)


async def test_a_download_is_unpacked(tmp_path: Path) -> None:
    """A file is what was packed, as a body is."""
    body = gzipped(b"whole")
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with wire(sends(head + body)) as (seen, connection):
        await connection.download(seen.url, tmp_path / "file", 5)
    assert (tmp_path / "file").read_bytes() == b"whole"


async def test_a_download_that_breaks_off_is_none(tmp_path: Path) -> None:
    """Without a length nobody would see that the end of the file is missing."""

    def breaks_off(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nhalf")
        asyncio.get_running_loop().call_later(0.1, resets, writer)

    async with wire(breaks_off, breaks_off) as (seen, connection):
        with pytest.raises(NoHttpResponse):
            await connection.download(seen.url, tmp_path / "file", 5)
        # That of a call is read by what it says.
        assert (await connection.exchange(b"{}")).body == b"half"


async def test_a_server_that_refuses_connections_is_not_taken_for_a_lack_of_descriptors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its fault has a number of its own, also where this process lacks descriptors just then."""
    lack = OSError(errno.EMFILE, "Too many open files")
    monkeypatch.setattr(http_transfer, "no_descriptor", lambda: lack)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    connection = HttpConnection(f"http://127.0.0.1:{port}/v1", None, timeout_s=5)
    with pytest.raises(NoHttpResponse) as caught:
        await connection.exchange(b"{}")
    await connection.aclose()
    assert caught.value.is_unsent
    assert not caught.value.is_final


async def test_a_proxy_that_opens_no_tunnel_has_sent_no_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing can have been paid for."""
    refuses = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"
    async with wire(sends(refuses)) as (seen, _):
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{seen.port}")
        connection = HttpConnection("https://model.invalid/v1", None, timeout_s=5)
        with pytest.raises(NoHttpResponse, match="502") as caught:
            await connection.exchange(b"{}")
        await connection.aclose()
    assert caught.value.is_unsent
    assert not caught.value.is_final


async def test_in_a_run_that_is_never_idle_a_connection_that_is_goes_unused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server closes it sooner or later, and one that does just then has lost a call."""
    monkeypatch.setattr(http_connection, "_LONGEST_IDLE_S", 1)
    async with wire(lambda _: None, sends(OK), sends(OK)) as (seen, connection):
        waiting = asyncio.create_task(connection.exchange(b"{}"))
        while not seen.requests:  # noqa: ASYNC110 (the server's state)
            await asyncio.sleep(0.01)
        await connection.exchange(b"{}")
        await asyncio.sleep(2.1)
        await connection.exchange(b"{}")
        waiting.cancel()
    assert seen.connections == 3


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_other_addresses_are_asked_by_other_methods(method: str) -> None:
    """With the media type that is given, and without a body where none is."""
    async with wire(sends(OK)) as (seen, connection):
        url = f"http://127.0.0.1:{seen.port}/v1/batches/7/cancel"
        await connection.exchange_at(method, url, None, "text/plain")
    (request,) = seen.requests
    assert request.startswith(f"{method} /v1/batches/7/cancel HTTP/1.1\r\n".encode())
    assert b"Content-Type: text/plain\r\n" in request
    assert request.endswith(b"\r\n\r\n")


async def test_the_key_takes_the_place_of_a_header_in_any_case() -> None:
    """Other headers go as they are, one without a value, too."""
    async with wire(sends(OK)) as (seen, _):
        headers = {"authorization": "Bearer other", "X-Team": "a", "X-Empty": ""}
        key = SecretStr("sk-key-0123456789")
        connection = HttpConnection(seen.url, key, timeout_s=5, headers=headers)
        await connection.exchange(b"{}")
        await connection.aclose()
    lines = seen.requests[0].split(b"\r\n")
    named = [line for line in lines if line.lower().startswith(b"authorization:")]
    assert named == [b"Authorization: Bearer sk-key-0123456789"]
    assert {b"X-Team: a", b"X-Empty:", b"Content-Type: application/json"} < set(lines)


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        (
            "http://münchen.example:8000/v1/ü %2F",
            "http://xn--mnchen-3ya.example:8000/v1/%C3%BC%20%2F",
        ),
        ("http://[::1]:8000/v1?after=a&limit=2", "http://[::1]:8000/v1?after=a&limit=2"),
    ],
)
def test_an_address_goes_out_in_ascii(url: str, sent: str) -> None:
    """libcurl sends it as it is, and looks up no name in other letters."""
    assert http_connection._in_ascii(url).geturl() == sent
