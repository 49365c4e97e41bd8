"""Scripted answers (well, with a fault, or what the schema asked for allows), and a model that
gives them.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit
from uuid import uuid4

import orjson

from persona_panel.models.client import CallError, Capabilities
from persona_panel.models.completions import body_of
from persona_panel.models.http_responses import Headers
from persona_panel.rubrics import ModelRequest, ModelResponse

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


MODEL = "stub"
_ITEMS = 3
"""The number of items of a list where the schema asks for no number: of critical questions
three.
"""


@dataclass(frozen=True, slots=True)
class Call:
    """A request as it arrived. `at` is in seconds on the monotonic clock."""

    headers: Mapping[str, str]
    payload: Mapping[str, Any]
    at: float


@dataclass(frozen=True, slots=True)
class Answer:
    """The server's reaction to a call.

    `body` is made when the call is there, because some answers depend on it. `ending`
    is how the connection fares: the whole body, half of it, or a reset before any.
    `kind` is the name under which GET /calls counts it.
    """

    body: Callable[[Call], bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    ending: Ending = "whole"
    kind: str = "well"


Script = Callable[[int, Mapping[str, Any]], Answer]
"""From the call's number, counted from 0, and its payload to what becomes of it."""


# Answers


def ok(
    text: str | None = None,
    *,
    finish_reason: str = "stop",
    logprobs: Sequence[Mapping[str, float]] | None = None,
    usage: Mapping[str, Any] | None = None,
    refusal: str | None = None,
    reasoning: int = 0,
) -> Answer:
    """Return a completion; what is not given is made up from the call, the same each time.

    `logprobs` maps, for each token of the answer, tokens to log-probabilities. `reasoning` is how
    many tokens go into thinking before it, which the usage reports besides those of the text.
    """

    def body(call: Call) -> bytes:
        content = default_text(call.payload) if text is None else text
        message = {"role": "assistant", "content": content, "refusal": refusal}
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": finish_reason}
        choice["logprobs"] = _logprobs(call.payload, content, logprobs)
        used = _usage(call.payload, content, reasoning) if usage is None else usage
        return _completion(call.payload, choice, used)

    return Answer(body)


def thinking(tokens: int, text: str | None = None) -> Answer:
    """Return the answer of a model that thinks for so many tokens first: `ok`, or where thinking
    uses up the call's limit nothing at all, with the finish reason `length`."""

    def body(call: Call) -> bytes:
        names = ("max_tokens", "max_completion_tokens")
        limit = next((call.payload[name] for name in names if name in call.payload), None)
        if limit is None or tokens < limit:
            return ok(text, reasoning=tokens).body(call)
        # All of the limit, and no token of an answer.
        usage = _usage(call.payload, "", limit - 1)
        usage["completion_tokens_details"] = {"reasoning_tokens": limit}
        return ok("", finish_reason="length", usage=usage).body(call)

    return Answer(body)


def status(
    code: int,
    *,
    body: Mapping[str, Any] | str | bytes | None = None,
    retry_after: float | str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Return an HTTP status, by default with an error in OpenAI's shape."""
    if body is None:
        body = {"error": {"message": f"scripted {code}", "type": "scripted", "code": None}}
    if isinstance(body, str):
        body = body.encode()
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    sent = dict(headers or {})
    if retry_after is not None:
        sent["Retry-After"] = str(retry_after)
    return Answer(lambda call: data, status=code, headers=sent)


def raw(body: Mapping[str, Any] | str | bytes) -> Answer:
    """Return a 200 with this body, whatever it is; a mapping is sent as JSON."""
    return status(200, body=body)


def stall(seconds: float) -> Answer:
    """Return an ordinary answer after this long a silence."""
    return replace(ok(), wait_s=seconds)


def reset() -> Answer:
    """Return the connection is reset instead of an answer."""
    return replace(ok(), ending="reset")


def truncated() -> Answer:
    """Return half of the body that Content-Length promised; then the connection closes."""
    return replace(ok(), ending="half")


# Scripts


def always(answer: Answer) -> Script:
    """Return the same for every call."""
    return lambda number, payload: answer


def in_turn(*answers: Answer) -> Script:
    """Return a script of these answers one after the other; the last is repeated."""
    return lambda number, payload: answers[min(number, len(answers) - 1)]


# What an answer says when the script does not


def default_text(payload: Mapping[str, Any], scores: Sequence[int] = ()) -> str:
    """Return JSON that fits the schema asked for, or a number.

    Integers are drawn from `scores`, or from what the schema allows, by a hash of the messages, and
    texts differ by it, as variants of a prompt have to. No response is an abstention; to any other
    question that is asked with yes or no the answer is yes.
    """
    wanted = payload.get("response_format") or {}
    schema = wanted.get("json_schema", {}).get("schema")
    seed = stable_hash(payload["messages"])
    if schema is None:
        return str(scores[seed % len(scores)] if scores else 7)
    return orjson.dumps(_instance(schema, schema, seed, scores)).decode()


def _instance(
    schema: Mapping[str, Any], root: Any, seed: int, scores: Sequence[int], name: str = ""
) -> Any:
    if "$ref" in schema:
        target = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        return _instance(target, root, seed, scores, name)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        allowed = [value for value in schema["enum"] if value in scores] or schema["enum"]
        return allowed[seed % len(allowed)]
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return _instance(options[0], root, seed, scores, name)
    return _of_type(schema, root, seed, scores, name)


def _of_type(
    schema: Mapping[str, Any], root: Any, seed: int, scores: Sequence[int], name: str
) -> Any:
    kind = schema.get("type", "object")
    match kind if isinstance(kind, str) else kind[0]:
        case "object":
            return {
                name: _instance(part, root, stable_hash([seed, name]), scores, name)
                for name, part in schema.get("properties", {}).items()
            }
        case "array":
            count = schema.get("minItems", min(_ITEMS, schema.get("maxItems", _ITEMS)))
            return [
                _instance(schema["items"], root, stable_hash([seed, i]), scores)
                for i in range(count)
            ]
        case "integer" | "number":
            if scores:
                return scores[seed % len(scores)]
            low, high = schema.get("minimum", 0), schema.get("maximum", 10)
            return low + seed % (int(high - low) + 1)
        case "boolean":
            return name != "abstained"
        case "string":
            return f"as scripted, case {seed % 10**9}"
    return None


def _completion(payload: Mapping[str, Any], choice: Any, usage: Any) -> bytes:
    return orjson.dumps(
        {
            "id": f"chatcmpl-{stable_hash(payload):016x}",
            "object": "chat.completion",
            "created": 0,
            "model": payload.get("model", MODEL),
            "choices": [choice],
            "usage": usage,
        }
    )


def _usage(payload: Mapping[str, Any], text: str, reasoning: int = 0) -> dict[str, Any]:
    """Return token counts, at about four characters a token."""
    read = sum(len(message["content"] or "") for message in payload["messages"]) // 4 + 1
    written = len(text) // 4 + 1 + reasoning
    details = {"completion_tokens_details": {"reasoning_tokens": reasoning}} if reasoning else {}
    return details | {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": 0},
    }


def _logprobs(
    payload: Mapping[str, Any], text: str, scripted: Sequence[Mapping[str, float]] | None
) -> dict[str, Any] | None:
    if not payload.get("logprobs"):
        return None
    positions = scripted or [_distribution(token) for token in re.findall(r"\d+|\D+", text)]
    most = payload.get("top_logprobs", 0)
    return {"content": [_position(position, most) for position in positions]}


def _distribution(token: str) -> dict[str, float]:
    """Return a number shares with its neighbours; anything else is certain."""
    if not token.isdecimal():
        return {token: 0.0}
    number = int(token)
    return {token: -0.5108, str(number + 1): -1.6094, str(abs(number - 1)): -1.6094}


def _position(position: Mapping[str, float], most: int) -> dict[str, Any]:
    ranked = sorted(position.items(), key=lambda item: -item[1])
    token, logprob = ranked[0]
    top = [{"token": token, "logprob": logprob} for token, logprob in ranked[:most]]
    return {"token": token, "logprob": logprob, "top_logprobs": top}


def stable_hash(value: Any) -> int:
    """Return the same number from 0 to 2**63 − 1 for the same JSON, in every process."""
    return int.from_bytes(blake2b(orjson.dumps(value), digest_size=8).digest()) >> 1


Scripted = str | ModelResponse | CallError
"""The outcome of a call: an answer's text, a whole answer, or a fault."""


class ScriptedModel:
    """A `ModelClient` without a model behind it.

    Args:
        answers: one for every call; several, one after the other and the last from then on; or a
            function of the request. None: JSON that fits the schema asked for, drawn by a hash of
            the request.
        model: its name on the panel.
        capabilities: what it says it can do.

    Attributes:
        requests: those that it was asked, in order. Answers that the cache holds are not asked
            for: a panel asks the same request of the same script once.
    """

    def __init__(
        self,
        answers: Scripted | Sequence[Scripted] | Callable[[ModelRequest], Scripted] | None = None,
        *,
        model: str = "scripted",
        capabilities: Capabilities | None = None,
    ) -> None:
        self.model = model
        self.capabilities = capabilities or Capabilities()
        self.requests: list[ModelRequest] = []
        self._answers = answers
        # What a function answers is not known: no other's answers may be served in its place.
        self._script = uuid4().hex if callable(answers) else repr(answers)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Its name and its script."""
        return {"provider": "persona_panel.testing", "model": self.model, "script": self._script}

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the next answer of the script. Raises CallError: the script says so."""
        self.requests.append(request)
        answer = self._answer(request)
        if isinstance(answer, CallError):
            raise answer
        return ModelResponse(answer) if isinstance(answer, str) else answer

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""

    def _answer(self, request: ModelRequest) -> Scripted:
        answers = self._answers
        if answers is None:
            return default_text(body_of(request))
        if callable(answers):
            return answers(request)
        if isinstance(answers, str | ModelResponse | CallError):
            return answers
        return answers[min(len(self.requests), len(answers)) - 1]
