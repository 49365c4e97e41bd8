"""A server that answers by `expected_scores`, misbehaves in every way at once, and keeps a log.

    python -m benchmarks.history_server --log FILE --key KEY [--errors 0.3] [--odd 0.5] [--seed 1]

A process of its own on two ports of the loopback, each of them another address with scores of its
own. It speaks the live calls of OpenAI, Azure, Anthropic and Gemini, and the batches of OpenAI,
Anthropic and Gemini. It writes HTTP by itself, as no library would send what is tried here.

A share `errors` of the requests gets no answer that counts: 429, 500, 502, 503 and 529 with and
without Retry-After, an error or a page of HTML with status 200, words that hold no scores, resets
before, after and while the answer is written, heads and bodies that are cut off, and bodies that
are not in the encoding that they name. A share `odd` of the others gets its answer in an odd way,
which a client has to cope with: in segments of a few bytes, late, chunked, compressed, with `100
Continue` before it, with the connection closed behind it, or followed by a second response that
nobody asked for, at once or a moment later. What becomes of a request follows from its words and
from how often they came before.

The log has a line of JSON for each request about a judgment once its fate is known:
`[response, persona, model, address, fate, how]`. The fates are in `benchmarks.histories`. What is
asked of `/control` is obeyed and never spoilt: `/control?errors=0&odd=0` ends the faults.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import re
import socket
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import IO, Any, cast
from urllib.parse import parse_qsl, urlsplit

import orjson

from benchmarks.expected_scores import Judgment, answer_text, drawn_bytes, judgment_in
from persona_panel.models.event_loops import new_loop
from persona_panel.testing.scripted_model import Request
from persona_panel.testing.server import BatchScript, ScriptedBatches
from tests.contracts.wires import anthropic, chat_completions, google_genai
from tests.helpers.batch_wires import AnthropicBatchWire, BatchWire, GeminiBatchWire

LONGEST_DELAY_S = 0.25
STRAY_DELAY_S = 0.02
RETRY_AFTER = "0.05"
UNREAD_CONNECTIONS = 200
"""Of how many connections one is reset before anything is read from it."""
BATCHES_WITH_FAULTS = 2
"""The first batches of each provider, some rows of which come back with an error."""
OWN_ERROR = "an error of the server's own"
"""The fate of a request that shows nothing of the client."""

ERRORS = (
    "429", "429 with Retry-After", "500", "502 as HTML", "503", "503 with Retry-After", "529",
    "529 with Retry-After", "an error with 200", "HTML with 200", "no scores", "empty",
    "reset when read", "reset amid the head", "reset amid the body", "half a head", "half a body",
    "gzip without a label", "half of its gzip", "chunks without an end",
)  # fmt: skip
ODDITIES = (
    "in segments", "late", "late in segments", "chunked", "gzip", "gzip in chunks", "deflate",
    "continue first", "closed behind it", "twice at once", "another's behind it",
    "bytes behind it", "twice, a moment later", "a timeout's 408 a moment later",
    "gzip by its label alone",
)  # fmt: skip

Reply = tuple[int, Mapping[str, str], bytes]


class History:
    """What the servers at all addresses share: the log, the faults, the batches."""

    def __init__(self, options: argparse.Namespace, log: IO[str]) -> None:
        self.errors: float = options.errors
        self.odd: float = options.odd
        self.seed: int = options.seed
        self._key: str = options.key
        self._kinds: list[str] = options.kind or [*ERRORS]
        self._log = log
        self.received = 0
        self.fates: Counter[str] = Counter()
        self._asked: Counter[object] = Counter()
        self.ids = count(1)
        self.last_answer: tuple[bytes, Judgment | None] = b"", None
        """What was last written as a whole, and what it is about where that counts as paid."""
        self.connections = count(1)
        script = partial(BatchScript, looks=1, twice=True, backwards=True, lost=1, unlisted=1)
        self.openai = ScriptedBatches(script(busy=1, unprocessed=1))
        self._providers: tuple[BatchWire, ...] = (
            AnthropicBatchWire(script(), usual=partial(self._row, self._anthropic)),
            GeminiBatchWire(script(), usual=partial(self._row, self._gemini)),
        )

    def note(self, judgment: Judgment | None, fate: str, how: str = "") -> None:
        """Write down what became of a request, and in which odd way."""
        self.fates[fate] += 1
        if judgment is not None:
            place = (judgment.response, judgment.persona, judgment.model, judgment.address)
            self._log.write(json.dumps([*place, fate, how]) + "\n")

    def drawn(self, *asked: object) -> tuple[str | None, str | None]:
        """The error and the oddity that a request meets, by its words and their repetition."""
        self._asked[asked] += 1
        bytes_ = drawn_bytes(self.seed, *asked, self._asked[asked])
        share, odd, which = struct.unpack("<III", bytes_[:12])
        if share / 2**32 < self.errors:
            return self._kinds[which % len(self._kinds)], None
        if odd / 2**32 < self.odd:
            return None, ODDITIES[which % len(ODDITIES)]
        return None, None

    # Live calls

    def reply(
        self, path: str, body: bytes, address: int, in_words: bool = False
    ) -> tuple[Reply | None, Judgment | None]:
        """The answer to a live call, and what it is about; None, the path is another's. `in_words`:
        where scores belong are words."""
        if path.endswith("/chat/completions"):
            made, model = self._openai, None
        elif path == "/v1/messages":
            made, model = self._anthropic, None
        elif found := re.search(r"/models/([^/:]+):generateContent$", path):
            made, model = self._gemini, found[1]
        else:
            return None, None
        payload = orjson.loads(body)
        model = model or payload["model"]
        judgment = judgment_in(body, model, address)
        if judgment is None:
            error = {"error": {"message": "not a request about one text and one persona"}}
            return (400, {}, orjson.dumps(error)), None
        text = answer_text(self._key, judgment)
        text = re.sub(r": \d+", ': "rather high"', text) if in_words else text
        return (200, {}, orjson.dumps(made(payload, judgment, text))), judgment

    def _openai(self, payload: Mapping[str, Any], judgment: Judgment, text: str) -> Any:
        said = chat_completions.judged(payload, text).body
        return said | {"id": f"chatcmpl-{next(self.ids):024}", "model": judgment.model}

    def _anthropic(self, payload: Mapping[str, Any], judgment: Judgment, text: str) -> Any:
        said = anthropic.WIRE.judged(payload, text).body
        return said | {"id": f"msg_{next(self.ids):024}", "model": judgment.model}

    def _gemini(self, payload: Mapping[str, Any], judgment: Judgment, text: str) -> Any:
        said = google_genai.WIRE.judged(payload, text).body
        return said | {"responseId": f"r{next(self.ids):022}", "modelVersion": judgment.model}

    # Batches: an answered row is paid for, whatever becomes of its download.

    def _row(self, made: Callable[[Any, Judgment, str], Any], body: Mapping[str, Any]) -> Any:
        model = body.get("model") or GeminiBatchWire.spec.partition(":")[2]
        judgment = judgment_in(orjson.dumps(body), model)
        assert judgment is not None, "a row that is not about one text and one persona"
        self.note(judgment, "paid", "in a batch")
        return made(body, judgment, answer_text(self._key, judgment))

    def _openai_row(self, body: Mapping[str, Any]) -> tuple[int, bytes]:
        is_spoilt = self.errors and len(self.openai.made) <= BATCHES_WITH_FAULTS
        if is_spoilt and drawn_bytes(self.seed, "row", repr(body))[0] % 7 == 0:
            return 500, b'{"error": {"message": "scripted", "type": "server_error"}}'
        return 200, orjson.dumps(self._row(self._openai, body))

    async def batch_reply(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, url: str
    ) -> Reply | None:
        """The answer to a call of a batch API; None, the connection breaks instead."""
        parts = urlsplit(target)
        titled = {name.title(): value for name, value in headers.items()}
        request = Request(method, parts.path, dict(parse_qsl(parts.query)), titled, body)
        if parts.path.startswith(("/v1/files", "/v1/batches")):
            reply = self.openai.handle(request, self._openai_row)
            return None if reply.ending == "reset" else (reply.status, reply.headers, reply.body)
        wire = self._providers[not parts.path.startswith("/v1/messages/batches")]
        wire.url = url
        spoilt = self.errors and len(wire.made) <= BATCHES_WITH_FAULTS
        rows = range(0, 100_000, 7) if spoilt else ()
        wire.faults = dict.fromkeys(rows, (500, "api_error"))
        if (method, parts.path) == ("GET", "/v1/messages/batches"):
            # Time goes by also for a batch of which nobody knows the id.
            for batch in wire.made:
                place = f"{parts.path}/{batch['id']}"
                wire.carried_out(Request(method, place, {}, titled, b""), b"")  # type: ignore[arg-type]
        response = wire.carried_out(request, body)  # type: ignore[arg-type]
        if response is None:
            return None
        sent = {name: value for name, value in response.headers.items() if name[:2] == "X-"}
        content = response.body if isinstance(response.body, bytes) else b""
        return response.status, sent, content


class Connection(asyncio.Protocol):
    """A connection: reads requests, one after the other, and writes what they meet."""

    def __init__(self, history: History, address: int) -> None:
        self._history, self._address = history, address
        self._buffer = bytearray()
        self._busy = self._lost = self._stray = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._paid = list[Judgment]()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # No subclass of it under uvloop.
        self._transport = cast(asyncio.Transport, transport)
        history = self._history
        if history.errors and next(history.connections) % UNREAD_CONNECTIONS == 0:
            history.note(None, "reset before it was read")
            self._reset()

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._next()

    def _next(self) -> None:
        """Begin with the next request, if it is there as a whole."""
        if self._busy or (end := self._buffer.find(b"\r\n\r\n")) < 0:
            return
        first, *lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (s.partition(":") for s in lines)
        }
        size = int(headers.get("content-length", 0))
        if headers.pop("expect", "") and len(self._buffer) == end + 4:
            self._send(b"HTTP/1.1 100 Continue\r\n\r\n")
        if len(self._buffer) < end + 4 + size:
            return
        body = bytes(self._buffer[end + 4 : end + 4 + size])
        del self._buffer[: end + 4 + size]
        method, target, _ = first.split(" ")
        self._busy = True
        task = asyncio.get_running_loop().create_task(self._answer(method, target, headers, body))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._busy = False
        if error := task.exception():
            # An assertion of the server's own: nothing that a client may cause.
            self._history.fates[OWN_ERROR] += 1
            print(f"history_server: {error!r}", file=sys.stderr, flush=True)
            self._reset()
        elif not self._lost:
            self._next()

    async def _answer(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> None:
        history = self._history
        if target.startswith("/control"):
            self._send(_message(200, {}, orjson.dumps(_controlled(history, target))))
            return
        history.received += 1
        path = target.partition("?")[0]
        reply, judgment = history.reply(path, body, self._address)
        error, odd = history.drawn(judgment or (method, target, body), self._address)
        if reply is None:
            host = f"http://{headers['host']}"
            # Carried out and its answer spoilt, or not carried out: as often.
            if error is None or drawn_bytes(body, history.received)[0] % 2:
                reply = await history.batch_reply(method, target, headers, body, host)
            else:
                reply = (500, {}, b"{}")
            if reply is None:
                self._reset()
                return
        if error is not None:
            history.note(judgment, f"error: {error}")
            if error == "no scores":
                reply = history.reply(path, body, self._address, in_words=True)[0] or reply
            await self._spoil(error, reply)
            return
        whole = await self._write(odd, reply) and not self._lost
        # A client may drop what has a response that nobody asked for before it or behind it, as it
        # cannot tell which is which, and what is not in the encoding that it names.
        is_sure = whole and not self._stray and odd != "gzip by its label alone"
        fate = "paid" if is_sure else "unsure"
        history.last_answer = _message(*reply), judgment if is_sure else None
        history.note(judgment, fate if reply[0] == 200 else f"refused: {reply[0]}", odd or "")
        if is_sure and reply[0] == 200 and judgment is not None:
            self._paid.append(judgment)
        if odd is not None:
            history.fates[f"odd: {odd}"] += 1

    async def _write(self, odd: str | None, reply: Reply) -> bool:
        """Write a whole answer, in this odd way; whether all of it is with the network."""
        status, headers, body = reply
        message = _message(status, headers, body)
        history = self._history
        match odd:
            case None:
                self._send(message)
            case "in segments" | "late in segments" | "late":
                if odd != "in segments":
                    await asyncio.sleep(LONGEST_DELAY_S * drawn_bytes(body)[0] / 255)
                await self._in_segments(message, odd)
            case "chunked":
                self._send(_chunked(status, headers, body))
            case "gzip" | "deflate":
                packed = gzip.compress(body, 1) if odd == "gzip" else zlib.compress(body)
                self._send(_message(status, {**headers, "Content-Encoding": odd}, packed))
            case "gzip by its label alone":
                self._send(_message(status, {**headers, "Content-Encoding": "gzip"}, body))
            case "gzip in chunks":
                packed = gzip.compress(body, 1)
                self._send(_chunked(status, {**headers, "Content-Encoding": "gzip"}, packed))
            case "continue first":
                self._send(b"HTTP/1.1 100 Continue\r\n\r\n" + message)
            case "closed behind it":
                self._send(_message(status, {**headers, "Connection": "close"}, body))
                self._transport.close()
                return True
            case "twice at once":
                self._doubt()
                self._send(message + message)
            case "another's behind it":
                self._doubt()
                other, about = history.last_answer
                if about is not None:
                    # The same answer a second time: a client may doubt both.
                    history.note(about, "sent twice")
                self._send(message + (other or message))
            case "bytes behind it":
                self._doubt()
                self._send(message + b"\r\n0\r\n\r\n")
            case "twice, a moment later":
                self._later(message, message)
            case "a timeout's 408 a moment later":
                self._later(message, _message(408, {"Connection": "close"}, b"{}"))
            case _:
                raise AssertionError(f"nothing says how to write {odd!r}")
        return not self._lost

    def _doubt(self) -> None:
        """Note that this connection carries a response that nobody asked for: a client may ask for
        all that it brought again, as each may have been the answer to the request before."""
        self._stray = True
        for judgment in self._paid:
            self._history.note(judgment, "doubted")
        self._paid.clear()

    def _later(self, message: bytes, stray: bytes) -> None:
        self._send(message)
        self._doubt()
        wait = STRAY_DELAY_S * drawn_bytes(message)[0] / 255
        asyncio.get_running_loop().call_later(wait, self._send, stray)

    def _send(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    async def _in_segments(self, message: bytes, odd: str) -> None:
        """Few bytes at a time, at most 40 times; the rest at once."""
        if "segments" not in odd:
            self._send(message)
            return
        sizes, place = drawn_bytes(message) * 3, 0
        for size in sizes[:40]:
            if self._lost or place >= len(message):
                break
            self._send(message[place : place + 1 + size % 9])
            place += 1 + size % 9
            await asyncio.sleep(0)
        self._send(message[place:])

    async def _spoil(self, error: str, reply: Reply) -> None:
        """Write what does not count as an answer."""
        _, headers, body = reply
        write, whole = self._send, _message(200, headers, body)
        after = {"Retry-After": RETRY_AFTER} if "Retry-After" in error else {}
        said = b'{"error": {"message": "scripted", "type": "server_error", "code": null}}'
        page = b"<html><body><h1>Bad gateway</h1></body></html>"
        match error:
            case "an error with 200":
                write(_message(200, {}, said))
            case "HTML with 200":
                write(_message(200, {"Content-Type": "text/html"}, page))
            case "502 as HTML":
                write(_message(502, {"Content-Type": "text/html"}, page))
            case "no scores":
                write(whole)
            case "empty":
                write(_message(200, headers, b""))
            case "reset when read":
                self._reset()
            case "reset amid the head" | "reset amid the body":
                write(whole[: 20 if "head" in error else -9])
                await asyncio.sleep(0.001)
                self._reset()
            case "half a head" | "half a body":
                write(whole[: 20 if "head" in error else -9])
                self._transport.close()
            case "gzip without a label":
                write(_message(200, headers, gzip.compress(body, 1)))
            case "half of its gzip":
                packed = gzip.compress(body, 1)
                cut = {**headers, "Content-Encoding": "gzip"}
                write(_message(200, cut, packed[: len(packed) // 2]))
            case "chunks without an end":
                write(_chunked(200, headers, body)[:-5])
                self._transport.close()
            case _:
                write(_message(int(error[:3]), after, said))

    def _reset(self) -> None:
        connection = self._transport.get_extra_info("socket")
        linger = struct.pack("ii", 1, 0)
        if not self._lost:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._transport.abort()


def _controlled(history: History, target: str) -> Any:
    for name, value in parse_qsl(urlsplit(target).query):
        setattr(history, name, {"errors": float, "odd": float}[name](value))
    return {"received": history.received, "fates": history.fates}


def _message(status: int, headers: Mapping[str, str], body: bytes) -> bytes:
    return _head(status, {**headers, "Content-Length": str(len(body))}) + body


def _chunked(status: int, headers: Mapping[str, str], body: bytes) -> bytes:
    middle = len(body) // 2
    chunks = (
        b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:middle], body[middle:]) if part
    )
    head = _head(status, {**headers, "Transfer-Encoding": "chunked"})
    return head + b"".join(chunks) + b"0\r\n\r\n"


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    sent = {"Content-Type": "application/json", **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    return f"HTTP/1.1 {status} Scripted\r\n{lines}\r\n".encode()


async def _main(options: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    # By the line: what reads it may do so at any moment.
    with open(options.log, "a", buffering=1) as log:  # noqa: ASYNC230, PTH123
        history = History(options, log)
        ports = []
        for address in range(2):
            server = await loop.create_server(
                partial(Connection, history, address), "127.0.0.1", 0, backlog=4096
            )
            ports.append(server.sockets[0].getsockname()[1])
        print(json.dumps(ports), flush=True)
        await asyncio.Event().wait()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--errors", type=float, default=0.3)
    parser.add_argument("--odd", type=float, default=0.5)
    parser.add_argument("--kind", action="append", choices=ERRORS, help="of errors, these alone")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=new_loop) as _runner:
        _runner.run(_main(_options()))
