"""The HTTP that a scripted server speaks."""

from __future__ import annotations

import asyncio
import logging

import pytest

from persona_panel.testing.scripted_model import Reply, Request, listening


async def echo(request: Request) -> Reply:
    """What was understood of a request; at /half and /reset not whole, at /fault none."""
    match request.path:
        case "/half":
            return Reply(b"0123456789", ending="half")
        case "/reset":
            return Reply(ending="reset")
        case "/fault":
            raise LookupError("not in the script")
    said = [request.method, request.path, dict(request.query), request.headers["x-name"]]
    return Reply.json([*said, request.body.decode()], 207)


async def exchanged(sent: bytes) -> bytes:
    """All that the server says to these bytes and an end."""
    async with listening(echo) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        writer.write_eof()
        async with asyncio.timeout(5):
            said = await reader.read()
        writer.close()
    return said


async def test_requests_are_read_one_after_the_other() -> None:
    """Two that arrive together are distinguished by their lengths, and answered in their order."""
    said = await exchanged(
        b"POST /a%20b?q=1 HTTP/1.1\r\nX-Name: first\r\nContent-Length: 2\r\n\r\n{}"
        b"GET /c HTTP/1.1\r\nx-name: second\r\n\r\n"
    )
    first, second = said.split(b"HTTP/1.1 207 Multi-Status\r\n")[1:]
    assert first.endswith(b'\r\n\r\n["POST","/a b",{"q":"1"},"first","{}"]')
    assert second.endswith(b'\r\n\r\n["GET","/c",{},"second",""]')
    assert b"Content-Length: 38\r\n" in first


async def test_half_a_body_ends_the_connection() -> None:
    """The length is that of the whole body."""
    said = await exchanged(b"GET /half HTTP/1.1\r\n\r\nGET /c HTTP/1.1\r\n\r\n")
    assert said == b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234"


async def test_a_reset_is_no_answer() -> None:
    """Not even the end of a stream."""
    with pytest.raises(ConnectionResetError):
        await exchanged(b"GET /reset HTTP/1.1\r\n\r\n")


async def test_a_body_without_a_length_is_refused() -> None:
    """The connection is closed, as nobody knows where the next request begins."""
    said = await exchanged(
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    )
    assert said.startswith(b"HTTP/1.1 411 Length Required\r\n")
    assert said.count(b"HTTP/1.1") == 1


async def test_who_waits_for_leave_to_send_a_body_gets_it() -> None:
    """As curl does with a long one."""
    said = await exchanged(
        b"PUT / HTTP/1.1\r\nX-Name: n\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n7"
    )
    assert said.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 207 ")


async def test_a_script_that_fails_is_told_of_and_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The client gets a 500, and the log has what went wrong."""
    with caplog.at_level(logging.ERROR):
        said = await exchanged(b"GET /fault HTTP/1.1\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert "not in the script" in caplog.text


async def test_the_end_of_the_block_ends_what_is_under_way() -> None:
    """A connection that is waiting for an answer is closed."""

    async def never(request: Request) -> Reply:
        await asyncio.Event().wait()
        return Reply()

    async with listening(never) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await asyncio.sleep(0.05)
    async with asyncio.timeout(5):
        assert await reader.read() == b""
    writer.close()
