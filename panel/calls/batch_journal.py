"""The journal of a run's batches, `batches.jsonl` in its folder or beside its file of texts: only
ever added to.

A record is on the disk, by fsync, before what it announces is done. One that a kill has cut off is
as if it had never been begun. It holds digests, ids and counts: no text, no key, no header.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import orjson

from persona_panel.calls.batch_records import BatchRecord, DamagedJournal, after, batches_in
from persona_panel.files.errors import RunFolderError
from persona_panel.files.file_limits import content_of
from persona_panel.files.private_files import open_private
from persona_panel.files.secrets import SECRETS

try:
    import fcntl
except ImportError:  # Windows has none: there two runs must be kept apart by hand
    fcntl = None  # type: ignore[assignment]

BATCHES = "batches.jsonl"
_TEXTS = ".jsonl"


class InUse(RunFolderError):
    """Another process takes the answers of a run's batches."""


def journal_of(run: Path) -> Path:
    """Where the journal of a run is: in its folder; where the run is a file of texts, NAME.jsonl,
    in NAME.batches.jsonl beside it."""
    if run.suffix == _TEXTS and not run.is_dir():
        return run.with_name(f"{run.stem}.{BATCHES}")
    return run / BATCHES


class BatchJournal:
    """The journal of a run, which is a folder or a file of texts, for one process at a time to
    write.

    Raises:
        InUse: another process writes it.
        RunFolderError: it cannot be read or written.
    """

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
        """Those that may still bring answers, the oldest first."""
        return [batch for batch in self.batches.values() if batch.open]

    def add(self, record: Mapping[str, Any]) -> BatchRecord:
        """Write a change down for good; the batch as it is then.

        Raises:
            RunFolderError: it cannot be written.
        """
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
    """The batches of a run, the oldest first; none where it never had any.

    Raises:
        RunFolderError: the journal cannot be read.
    """
    path = journal_of(run)
    return list(_batches(path, _read(path)[0]).values())


def _masked(name: str, value: Any) -> Any:
    """A provider's own words without a key that they quote."""
    return SECRETS.scrub(value) if name in ("why", "outcome") else value


def _locked(file: IO[bytes]) -> bool:
    """Whether this process has the file to itself, until it is closed."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def _read(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The records of a journal, and how many bytes whole ones take."""
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
