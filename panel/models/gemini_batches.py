"""Batches of Google's Gemini API, by its own package.

A file of requests by `POST /upload/VERSION/files`, a batch of it by
`POST /VERSION/models/NAME:batchGenerateContent`, `GET /VERSION/batches/ID`, and a file of responses
(https://ai.google.dev/gemini-api/docs/batch-api). The API's version is the package's default
(`v1beta` before google-genai 3, then `v1`) or the model's option `api_version`. The batch's display
name holds its token.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import orjson

from persona_panel.files.outputs import open_private
from persona_panel.models.batches import (
    TRANSFER_S,
    BatchAnswer,
    BatchPhase,
    BatchSought,
    BatchStatus,
    answers_in,
    object_in,
    plain_id,
)
from persona_panel.models.client import NOTHING, CallError
from persona_panel.models.langchain_batches import (
    BatchedClient,
    OfflineClient,
    OfflineLine,
    at_provider,
    unpaid,
)
from persona_panel.models.langchain_errors import positions_in
from persona_panel.rubrics import ModelRequest, ModelResponse

if TYPE_CHECKING:
    from google.genai.client import AsyncClient
    from google.genai.types import BatchJob
    from langchain_core.language_models import BaseChatModel

_PAGE = 100
_PHASES: dict[str, BatchPhase] = {
    "succeeded": "ended",
    "partially_succeeded": "ended",
    "cancelled": "cancelled",
    # After 48 hours: it then brings no answers at all.
    "expired": "ended",
    "failed": "failed",
}
_STATUSES = {1: 499, 3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 9: 400, 13: 500, 14: 503, 16: 401}
"""From the codes of google.rpc.Status, in rows of a batch, to those of live calls."""


def address_of(chat: BaseChatModel) -> str:
    """Return the address to which a chat model's batches go."""
    address = getattr(chat, "base_url", None)
    # Its form as an option, `client_options`.
    address = address.get("api_endpoint") if isinstance(address, Mapping) else address
    return address if isinstance(address, str) else "https://generativelanguage.googleapis.com"


def of(client: BatchedClient) -> GeminiBatches:
    """Return the batches of a model."""
    import httpx
    from google.genai import Client
    from google.genai.types import HttpOptions

    line = OfflineLine()
    # It connects to nobody. Without a context the package reads all certificates, three times.
    unused = SSLContext(PROTOCOL_TLS_CLIENT)
    options = HttpOptions(
        base_url=address_of(client.chat),
        # A whole client: a transport must be of the package that GOOGLE_GENAI_HTTP_CLIENT names.
        httpx_client=httpx.Client(transport=line.transport(httpx.Client)),
        client_args={"verify": unused},
        async_client_args={"ssl": unused},
    )
    offline = Client(api_key="-", http_options=options)
    chat = client.chat.model_copy(update={"client": offline})
    return GeminiBatches(client, client.offline(chat, line))


class GeminiBatches:
    """The batches of one model; see `persona_panel.models.batches.BatchApi`."""

    # The provider takes 2 GB; less of it is held in memory at a time.
    most_rows = 50_000
    most_bytes = 100_000_000

    def __init__(self, client: BatchedClient, offline: OfflineClient) -> None:
        self._client, self._offline = client, offline

    def line(self, custom_id: str, request: ModelRequest) -> bytes:
        body = self._offline.sent(request).body
        return b'{"key":%b,"request":%b}' % (orjson.dumps(custom_id), body)

    def read(self, line: bytes) -> BatchAnswer | None:
        match row := object_in(line):
            case {"key": name, "response": {**response}}:
                reply = self._offline.read(200, response)
                if isinstance(reply, ModelResponse):
                    reply = _with_logprobs(reply, response)
                model = response.get("modelVersion")
                return BatchAnswer(name, reply, model if isinstance(model, str) else None)
            case {"key": name, "error": {**failure}}:
                code = failure.get("code")
                status = _STATUSES.get(code, code) if isinstance(code, int) else 500
                status = status if 400 <= status < 600 else 500
                error = {"status": str(code), **failure, "code": status}
                return BatchAnswer(name, unpaid(self._offline.read(status, {"error": error})))
        if row is None or "key" not in row or "request" in row:
            return None
        message = "the batch brought no answer: no reason is given"
        return BatchAnswer(row["key"], CallError(message, kind="transient", used=NOTHING))

    async def submit(self, token: str, lines: Sequence[bytes]) -> BatchStatus:
        from google.genai.types import CreateBatchJobConfig, HttpOptions, HttpRetryOptions

        name, once = _name(token), HttpOptions(retry_options=HttpRetryOptions(attempts=1))

        async def made() -> BatchJob:
            file = await self._api.files.upload(
                file=BytesIO(b"".join(part for line in lines for part in (line, b"\n"))),
                config={"display_name": name, "mime_type": "application/jsonl"},
            )
            return await self._api.batches.create(
                model=getattr(self._client.chat, "model"),  # noqa: B009
                src=file.name or "",
                # Where nothing is said of it, the package sends what got no reply once more: a
                # batch would be made, and paid for, twice.
                config=CreateBatchJobConfig(display_name=name, http_options=once),
            )

        return _status(await at_provider(made(), TRANSFER_S))

    async def find(self, sought: BatchSought) -> BatchStatus | None:
        """Find a batch as `BatchApi.find` does. The provider does not say in which order it lists
        batches, so all are looked at."""
        name = _name(sought.token)

        async def sought_job() -> BatchJob | None:
            async for job in await self._api.batches.list(config={"page_size": _PAGE}):
                if job.display_name == name:
                    return job
            return None

        job = await at_provider(sought_job(), TRANSFER_S)
        return None if job is None else _status(job)

    async def status(self, id_: str) -> BatchStatus:
        async def got() -> BatchJob:
            return await self._api.batches.get(name=plain_id(id_, "batches/"))

        return _status(await at_provider(got(), self._client.timeout_s))

    async def cancel(self, id_: str) -> BatchStatus:
        async def cancelled() -> BatchJob:
            await self._api.batches.cancel(name=plain_id(id_, "batches/"))
            return await self._api.batches.get(name=plain_id(id_, "batches/"))

        return _status(await at_provider(cancelled(), self._client.timeout_s))

    async def results(self, status: BatchStatus, folder: Path) -> AsyncIterator[BatchAnswer]:
        for name in status.files:
            file = folder / f".batch-{uuid4().hex}"
            try:
                await at_provider(self._download(name, file), TRANSFER_S)
                for row in answers_in(file, self.read):
                    yield row
            finally:
                file.unlink(missing_ok=True)

    async def aclose(self) -> None:
        """Do nothing: the chat model's connections stay open."""

    @property
    def _api(self) -> AsyncClient:
        api: AsyncClient = self._client.chat.client.aio  # type: ignore[attr-defined]
        return api

    async def _download(self, name: str, to: Path) -> None:
        open_private(to, "xb").close()
        await self._api.files.download(file=plain_id(name, "files/"), destination=to)


def _name(token: str) -> str:
    return f"persona-panel-{token}"


def _with_logprobs(reply: ModelResponse, response: dict[Any, Any]) -> ModelResponse:
    """Return the same with its log-probabilities, which LangChain leaves out."""
    from google.genai.types import GenerateContentResponse

    with suppress(ValueError):
        for candidate in GenerateContentResponse.model_validate(response).candidates or ():
            if candidate.logprobs_result is not None:
                logprobs = candidate.logprobs_result
                return replace(reply, logprobs=positions_in({"logprobs": logprobs}))
    return reply


def _status(job: BatchJob) -> BatchStatus:
    """Return the status of a batch, as the provider describes it."""
    if not job.name:
        raise CallError("the server gives the batch no name", kind="transient", status=502)
    word = job.state.value.removeprefix("JOB_STATE_").lower() if job.state else "unknown"
    file = job.dest.file_name if job.dest else None
    counts = job.completion_stats
    return BatchStatus(
        id=job.name,
        phase=_PHASES.get(word, "working"),
        word=word,
        done=(counts and counts.successful_count) or 0,
        failed=(counts and counts.failed_count) or 0,
        errors=" ".join(((job.error and job.error.message) or "").split()),
        files=(file,) if file else (),
    )
