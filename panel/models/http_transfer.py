"""Requests and their answers over libcurl, and what is said where none comes."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from io import BytesIO
from pathlib import Path
from socket import socketpair
from typing import IO

import pycurl
from multidict import CIMultiDict

from panel.io.private_files import open_private
from panel.models.error_responses import MOST_BYTES, HttpResponse
from panel.models.kept_sockets import KeptSockets

_UNSENT = frozenset(
    {
        pycurl.E_COULDNT_RESOLVE_PROXY,
        pycurl.E_COULDNT_RESOLVE_HOST,
        pycurl.E_COULDNT_CONNECT,
        pycurl.E_SSL_CONNECT_ERROR,
        pycurl.E_PEER_FAILED_VERIFICATION,
        pycurl.E_SSL_CACERT_BADFILE,
    }
)
_UNOPENED = frozenset(
    {pycurl.E_COULDNT_RESOLVE_HOST, pycurl.E_COULDNT_CONNECT, pycurl.E_OUT_OF_MEMORY}
)
_PACKINGS = frozenset({"gzip", "x-gzip", "deflate"})
_MOST_PACKINGS = 5
_PIECE_BYTES = 16_384
_FINAL = frozenset({pycurl.E_PEER_FAILED_VERIFICATION, pycurl.E_SSL_CACERT_BADFILE})
_CLOSED = "the connections were closed before it came"


class NoHttpResponse(Exception):
    """Why no answer came; shows no credentials.

    Attributes:
        is_unsent: there was no connection; else the request may have been read and worked on.
        is_final: no other try can fare better.
    """

    def __init__(self, reason: str, *, is_unsent: bool = False, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_unsent, self.is_final = is_unsent, is_final


class Transfer:
    """Exchanges by the same options of libcurl's, one after another: `prepare`, then `answer` or
    `into`. `curl` has the address."""

    def __init__(
        self, curl: pycurl.Curl, multi: pycurl.AsyncCurlMulti, sockets: KeptSockets
    ) -> None:
        self._curl, self._multi, self._sockets = curl, multi, sockets
        self._to_file = False
        self._data = BytesIO()
        self._found_closed = False
        self._head = bytearray()
        self._parts: list[bytes] = []
        self._room = MOST_BYTES
        curl.setopt(pycurl.SOCKOPTFUNCTION, sockets.opened)
        curl.setopt(pycurl.PREREQFUNCTION, self._check)
        # An encoding that libcurl does not know, or that is none, would cost the answer.
        curl.setopt(pycurl.HTTP_CONTENT_DECODING, False)
        curl.setopt(pycurl.HEADERFUNCTION, self._head.extend)
        curl.setopt(pycurl.WRITEFUNCTION, self._take)
        curl.setopt(pycurl.POST, True)

    def prepare(self, data: bytes, method: str = "POST") -> None:
        """Say what the next exchange sends."""
        curl = self._curl
        if method == "GET":
            curl.setopt(pycurl.HTTPGET, True)
            return
        if method != "POST":
            curl.setopt(pycurl.CUSTOMREQUEST, method)
        # Not POSTFIELDS: where a server closes a connection without an answer, libcurl would send
        # them again by itself, and a call would be made, and paid for, that nobody counts.
        self._data = BytesIO(data)
        curl.setopt(pycurl.READFUNCTION, self._data.read)
        curl.setopt(pycurl.POSTFIELDSIZE_LARGE, len(data))

    async def answer(self) -> HttpResponse:
        """What comes back; see `panel.models.http_connection.HttpConnection.exchange`."""
        curl = self._curl
        while True:
            self._head.clear()
            self._parts.clear()
            self._room = MOST_BYTES
            self._found_closed = False
            try:
                await self._multi.add_handle(curl)
            except pycurl.error as error:
                if self._found_closed:
                    self._data.seek(0)
                    continue
                # Of a body that is too long the rest is not wanted.
                if self._room >= 0 and not self._has_come(error.args[0]):
                    raise _fault(curl, *error.args) from None
            except RuntimeError as error:
                if self._multi.closed:
                    raise NoHttpResponse(_CLOSED, is_unsent=True) from None
                # An event loop of another kind, such as Windows' own.
                raise NoHttpResponse(str(error), is_unsent=True, is_final=True) from None
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if self._multi.closed and task is not None and not task.cancelling():
                    raise NoHttpResponse(_CLOSED) from None
                raise
            break
        return self._received()

    def _received(self) -> HttpResponse:
        headers = _Headers(bytes(self._head))
        # libcurl takes a head that breaks off for the whole answer.
        if not headers.are_whole:
            raise NoHttpResponse("the answer broke off within its headers")
        body, whole = b"".join(self._parts)[:MOST_BYTES], self._room >= 0
        # Not held until the next exchange: there are as many transfers as were ever in flight.
        self._parts.clear()
        self._data.truncate(0)
        if not self._to_file and headers.tell_of_packing:
            for _ in range(headers.times_packed):
                # Some servers and proxies call packed what is not, or is only once.
                if body.lstrip().startswith((b"{", b"[")):
                    break
                body = _unpacked(body, whole)
                body, whole = body[:MOST_BYTES], whole and len(body) <= MOST_BYTES
        return HttpResponse(self._curl.getinfo(pycurl.RESPONSE_CODE), headers, body, whole)

    def _has_come(self, code: int) -> bool:
        """Whether there is a whole answer although the transfer failed: before the request was
        read, say, or where TLS ends without a word."""
        headers = _Headers(bytes(self._head))
        # Of a file nobody would see that its end is missing. Those of a proxy that opens no tunnel
        # have no status here.
        if self._to_file or not (self._curl.getinfo(pycurl.RESPONSE_CODE) and headers.are_whole):
            return False
        if (length := headers.get("Content-Length")) is not None:
            return length == str(MOST_BYTES - self._room)
        return code == pycurl.E_RECV_ERROR and "Transfer-Encoding" not in headers

    def _check(self, _to: str, own_address: str, _to_port: int, own_port: int) -> int:
        """Before a request goes out: whether it can. libcurl takes a connection for open that the
        server has closed within the last second."""
        self._found_closed = self._sockets.is_closed(own_address, own_port)
        return int(pycurl.PREREQFUNC_ABORT if self._found_closed else pycurl.PREREQFUNC_OK)

    def _take(self, part: bytes) -> int | None:
        self._parts.append(part)
        self._room -= len(part)
        return None if self._room >= 0 else 0

    async def into(self, path: Path) -> HttpResponse:
        """Write the body of a success into a new file; see
        `panel.models.http_connection.HttpConnection.download`."""
        file: IO[bytes] | None = None
        fault: OSError | None = None

        def write(part: bytes) -> int | None:
            nonlocal file, fault
            # libcurl tells no status here: pycurl refuses `getinfo` within a callback.
            if not _last_head(self._head).startswith(b"2", 9):
                return self._take(part)
            try:
                file = file or open_private(path, "xb")
                file.write(part)
            except OSError as error:
                fault = error
                return 0
            return None

        self._to_file = True
        # Piece by piece: the file may be longer than is held in memory.
        self._curl.setopt(pycurl.HTTP_CONTENT_DECODING, True)
        self._curl.setopt(pycurl.WRITEFUNCTION, write)
        try:
            answer = await self.answer()
            if answer.status < 300 and file is None:
                file = open_private(path, "xb")
        except NoHttpResponse:
            if fault is not None:
                raise fault from None
            raise
        finally:
            if file is not None:
                file.close()
        return answer


class _Headers(Mapping[str, str]):
    """Those of an answer, in any case; read when they are looked at, since most are not."""

    def __init__(self, heads: bytes) -> None:
        self._heads = heads

    @property
    def are_whole(self) -> bool:
        """Whether their end has come, an empty line."""
        return self._heads.endswith(b"\r\n\r\n") or b"\n\n" in self._last

    @property
    def tell_of_packing(self) -> bool:
        """Whether there may be a Content-Encoding among them."""
        return b"content-encoding" in self._heads.lower()

    @property
    def times_packed(self) -> int:
        """How often the body was packed by what was asked for; other encodings are passed over."""
        named = ",".join(self._all.getall("Content-Encoding", [])).lower().split(",")
        return min(sum(name.strip() in _PACKINGS for name in named), _MOST_PACKINGS)

    @cached_property
    def _last(self) -> bytes:
        return bytes(_last_head(self._heads)).replace(b"\r\n", b"\n")

    @cached_property
    def _all(self) -> CIMultiDict[str]:
        # Those of a trailer follow an empty line.
        lines = self._last.partition(b"\n\n")[0].decode("latin-1").split("\n")[1:]
        parts = [line.partition(":") for line in lines]
        return CIMultiDict((name.strip(), value.strip()) for name, _, value in parts)

    def __getitem__(self, name: str) -> str:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


def _unpacked(body: bytes, whole: bool) -> bytes:
    """What was packed by gzip or deflate, up to one byte more than is read.

    Raises:
        NoHttpResponse: it breaks off, or is no such thing.
    """
    rest, found, room = memoryview(body), list[bytes](), MOST_BYTES + 1
    ended = 0
    try:
        # One after another, as gzip allows.
        while rest and room:
            # Some servers leave out what deflate begins with.
            bare = not ended and body[0] & 15 != 8 and body[:2] != b"\x1f\x8b"
            unpacking = zlib.decompressobj(-zlib.MAX_WBITS if bare else 32 + zlib.MAX_WBITS)
            while rest and room and not unpacking.eof:
                # Not all of it: what it leaves is copied each time.
                piece = rest[:_PIECE_BYTES]
                found.append(unpacking.decompress(piece, room))
                room -= len(found[-1])
                left = len(unpacking.unused_data) + len(unpacking.unconsumed_tail)
                rest = rest[len(piece) - left :]
            if whole and room and not unpacking.eof:
                raise NoHttpResponse("the packed answer broke off")
            ended = len(found)
    except zlib.error as error:
        # What follows a whole one means nothing.
        if not ended:
            raise NoHttpResponse(f"the packed answer cannot be read: {error}") from None
    return b"".join(found[:ended])


def _last_head(heads: bytes | bytearray) -> bytes | bytearray:
    """The status line and the headers that count: others may come before, such as 100 Continue."""
    return heads[heads.rfind(b"\nHTTP/") + 1 :]


def _fault(curl: pycurl.Curl, code: int, said: str) -> Exception:
    """Why a transfer brought no answer, from libcurl's number and words for it."""
    if code == pycurl.E_OPERATION_TIMEDOUT:
        if curl.getinfo(pycurl.REQUEST_SIZE):
            return TimeoutError(said)
        return NoHttpResponse(f"not connected in time: {said}", is_unsent=True)
    # libcurl does not say why it could not open a socket; a connection that fails has a number.
    if code in _UNOPENED and not curl.getinfo(pycurl.OS_ERRNO) and (lack := no_descriptor()):
        return lack
    # Or a proxy that opens no tunnel: older versions of libcurl call it a broken connection.
    unsent = code in _UNSENT or curl.getinfo(pycurl.HTTP_CONNECTCODE) >= 300
    reason = f"{said or 'no answer came'} (libcurl: {code})"
    return NoHttpResponse(reason, is_unsent=unsent, is_final=code in _FINAL)


def no_descriptor() -> OSError | None:
    """What keeps this process from opening a connection, if anything does."""
    try:
        for end in socketpair():
            end.close()
    except OSError as error:
        return error
    return None
