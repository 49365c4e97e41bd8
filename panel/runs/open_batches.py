"""Batches of a run that are at their providers: looked at, cancelled, and their answers taken,
without the panel that asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from persona_panel.calls.batch_caller import BatchCaller
from persona_panel.calls.batch_records import BatchRecord, sought
from persona_panel.calls.batch_rounds import (
    BATCHES,
    NOT_FOUND,
    PACE,
    BatchAddress,
    BatchJournal,
    BatchPace,
    BatchRounds,
    batches_of,
    journal_of,
)
from persona_panel.calls.budget import NO_CAPS, Budget
from persona_panel.calls.cache import open_reply_store
from persona_panel.calls.endpoint import Endpoint
from persona_panel.calls.rate_limiter import RateLimiter
from persona_panel.files.errors import RunFolderError, RunStopped
from persona_panel.files.wording import shown
from persona_panel.models.batches import BatchApi, BatchClient, BatchStatus, NotToldYet
from persona_panel.models.client import CallError, ModelClient
from persona_panel.models.config import ModelConfig
from persona_panel.models.providers import client_for
from persona_panel.runs.batch_servers import require_known
from persona_panel.runs.spending import SPENT, spending_kept


@dataclass(frozen=True, slots=True)
class BatchNow:
    """A batch of a run, as its journal and as its provider know it; `status` is None where the
    batch is over, or not at the provider."""

    batch: BatchRecord
    status: BatchStatus | None


async def look(run: Path, *, trusted: bool = False) -> list[BatchNow]:
    """How all batches of a run stand, the oldest first.

    Args:
        trusted: whether keys may go where the run's journal has them sent, whatever that is; see
            `persona_panel.runs.batch_servers`.

    Raises:
        RunFolderError: the run has none, or its journal cannot be read.
        ConfigurationError: a key is missing, or would be sent to a server that is not known.
        RunStopped: a provider does not say.
    """
    batches = _batches(run)
    async with _clients(run, [one for one in batches if one.open], trusted) as clients:
        return [
            BatchNow(batch, await _status(batch, batches, clients[batch.token].batches))
            if batch.open
            else BatchNow(batch, None)
            for batch in batches
        ]


async def cancel(run: Path, *, trusted: bool = False) -> list[BatchNow]:
    """Ask providers to end all open batches of a run; arguments and errors as of `look`.

    One that its provider does not know has no status here; `take_answers` settles it.
    """
    batches = _batches(run)
    open_ = [batch for batch in batches if batch.open]
    ended = []
    async with _clients(run, open_, trusted) as clients:
        for batch in open_:
            api = clients[batch.token].batches
            status = await _status(batch, batches, api, may_be_gone=True)
            if status is not None and status.phase == "working":
                try:
                    status = await api.cancel(status.id)
                except (CallError, TimeoutError) as error:
                    raise RunStopped(str(error)) from None
            ended.append(BatchNow(batch, status))
    return ended


async def take_answers(
    run: Path,
    tell: Callable[[str], None],
    pace: BatchPace = PACE,
    *,
    ending: bool = False,
    trusted: bool = False,
) -> None:
    """Wait for the open batches of a run, and put their answers into the cache.

    Args:
        ending: whether they are to be ended; see `BatchRounds.ending`.
        trusted: see `look`.

    Raises:
        InUse: another process does.
        RunFolderError, ConfigurationError, RunStopped: as `look`.
        Abort: the cache cannot be written.
    """
    open_ = [batch for batch in _batches(run) if batch.open]
    async with _clients(run, open_, trusted) as clients:
        with closing(BatchJournal(run)) as journal, closing(open_reply_store()) as cache:
            by_model = {batch.model: clients[batch.token] for batch in open_}
            apis = {model: at.batches for model, at in by_model.items()}
            endpoints = {
                model: Endpoint(at.client, RateLimiter(1)) for model, at in by_model.items()
            }
            budget = Budget(NO_CAPS, {})
            caller = BatchCaller(apis, endpoints, cache, budget)
            addresses = dict[str, BatchAddress]()
            rounds = BatchRounds(caller, addresses, journal, tell, pace)
            rounds.ending = ending
            spent = journal.path.name.removesuffix(BATCHES) + SPENT
            with spending_kept(caller, journal.path.with_name(spent)):
                rounds.go_on()
                await rounds.settle()


def headers_left_out(run: Path) -> list[str]:
    """The headers that a panel file names for models with open batches, and that are not sent
    without it; raises as `look`."""
    return sorted({name for batch in _batches(run) if batch.open for name in batch.headers})


def _batches(run: Path) -> list[BatchRecord]:
    if not journal_of(run).is_file():
        raise RunFolderError(
            f"{run} has no batches; they are made by `score`, `sweep`, `generate` and `audit "
            "injection` with --batch"
        )
    return batches_of(run)


def _client(run: Path, batch: BatchRecord) -> ModelClient:
    options = dict(batch.settings)
    try:
        config = ModelConfig(
            model=batch.spec,
            base_url=batch.address,
            key_env=batch.key_env,
            timeout=options.pop("timeout"),
            options=options,
        )
    except (ValidationError, LookupError):
        raise _odd_spec(run, batch) from None
    return client_for(config, False)


def _odd_spec(run: Path, batch: BatchRecord) -> RunFolderError:
    return RunFolderError(
        f"{journal_of(run)}, line {batch.line}, spec: found {shown(batch.spec)}; expected a model "
        "whose provider has batches. Look up at the provider which batches are open before you "
        "remove the file"
    )


class _AtProvider(NamedTuple):
    client: ModelClient
    batches: BatchApi


@asynccontextmanager
async def _clients(
    run: Path, batches: Sequence[BatchRecord], trusted: bool
) -> AsyncIterator[dict[str, _AtProvider]]:
    """The clients of open batches, by token."""
    if not trusted:
        require_known(journal_of(run), batches)
    clients = {}
    for batch in batches:
        client = _client(run, batch)
        if not isinstance(client, BatchClient):
            raise _odd_spec(run, batch)
        clients[batch.token] = _AtProvider(client, client.batches())
    try:
        yield clients
    finally:
        for at in clients.values():
            await at.batches.aclose()


async def _status(
    batch: BatchRecord, all_: Sequence[BatchRecord], api: BatchApi, *, may_be_gone: bool = False
) -> BatchStatus | None:
    try:
        if batch.id is None:
            return await api.find(sought(batch, all_))
        return await api.status(batch.id)
    except NotToldYet:
        return None
    except (CallError, TimeoutError) as error:
        if may_be_gone and isinstance(error, CallError) and error.status == NOT_FOUND:
            return None
        raise RunStopped(str(error)) from None
