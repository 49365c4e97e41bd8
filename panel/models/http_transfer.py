"""Requests and their answers over libcurl, and what waits on its connections between them.

HTTP/1.1 has nothing that ties an answer to its request but their order on a connection. So bytes
that nobody has asked for make an answer void: see `Transfer._require_own`. libcurl looks for them
only where a connection has been idle for a second. Before that it sends the request, and takes what
is unread for its answer.
"""

from __future__ import annotations

import asyncio
import errno
import re
from io import BytesIO
from pathlib import Path
from socket import socketpair
from typing import IO

import pycurl

from persona_panel.files.limits import UnreadablePacking, most_unpacked, unpacked
from persona_panel.files.outputs import open_private
from persona_panel.models.http_responses import (
    MOST_BYTES,
    Headers,
    HttpResponse,
    last_head,
    without_chunks,
)
from persona_panel.models.kept_sockets import KeptSocket, KeptSockets, Traffic, is_answer

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
_REMEDIES = {
    pycurl.E_COULDNT_CONNECT: "start the server, or correct the address",
    pycurl.E_COULDNT_RESOLVE_HOST: "correct the name of the host",
    pycurl.E_SSL_CONNECT_ERROR: "write http:// if the server speaks no TLS",
    pycurl.E_PEER_FAILED_VERIFICATION: "SSL_CERT_FILE names the certificates that are trusted",
}
_FINAL = frozenset({pycurl.E_PEER_FAILED_VERIFICATION, pycurl.E_SSL_CACERT_BADFILE})
_EXCESS = re.compile(rb"(?:excess = |Leftovers after chunking: )(\d+)")
"""libcurl's words for bytes after the end of an answer, which it throws away."""
_INTERIM = re.compile(rb"^HTTP/1\.1 1", re.MULTILINE)
_LONGEST_LINE_BREAK = 4
_HELD_S = 0.25
"""The seconds for which an answer is held back, in case another comes beside it, where a server has
sent some that no request asked for."""
_MOST_UNASKED = 3
"""The most new connections that are tried on which the server speaks first."""
_MOST_FILE_BYTES = 4_000_000_000
"""The most bytes of a file of results: providers take requests of 256 MB at most."""
_CLOSED = "the connections were closed before it came"
_UNASKED = "the server sent an answer that no request asked for"
_BESIDE = f"{_UNASKED}, next to another: neither is used"


class NoHttpResponse(Exception):
    """The reason why no answer came, without credentials. `is_unsent`: there was no connection;
    else the request may have been read and worked on; `is_final`: no other try can fare better;
    `is_refused`: the connection was."""

    def __init__(
        self,
        reason: str,
        *,
        is_unsent: bool = False,
        is_final: bool = False,
        is_refused: bool = False,
    ) -> None:
        super().__init__(reason)
        self.is_unsent, self.is_final, self.is_refused = is_unsent, is_final, is_refused


class Transfer:
    """A way to exchange requests and answers, one after another, with the same options of libcurl:
    `prepare`, then `answer` or `into`. `curl` has the address; `is_tls` says that the server, or
    its proxy, is reached by TLS."""

    def __init__(
        self, curl: pycurl.Curl, multi: pycurl.AsyncCurlMulti, kept: KeptSockets, *, is_tls: bool
    ) -> None:
        self._curl, self._multi, self._sockets = curl, multi, kept
        self._is_tls = is_tls
        self._to_file = False
        self._data = BytesIO()
        self._is_unusable = False
        self._kept: KeptSocket | None = None
        self._number = 0
        self._asked: Traffic | None = None
        self._answered: Traffic | None = None
        self._reasons: list[bytes] = []
        self._explains = False
        self._head = bytearray()
        self._parts: list[bytes] = []
        self._room = MOST_BYTES
        curl.setopt(pycurl.SOCKOPTFUNCTION, kept.opened)
        curl.setopt(pycurl.PREREQFUNCTION, self._check)
        # An encoding that libcurl does not know, or that is none, would cost the answer.
        curl.setopt(pycurl.HTTP_CONTENT_DECODING, False)
        # libcurl would throw away what follows the last chunk.
        curl.setopt(pycurl.HTTP_TRANSFER_DECODING, False)
        curl.setopt(pycurl.HEADERFUNCTION, self._take_head if is_tls else self._head.extend)
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
        """Return what comes back; see
        `persona_panel.models.http_connection.HttpConnection.exchange`."""
        n_unusable = 0
        if self._sockets.explains and not self._explains:
            self._explain()
        self._sockets.look_now_and_then()
        while True:
            self._head.clear()
            self._parts.clear()
            self._reasons.clear()
            self._room = MOST_BYTES
            self._is_unusable, self._kept, self._answered = False, None, None
            try:
                await self._multi.add_handle(self._curl)
            except pycurl.error as error:
                if self._is_unusable:
                    self._data.seek(0)
                    n_unusable += self._curl.getinfo(pycurl.NUM_CONNECTS) != 0
                    if n_unusable < _MOST_UNASKED:
                        continue
                    raise NoHttpResponse(_UNASKED, is_unsent=True) from None
                # Of a body that is too long the rest is not wanted.
                if self._room >= 0 and not self._has_come(error.args[0]):
                    raise _fault(self._curl, *error.args) from None
                return self._noted(self._received(is_sound=False))
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
            answer = self._noted(self._received(is_sound=True))
            if self._sockets.has_strays:
                await asyncio.sleep(_HELD_S)
                self._require_alone()
            return answer

    async def into(self, path: Path) -> HttpResponse:
        """Write the body of a success into a new file; see
        `persona_panel.models.http_connection.HttpConnection.download`."""
        file: IO[bytes] | None = None
        fault: OSError | NoHttpResponse | None = None
        n_bytes = most = 0

        def write(part: bytes) -> int | None:
            nonlocal file, fault, n_bytes, most
            # libcurl tells no status here: pycurl refuses `getinfo` within a callback.
            if not last_head(self._head).startswith(b"2", 9):
                return self._take(part)
            try:
                if file is None:
                    most = _most_in_file(Headers(bytes(self._head)))
                    file = open_private(path, "xb")
                n_bytes += len(part)
                if n_bytes > most:
                    reason = f"the file is longer than {most:,} bytes, the most that is read"
                    fault = NoHttpResponse(reason, is_final=True)
                    return 0
                file.write(part)
            except OSError as error:
                fault = error
                return 0
            return None

        self._to_file = True
        # Piece by piece: the file may be longer than is held in memory.
        self._curl.setopt(pycurl.HTTP_CONTENT_DECODING, True)
        self._curl.setopt(pycurl.HTTP_TRANSFER_DECODING, True)
        self._curl.setopt(pycurl.WRITEFUNCTION, write)
        self._explain()
        try:
            answer = await self.answer()
            if answer.status < 300 and file is None:
                file = open_private(path, "xb")
        except NoHttpResponse as error:
            raise fault or error from None
        finally:
            if file is not None:
                file.close()
        return answer

    # What libcurl calls

    def _check(self, _to: str, own_address: str, _to_port: int, own_port: int) -> int:
        """Say, before a request goes out, whether it can. libcurl takes a connection for open that
        the server has closed within the last second, and what waits there for the answer."""
        kept = self._sockets.at(own_address, own_port)
        if kept is None:
            return int(pycurl.PREREQFUNC_OK)
        if not self._sockets.takes_request(kept, is_tls=self._is_tls):
            self._is_unusable = True
            return int(pycurl.PREREQFUNC_ABORT)
        self._kept, self._number = kept, kept.n_requests
        if self._is_tls:
            self._asked = self._sockets.traffic(kept)
        return int(pycurl.PREREQFUNC_OK)

    def _take_head(self, line: bytes) -> None:
        if self._answered is None and self._kept is not None:
            self._answered = self._sockets.traffic(self._kept)
        self._head += line

    def _take(self, part: bytes) -> int | None:
        self._parts.append(part)
        self._room -= len(part)
        return None if self._room >= 0 else 0

    def _explain(self) -> None:
        """Have libcurl say from now on why it does things, which takes half as long again."""

        def note(kind: int, text: bytes) -> None:
            if kind == pycurl.INFOTYPE_TEXT:
                self._reasons.append(text)

        self._explains = True
        self._curl.setopt(pycurl.VERBOSE, True)
        self._curl.setopt(pycurl.DEBUGFUNCTION, note)

    # What has come

    def _received(self, *, is_sound: bool) -> HttpResponse:
        """Return what has come; `is_sound`, libcurl has nothing against it."""
        headers = Headers(bytes(self._head))
        # libcurl takes a head that breaks off for the whole answer.
        if not headers.are_whole:
            raise NoHttpResponse("the answer broke off within its headers")
        body, whole = b"".join(self._parts), self._room >= 0
        # Not held until the next exchange: there are as many transfers as were ever in flight.
        self._parts.clear()
        self._data.truncate(0)
        after = b""
        if headers.are_chunked and not self._to_file:
            body, after = without_chunks(body)
        if is_sound:
            self._require_own(headers, after)
        body = body[:MOST_BYTES]
        if not self._to_file and headers.tell_of_packing:
            for _ in range(headers.times_packed):
                # Some servers and proxies call packed what is not, or is only once.
                if body.lstrip().startswith((b"{", b"[")):
                    break
                try:
                    body = unpacked(body, MOST_BYTES + 1, whole=whole)
                except UnreadablePacking as error:
                    raise NoHttpResponse(f"the packed answer {error}") from None
                body, whole = body[:MOST_BYTES], whole and len(body) <= MOST_BYTES
        return HttpResponse(self._curl.getinfo(pycurl.RESPONSE_CODE), headers, body, whole)

    def _noted(self, answer: HttpResponse) -> HttpResponse:
        """Return an answer, once its connection knows of it."""
        if (kept := self._kept) is not None:
            info = self._curl.getinfo
            waited = info(pycurl.STARTTRANSFER_TIME_T) - info(pycurl.POSTTRANSFER_TIME_T)
            is_success = answer.status < 300 and not self._to_file
            self._sockets.answered(kept, self._number, waited / 1e6, is_success=is_success)
        return answer

    def _has_come(self, code: int) -> bool:
        """Return whether there is a whole answer although the transfer failed: before the request
        was read, say, or where TLS ends without a word."""
        headers = Headers(bytes(self._head))
        # Of a file nobody would see that its end is missing. Those of a proxy that opens no tunnel
        # have no status here.
        if self._to_file or not (self._curl.getinfo(pycurl.RESPONSE_CODE) and headers.are_whole):
            return False
        if (length := headers.get("Content-Length")) is not None:
            return length == str(MOST_BYTES - self._room)
        return code == pycurl.E_RECV_ERROR and "Transfer-Encoding" not in headers

    # Whether it is this request's

    def _require_own(self, headers: Headers, after: bytes) -> None:
        """Refuse an answer that may be another request's.

        `after` is what followed its last chunk. Which of two answers is ours, nobody can tell.
        Raises NoHttpResponse: another came with it, or it is a success that began before the
        request was out."""
        if (kept := self._kept) is None:
            return
        waiting = self._sockets.unread(kept, self._number)
        if waiting is None or self._is_ended_by_tls(kept):
            is_excess = headers.keep_connection and not self._sockets.closes_idle
            is_excess = is_excess and self._excess() > _LONGEST_LINE_BREAK
            waiting = None
        elif self._to_file:
            is_excess = self._excess() > _LONGEST_LINE_BREAK
        else:
            is_excess = bool(after.strip())
        if is_excess or (waiting and is_answer(waiting, is_tls=self._is_tls)):
            self._sockets.explains |= waiting is None
            self._sockets.distrust(kept)
            raise NoHttpResponse(_BESIDE)
        if self._came_early():
            self._sockets.distrust(kept)
            raise NoHttpResponse(f"{_UNASKED}: it began before the request was sent")

    def _require_alone(self) -> None:
        """Refuse an answer behind which another has come by now."""
        if (kept := self._kept) is not None and not self._is_ended_by_tls(kept):
            waiting = self._sockets.unread(kept, self._number)
            if waiting and is_answer(waiting, is_tls=self._is_tls):
                self._sockets.distrust(kept)
                raise NoHttpResponse(_BESIDE)

    def _is_ended_by_tls(self, kept: KeptSocket) -> bool:
        """Return whether libcurl has said goodbye on a connection: by TLS it waits for the reply,
        with the socket open."""
        if not self._is_tls or kept.n_requests != self._number:
            return False
        now = self._sockets.traffic(kept)
        return bool(now and self._answered and now.sent > self._answered.sent)

    def _came_early(self) -> bool:
        """Return whether a success began before the last of the request went out, or was with
        OpenSSL then, which reads ahead. An error may be said before all of a request is read."""
        info, asked, answered = self._curl.getinfo, self._asked, self._answered
        is_early = info(pycurl.STARTTRANSFER_TIME_T) < info(pycurl.POSTTRANSFER_TIME_T)
        if not (is_early or (asked and answered and asked.received == answered.received)):
            return False
        return last_head(self._head).startswith(b"2", 9) and not _INTERIM.search(self._head)

    def _excess(self) -> float:
        """Return how many bytes libcurl threw away; infinite where it was not asked."""
        if not self._explains:
            return float("inf")
        return sum(int(excess[1]) for text in self._reasons if (excess := _EXCESS.search(text)))


def no_descriptor() -> OSError | None:
    """Return what keeps this process from opening a connection, if anything does."""
    try:
        for end in socketpair():
            end.close()
    except OSError as error:
        return error
    return None


def _most_in_file(headers: Headers) -> int:
    """Return how many bytes the file of an answer may have."""
    length = headers.get("Content-Length", "")
    if not (headers.times_packed and length.isdecimal()):
        return _MOST_FILE_BYTES
    return min(most_unpacked(int(length)), _MOST_FILE_BYTES)


def _fault(curl: pycurl.Curl, code: int, message: str) -> Exception:
    """Return why a transfer brought no answer, from libcurl's number and words for it."""
    if code == pycurl.E_OPERATION_TIMEDOUT:
        if curl.getinfo(pycurl.REQUEST_SIZE):
            return TimeoutError(message)
        return NoHttpResponse(f"not connected in time: {message}", is_unsent=True)
    # libcurl does not say why it could not open a socket; a connection that fails has a number.
    if code in _UNOPENED and not curl.getinfo(pycurl.OS_ERRNO) and (lack := no_descriptor()):
        return lack
    # Or a proxy that opens no tunnel: older versions of libcurl call it a broken connection.
    unsent = code in _UNSENT or curl.getinfo(pycurl.HTTP_CONNECTCODE) >= 300
    remedy = f"; {_REMEDIES[code]}" if code in _REMEDIES else ""
    reason = f"{message or 'no answer came'} (libcurl: {code}){remedy}"
    refused = curl.getinfo(pycurl.OS_ERRNO) == errno.ECONNREFUSED
    return NoHttpResponse(reason, is_unsent=unsent, is_final=code in _FINAL, is_refused=refused)
