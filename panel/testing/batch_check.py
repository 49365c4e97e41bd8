"""A check for authors of a provider that answers requests by batches."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import orjson

from persona_panel.files.secrets import SECRETS
from persona_panel.models.batches import BatchApi, BatchClient, BatchSought, BatchStatus, NotToldYet
from persona_panel.models.client import ModelClient
from persona_panel.rubrics import ModelRequest, ModelResponse
from persona_panel.testing.requirement import require

_ASKED = ModelRequest("You judge.", ("Say 7.",))
_LOOK_S = 0.05


def check_batch_client(client: ModelClient, timeout_s: float = 60.0) -> None:
    """Whether a model's requests can go as batches; see `persona_panel.models.batches.BatchClient`.

    Sends one batch of two requests and makes one call, which may cost something: a client is best
    checked with a local server that speaks its provider's protocol. `timeout_s`, in seconds, is how
    long the batch may take.

    A row must hold no key, a batch must be found by its token once it has ended, and not be found
    where it is another's; its answers must come under the names of their requests, and be read as
    that of the call is: with a text where that has one, and with the same where the client's
    capabilities say `deterministic_text`.
    """
    require(isinstance(client, BatchClient), "the client is no `BatchClient`")
    assert isinstance(client, BatchClient)  # noqa: S101
    require(client.address.startswith("http"), f"address is a web address, found {client.address}")
    said = orjson.dumps(dict(client.settings)).decode()
    require(SECRETS.scrub(said) == said, "settings have no key in them")
    asyncio.run(_checked(client, client.batches(), timeout_s))


async def _checked(client: ModelClient, api: BatchApi, timeout_s: float) -> None:
    try:
        require(api.most_rows > 0 and api.most_bytes > 0, "most_rows and most_bytes are positive")
        names = [sha256(text).hexdigest() for text in (b"one", b"two")]
        lines = [api.line(name, _ASKED) for name in names]
        for name, line in zip(names, lines, strict=True):
            require(b"\n" not in line, "line() returns one line without a line break")
            require(name.encode() in line, "line() returns a row with the request's name")
            text = line.decode()
            require(SECRETS.scrub(text) == text, "line() returns a row with a key in it")
            require(api.read(line) is None, "read() takes a request for an answer")
        require(api.read(b"[]") is None, "read() takes an empty list for an answer")
        token, since = uuid4().hex, time.time()
        with suppress(NotToldYet):
            found = await api.find(BatchSought(uuid4().hex, since, 2))
            require(found is None, f"find() finds a batch that was never sent: {found}")
        sent = await api.submit(token, lines)
        require(bool(sent.id), "submit() returns a status without an id")
        status = await _ended(api, sent.id, timeout_s)
        require(status.phase == "ended", f"the batch is {status.word}: {status.errors}")
        found = await api.find(BatchSought(token, since, 2))
        require(
            found is not None and found.id == sent.id, "find() does not find a batch that ended"
        )
        other = await api.find(BatchSought(uuid4().hex, since, 2))
        require(other is None, "find() takes a batch of another token for the one that is sought")
        with TemporaryDirectory() as folder:
            rows = [row async for row in api.results(status, Path(folder))]
            require(not _left_in(Path(folder)), "results() leaves files in its folder")
        answered = sorted(str(row.custom_id) for row in rows)
        require(answered == sorted(names), f"answers are named {answered}, requests {names}")
        for row in rows:
            require(isinstance(row.answer, ModelResponse), f"a request has a fault: {row.answer}")
        live = await client.complete(_ASKED)
        same = client.capabilities.deterministic_text
        for row in rows:
            assert isinstance(row.answer, ModelResponse)  # noqa: S101
            text = row.answer.text
            require(
                text == live.text if same else bool(text) == bool(live.text),
                f"the answer {live.text[:200]!r} of a call is {text[:200]!r} in a batch",
            )
    finally:
        await api.aclose()


async def _ended(api: BatchApi, id_: str, timeout_s: float) -> BatchStatus:
    until = time.monotonic() + timeout_s
    while True:
        status = await api.status(id_)
        if status.phase != "working":
            return status
        require(time.monotonic() < until, f"the batch is {status.word} after {timeout_s:g} s")
        await asyncio.sleep(_LOOK_S)


def _left_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())
