"""Batches: the interface of providers that take them, and those of OpenAI's protocol
(https://platform.openai.com/docs/guides/batch).

`POST {base_url}/files`, `POST {base_url}/batches`, `GET {base_url}/batches/ID`,
`GET {base_url}/files/ID/content`. A request's row is the body of a live call; how an answer is read
and what errors mean is that of live calls, too.
"""

from __future__ import annotations

import asyncio
import re
import time
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable
from urllib.parse import urlsplit
from uuid import uuid4

import orjson

from persona_panel.files.limits import json_in
from persona_panel.files.wording import shown
from persona_panel.models.client import NOTHING, CallError
from persona_panel.models.completions import (
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

CLOCKS_S = 300.0
"""The most seconds by which a provider's clock may be behind."""

BatchPhase = Literal["working", "ended", "cancelled", "failed"]
"""`ended`, `cancelled`: no further answer will come, whether the batch was completed, expired or
was cancelled. `failed`: it was refused as a whole, and nothing was paid for."""


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """The state of a batch.

    Attributes:
        id: the provider's.
        word: the provider's own word for it.
        done: rows with an answer so far.
        failed: rows without one.
        total: all rows; 0 as long as the provider does not say.
        errors: why it was refused, in the provider's words.
        retry_after: how long the provider asks to wait before the next look, in seconds.
        files: where its answers are, in the provider's names.
    """

    id: str
    phase: BatchPhase
    word: str
    done: int = 0
    failed: int = 0
    total: int = 0
    errors: str = ""
    retry_after: float | None = None
    files: tuple[str, ...] = ()


_PLAIN_ID = re.compile(r"(?!.*\.\.)[\w.:-]*[\w:-][\w.:-]*", re.ASCII)
_NAME = re.compile(rb'"(?:custom_id|key)"\s*:\s*"([\w-]+)"')
LONGEST_ROW = 8_000_000
"""Bytes that a row of answers may have; a longer one is none."""
TRANSFER_S = 3_600.0
"""The most seconds in which requests may be sent, or answers fetched."""


def plain_id(id_: Any, folder: str = "") -> str:
    """Return the id of a batch or file, which can be put into an address as it is: letters, figures
    and `_ . : -`, after the provider's `folder`. Ids come from journals and servers; one with other
    characters could lead a key elsewhere on the server. Raises CallError: it is none."""
    id_text = id_ if isinstance(id_, str) else ""
    if not id_text.startswith(folder) or not _PLAIN_ID.fullmatch(id_text.removeprefix(folder)):
        raise CallError(
            f"found {shown(id_)} as the id of a batch or of its file; expected "
            f"{folder and f'{folder} and then '}letters, figures, '_', '.', ':' and '-'",
            kind="rejected",
        )
    return id_text


def listed_in(page: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the batches in a page of a list of them. Raises CallError: it is no such page. A batch
    that is not found is sent again, and paid for."""
    batches = page.get("data", "")
    # Some servers say so of an empty list.
    if batches is None:
        return []
    if not isinstance(batches, list) or not all(isinstance(batch, dict) for batch in batches):
        raise CallError("the server gives no list of batches", kind="transient", status=BROKEN)
    return batches


def next_page(last: Any, seen: set[str]) -> str:
    """Return the id after which the next page of a list begins, and add it to those `seen`. Raises
    CallError: it is no id, or the list goes round."""
    id_ = plain_id(last)
    if id_ in seen:
        raise CallError("the server's list of batches has no end", kind="transient", status=BROKEN)
    seen.add(id_)
    return id_


class BatchSought(NamedTuple):
    """A batch that may be at its provider, of which no id was noted.

    Attributes:
        token: under which it was sent.
        since: before which it was not sent, in seconds since 1970.
        rows: how many requests it has.
        others: the ids of the run's other batches, none of which it is.
    """

    token: str
    since: float
    rows: int
    others: Collection[str] = ()


class NotToldYet(Exception):
    """Some batches may be the one that is sought, which their provider only shows once they have
    ended; the message names them."""


class BatchAnswer(NamedTuple):
    """The outcome of one request: an answer, or why there is none. `custom_id`: of the request;
    None where nobody can read it; `model`: who answered, in the answer's own words; None where it
    does not say."""

    custom_id: Any
    answer: ModelResponse | CallError
    model: str | None = None


def object_in(line: bytes) -> dict[str, Any] | None:
    """Return the object that a line holds; None where it holds none."""
    try:
        row = json_in(line) if len(line) <= LONGEST_ROW else None
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def unreadable_answer() -> CallError:
    """Return the error for an answer in a provider's results that cannot be read."""
    reason = "its answer in the batch cannot be read, and is paid for; it is not asked for again"
    # Nobody knows what it took.
    return CallError(reason, kind="rejected", status=BROKEN, used=None)


def answers_in(
    file: Path, read: Callable[[bytes], BatchAnswer | None], plain_name: Callable[[str], str] = str
) -> Iterator[BatchAnswer]:
    """Yield the answers in a provider's file of results.

    Args:
        read: see `BatchApi.read`. A line that it cannot read is an answer, too: a fault under the
            name that stands in it, or under None.
        plain_name: from a name as it was sent to that of its request.
    """
    with file.open("rb") as lines:
        for number, line in enumerate(lines):
            if not number:
                line = line.removeprefix(BOM_UTF8)
            if (answer := read(line)) is not None:
                yield answer
            elif line.strip():
                match = _NAME.search(line)
                name = None if match is None else plain_name(match[1].decode())
                yield BatchAnswer(name, unreadable_answer())


class BatchApi(Protocol):
    """A provider's batches of one model.

    All methods that call the provider raise CallError, or TimeoutError, where it does not answer
    as it should; the kinds are those of a call.
    """

    most_rows: int
    """Rows that a batch may have."""
    most_bytes: int
    """Bytes that the rows of a batch may have together."""

    def line(self, custom_id: str, request: ModelRequest) -> bytes:
        """Return a request as a row of a batch, without a line break, a key or a header."""

    def read(self, line: bytes) -> BatchAnswer | None:
        """Read a line of answers; None where it is no answer. A fault's `used` is `NOTHING` where
        the provider says that there is no answer, None where there is one that cannot be read."""

    async def submit(self, token: str, lines: Sequence[bytes]) -> BatchStatus:
        """Send a batch, under a token by which `find` knows it."""

    async def find(self, sought: BatchSought) -> BatchStatus | None:
        """Return the batch that was sent under a token; None where the provider lists none. Raises
        NotToldYet: the provider does not tell yet. It is asked again; until then nothing is sent in
        the batch's place."""

    async def status(self, id_: str) -> BatchStatus:
        """Ask for the status of a batch."""

    def results(self, status: BatchStatus, folder: Path) -> AsyncIterator[BatchAnswer]:
        """Yield the answers of an ended batch, in no order. Temporary files are made in `folder`
        and removed."""

    async def cancel(self, id_: str) -> BatchStatus:
        """Ask the provider to end a batch; what is answered already is paid for."""

    async def aclose(self) -> None:
        """Give back connections."""


@runtime_checkable
class UploadingBatchApi(Protocol):
    """A `BatchApi` whose requests are uploaded to a file before a batch is made of it."""

    async def remove_uploads(self, token: str) -> None:
        """Delete the files of a token of which no batch came to be; raises as the other methods
        do."""


@runtime_checkable
class BatchClient(Protocol):
    """A `ModelClient` whose requests can go as batches."""

    @property
    def address(self) -> str:
        """The address of the server that takes the batches."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The options with which another process makes a client that reaches the same batches:
        JSON, without secrets and without headers, whose values may be secrets."""

    @property
    def header_names(self) -> Sequence[str]:
        """The names of the client's headers, which `settings` leaves out."""

    def batches(self) -> BatchApi:
        """Return its provider's batches."""


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
    """A model behind a server, as far as batches need it: `OpenAIClient`."""

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
    """The batches of one model; see `BatchApi`."""

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
        """Return the id of an uploaded file, once a batch can be made of it."""
        id_, (file, _) = _id_of(uploaded, "file"), uploaded
        until = time.monotonic() + _PROCESSING_S
        while file.get("status") in _UNPROCESSED and time.monotonic() < until:
            await asyncio.sleep(_FILE_LOOK_S)
            file, _ = await self._called("GET", f"/files/{plain_id(id_)}")
        return id_

    def _answer(self, row: dict[str, Any]) -> ModelResponse | CallError:
        """Return the reply that a row holds, or its fault."""
        response = row.get("response")
        if not isinstance(response, dict):
            match row.get("error"):
                case {"message": str(reason), **others}:
                    code = others.get("code")
                case reason:
                    code = None
            # Never begun: of a batch that expired or was cancelled.
            message = f"the batch brought no answer: {reason or code or 'no reason is given'}"
            return CallError(message, kind="transient", used=NOTHING)
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
        """Call the server; returns its answer, and how long it asks to wait, in seconds."""
        answer = await self._model.exchange_at(method, path, data, kind, timeout_s)
        content = parsed(answer)
        if answer.status >= 300 or not isinstance(content, dict):
            raise self._model.fault_of(answer)
        return content, retry_after(answer.headers)


def _file_name(token: str) -> str:
    """Return the name of the file of a batch's requests."""
    return f"persona-panel-{token}.jsonl"


def _id_of(called: tuple[dict[str, Any], float | None], what: str) -> str:
    """Return the id in a server's answer. Raises CallError: there is none."""
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


def _count(n: Any) -> int:
    return n if type(n) is int and n >= 0 else 0


def _errors(errors: Any) -> str:
    """Return the reasons why a batch was refused, in one line."""
    listed = errors.get("data") if isinstance(errors, dict) else None
    reasons = [
        " ".join(str(error.get("message") or error.get("code") or "").split())
        for error in (listed if isinstance(listed, list) else ())
        if isinstance(error, dict)
    ]
    return "; ".join(dict.fromkeys(filter(None, reasons[:3])))
