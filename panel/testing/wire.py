"""The part of HTTP/1.1 that a scripted server needs, over asyncio's streams: requests with their
length, one after the other on a connection, and answers that may break off."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson

from persona_panel.models.http_responses import Headers

logger = logging.getLogger(__name__)

Ending = Literal["whole", "half", "reset"]


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came; its headers are read in any case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `ending` is how the connection fares: the whole body, half of it and a close, or a
    reset in place of any answer."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Ending = "whole"

    @classmethod
    def json(cls, content: Any, status: int = 200) -> Reply:
        """Return an answer with a content of JSON's types."""
        return cls(orjson.dumps(content), status, {"Content-Type": "application/json"})

    @classmethod
    def error(cls, message: str, status: int) -> Reply:
        """Return an error in OpenAI's shape."""
        return cls.json({"error": {"message": message}}, status)


Handle = Callable[[Request], Awaitable[Reply]]


@asynccontextmanager
async def listening(handle: Handle, port: int = 0) -> AsyncIterator[int]:
    """Answer at 127.0.0.1 for as long as the block lasts; yields the port, of which 0 is any."""
    connections = set[asyncio.Task[None]]()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(_converse(handle, reader, writer))
        connections.add(task)
        task.add_done_callback(connections.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", port, backlog=4096)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


async def _converse(
    handle: Handle, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer the requests on a connection until either end closes it."""
    try:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            is_open = True
            while is_open:
                head = await reader.readuntil(b"\r\n\r\n")
                headers = Headers(head)
                if "Expect" in headers:
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = await reader.readexactly(int(headers.get("Content-Length", 0)))
                method, target, _ = head[: head.index(b"\r\n")].decode("latin-1").split(" ")
                url = urlsplit(target)
                path, query = unquote(url.path), dict(parse_qsl(url.query))
                reply = await _reply(handle, Request(method, path, query, headers, body))
                is_open = await _sent(reply, writer)
    finally:
        writer.close()


async def _reply(handle: Handle, request: Request) -> Reply:
    if "Transfer-Encoding" in request.headers:
        return Reply.error("a request has to say its Content-Length", 411)
    try:
        return await handle(request)
    except Exception:
        # Of a user's script: the client is not left without an answer.
        logger.exception("the script of the server failed at %s", request.path)
        return Reply.error("the script of the server failed", 500)


async def _sent(reply: Reply, writer: asyncio.StreamWriter) -> bool:
    """Send an answer as far as it goes; return whether the connection stays open."""
    if reply.ending == "reset":
        # Closed with a linger of zero seconds, a socket sends a reset.
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
        return False
    lines = [f"HTTP/1.1 {reply.status} {_phrase(reply.status)}"]
    lines += [f"{name}: {value}" for name, value in reply.headers.items()]
    lines += [f"Content-Length: {len(reply.body)}", "", ""]
    is_whole = reply.ending == "whole"
    body = reply.body if is_whole else reply.body[: len(reply.body) // 2]
    writer.write("\r\n".join(lines).encode("latin-1") + body)
    await writer.drain()
    return is_whole and reply.status != 411


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
