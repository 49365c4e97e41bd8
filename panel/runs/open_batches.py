"""Batches of a run that are at their providers: looked at, cancelled, and their answers taken,
without the panel that asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

from panel.calls.batch_caller import BatchCaller
from panel.calls.batch_journal import BATCHES, BatchJournal, batches_of
from panel.calls.batch_records import BatchRecord
from panel.calls.batch_rounds import NOT_FOUND, PACE, BatchAddress, BatchPace, BatchRounds
from panel.calls.budget import NO_CAPS, Budget
from panel.calls.cache import open_reply_store
from panel.calls.endpoint import Endpoint
from panel.calls.rate_limiter import RateLimiter
from panel.errors import RunFolderError, RunStopped
from panel.models.batches import BatchApi, BatchClient, BatchStatus
from panel.models.client import CallError, ModelClient
from panel.models.config import ModelConfig
from panel.models.providers import client_for
from panel.runs.spending import SPENT, spending_kept


@dataclass(frozen=True, slots=True)
class BatchNow:
    """A batch of a run, as its journal and as its provider know it; `status` is None where the
    batch is over, or not at the provider."""

    batch: BatchRecord
    status: BatchStatus | None


async def look(folder: Path) -> list[BatchNow]:
    """How all batches of a run stand, the oldest first.

    Raises:
        RunFolderError: the run has none, or its journal cannot be read.
        ConfigurationError: a key is missing.
        RunStopped: a provider does not say.
    """
    batches = _batches(folder)
    async with _clients(batches) as clients:
        return [BatchNow(batch, await _status(batch, clients[batch.token])) for batch in batches]


async def cancel(folder: Path) -> list[BatchNow]:
    """Ask providers to end all open batches of a run; raises as `look`.

    One that its provider does not know has no status here; `take_answers` settles it.
    """
    batches = [batch for batch in _batches(folder) if batch.open]
    ended = []
    async with _clients(batches) as clients:
        for batch in batches:
            api = clients[batch.token]
            status = await _status(batch, api, may_be_gone=True)
            if status is not None and status.phase == "working":
                try:
                    status = await api.cancel(status.id)
                except (CallError, TimeoutError) as error:
                    raise RunStopped(str(error)) from None
            ended.append(BatchNow(batch, status))
    return ended


async def take_answers(
    folder: Path, tell: Callable[[str], None], pace: BatchPace = PACE, *, ending: bool = False
) -> None:
    """Wait for the open batches of a run, and put their answers into the cache.

    Args:
        ending: whether they are to be ended; see `BatchRounds.ending`.

    Raises:
        InUse: another process does.
        RunFolderError, ConfigurationError, RunStopped: as `look`.
        Abort: the cache cannot be written.
    """
    open_ = [batch for batch in _batches(folder) if batch.open]
    async with _clients(open_) as clients:
        with closing(BatchJournal(folder)) as journal, closing(open_reply_store()) as cache:
            apis = {batch.model: clients[batch.token] for batch in open_}
            endpoints = {batch.model: Endpoint(_client(batch), RateLimiter(1)) for batch in open_}
            budget = Budget(NO_CAPS, {})
            caller = BatchCaller(apis, endpoints, cache, budget, others_too=False)
            addresses = dict[str, BatchAddress]()
            rounds = BatchRounds(caller, addresses, journal, tell, pace)
            rounds.ending = ending
            with spending_kept(caller, folder / SPENT):
                rounds.go_on()
                await rounds.settle()


def _batches(folder: Path) -> list[BatchRecord]:
    if not (folder / BATCHES).is_file():
        raise RunFolderError(f"{folder} has no batches; they are made by `score --batch`")
    return batches_of(folder)


def _client(batch: BatchRecord) -> ModelClient:
    config = ModelConfig(model=batch.spec, base_url=batch.address, key_env=batch.key_env)
    return client_for(config, False)


@asynccontextmanager
async def _clients(batches: Sequence[BatchRecord]) -> AsyncIterator[dict[str, BatchApi]]:
    """The batches of providers, by token."""
    apis = {}
    for batch in batches:
        client = _client(batch)
        assert isinstance(client, BatchClient)  # noqa: S101
        apis[batch.token] = client.batches()
    try:
        yield apis
    finally:
        for api in apis.values():
            await api.aclose()


async def _status(
    batch: BatchRecord, api: BatchApi, *, may_be_gone: bool = False
) -> BatchStatus | None:
    if not batch.open:
        return None
    try:
        if batch.id is None:
            return await api.find(batch.token, batch.prepared_at)
        return await api.status(batch.id)
    except (CallError, TimeoutError) as error:
        if may_be_gone and isinstance(error, CallError) and error.status == NOT_FOUND:
            return None
        raise RunStopped(str(error)) from None
