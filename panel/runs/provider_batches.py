"""Runs whose requests are answered by batches of models' providers: sent in rounds, looked at,
cancelled, and never sent to a server that the user has not confirmed.

A run may be somebody else's, and its journal says where a batch is and which environment variable
has the key: taken at its word, it would have any secret sent anywhere. So a key goes where the
user's own surroundings send it, or where this user has submitted batches before; else the user has
to say so.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import orjson
import platformdirs
from pydantic import ValidationError

from persona_panel.calls.batch_caller import BatchCaller
from persona_panel.calls.batch_records import BatchRecord, sought
from persona_panel.calls.batch_rounds import (
    NOT_FOUND,
    PACE,
    BatchAddress,
    BatchJournal,
    BatchPace,
    BatchRounds,
    batches_of,
)
from persona_panel.calls.budget import NO_CAPS, Budget, Caps
from persona_panel.calls.cache import open_reply_store
from persona_panel.calls.caller import CallerFactory
from persona_panel.calls.endpoint import Endpoint
from persona_panel.calls.rate_limiter import RateLimiter
from persona_panel.files.errors import ConfigurationError, RunFolderError, RunStopped
from persona_panel.files.outputs import (
    BATCHES,
    journal_of,
    make_private_folder,
    open_private,
)
from persona_panel.files.secrets import SECRETS, credentials_in
from persona_panel.files.wording import shown
from persona_panel.models.availability import keys_optional
from persona_panel.models.batches import BatchApi, BatchClient, BatchStatus, NotToldYet
from persona_panel.models.client import CallError, ModelClient
from persona_panel.models.config import HEADER_OPTIONS, ModelConfig
from persona_panel.models.providers import client_for
from persona_panel.planning.bound_models import BoundModel
from persona_panel.runs.cost_estimate import refuse_unpriced_batches
from persona_panel.runs.execution import Collect
from persona_panel.runs.output import SPENT
from persona_panel.runs.spending import spending_kept

_FILE = "batch-servers"
_HARMLESS = frozenset({"timeout", "seed", *HEADER_OPTIONS})
"""Settings that do not change where a key goes."""


class SubmittedTo(Protocol):
    """The place of a batch, and how it is reached: a `BatchAddress` or a `BatchRecord`."""

    @property
    def spec(self) -> str: ...

    @property
    def address(self) -> str: ...

    @property
    def key_env(self) -> str | None: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...


def remember(servers: Iterable[SubmittedTo]) -> None:
    """Note, for this user alone, that batches are submitted to these servers.

    Where it cannot be written, `require_known` asks the user instead.
    """
    with suppress(OSError):
        new = {_digest(server) for server in servers} - _remembered()
        if new:
            make_private_folder(_path().parent)
            with open_private(_path(), "ab") as file:
                file.write(b"".join(digest + b"\n" for digest in sorted(new)))


def require_known(journal: Path, servers: Iterable[SubmittedTo]) -> None:
    """Check that keys go only to servers that are this user's. `journal`: whose servers they are,
    for the message. Raises ConfigurationError: one is not known as such."""
    remembered = _remembered()
    for server in servers:
        if _digest(server) not in remembered and not _is_usual(server):
            raise ConfigurationError(_refusal(journal, server))


def _is_usual(server: SubmittedTo) -> bool:
    """Return whether the server is the provider's own, or the one that this process's environment
    names, with the provider's usual key."""
    if server.key_env is not None or not _HARMLESS.issuperset(server.settings):
        return False
    try:
        with keys_optional():
            client = client_for(ModelConfig(model=server.spec))
    except (ConfigurationError, ValueError):
        return False
    return isinstance(client, BatchClient) and client.address == server.address


def _refusal(journal: Path, server: SubmittedTo) -> str:
    SECRETS.learn(*credentials_in(server.address))
    key = shown(server.key_env) if server.key_env else "the provider's usual variable"
    options = sorted(set(server.settings) - _HARMLESS)
    having = f", with the options {', '.join(map(shown, options))}" if options else ""
    return (
        f"{journal} has the key in {key} sent to {shown(server.address)}{having}, for "
        f"{shown(server.spec)}, and you have not submitted batches there from this machine. If "
        "this run is yours, add --trust; if somebody gave it to you, do not"
    )


def _path() -> Path:
    return platformdirs.user_state_path("persona-panel") / _FILE


def _remembered() -> set[bytes]:
    try:
        return set(_path().read_bytes().splitlines())
    except OSError:
        return set()


def _digest(server: SubmittedTo) -> bytes:
    """Digest all that says where a key goes; an address may hold a password, so it is not
    written."""
    settings = {name: value for name, value in server.settings.items() if name not in _HARMLESS}
    provider = server.spec.partition(":")[0]
    content = orjson.dumps(
        [provider, server.address, server.key_env, settings],
        option=orjson.OPT_SORT_KEYS,
        default=dict,
    )
    return hashlib.sha256(content).hexdigest().encode()


@dataclass(frozen=True)
class ByBatches:
    """The answering of requests by the batches of models' providers; models without such are called
    as usual. `run`: the run's folder, or the file of its texts: the journal of its batches is
    there; `tell`: shows a user a line."""

    run: Path
    tell: Callable[[str], None]
    pace: BatchPace = PACE
    probes = True
    keeps_batches = True

    def caller_factory(
        self, models: Mapping[str, BoundModel], caps: Caps, *, others_too: bool
    ) -> CallerFactory:
        """Return the function that makes the run's caller; see
        `AnsweredElsewhere.caller_factory`."""
        caller_factory, apis = batch_caller_factory(models, others_too=others_too)
        refuse_unpriced_batches([models[name] for name in apis], caps)
        for name in models:
            if name not in apis:
                self.tell(f"{name} has no batches here and is called as usual.")
        return caller_factory

    async def answer(
        self, caller: BatchCaller, models: Mapping[str, BoundModel], collect: Collect
    ) -> None:
        """Have requests answered by batches; see `AnsweredElsewhere.answer`."""
        journal = BatchJournal(self.run)
        try:
            addresses = {name: _address(models[name]) for name in caller.apis}
            remember(addresses.values())
            rounds = BatchRounds(caller, addresses, journal, self.tell, self.pace)
            rounds.go_on()
            await _settled(rounds)
            while True:
                with caller.collecting(journal.path.parent) as wanted:
                    await collect()
                    if not await rounds.submit(wanted):
                        break
                await _settled(rounds)
        finally:
            journal.close()
        caller.read_only()


async def _settled(rounds: BatchRounds) -> None:
    """Wait for the open batches."""
    await rounds.settle()
    if rounds.cancelled:
        raise RunStopped(
            f"{', '.join(rounds.cancelled)} was cancelled. What it answered is in the cache; the "
            "same command submits the rest again"
        )


def batch_caller_factory(
    models: Mapping[str, BoundModel], *, others_too: bool
) -> tuple[CallerFactory, Mapping[str, BatchApi]]:
    """Return the function that makes a caller that can collect requests, and the batches of the
    models that it collects them of; `others_too`: see `BatchCaller`. Raises ConfigurationError: no
    model can be asked by batches."""
    apis = {
        name: model.client.batches()
        for name, model in models.items()
        if isinstance(model.client, BatchClient)
    }
    if not apis:
        raise ConfigurationError(
            f"{', '.join(models)}: no such model can be asked by batches, only one whose provider "
            "has them, such as openai:NAME, servers that speak OpenAI's protocol, anthropic:NAME "
            "and google_genai:NAME; leave out --batch, --batch-out and --batch-in"
        )
    return partial(BatchCaller, apis, others_too=others_too), apis


def _address(model: BoundModel) -> BatchAddress:
    client, config = model.client, model.config
    assert isinstance(client, BatchClient)  # noqa: S101
    return BatchAddress(
        spec=config.model,
        address=client.address,
        key_env=config.key_env,
        settings={**client.settings, "timeout": config.timeout},
        headers=tuple(client.header_names),
    )


@dataclass(frozen=True, slots=True)
class BatchNow:
    """A batch of a run, as its journal and as its provider know it; `status` is None where the
    batch is over, or not at the provider."""

    batch: BatchRecord
    status: BatchStatus | None


async def look(run: Path, *, trusted: bool = False) -> list[BatchNow]:
    """Return the state of all batches of a run, the oldest first. `trusted`: whether keys may go
    where the run's journal has them sent, whatever that is; see the top of this module. Raises
    RunFolderError: the run has none, or its journal cannot be read; ConfigurationError: a key is
    missing, or would be sent to a server that is not known; RunStopped: a provider does not say."""
    batches = _batches(run)
    async with _clients(run, [batch for batch in batches if batch.open], trusted) as clients:
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
    """Wait for the open batches of a run, and put their answers into the cache. `ending`: whether
    they are to be ended; see `BatchRounds.ending`; `trusted`: see `look`. Raises InUse: another
    process does; RunFolderError, ConfigurationError, RunStopped: as `look`; Abort: the cache cannot
    be written."""
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
    """Return the headers that a panel file names for models with open batches, and that are not
    sent without it; raises as `look`."""
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
    """Open the clients of open batches, by token."""
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
