"""Anthropic's message batches, by its own package.

`POST /v1/messages/batches` with all requests in its body, `GET /v1/messages/batches/ID`, and
`GET /v1/messages/batches/ID/results` once it has ended
(https://docs.claude.com/en/docs/build-with-claude/batch-processing).

A batch has no metadata, so its token is in the names of its requests, which the provider shows with
the results: of a batch that is in progress nobody can tell whether it is the one that is sought.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import orjson

from persona_panel.files.outputs import open_private
from persona_panel.models.batches import (
    CLOCKS_S,
    TRANSFER_S,
    BatchAnswer,
    BatchPhase,
    BatchSought,
    BatchStatus,
    NotToldYet,
    answers_in,
    listed_in,
    next_page,
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
from persona_panel.rubrics import ModelRequest

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from langchain_core.language_models import BaseChatModel

PATH = "/v1/messages/batches"
_PAGE = 100
_DIGEST = 43
"""Characters of a request's name in base64: 256 bits. The rest of the 64 is for the token."""
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The HTTP statuses of errors in live calls."""


def address_of(chat: BaseChatModel) -> str:
    """Return the address to which a chat model's batches go."""
    return str(getattr(chat, "anthropic_api_url", "") or "https://api.anthropic.com")


def of(client: BatchedClient) -> AnthropicBatches:
    """Return the batches of a model."""
    import anthropic

    line, chat = OfflineLine(), client.chat.model_copy()
    kind = anthropic.DefaultHttpxClient
    # Where the chat model keeps the client that it makes when it is first called.
    chat.__dict__["_client"] = anthropic.Anthropic(
        api_key="-",
        base_url=address_of(chat),
        max_retries=0,
        # Else the package refuses a long answer that is not streamed.
        timeout=TRANSFER_S,
        http_client=kind(transport=line.transport(kind)),
    )
    return AnthropicBatches(client, client.offline(chat, line))


class AnthropicBatches:
    """The batches of one model; see `persona_panel.models.batches.BatchApi`."""

    # The provider takes 100,000 requests and 256 MB; less of it is held in memory at a time.
    most_rows = 100_000
    most_bytes = 100_000_000

    def __init__(self, client: BatchedClient, offline: OfflineClient) -> None:
        self._client, self._offline = client, offline
        self._betas: str | None = None

    def line(self, custom_id: str, request: ModelRequest) -> bytes:
        sent = self._offline.sent(request)
        # An option that is still tried out by the provider is announced beside the body.
        self._betas = sent.headers.get("anthropic-beta", self._betas)
        return b'{"custom_id":%b,"params":%b}' % (orjson.dumps(custom_id), sent.body)

    def read(self, line: bytes) -> BatchAnswer | None:
        row = object_in(line)
        if row is None or not isinstance(result := row.get("result"), dict):
            return None
        name = _plain_name(row.get("custom_id"))
        match result:
            case {"type": "succeeded", "message": {**message}}:
                model = message.get("model")
                answer = self._offline.read(200, message)
                return BatchAnswer(name, answer, model if isinstance(model, str) else None)
            case {"type": "errored", "error": {**failure}}:
                error = failure.get("error")
                kind = error.get("type") if isinstance(error, dict) else None
                status = _STATUSES.get(kind, 500) if isinstance(kind, str) else 500
                return BatchAnswer(name, unpaid(self._offline.read(status, failure)))
        # It never began: the batch expired or was cancelled.
        reason = f"the batch brought no answer: {result.get('type') or 'no reason is given'}"
        return BatchAnswer(name, CallError(reason, kind="transient", used=NOTHING))

    async def submit(self, token: str, lines: Sequence[bytes]) -> BatchStatus:
        parts = [part for line in lines for part in (b",", _under_token(line, token))]
        # Joined once: a copy of it takes as much memory again.
        body = b"".join([b'{"requests":[', *parts[1:], b"]}"])
        headers = {"Content-Type": "application/json"}
        if self._betas is not None:
            headers["anthropic-beta"] = self._betas

        async def sent() -> Any:
            return await self._api.post(
                PATH,
                cast_to=object,
                content=body,
                options={"headers": headers, "timeout": TRANSFER_S},
            )

        return _status(await at_provider(sent(), TRANSFER_S))

    async def find(self, sought: BatchSought) -> BatchStatus | None:
        """Find a batch as `BatchApi.find` does. The provider lists the requests of a batch only
        once it has ended."""
        undecided, after, seen = [], "", set[str]()
        while True:
            page = await self._got(f"{PATH}?limit={_PAGE}{after}")
            batches = listed_in(page)
            for batch in batches:
                status = _status(batch)
                if status.id in sought.others or not _may_be(batch, sought):
                    continue
                if status.phase == "working":
                    undecided.append(status.id)
                elif await self._has_token(status, sought.token):
                    return status
            # The newest come first.
            last = _made_at(batches[-1]) if batches else None
            older = last is None or last < sought.since - CLOCKS_S
            if older or not page.get("has_more"):
                break
            after = f"&after_id={next_page(page.get('last_id'), seen)}"
        if undecided:
            raise NotToldYet(
                f"the batch may have arrived as {', '.join(undecided)}, whose requests the "
                "provider shows once it has ended; waiting, so as not to pay twice"
            )
        return None

    async def status(self, id_: str) -> BatchStatus:
        return _status(await self._got(f"{PATH}/{plain_id(id_)}"))

    async def cancel(self, id_: str) -> BatchStatus:
        async def cancelled() -> Any:
            return await self._api.post(f"{PATH}/{plain_id(id_)}/cancel", cast_to=object)

        return _status(await at_provider(cancelled(), self._client.timeout_s))

    async def results(self, status: BatchStatus, folder: Path) -> AsyncIterator[BatchAnswer]:
        file = folder / f".batch-{uuid4().hex}"
        try:
            await at_provider(self._download(status.id, file), TRANSFER_S)
            for row in answers_in(file, self.read, _plain_name):
                yield row
        finally:
            file.unlink(missing_ok=True)

    async def aclose(self) -> None:
        """Do nothing: the chat model's connections stay open."""

    @property
    def _api(self) -> AsyncAnthropic:
        api: AsyncAnthropic = self._client.chat._async_client  # type: ignore[attr-defined]
        return api

    async def _got(self, path: str) -> dict[str, Any]:
        async def got() -> Any:
            return await self._api.get(path, cast_to=object)

        content = await at_provider(got(), self._client.timeout_s)
        return content if isinstance(content, dict) else {}

    async def _download(self, id_: str, to: Path) -> None:
        with open_private(to, "xb") as file:
            async for part in self._streamed(id_):
                file.write(part)

    async def _has_token(self, status: BatchStatus, token: str) -> bool:
        """Return whether the requests of an ended batch were sent under a token."""

        async def first() -> bytes:
            head = b""
            async for part in self._streamed(status.id):
                head += part
                if b"\n" in head:
                    break
            return head.partition(b"\n")[0]

        row = object_in(await at_provider(first(), self._client.timeout_s))
        name = None if row is None else row.get("custom_id")
        return isinstance(name, str) and name[_DIGEST:] == _short(token)

    async def _streamed(self, id_: str) -> AsyncIterator[bytes]:
        # Not at the address that the batch names: the key goes to where it was sent before.
        from anthropic import AsyncStream

        stream = await self._api.get(
            f"{PATH}/{plain_id(id_)}/results",
            cast_to=object,
            options={"timeout": TRANSFER_S},
            stream=True,
            stream_cls=AsyncStream[object],
        )
        try:
            async for part in stream.response.aiter_bytes():
                yield part
        finally:
            await stream.close()


def _short(token: str) -> str:
    return token[: 64 - _DIGEST]


def _under_token(line: bytes, token: str) -> bytes:
    """Return a row whose request is named by its digest and the token of its batch."""
    start = len(b'{"custom_id":"')
    digest = bytes.fromhex(line[start : start + 64].decode())
    name = urlsafe_b64encode(digest).rstrip(b"=") + _short(token).encode()
    return line[:start] + name + line[start + 64 :]


def _plain_name(name: Any) -> Any:
    """Return the digest that a request is named by, without the token of its batch."""
    if not isinstance(name, str) or len(name) <= _DIGEST:
        return name
    try:
        # As it is in files that another system answers.
        bytes.fromhex(name)
    except ValueError:
        pass
    else:
        return name
    try:
        return urlsafe_b64decode(name[:_DIGEST] + "=").hex()
    except ValueError:
        return name


def _made_at(batch: Any) -> float | None:
    try:
        return datetime.fromisoformat(batch["created_at"]).timestamp()
    except (LookupError, TypeError, ValueError):
        return None


def _may_be(batch: dict[str, Any], sought: BatchSought) -> bool:
    made = _made_at(batch)
    in_time = made is None or made >= sought.since - CLOCKS_S
    return in_time and _status(batch).total == sought.rows


def _status(batch: Any) -> BatchStatus:
    """Return the status of a batch, as the provider describes it."""
    if not isinstance(batch, dict) or not isinstance(id_ := batch.get("id"), str) or not id_:
        raise CallError("the server gives the batch no id", kind="transient", status=502)
    listed = batch.get("request_counts")
    counts = {
        name: n
        for name, n in (listed if isinstance(listed, dict) else {}).items()
        if type(n) is int
    }
    word = str(batch.get("processing_status") or "unknown")
    phase: BatchPhase = "ended" if word == "ended" else "working"
    if phase == "ended":
        word = "completed"
        if counts.get("expired"):
            word = "expired"
        if batch.get("cancel_initiated_at") and counts.get("canceled"):
            word = phase = "cancelled"
    failed = sum(counts.get(name, 0) for name in ("errored", "canceled", "expired"))
    return BatchStatus(
        id=id_,
        phase=phase,
        word=word,
        done=counts.get("succeeded", 0),
        failed=failed,
        total=sum(counts.values()),
    )
