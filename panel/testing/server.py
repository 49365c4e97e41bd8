"""A scripted HTTP server that speaks OpenAI's chat completions and batches: `serving(script)`."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Literal

import orjson
from aiohttp import web

from panel.testing.batches import ScriptedBatches

MODEL = "stub"


@dataclass(frozen=True, slots=True)
class Call:
    """A request as it arrived. `at` is in seconds on the monotonic clock."""

    headers: Mapping[str, str]
    payload: Mapping[str, Any]
    at: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server does with one call.

    `body` is made when the call is there, because some answers depend on it. `ending`
    is how the connection fares: the whole body, half of it, or a reset before any.
    `kind` is the name under which GET /calls counts it.
    """

    body: Callable[[Call], bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    ending: Literal["whole", "half", "reset"] = "whole"
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
    """A completion; what is not given is made up from the call, the same each time.

    `logprobs` maps, for each token of the answer, tokens to log-probabilities. `reasoning` is how
    many tokens go into thinking before it, which the usage reports besides those of the text.
    """

    def body(call: Call) -> bytes:
        said = default_text(call.payload) if text is None else text
        message = {"role": "assistant", "content": said, "refusal": refusal}
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": finish_reason}
        choice["logprobs"] = _logprobs(call.payload, said, logprobs)
        used = _usage(call.payload, said, reasoning) if usage is None else usage
        return _completion(call.payload, choice, used)

    return Answer(body)


def thinking(tokens: int, text: str | None = None) -> Answer:
    """What a model says that thinks for so many tokens first: `ok`, or where the call's limit is
    used up by thinking nothing at all, with the finish reason `length`."""

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
    body: Mapping[str, Any] | str | None = None,
    retry_after: float | str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """An HTTP status, by default with an error in OpenAI's shape."""
    if body is None:
        body = {"error": {"message": f"scripted {code}", "type": "scripted", "code": None}}
    data = body.encode() if isinstance(body, str) else orjson.dumps(body)
    sent = dict(headers or {})
    if retry_after is not None:
        sent["Retry-After"] = str(retry_after)
    return Answer(lambda call: data, status=code, headers=sent)


def raw(body: Mapping[str, Any] | str) -> Answer:
    """A 200 with this body, whatever it is."""
    return status(200, body=body)


def stall(seconds: float) -> Answer:
    """Nothing for this long, then an ordinary answer."""
    return replace(ok(), wait_s=seconds)


def reset() -> Answer:
    """The connection is reset instead of an answer."""
    return replace(ok(), ending="reset")


def truncated() -> Answer:
    """Half of the body that Content-Length promised, then the connection closes."""
    return replace(ok(), ending="half")


# Scripts


def always(answer: Answer) -> Script:
    """The same for every call."""
    return lambda number, payload: answer


def in_turn(*answers: Answer) -> Script:
    """One after the other; the last one from then on."""
    return lambda number, payload: answers[min(number, len(answers) - 1)]


# What an answer says when the script does not


def default_text(payload: Mapping[str, Any], scores: Sequence[int] = ()) -> str:
    """JSON that fits the schema asked for, or a number.

    Integers are drawn from `scores`, or from what the schema allows, by a hash of the
    messages.
    """
    wanted = payload.get("response_format") or {}
    schema = wanted.get("json_schema", {}).get("schema")
    seed = stable_hash(payload["messages"])
    if schema is None:
        return str(scores[seed % len(scores)] if scores else 7)
    return orjson.dumps(_instance(schema, schema, seed, scores)).decode()


def _instance(schema: Mapping[str, Any], root: Any, seed: int, scores: Sequence[int]) -> Any:
    if "$ref" in schema:
        target = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        return _instance(target, root, seed, scores)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        allowed = [value for value in schema["enum"] if value in scores] or schema["enum"]
        return allowed[seed % len(allowed)]
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return _instance(options[0], root, seed, scores)
    return _of_type(schema, root, seed, scores)


def _of_type(schema: Mapping[str, Any], root: Any, seed: int, scores: Sequence[int]) -> Any:
    kind = schema.get("type", "object")
    match kind if isinstance(kind, str) else kind[0]:
        case "object":
            return {
                name: _instance(part, root, stable_hash([seed, name]), scores)
                for name, part in schema.get("properties", {}).items()
            }
        case "array":
            count = schema.get("minItems", 0)
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
            return False
        case "string":
            return "as scripted"
    return None


def _completion(payload: Mapping[str, Any], choice: Any, usage: Any) -> bytes:
    return orjson.dumps(
        {
            "id": "chatcmpl-stub",
            "object": "chat.completion",
            "created": 0,
            "model": payload.get("model", MODEL),
            "choices": [choice],
            "usage": usage,
        }
    )


def _usage(payload: Mapping[str, Any], text: str, reasoning: int = 0) -> dict[str, Any]:
    """Four characters to a token, near enough."""
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
    """A number shares with its neighbours; anything else is certain."""
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
    """The same number from 0 to 2**63 − 1 for the same JSON, in every process."""
    return int.from_bytes(blake2b(orjson.dumps(value), digest_size=8).digest()) >> 1


# The server


class ScriptedServer:
    """The server at work. `base_url` ends in /v1; `in_flight_max` counts calls at once; `batches`
    has the batches that were made, and says what becomes of them."""

    def __init__(self, script: Script, latency_s: float = 0.0, *, keep_calls: bool = True) -> None:
        self.base_url = ""
        self.port = 0
        self.calls: list[Call] = []
        self.in_flight_max = 0
        self._script = script
        self._latency_s = latency_s
        self._keep_calls = keep_calls
        self._in_flight = 0
        self._count = 0
        self.kinds: Counter[str] = Counter()
        self.batches = ScriptedBatches()

    async def start(self, port: int = 0) -> web.ServerRunner:
        """Listen on 127.0.0.1; the runner's `cleanup` ends it. Port 0 is any free one."""
        # The low-level server: a router and its middlewares would cost a benchmark CPU.
        server = web.Server(self._handle, access_log=None)
        runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port, backlog=4096).start()
        self.port = runner.addresses[0][1]
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        return runner

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/v1/models":
            return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        if request.path == "/calls":
            kinds = dict(self.kinds)
            return web.json_response(
                {"received": self._count, "in_flight": self._in_flight} | {"kinds": kinds}
            )
        if request.path.startswith(("/v1/files", "/v1/batches")):
            return await self.batches.handle(request, self._answer_row)
        if request.path not in ("/v1/chat/completions", "/v1/messages"):
            return web.json_response({"error": {"message": "no such path"}}, status=404)
        self._in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self._in_flight)
        try:
            return await self._answer(request)
        finally:
            self._in_flight -= 1

    def _answer_row(self, payload: Mapping[str, Any]) -> tuple[int, bytes]:
        """The script's answer to a row of a batch."""
        answer = self._script(self._count, payload)
        self._count += 1
        return answer.status, answer.body(Call({}, payload, time.monotonic()))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        payload = orjson.loads(await request.content.read())
        call = Call(request.headers, payload, time.monotonic())
        if self._keep_calls:
            self.calls.append(call)
        number, self._count = self._count, self._count + 1
        answer = self._script(number, payload)
        self.kinds[answer.kind] += 1
        if wait_s := self._latency_s + answer.wait_s:
            await asyncio.sleep(wait_s)
        body = answer.body(call)
        if answer.ending == "whole":
            headers = {"Content-Type": "application/json", **answer.headers}
            return web.Response(body=body, status=answer.status, headers=headers)
        return await _broken_off(request, body if answer.ending == "half" else b"")


async def _broken_off(request: web.BaseRequest, body: bytes) -> web.StreamResponse:
    """Half of a body and the end of the connection, or without one a reset."""
    response = web.StreamResponse()
    transport = request.transport
    if transport is None:
        return response
    if body:
        response.content_length = len(body)
        await response.prepare(request)
        await response.write(body[: len(body) // 2])
        transport.close()
    else:
        # Closed with a linger of zero seconds, a socket sends a reset.
        linger = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        transport.abort()
    return response


@contextmanager
def serving(
    script: Script | None = None, *, latency_s: float = 0.0, port: int = 0
) -> Iterator[ScriptedServer]:
    """The server, in a thread with a loop of its own, for as long as the block lasts."""
    server = ScriptedServer(script or always(ok()), latency_s)
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    async def work() -> None:
        runner = await server.start(port)
        ready.set()
        await done.wait()
        await runner.cleanup()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as loop_runner:
            loop_runner.run(work())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    if not ready.wait(10):
        raise RuntimeError("the test server did not start")
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(10)
