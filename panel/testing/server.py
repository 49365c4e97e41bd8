"""A scripted HTTP server that speaks OpenAI's chat completions, files and batches, and an API of
your own at another path: `serving(script)`.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from persona_panel.testing.scripted_model import (
    MODEL,
    Call,
    Reply,
    Request,
    Script,
    always,
    listening,
    ok,
)

AnswerRow = Callable[[Mapping[str, Any]], tuple[int, bytes]]
"""From a row's body to the status and the body of its answer."""


@dataclass(slots=True)
class BatchScript:
    """The fate of batches at a scripted server.

    Attributes:
        looks: how often a batch is still in progress when it is looked at.
        answered: how many rows of a batch are answered before it expires; None, all.
        refused: why each batch is refused as a whole; None, it is not.
        twice: whether each answer comes twice.
        backwards: whether the last row is answered first.
        lost: how many batches, from the first on, are made without a reply to who made them.
        unprocessed: how often an uploaded file is not processed yet when it is looked at; a batch
            that is made of it is refused.
        busy: how many batches, from the first on, are declined for now, with 429.
        unlisted: how often a list of batches lacks the newest.
        on_call: called with the method and the path of each call, once it is carried out and
            before it is answered.
    """

    looks: int = 0
    answered: int | None = None
    refused: str | None = None
    twice: bool = False
    backwards: bool = False
    lost: int = 0
    unprocessed: int = 0
    busy: int = 0
    unlisted: int = 0
    on_call: Callable[[str, str], None] = lambda method, path: None


@dataclass(slots=True)
class ScriptedBatches:
    """The files and batches of a server; `made` has each batch's object, the oldest first, `asked`
    the custom ids of all rows that were answered, and `uploads` the files of requests by id."""

    script: BatchScript = field(default_factory=BatchScript)
    made: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, dict[str, Any]] = field(default_factory=dict)
    _looks: dict[str, int] = field(default_factory=dict)

    def handle(self, request: Request, answer: AnswerRow) -> Reply:
        """Answer a call below /v1/files or /v1/batches."""
        done = self._carried_out(request, answer)
        self.script.on_call(request.method, request.path)
        return done

    def _carried_out(self, request: Request, answer: AnswerRow) -> Reply:
        place = [part for part in request.path.removeprefix("/v1/").split("/") if part]
        match (request.method, *place):
            case "POST", "files":
                return self._upload(request.body)
            case "GET", "files":
                return Reply.json({"object": "list", "data": [*self.uploads.values()]})
            case "GET", "files", str(name) if about := self.uploads.get(name):
                self.script.unprocessed = max(0, self.script.unprocessed - 1)
                return Reply.json(about | {"status": self._file_status()})
            case "DELETE", "files", str(name) if self.uploads.pop(name, None):
                return Reply.json({"id": name, "object": "file", "deleted": True})
            case "GET", "files", str(name), "content" if name in self.files:
                return Reply(self.files[name])
            case "POST", "batches":
                return self._make(orjson.loads(request.body))
            case "GET", "batches":
                return self._listed(request.query)
            case "GET", "batches", str(name) if batch := self._batch(name):
                self._look(batch, answer)
                return Reply.json(batch)
            case "POST", "batches", str(name), "cancel" if batch := self._batch(name):
                if batch["status"] == "in_progress":
                    self._end(batch, answer, "cancelled", 0)
                return Reply.json(batch)
        return Reply.error(f"no such path; there are {', '.join(_BATCHES)}", 404)

    def _upload(self, form: bytes) -> Reply:
        match = re.search(rb'name="file"; filename="([^"]*)".*?\r\n\r\n(.*)\r\n--', form, re.S)
        if match is None or b'name="purpose"\r\n\r\nbatch\r\n' not in form:
            return Reply.error("no file for a batch", 400)
        name = f"file-{len(self.files) + 1}"
        self.files[name] = match[2]
        about = {"id": name, "object": "file", "bytes": len(match[2]), "created_at": _now()}
        about |= {"filename": match[1].decode(), "purpose": "batch", "status": self._file_status()}
        self.uploads[name] = about
        return Reply.json(about)

    def _file_status(self) -> str:
        return "pending" if self.script.unprocessed else "processed"

    def _make(self, order: Mapping[str, Any]) -> Reply:
        if self.script.busy:
            self.script.busy -= 1
            return Reply.error("too many batches", 429)
        if order.get("input_file_id") not in self.files or self.script.unprocessed:
            return Reply.error("no such file", 400)
        total = len(self.files[order["input_file_id"]].splitlines())
        batch = {
            "id": f"batch_{len(self.made) + 1}",
            "object": "batch",
            "endpoint": order["endpoint"],
            "input_file_id": order["input_file_id"],
            "completion_window": order["completion_window"],
            "created_at": _now(),
            "status": "in_progress",
            "request_counts": {"total": total, "completed": 0, "failed": 0},
            "metadata": order.get("metadata"),
        }
        self.made.append(batch)
        if len(self.made) <= self.script.lost:
            return Reply(ending="reset")
        return Reply.json(batch)

    def _listed(self, query: Mapping[str, str]) -> Reply:
        newest_first = self.made[::-1]
        if self.script.unlisted:
            self.script.unlisted -= 1
            newest_first = newest_first[1:]
        names = [batch["id"] for batch in newest_first]
        first = names.index(query["after"]) + 1 if query.get("after") in names else 0
        end = first + int(query.get("limit", 20))
        more = end < len(newest_first)
        return Reply.json({"object": "list", "data": newest_first[first:end], "has_more": more})

    def _batch(self, name: str) -> dict[str, Any] | None:
        return next((batch for batch in self.made if batch["id"] == name), None)

    def _look(self, batch: dict[str, Any], answer: AnswerRow) -> None:
        looks = self._looks[batch["id"]] = self._looks.get(batch["id"], 0) + 1
        if batch["status"] != "in_progress" or looks <= self.script.looks:
            return
        if self.script.refused is not None:
            error = {"code": "invalid", "message": self.script.refused, "line": None}
            batch |= {"status": "failed", "errors": {"object": "list", "data": [error]}}
        elif self.script.answered is None:
            self._end(batch, answer, "completed", None)
        else:
            self._end(batch, answer, "expired", self.script.answered)

    def _end(
        self, batch: dict[str, Any], answer: AnswerRow, status: str, answered: int | None
    ) -> None:
        """End a batch: answer its first rows, and return the others with an error."""
        rows = [orjson.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        good: list[dict[str, Any]] = []
        bad: list[dict[str, Any]] = []
        for number, row in enumerate(rows):
            answered_row = {"id": f"{batch['id']}_{number}", "custom_id": row["custom_id"]}
            if answered is not None and number >= answered:
                error = {"code": f"batch_{status}", "message": f"The batch is {status}."}
                bad.append(answered_row | {"response": None, "error": error})
                continue
            self.asked.append(row["custom_id"])
            code, body = answer(row["body"])
            response = {
                "status_code": code,
                "request_id": answered_row["id"],
                "body": _content(body),
            }
            (good if code < 300 else bad).append(
                answered_row | {"response": response, "error": None}
            )
        counts = {"total": len(rows), "completed": len(good), "failed": len(bad)}
        batch |= {"status": status, "request_counts": counts, f"{status}_at": _now()}
        if self.script.twice:
            good += good
        if self.script.backwards:
            good.reverse()
        for kind, lines in (("output", good), ("error", bad)):
            if lines:
                name = f"file-{len(self.files) + 1}"
                self.files[name] = b"".join(orjson.dumps(line) + b"\n" for line in lines)
                batch[f"{kind}_file_id"] = name


def _content(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode(errors="replace")


def _now() -> int:
    return int(time.time())


_CHAT = ("/v1/chat/completions", "/v1/messages")
_BATCHES = ("/v1/files", "/v1/batches")
_OTHERS = ("/v1/models", "/calls")
_OWN_HOSTS = ("127.0.0.1", "localhost")
"""The names under which the server is reached; its port is never the usual one, and named, too."""


class ScriptedServer:
    """The server at work. `base_url` ends in /v1; `in_flight_max` counts calls at once; `batches`
    has the batches that were made, and says what becomes of them."""

    def __init__(
        self,
        script: Script,
        latency_s: float = 0.0,
        *,
        keep_calls: bool = True,
        path: str | None = None,
    ) -> None:
        self._paths = _CHAT if path is None else (*_CHAT, f"/v1/{path.lstrip('/')}")
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

    @asynccontextmanager
    async def listening(self, port: int = 0) -> AsyncIterator[None]:
        """Listen on 127.0.0.1 for as long as the block lasts. Port 0 is any free one."""
        async with listening(self._handle, port) as self.port:
            self.base_url = f"http://127.0.0.1:{self.port}/v1"
            yield

    async def _handle(self, request: Request) -> Reply:
        if request.headers.get("Host", "").rpartition(":")[0].lower() not in _OWN_HOSTS:
            # A page in a browser, whose own name was made to lead here (DNS rebinding).
            return Reply.error("this server answers to 127.0.0.1 and localhost", 421)
        if request.path == "/v1/models":
            return Reply.json({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        if request.path == "/calls":
            counts = {"received": self._count, "in_flight": self._in_flight}
            return Reply.json(counts | {"kinds": dict(self.kinds)})
        if request.path.startswith(_BATCHES):
            return self.batches.handle(request, self._answer_row)
        if request.path not in self._paths:
            there = ", ".join((*self._paths, *_BATCHES, *_OTHERS))
            return Reply.error(f"no such path {request.path}; there are {there}", 404)
        self._in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self._in_flight)
        try:
            return await self._answer(request)
        finally:
            self._in_flight -= 1

    def _answer_row(self, payload: Mapping[str, Any]) -> tuple[int, bytes]:
        """Return the script's answer to a row of a batch."""
        answer = self._script(self._count, payload)
        self._count += 1
        return answer.status, answer.body(Call({}, payload, time.monotonic()))

    async def _answer(self, request: Request) -> Reply:
        payload = orjson.loads(request.body)
        call = Call(request.headers, payload, time.monotonic())
        if self._keep_calls:
            self.calls.append(call)
        number, self._count = self._count, self._count + 1
        answer = self._script(number, payload)
        self.kinds[answer.kind] += 1
        if wait_s := self._latency_s + answer.wait_s:
            await asyncio.sleep(wait_s)
        headers = {"Content-Type": "application/json", **answer.headers}
        return Reply(answer.body(call), answer.status, headers, answer.ending)


@contextmanager
def serving(
    script: Script | None = None, *, latency_s: float = 0.0, port: int = 0, path: str | None = None
) -> Iterator[ScriptedServer]:
    """Run the server in a thread with its own loop, for as long as the block lasts.

    Args:
        script: what becomes of each call; by default an answer in OpenAI's form.
        latency_s: seconds before each answer.
        port: on which it listens; 0 is any that is free.
        path: a further path below `base_url`, such as `generate`, at which the script answers: that
            of an API which is not OpenAI's. Its answers are `raw` ones, as `ok` speaks OpenAI's.

    Raises:
        ValueError: a path without a script.
    """
    if path is not None and script is None:
        raise ValueError("a path of your own needs a script, such as always(raw({...}))")
    server = ScriptedServer(script or always(ok()), latency_s, path=path)
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    async def work() -> None:
        async with server.listening(port):
            ready.set()
            await done.wait()

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
