"""Local servers that speak Anthropic's message batches and Gemini's batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import orjson
from aiohttp import web

from persona_panel.testing.server import BatchScript
from tests.contracts.wire import Wire
from tests.contracts.wires import anthropic, google_genai
from tests.helpers.threaded_server import listening


@dataclass
class BatchWire:
    """A provider's batches: `made`, the oldest first, with their rows; `asked` has the names of
    rows that were answered, `live` the bodies of calls; `faults`, what becomes of rows by their
    number in place of an answer."""

    spec: ClassVar[str]
    wire: ClassVar[Wire]

    script: BatchScript = field(default_factory=BatchScript)
    made: list[dict[str, Any]] = field(default_factory=list)
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    answers: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    live: list[Any] = field(default_factory=list)
    faults: dict[int, tuple[int, str]] = field(default_factory=dict)
    looks: dict[str, int] = field(default_factory=dict)
    url: str = ""
    heard: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    """The path and the headers of each call."""
    usual: Callable[[Any], Any] | None = None
    """From a row's request to the body of its answer; the wire's own where it is None."""

    def said(self, request: Any) -> Any:
        return (self.usual or (lambda asked: self.wire.usual(asked).body))(request)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.heard.append((request.path, request.headers))
        said = self.carried_out(request, await request.content.read())
        self.script.on_call(request.method, request.path)
        if said is None and request.transport is not None:
            request.transport.abort()
        return said or web.Response()

    def carried_out(self, request: web.BaseRequest, body: bytes) -> web.Response | None:
        raise NotImplementedError

    def is_lost(self) -> bool:
        return len(self.made) <= self.script.lost

    def listed(self) -> list[dict[str, Any]]:
        newest_first = self.made[::-1]
        if self.script.unlisted:
            self.script.unlisted -= 1
            newest_first = newest_first[1:]
        return newest_first

    def is_over(self, name: str) -> bool:
        self.looks[name] = self.looks.get(name, 0) + 1
        return self.looks[name] > self.script.looks

    def answers_in_files(self, folder: Path) -> Iterator[tuple[str, bytes]]:
        """The names of a folder's files with requests to this provider, each with the answers."""
        for path in folder.glob(f"requests-{self.spec.partition(':')[0]}*.jsonl"):
            rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
            model = self.spec.partition(":")[2]
            answers = self.in_order(self.answers_to(rows))
            yield path.name, answers.replace(b'"contract"', orjson.dumps(model))

    def answers_to(self, rows: list[dict[str, Any]]) -> list[Any]:
        raise NotImplementedError

    def in_order(self, lines: list[Any]) -> bytes:
        lines = lines * 2 if self.script.twice else lines
        lines = lines[::-1] if self.script.backwards else lines
        return b"".join(orjson.dumps(line) + b"\n" for line in lines)


def _error(status: int, message: str) -> web.Response:
    body = {"type": "error", "error": {"type": "not_found_error", "message": message}}
    return web.json_response(body, status=status)


class AnthropicBatchWire(BatchWire):
    spec = "anthropic:claude-sonnet-4-6"
    wire = anthropic.WIRE

    def carried_out(self, request: web.BaseRequest, body: bytes) -> web.Response | None:
        if request.path == "/v1/messages":
            self.live.append(orjson.loads(body))
            return web.json_response(anthropic.WIRE.usual(self.live[-1]).body)
        place = request.path.removeprefix("/v1/messages/batches").strip("/").split("/")
        match (request.method, *place):
            case "POST", "":
                return self._make(orjson.loads(body))
            case "GET", "":
                return web.json_response(self._page(request.query))
            case _, str(name), *rest if name in self.rows:
                batch = next(one for one in self.made if one["id"] == name)
                if rest == ["results"]:
                    if name not in self.answers:
                        return _error(404, "the batch has not ended")
                    return web.Response(body=self.answers[name])
                if batch["processing_status"] != "ended":
                    if rest == ["cancel"]:
                        batch["cancel_initiated_at"] = _now()
                        self._end(batch, 0, "canceled")
                    elif self.is_over(name):
                        self._end(batch, self.script.answered, "expired")
                return web.json_response(batch)
        return _error(404, "no such path")

    def _page(self, query: Mapping[str, str]) -> dict[str, Any]:
        listed = self.listed()
        names = [one["id"] for one in listed]
        first = names.index(query["after_id"]) + 1 if "after_id" in query else 0
        end = first + int(query.get("limit", 20))
        last = names[first:end][-1:] or [None]
        return {"data": listed[first:end], "has_more": end < len(listed), "last_id": last[0]}

    def _make(self, order: Mapping[str, Any]) -> web.Response | None:
        rows = order["requests"]
        names = [row["custom_id"] for row in rows]
        assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for name in names)
        assert len(set(names)) == len(names)
        if self.script.refused:
            return _error(400, self.script.refused)
        name = f"msgbatch_{len(self.made) + 1}"
        self.rows[name] = rows
        counts = dict.fromkeys(("succeeded", "errored", "canceled", "expired"), 0)
        batch = {
            "id": name,
            "type": "message_batch",
            "processing_status": "in_progress",
            "request_counts": counts | {"processing": len(rows)},
            "created_at": _now(),
            "expires_at": _now(),
            "ended_at": None,
            "cancel_initiated_at": None,
            "archived_at": None,
            "results_url": None,
        }
        self.made.append(batch)
        return None if self.is_lost() else web.json_response(batch)

    def _end(self, batch: dict[str, Any], answered: int | None, why: str) -> None:
        lines = self.answers_to(self.rows[batch["id"]], answered, why)
        counts = dict.fromkeys(("succeeded", "errored", "canceled", "expired", "processing"), 0)
        for line in lines:
            counts[line["result"]["type"]] += 1
        batch |= {"processing_status": "ended", "request_counts": counts, "ended_at": _now()}
        # Another host's, to which no key may go.
        batch["results_url"] = "http://127.0.0.1:9/results"
        self.answers[batch["id"]] = self.in_order(lines)

    def answers_to(
        self, rows: list[dict[str, Any]], answered: int | None = None, why: str = ""
    ) -> list[Any]:
        lines = []
        for number, row in enumerate(rows):
            if answered is not None and number >= answered:
                result: dict[str, Any] = {"type": why}
            elif number in self.faults:
                _, kind = self.faults[number]
                error = {"type": "error", "error": {"type": kind, "message": f"told {kind}"}}
                result = {"type": "errored", "error": error}
            else:
                self.asked.append(row["custom_id"])
                result = {"type": "succeeded", "message": self.said(row["params"])}
            lines.append({"custom_id": row["custom_id"], "result": result})
        return lines


class GeminiBatchWire(BatchWire):
    spec = "google_genai:gemini-2.5-flash"
    wire = google_genai.WIRE

    def carried_out(self, request: web.BaseRequest, body: bytes) -> web.Response | None:
        # The API's version is the package's: `v1beta` before its major version 3, then `v1`.
        path = re.sub("/v1(?:alpha|beta)/", "/v1/", request.path)
        if path.endswith(":generateContent"):
            self.live.append(orjson.loads(body))
            return web.json_response(google_genai.WIRE.usual(self.live[-1]).body)
        if path == "/upload/v1/files":
            if request.headers["X-Goog-Upload-Command"] == "start":
                number = f"{len(self.uploads) + 1}"
                self.uploads[number] = b""
                place = {"X-Goog-Upload-URL": f"{self.url}/upload/v1/files?upload={number}"}
                return web.json_response({}, headers=place)
            # A long file comes in pieces.
            number = request.query["upload"]
            self.uploads[number] += body
            if "finalize" not in request.headers["X-Goog-Upload-Command"]:
                return web.json_response({}, headers={"X-Goog-Upload-Status": "active"})
            name = f"files/in{len(self.answers) + 1}"
            self.answers[name] = self.uploads[number]
            headers = {"X-Goog-Upload-Status": "final"}
            return web.json_response({"file": {"name": name}}, headers=headers)
        if path.endswith(":batchGenerateContent"):
            return self._make(path, orjson.loads(body)["batch"])
        if found := re.fullmatch("/(?:download/)?v1/(files/.*):download", path):
            return web.Response(body=self.answers[found[1]])
        if path == "/v1/batches":
            return web.json_response({"operations": self.listed()})
        name, _, verb = path.removeprefix("/v1/").partition(":")
        batch = next((one for one in self.made if one["name"] == name), None)
        if batch is None:
            error = {"code": 404, "status": "NOT_FOUND", "message": "no such batch"}
            return web.json_response({"error": error}, status=404)
        if batch["metadata"]["state"] == "BATCH_STATE_RUNNING":
            if verb == "cancel":
                batch["metadata"]["state"] = "BATCH_STATE_CANCELLED"
            elif self.is_over(name):
                self._end(batch)
        return web.json_response({} if verb else batch)

    def _make(self, path: str, order: Mapping[str, Any]) -> web.Response | None:
        assert path.endswith("/models/gemini-2.5-flash:batchGenerateContent")
        name = f"batches/{len(self.made) + 1}"
        lines = self.answers[order["inputConfig"]["fileName"]].splitlines()
        self.rows[name] = [orjson.loads(line) for line in lines]
        about = {"displayName": order["displayName"], "state": "BATCH_STATE_RUNNING"}
        batch = {"name": name, "metadata": about | {"createTime": _now()}}
        self.made.append(batch)
        return None if self.is_lost() else web.json_response(batch)

    def _end(self, batch: dict[str, Any]) -> None:
        about = batch["metadata"]
        if self.script.refused or self.script.answered is not None:
            about["state"] = f"BATCH_STATE_{'FAILED' if self.script.refused else 'EXPIRED'}"
            return
        lines = self.answers_to(self.rows[batch["name"]])
        file = f"files/out{len(self.answers) + 1}"
        self.answers[file] = self.in_order(lines)
        about |= {"state": "BATCH_STATE_SUCCEEDED", "output": {"responsesFile": file}}

    def answers_to(self, rows: list[dict[str, Any]]) -> list[Any]:
        lines = []
        for number, row in enumerate(rows):
            if number in self.faults:
                code, kind = self.faults[number]
                lines.append({"key": row["key"], "error": {"code": code, "message": kind}})
                continue
            self.asked.append(row["key"])
            lines.append({"key": row["key"], "response": self.said(row["request"])})
        return lines


def _now() -> str:
    return datetime.now(UTC).isoformat()


@contextmanager
def served(wire: BatchWire) -> Iterator[BatchWire]:
    """A server that speaks it."""
    with listening(wire.handle) as wire.url:
        yield wire
