"""Headers, chunks and bodies of answers, as they come over the wire."""

from __future__ import annotations

import pytest

from persona_panel.models.http_responses import Headers, content_of, last_head, without_chunks

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nX-A: 1\r\nx-a: 2\r\n"
    b"content-encoding: Deflate, br\r\nTransfer-Encoding: Chunked\r\n\r\n"
)


def test_headers_are_read_in_any_case() -> None:
    """Of several by the same name the first counts; names stay as they came."""
    headers = Headers(HEAD)
    assert headers["X-a"] == headers["x-A"] == "1"
    assert "x-b" not in headers
    assert list(headers) == ["Content-Encoding", "X-A", "Transfer-Encoding"]
    assert len(headers) == 3


def test_headers_that_say_how_a_body_came_are_read_together() -> None:
    """Of encodings only those are counted that were asked for."""
    headers = Headers(HEAD)
    assert headers.are_whole and headers.are_chunked and headers.tell_of_packing
    assert headers.times_packed == 2


@pytest.mark.parametrize(
    ("lines", "is_kept"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: Close", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nProxy-Connection: close", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1", False),
        (b"HTTP/1.1 200 OK", False),
    ],
)
def test_a_connection_is_kept_where_the_end_of_the_answer_is_known(
    lines: bytes, is_kept: bool
) -> None:
    """Unless the answer says that it ends with the connection."""
    assert Headers(lines + b"\r\n\r\n").keep_connection is is_kept


def test_the_last_head_counts() -> None:
    """Others may come before, such as 100 Continue; a trailer belongs to none."""
    heads = b"HTTP/1.1 100 Continue\r\nA: 1\r\n\r\nHTTP/1.1 200 OK\r\nB: 2\r\n\r\nC: 3\r\n\r\n"
    assert last_head(heads).startswith(b"HTTP/1.1 200")
    assert dict(Headers(heads)) == {"B": "2"}


def test_headers_that_break_off_are_not_whole() -> None:
    """Their end is an empty line, by either kind of line break."""
    assert not Headers(b"HTTP/1.1 200 OK\r\nA: 1\r\n").are_whole
    assert Headers(b"HTTP/1.1 200 OK\nA: 1\n\n").are_whole


@pytest.mark.parametrize(
    ("body", "content", "after"),
    [
        (b"2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n", b"abc", b""),
        (b"2\r\nab\r\n0\r\nTrailer: t\r\n\r\nHTTP/1.1 200", b"ab", b"HTTP/1.1 200"),
        (b"A\r\n0123456789\r\n5\r\nab", b"0123456789ab", b""),
        (b"2\r\nab\r\n0\r\xef\xbb\xbf\n\r\n", b"ab", b""),
    ],
)
def test_chunks_are_put_together(body: bytes, content: bytes, after: bytes) -> None:
    """As far as they go; what follows the last one and its trailer is distinguished."""
    assert without_chunks(body) == (content, after)


@pytest.mark.parametrize(
    ("body", "headers", "content"),
    [
        (b'{"a": 1}', {}, {"a": 1}),
        ('\ufeff{"a": "é"}'.encode("utf-16"), {}, {"a": "é"}),
        (
            '{"a": "é"}'.encode("latin-1"),
            {"Content-Type": "text/json; charset=latin-1"},
            {"a": "é"},
        ),
        (b'{"a": 1} and so on', {}, {"a": 1}),
        (b'{"a": 1}{"a": 2}', {}, None),
        (b"<html>", {}, None),
    ],
)
def test_what_a_body_holds(body: bytes, headers: dict[str, str], content: object) -> None:
    """JSON in any encoding that is declared or marked; None where there is none, or two."""
    assert content_of(body, headers) == content
