"""The batches of a run and their journal, from the requests of a round to answers in the cache.

The journal is `batches.jsonl` in the run's folder, or beside its file of texts; lines are only ever
added to it. A record is on the disk, by fsync, before what it announces is done. A record that a
kill has cut off counts as never begun. The journal holds digests, ids and counts: no text, no key,
no header.

Each batch is in the journal before it is sent, under a token that the provider stores with it. So a
process that is killed at any moment leaves one of three things, and the next one goes on from it: a
batch that was never sent, or was sent and not noted (the provider is asked for the token), a batch
at the provider (its answers are fetched), or answers that are partly in the cache (they are fetched
again, at no cost, and counted once).
"""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar
from uuid import uuid4

import orjson

from persona_panel.calls.batch_caller import BatchCaller, WantedRows
from persona_panel.calls.batch_records import (
    BatchAnswers,
    BatchRecord,
    DamagedJournal,
    after,
    batches_in,
    beyond,
    dropped,
    may_have_arrived,
    parts_of,
    prepared,
    settled,
    sought,
    submitted,
    wait_after,
)
from persona_panel.files.errors import RunFolderError, RunStopped
from persona_panel.files.limits import content_of
from persona_panel.files.outputs import journal_of, open_private
from persona_panel.files.secrets import SECRETS
from persona_panel.models.batches import BatchApi, BatchStatus, NotToldYet, UploadingBatchApi
from persona_panel.models.client import NOTHING, CallError
from persona_panel.models.completions import BROKEN
from persona_panel.models.config import batched_name
from persona_panel.rubrics import Usage
from persona_panel.statistics.core.display import counted

try:
    import fcntl
except ImportError:  # Windows has none: there two runs must be kept apart by hand
    fcntl = None  # type: ignore[assignment]


class InUse(RunFolderError):
    """Another process takes the answers of a run's batches."""


class BatchJournal:
    """The journal of a run, which is a folder or a file of texts, for one process at a time to
    write. Raises InUse: another process writes it; RunFolderError: it cannot be read or written."""

    def __init__(self, run: Path) -> None:
        self.path = journal_of(run)
        try:
            self._file = open_private(self.path, "ab", buffered=False)
            try:
                if not _locked(self._file):
                    raise InUse(f"{run} is in use: another command handles its batches")
                records, whole = _read(self.path)
                self.batches = _batches(self.path, records)
                # Else the next record would be the rest of a line that was cut off.
                self._file.truncate(whole)
            except BaseException:
                self._file.close()
                raise
        except OSError as error:
            raise _unwritable(self.path, error) from None

    @property
    def open_batches(self) -> list[BatchRecord]:
        """The batches that may still bring answers, the oldest first."""
        return [batch for batch in self.batches.values() if batch.open]

    def add(self, record: Mapping[str, Any]) -> BatchRecord:
        """Write a change down for good; returns the batch after it. Raises RunFolderError: it
        cannot be written."""
        record = {name: _masked(name, value) for name, value in record.items()}
        batch = after(record, self.batches.get(record["token"]))
        try:
            line = orjson.dumps(record) + b"\n"
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unwritable(self.path, error) from None
        self.batches[batch.token] = batch
        return batch

    def close(self) -> None:
        """Leave the file for whoever comes next."""
        self._file.close()


def batches_of(run: Path) -> list[BatchRecord]:
    """Return the batches of a run, the oldest first; none where it never had any. Raises
    RunFolderError: the journal cannot be read."""
    path = journal_of(run)
    return list(_batches(path, _read(path)[0]).values())


def _masked(name: str, value: Any) -> Any:
    """Return a provider's own words without a key that they quote."""
    return SECRETS.scrub(value) if name in ("why", "outcome") else value


def _locked(file: IO[bytes]) -> bool:
    """Return whether this process has the file to itself, until it is closed."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def _read(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the records of a journal, and how many bytes whole ones take."""
    try:
        content = content_of(path)
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error.strerror}") from None
    whole = content.rfind(b"\n") + 1
    records = []
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            records.append(orjson.loads(line))
        except orjson.JSONDecodeError:
            raise _damaged(path, f"line {number} is not JSON") from None
    return records, whole


def _batches(path: Path, records: list[dict[str, Any]]) -> dict[str, BatchRecord]:
    try:
        return batches_in(records)
    except DamagedJournal as error:
        raise _damaged(path, str(error)) from None


def _damaged(path: Path, why: str) -> RunFolderError:
    return RunFolderError(
        f"{path} is not a journal of batches ({why}); choose another --out, or look up at the "
        "provider which batches are open before you remove it"
    )


def _unwritable(path: Path, error: OSError) -> RunFolderError:
    return RunFolderError(f"{path} cannot be written: {error.strerror}; check free space")


T = TypeVar("T")
NOT_FOUND = 404


class _Gone(Exception):
    """A provider does not know a batch, or its files."""


class BatchAddress(NamedTuple):
    """The place of a model's batches, for a later process; see `BatchRecord`."""

    spec: str
    address: str
    key_env: str | None
    settings: Mapping[str, Any]
    headers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BatchPace:
    """The lengths of waits, in seconds.

    Attributes:
        first_look: before a batch is looked at again, at first.
        longest_look: likewise, in the end.
        listed: how long after it was sent a batch may be missing from its provider's list.
        patience: how long a provider is tried that brings nothing but faults.
    """

    first_look: float = 2.0
    longest_look: float = 60.0
    listed: float = 60.0
    patience: float = 600.0


PACE = BatchPace()


class BatchRounds:
    """The batches of one run.

    Args:
        caller: whose cache takes the answers.
        addresses: of the models that it asks by batches.
        journal: of the run's folder.
        tell: shows a user a line.
    """

    def __init__(
        self,
        caller: BatchCaller,
        addresses: Mapping[str, BatchAddress],
        journal: BatchJournal,
        tell: Callable[[str], None],
        pace: BatchPace,
    ) -> None:
        self._caller, self._addresses, self._journal = caller, addresses, journal
        self._tell, self._pace = tell, pace
        self.ending = False
        """True where batches are to be ended: one that is found is cancelled, and one that its
        provider does not know is lost."""
        self.cancelled: list[str] = []
        """The ids of batches that somebody cancelled."""

    def go_on(self) -> None:
        """Count what an earlier process has left: batches that are open, and those whose answers
        are in the cache but not in the spending, as a kill came between. This process then knows
        what they answered."""
        budget, calls = self._caller.budget, 0
        totals: dict[str, Usage] = {}
        sent = Counter[str]()
        for batch in self._journal.batches.values():
            if batch.open:
                budget.hold_anyway(batched_name(batch.model), len(batch.rows), batch.most)
            elif batch.state == "settled":
                unanswered = set(batch.unanswered)
                self._caller.tried_before(unanswered)
                self._caller.unreadable_before(batch.unreadable)
                sent.update(row.custom_id for row in batch.rows if row not in unanswered)
                calls += batch.calls
                name = batched_name(batch.model)
                totals[name] = totals.get(name, NOTHING) + batch.used
        # What went twice had its limit raised.
        self._caller.answered_before(name for name, n in sent.items() if n == 1)
        spent = budget.spending
        # How many of them were made by which model does not matter.
        calls = max(0, calls - spent.batched)
        for name, used in totals.items():
            left = beyond(used, spent.usage.get(name, NOTHING))
            if calls or left:
                budget.count_batch(name, calls, NOTHING, left, held=0)
                calls = 0

    async def submit(self, wanted: Mapping[str, WantedRows]) -> int:
        """Send what a round has gathered, as far as the caps allow; returns how many requests that
        is. Raises RunStopped: a provider does not take a batch; RunFolderError: the journal cannot
        be written."""
        fitting = self._within_caps(wanted)
        for model, n in fitting.items():
            api, rows = self._caller.apis[model], wanted[model]
            for part in parts_of(rows.sizes[:n], api.most_rows, api.most_bytes):
                await self._submit(model, api, rows, part)
        return sum(fitting.values())

    async def settle(self) -> None:
        """Wait for all batches that are open, and put their answers into the cache. Raises
        RunStopped: a provider refused one, or cannot be reached; RunFolderError: the journal cannot
        be written; Abort: the cache or the count of what was spent cannot be."""
        # Together: each takes up to a day.
        waiting = [
            asyncio.create_task(self._settled(batch)) for batch in self._journal.open_batches
        ]
        try:
            await asyncio.gather(*waiting)
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def _within_caps(self, wanted: Mapping[str, WantedRows]) -> dict[str, int]:
        """Return how many of each model's first rows fit within the caps, and set aside their cost:
        a row of each model in turn, so that no model is left out for another."""
        fitting = dict.fromkeys(wanted, 0)
        models = [model for model, rows in wanted.items() if rows.rows]
        while models:
            for model in tuple(models):
                most = wanted[model].most
                cap = self._caller.budget.hold(batched_name(model), 1, most[fitting[model]])
                if cap is not None:
                    self._caller.cap = cap
                    models.remove(model)
                    continue
                fitting[model] += 1
                if fitting[model] == len(most):
                    models.remove(model)
        return fitting

    async def _submit(self, model: str, api: BatchApi, rows: WantedRows, part: range) -> None:
        keys = [rows.rows[place] for place in part]
        most = sum((rows.most[place] for place in part), NOTHING)
        token, now = uuid4().hex, time.time()
        at = self._addresses[model]._asdict()
        batch = BatchRecord(
            token=token, model=model, rows=tuple(keys), most=most, prepared_at=now, **at
        )
        self._journal.add(prepared(batch))
        status = await self._sent(batch, api, list(rows.lines(part)))
        self._journal.add(submitted(token, status.id))
        self._caller.sent(keys)
        self._tell(f"{model}: batch {status.id} with {counted(len(keys), 'request')} was submitted")

    async def _sent(self, batch: BatchRecord, api: BatchApi, lines: list[bytes]) -> BatchStatus:
        began, wait = time.monotonic(), self._pace.first_look
        while True:
            try:
                return await api.submit(batch.token, lines)
            except CallError as error:
                if error.kind != "transient":
                    await self._drop(batch, str(error))
                    raise self._stopped(batch, f"did not take the batch: {error}") from None
                fault: CallError | TimeoutError = error
            except TimeoutError as late:
                fault = late
            if time.monotonic() - began > self._pace.patience:
                raise self._stopped(batch, f"did not take the batch: {fault}") from None
            self._tell(f"{batch.model}: {fault}; trying again")
            if may_have_arrived(fault):
                status = await self._sent_status(batch, time.time())
                if status is not None:
                    return status
            else:
                await asyncio.sleep(wait_after(fault, wait))
            wait = min(2 * wait, self._pace.longest_look)

    async def _sent_status(self, batch: BatchRecord, sent_at: float) -> BatchStatus | None:
        """Return the status of a batch that may be at the provider; None where it surely is not."""
        api, wait = self._caller.apis[batch.model], self._pace.first_look
        wanted, message = sought(batch, self._journal.batches.values()), ""
        while True:
            looked_at = time.time()
            try:
                status = await self._patiently(batch, lambda: api.find(wanted), "list its batches")
            except NotToldYet as undecided:
                # However long it takes: what is sent in its place may be paid for twice.
                if message != (message := str(undecided)):
                    self._tell(f"{batch.model}: {message}")
                await asyncio.sleep(wait)
                wait = min(1.5 * wait, self._pace.longest_look)
                continue
            left = sent_at + self._pace.listed - looked_at
            if status is not None or left <= 0:
                return status
            await asyncio.sleep(min(wait, left))
            wait = min(2 * wait, self._pace.longest_look)

    async def _settled(self, batch: BatchRecord) -> None:
        try:
            await self._settled_or_gone(batch)
        except _Gone as gone:
            self._lose(self._journal.batches[batch.token], gone)

    async def _settled_or_gone(self, batch: BatchRecord) -> None:
        """Wait for a batch and put its answers into the cache."""
        if batch.id is None:
            sent = await self._sent_status(batch, batch.prepared_at)
            if sent is None:
                await self._drop(batch, "it never reached the provider")
                return
            batch = self._journal.add(submitted(batch.token, sent.id))
            if self.ending and sent.phase == "working":
                api = self._caller.apis[batch.model]
                await self._patiently(batch, lambda: api.cancel(sent.id), "cancel its batch")
        status = await self._ended(batch, batch.id or "")
        if status.phase == "failed":
            await self._drop(batch, status.errors or status.word)
            why = f"refused the batch {status.id}: {status.errors or status.word}"
            raise self._stopped(batch, why)
        await self._patiently(
            batch, lambda: self._fill(batch, status), "hand over the answers of its batch"
        )

    async def _ended(self, batch: BatchRecord, id_: str) -> BatchStatus:
        api, wait, reported = self._caller.apis[batch.model], self._pace.first_look, None
        while True:
            status = await self._patiently(
                batch, lambda: api.status(id_), "say how its batch stands"
            )
            # What an ended one came to is told with its answers.
            if status.phase != "working":
                return status
            done = status.done + status.failed
            if reported != (status.word, done):
                reported = (status.word, done)
                total = counted(status.total or len(batch.rows), "request")
                of = f"{status.done:,} of {total} answered"
                failed = f", {status.failed:,} failed" if status.failed else ""
                self._tell(f"{batch.model}: batch {id_}: {status.word}, {of}{failed}")
            await asyncio.sleep(max(wait, status.retry_after or 0.0))
            wait = min(1.5 * wait, self._pace.longest_look)

    async def _fill(self, batch: BatchRecord, status: BatchStatus) -> None:
        """Put the answers of an ended batch into the cache. Doing it twice has the same effect as
        once."""
        caller, folder = self._caller, self._journal.path.parent
        api = caller.apis[batch.model]
        answers = BatchAnswers(batch, partial(caller.take, batch.model))
        async for answer in api.results(status, folder):
            answers.add(answer)
        if n := answers.lacking(status):
            self._tell(
                f"{batch.model}: batch {status.id}: answers are missing or cannot be read "
                f"({n:,}); fetching the results once more"
            )
            answers.fetch_again()
            async for answer in api.results(status, folder):
                answers.add(answer)
        # What was answered is paid for: it is not asked for again as long as it may be there.
        if answers.are_none(status) and not self.ending:
            raise CallError(
                f"its results hold no answer, and it counts {status.done:,}; `batch cancel` gives "
                "these up",
                kind="transient",
                status=BROKEN,
            )
        # The record that they are there outlives a power cut, and so must they.
        await asyncio.to_thread(caller.store.sync)
        came = answers.settled(status)
        used, n_calls = sum(came.each, NOTHING), len(came.each)
        # Written down first: what the journal has and spent.json does not is counted by `go_on`.
        self._journal.add(
            settled(batch.token, n_calls, used, status.word, came.unanswered, came.unreadable)
        )
        name = batched_name(batch.model)
        caller.budget.count_batch(name, n_calls, batch.most, used, held=len(batch.rows))
        caller.made(name, came.made, used, came.n_estimated, answers.share)
        caller.counts.made += n_calls - len(came.made)
        caller.counts.faults.update(came.faults)
        if status.phase == "cancelled":
            self.cancelled.append(status.id)
        self._tell(f"{batch.model}: batch {status.id} has ended ({status.word}): {came.message}")

    def _lose(self, batch: BatchRecord, why: _Gone) -> None:
        """Settle a batch that can be neither fetched nor cancelled. How much of it was answered,
        and is paid for, is unknown: it counts as the most that it may have taken."""
        if batch.id is None:
            batch = self._journal.add(submitted(batch.token, "-"))
        n, name = len(batch.rows), batched_name(batch.model)
        self._journal.add(settled(batch.token, n, batch.most, "lost"))
        self._caller.budget.count_batch(name, n, batch.most, batch.most, held=n)
        self._tell(
            f"{batch.model}: batch {batch.id} is lost: {why}. It counts as {n:,} calls that took "
            "the most they may"
        )

    async def _drop(self, batch: BatchRecord, why: str) -> None:
        self._journal.add(dropped(batch.token, why))
        held, name = len(batch.rows), batched_name(batch.model)
        self._caller.budget.count_batch(name, 0, batch.most, NOTHING, held=held)
        api = self._caller.apis[batch.model]
        if isinstance(api, UploadingBatchApi):
            # A file that stays costs nothing, and not every server lists or deletes files.
            with suppress(CallError, TimeoutError):
                await api.remove_uploads(batch.token)

    async def _patiently(
        self, batch: BatchRecord, call: Callable[[], Awaitable[T]], what: str
    ) -> T:
        """Return the result of a call that costs nothing, tried again as long as the patience
        lasts; `what` is what it asks the provider to do. Raises RunStopped: it brings nothing."""
        began, wait = time.monotonic(), self._pace.first_look
        while True:
            try:
                return await call()
            except CallError as error:
                if self.ending and error.status == NOT_FOUND:
                    raise _Gone(str(error).rstrip(".")) from None
                fault: CallError | TimeoutError = error
                hopeless = error.kind != "transient"
            except TimeoutError as late:
                fault, hopeless = late, False
            if hopeless or time.monotonic() - began > self._pace.patience:
                raise self._stopped(batch, f"does not {what}: {fault}") from None
            await asyncio.sleep(wait_after(fault, wait))
            wait = min(2 * wait, self._pace.longest_look)

    def _stopped(self, batch: BatchRecord, why: str) -> RunStopped:
        reason = f"{batch.model} {why}".rstrip(".")
        return RunStopped(f"{reason}. The same command goes on with the run")
