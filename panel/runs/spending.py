"""The spending of all runs into a folder, which caps count: spent.json
(docs/reference/run-folder.md).

Written in one place over and over, in one write of a few hundred bytes, which a kill cannot part. A
write at each call would be a fortieth of a run's CPU: without a cap, some calls to come are
reserved at once.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import IO, Any

import orjson

from persona_panel.calls.budget import NOTHING_SPENT, Spending
from persona_panel.calls.caller import Caller
from persona_panel.files.errors import RunFolderError
from persona_panel.files.limits import content_of
from persona_panel.files.outputs import PRIVATE_FILE
from persona_panel.rubrics import Usage
from persona_panel.runs.judgment_lines import count_in, usage_in
from persona_panel.runs.output import SPENT

logger = logging.getLogger(__name__)

_BYTES = 4096
"""Taken at once, so that a disk that fills up later stops no record."""
_SECONDS_PER_WRITE = 0.2


def spent_in(folder: Path) -> Spending:
    """Read what was spent for a run's folder so far; nothing where there is no record, or no
    folder. Raises RunFolderError: the record cannot be read."""
    return record_in(folder / SPENT)[0]


def record_in(path: Path) -> tuple[Spending, Spending]:
    """Read what was spent by a record, and what runs that were killed may have spent besides;
    nothing where there is none. Raises RunFolderError: it cannot be read."""
    try:
        content = content_of(path)
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING_SPENT, NOTHING_SPENT
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error.strerror}") from None
    # Killed before the first write.
    if not content.strip():
        return NOTHING_SPENT, NOTHING_SPENT
    try:
        return _read(orjson.loads(content))
    except (ValueError, LookupError, TypeError, AttributeError):
        raise RunFolderError(
            f"{path} is not a record of calls and tokens by model, so that earlier spending "
            "cannot be counted; choose another --out, or remove the file to count from zero"
        ) from None


def earlier_spending(spent: Path, *, overwrite: bool) -> tuple[Spending, Spending]:
    """Read what earlier runs spent, as `record_in`, for one that is to be written; a run that is
    replaced does not count. Raises RunFolderError: the record cannot be read."""
    return (NOTHING_SPENT, NOTHING_SPENT) if overwrite else record_in(spent)


@contextmanager
def spending_kept(caller: Caller, path: Path | None) -> Iterator[None]:
    """Have a caller go on from what was spent by a record, and write down what it spends.

    The record is this run's alone, by a lock; None, there is none to write to. Raises
    RunFolderError: the record cannot be read or written; ConfigurationError: as
    `Budget.go_on_from`.
    """
    if path is None:
        yield
        return
    budget = caller.budget
    unsure = NOTHING_SPENT
    # A run that is made again has its own spending in the record.
    if budget.kept_in != path:
        before, unsure = record_in(path)
        budget.go_on_from(before, unsure)
        budget.kept_in = path
    if unsure.calls:
        logger.warning(
            "%s: earlier runs were killed, or workers of them, and up to %d calls more than they "
            "have recorded may have been made; caps count them",
            path.parent if path.name == SPENT else path,
            unsure.calls,
        )
    caller.counts.before = budget.before
    try:
        # Not emptied: a kill at this moment must not lose what was spent.
        path.touch(PRIVATE_FILE)
        file = path.open("r+b", buffering=0)
    except OSError as error:
        raise _unwritable(path, error) from None
    room, written_at = 0, monotonic()

    def write(*, with_room: bool) -> None:
        nonlocal room, written_at
        line = _line(budget.spending, budget.ahead(with_room=with_room))
        if len(line) >= room:
            # First: a record must not end in the middle where the disk is full.
            more = _BYTES * (len(line) // _BYTES + 1)
            _write_all(file, b" " * (more - room), at=room)
            room = more
        # What a longer one has left behind it must not stay.
        _write_all(file, line.ljust(room - 1) + b"\n", at=0)
        written_at = monotonic()

    def record(at_once: bool) -> None:
        if at_once or monotonic() - written_at > _SECONDS_PER_WRITE:
            write(with_room=True)

    with file:
        try:
            room = os.fstat(file.fileno()).st_size
            write(with_room=True)
        except OSError as error:
            raise _unwritable(path, error) from None
        budget.record = record
        try:
            yield
        finally:
            budget.record = None
            # What cannot be written now leaves the number too high, and nothing out.
            with suppress(OSError):
                write(with_room=False)


def _write_all(file: IO[bytes], content: bytes, *, at: int) -> None:
    """Write all of it, or raise what keeps the rest from being written."""
    file.seek(at)
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


def _unwritable(path: Path, error: OSError) -> RunFolderError:
    return RunFolderError(f"{path} cannot be written: {error.strerror or error}")


def _line(spent: Spending, reserved: Spending) -> bytes:
    record: dict[str, Any] = {"calls": spent.calls, "usage": spent.usage}
    record["reserved"] = {"calls": reserved.calls, "usage": reserved.usage}
    if spent.batched:
        record["batched"] = spent.batched
    return orjson.dumps(record)


def _read(document: Any) -> tuple[Spending, Spending]:
    # Earlier versions wrote of how many calls they did not know, or nothing.
    reserved = document.get("reserved") or {"calls": document.get("uncounted", 0), "usage": {}}
    batched = count_in(document.get("batched", 0))
    spent = Spending(count_in(document["calls"]), _usage_of(document), batched)
    return spent, Spending(count_in(reserved["calls"]), _usage_of(reserved))


def _usage_of(document: Any) -> dict[str, Usage]:
    return {str(model): usage_in(used) for model, used in document["usage"].items()}
