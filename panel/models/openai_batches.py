"""Batches of OpenAI's shape: a file of requests, a batch of it, and files of answers.

`POST {base_url}/files`, `POST {base_url}/batches`, `GET {base_url}/batches/ID`,
`GET {base_url}/files/ID/content`: OpenAI, and servers that took over its protocol. A request's row
is the body of a live call (https://platform.openai.com/docs/guides/batch); how an answer is read
and what errors mean is that of live calls, too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit
from uuid import uuid4

import orjson

from persona_panel.models.batches import (
    CLOCKS_S,
    TRANSFER_S,
    BatchAnswer,
    BatchPhase,
    BatchSought,
    BatchStatus,
    answers_in,
    listed_in,
    next_page,
    object_in,
    plain_id,
)
from persona_panel.models.client import NOTHING, CallError
from persona_panel.models.error_responses import (
    BROKEN,
    Complaint,
    completion_in,
    error_of,
    is_filtered,
    parsed,
    refused_by_filter,
    retry_after,
)
from persona_panel.models.http_responses import HttpResponse
from persona_panel.rubrics import ModelRequest, ModelResponse

PATH = "/v1/chat/completions"
_AZURES_HOST = ".azure.com"
_AZURES_PATH = "/chat/completions"
_MARK = "persona_panel"
"""The name of a batch's token in its metadata."""
_WINDOW = "24h"
_PHASES: dict[str, BatchPhase] = {
    "completed": "ended",
    "expired": "ended",
    "cancelled": "cancelled",
    "failed": "failed",
}
_PAGE = 100
_UNPROCESSED = ("pending", "running")
"""A file of which no batch can be made yet; Azure's words."""
_FILE_LOOK_S = 1.0
_PROCESSING_S = 600.0


class BatchServer(Protocol):
    """A model behind a server, as far as batches need it: `OpenAICompatible`."""

    @property
    def address(self) -> str: ...

    def body(self, request: ModelRequest) -> dict[str, Any]: ...

    def answer_in(self, completion: dict[str, Any], latency_s: float) -> ModelResponse: ...

    async def exchange_at(
        self, method: str, path: str, data: bytes | None, kind: str, timeout_s: float | None
    ) -> HttpResponse: ...

    async def download(self, path: str, to: Path, timeout_s: float) -> HttpResponse: ...

    def fault_of(self, answer: HttpResponse) -> CallError: ...

    def fault_in_row(
        self, complaint: Complaint, answer: HttpResponse, content: Any
    ) -> CallError: ...

    async def aclose(self) -> None: ...


class OpenAIBatches:
    """The batches of one model; see `persona_panel.models.batches.BatchApi`."""

    # The protocol's limits are 50,000 rows and 200 MB; half of that is held in memory at a time.
    most_rows = 50_000
    most_bytes = 100_000_000

    def __init__(self, model: BatchServer) -> None:
        self._model = model
        host = urlsplit(model.address).hostname or ""
        self._path = _AZURES_PATH if host.endswith(_AZURES_HOST) else PATH

    def line(self, custom_id: str, request: ModelRequest) -> bytes:
        body = self._model.body(request)
        row = {"custom_id": custom_id, "method": "POST", "url": self._path, "body": body}
        return orjson.dumps(row, default=dict)

    async def submit(self, token: str, lines: Sequence[bytes]) -> BatchStatus:
        boundary = uuid4().hex
        name = _file_name(token)
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        # Joined once: a copy of it takes as much memory again.
        parts = [head.encode(), *(part for line in lines for part in (line, b"\n"))]
        form = b"".join([*parts, f"\r\n--{boundary}--\r\n".encode()])
        kind = f"multipart/form-data; boundary={boundary}"
        file = await self._called("POST", "/files", form, kind, TRANSFER_S)
        order = {
            "input_file_id": await self._processed(file),
            "endpoint": self._path,
            "completion_window": _WINDOW,
            "metadata": {_MARK: token},
        }
        return _status(await self._called("POST", "/batches", orjson.dumps(order)))

    async def find(self, sought: BatchSought) -> BatchStatus | None:
        after, seen = "", set[str]()
        while True:
            listed, _ = await self._called("GET", f"/batches?limit={_PAGE}{after}")
            batches = listed_in(listed)
            for batch in batches:
                about = batch.get("metadata")
                if isinstance(about, dict) and about.get(_MARK) == sought.token:
                    return _status((batch, None))
            if not batches:
                return None
            # The newest come first; where a server has another order it says when there are more.
            made = batches[-1].get("created_at")
            is_older = isinstance(made, int | float) and made < sought.since - CLOCKS_S
            if is_older or not listed.get("has_more"):
                return None
            after = f"&after={next_page(batches[-1].get('id'), seen)}"

    async def remove_uploads(self, token: str) -> None:
        # The newest come first: those of a batch that was just given up.
        listed, _ = await self._called("GET", f"/files?purpose=batch&limit={_PAGE}")
        files = listed.get("data")
        for file in files if isinstance(files, list) else ():
            if isinstance(file, dict) and file.get("filename") == _file_name(token):
                await self._called("DELETE", f"/files/{plain_id(file.get('id'))}")

    async def status(self, id_: str) -> BatchStatus:
        return _status(await self._called("GET", f"/batches/{plain_id(id_)}"))

    async def cancel(self, id_: str) -> BatchStatus:
        return _status(await self._called("POST", f"/batches/{plain_id(id_)}/cancel", b"{}"))

    async def results(self, status: BatchStatus, folder: Path) -> AsyncIterator[BatchAnswer]:
        for name in status.files:
            file = folder / f".batch-{uuid4().hex}"
            try:
                path = f"/files/{plain_id(name)}/content"
                answer = await self._model.download(path, file, TRANSFER_S)
                if answer.status >= 300:
                    raise self._model.fault_of(answer)
                for row in answers_in(file, self.read):
                    yield row
            finally:
                file.unlink(missing_ok=True)

    def read(self, line: bytes) -> BatchAnswer | None:
        row = object_in(line)
        if row is None or not ("response" in row or "error" in row):
            return None
        match row:
            case {"response": {"body": {"model": str(model)}}} if model:
                return BatchAnswer(row.get("custom_id"), self._answer(row), model)
        return BatchAnswer(row.get("custom_id"), self._answer(row))

    async def aclose(self) -> None:
        await self._model.aclose()

    async def _processed(self, uploaded: tuple[dict[str, Any], float | None]) -> str:
        """The id of an uploaded file, once a batch can be made of it."""
        id_, (file, _) = _id_of(uploaded, "file"), uploaded
        until = time.monotonic() + _PROCESSING_S
        while file.get("status") in _UNPROCESSED and time.monotonic() < until:
            await asyncio.sleep(_FILE_LOOK_S)
            file, _ = await self._called("GET", f"/files/{plain_id(id_)}")
        return id_

    def _answer(self, row: dict[str, Any]) -> ModelResponse | CallError:
        """The reply that a row holds, or the fault that it tells of."""
        response = row.get("response")
        if not isinstance(response, dict):
            match row.get("error"):
                case {"message": str(said), **others}:
                    code = others.get("code")
                case said:
                    code = None
            # Never begun: of a batch that expired or was cancelled.
            told = f"the batch brought no answer: {said or code or 'no reason is given'}"
            return CallError(told, kind="transient", used=NOTHING)
        code, body = response.get("status_code"), response.get("body")
        status = code if isinstance(code, int) else 200
        answer = HttpResponse(status, {}, b"")
        completion = completion_in(body, status)
        if completion is None:
            complaint = error_of(body, answer)
            if not is_filtered(complaint):
                return self._model.fault_in_row(complaint, answer, body)
            completion = refused_by_filter(complaint, body)
        try:
            return self._model.answer_in(completion, 0.0)
        except CallError as error:
            return error

    async def _called(
        self,
        method: str,
        path: str,
        data: bytes | None = None,
        kind: str = "application/json",
        timeout_s: float | None = None,
    ) -> tuple[dict[str, Any], float | None]:
        """What the server says, and how long it asks to wait.

        Raises:
            CallError, TimeoutError: it does not say it.
        """
        answer = await self._model.exchange_at(method, path, data, kind, timeout_s)
        content = parsed(answer)
        if answer.status >= 300 or not isinstance(content, dict):
            raise self._model.fault_of(answer)
        return content, retry_after(answer.headers)


def _file_name(token: str) -> str:
    """Of the requests of a batch."""
    return f"persona-panel-{token}.jsonl"


def _id_of(called: tuple[dict[str, Any], float | None], what: str) -> str:
    """
    Raises:
        CallError: there is none.
    """
    id_ = called[0].get("id")
    if not isinstance(id_, str) or not id_:
        raise CallError(f"the server gives the {what} no id", kind="transient", status=BROKEN)
    return id_


def _status(called: tuple[dict[str, Any], float | None]) -> BatchStatus:
    batch, wait = called
    word = str(batch.get("status") or "unknown")
    counts = batch.get("request_counts")
    counts = counts if isinstance(counts, dict) else {}
    files = [batch.get("output_file_id"), batch.get("error_file_id")]
    return BatchStatus(
        id=_id_of(called, "batch"),
        phase=_PHASES.get(word, "working"),
        word=word,
        done=_count(counts.get("completed")),
        failed=_count(counts.get("failed")),
        total=_count(counts.get("total")),
        errors=_errors(batch.get("errors")),
        retry_after=wait,
        files=tuple(file for file in files if isinstance(file, str) and file),
    )


def _count(said: Any) -> int:
    return said if type(said) is int and said >= 0 else 0


def _errors(said: Any) -> str:
    """Why a batch was refused, in one line."""
    listed = said.get("data") if isinstance(said, dict) else None
    told = [
        " ".join(str(error.get("message") or error.get("code") or "").split())
        for error in (listed if isinstance(listed, list) else ())
        if isinstance(error, dict)
    ]
    return "; ".join(dict.fromkeys(filter(None, told[:3])))
