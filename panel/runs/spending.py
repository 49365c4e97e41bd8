"""What all runs into a folder have spent: spent.json, which caps count.

Written in one place over and over, in one write of a few hundred bytes, which a kill cannot part.

With a cap a call is set aside in it before it is sent, so that a run that is killed leaves it true.
Without one nothing hangs on the last few calls, and a write at each would be a fortieth of a run's
CPU: it is written some times a second, and after every few calls. A kill then loses the calls in
flight and those that ended since: for as long as the run goes on, the record says how many these
may be (`uncounted`), and a run that ends takes that back.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import orjson

from panel.calls.budget import NOTHING_SPENT, Spending
from panel.calls.caller import Caller
from panel.errors import RunFolderError
from panel.io.file_limits import content_of
from panel.io.private_files import PRIVATE_FILE
from panel.runs.judgment_lines import count_in, usage_in
from panel.runs.output import RunOutput

logger = logging.getLogger(__name__)

SPENT = "spent.json"
_FEWEST_BYTES = 1024
"""Taken at once, so that a disk that fills up later stops no record."""
_CALLS_PER_WRITE = 32
_SECONDS_PER_WRITE = 0.2


def spent_in(folder: Path) -> Spending:
    """What was spent for a run's folder so far; nothing where there is no record, or no folder.

    Raises:
        RunFolderError: the record cannot be read.
    """
    return record_in(folder / SPENT)[0]


def uncounted_in(folder: Path) -> int:
    """How many calls at most were made by runs into a folder that were killed, and are not in what
    was spent.

    Raises:
        RunFolderError: the record cannot be read.
    """
    return record_in(folder / SPENT)[1]


def record_in(path: Path) -> tuple[Spending, int]:
    """What was spent by a record, and how many calls at most it does not count; nothing where
    there is none.

    Raises:
        RunFolderError: it cannot be read.
    """
    try:
        content = content_of(path)
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING_SPENT, 0
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error.strerror}") from None
    # Killed before the first write.
    if not content.strip():
        return NOTHING_SPENT, 0
    try:
        return _read(orjson.loads(content))
    except (ValueError, LookupError, TypeError, AttributeError):
        raise RunFolderError(
            f"{path} is not a record of calls and tokens by model, so that earlier spending "
            "cannot be counted; choose another --out, or remove the file to count from zero"
        ) from None


def earlier_spending(output: RunOutput) -> Spending:
    """What was spent for the run that is to be written; a run that is replaced does not count.

    Raises:
        RunFolderError: the record cannot be read.
    """
    return NOTHING_SPENT if output.overwrite else spent_in(output.folder)


@contextmanager
def spending_kept(caller: Caller, path: Path | None) -> Iterator[None]:
    """Have a caller go on from what was spent by a record, and write down what it spends.

    The record is this run's alone, by a lock; None, there is none to write to.

    Raises:
        RunFolderError: the record cannot be read or written.
        ConfigurationError: as `Budget.go_on_from`.
    """
    if path is None:
        yield
        return
    budget = caller.budget
    before, uncounted = record_in(path)
    budget.go_on_from(before)
    if uncounted:
        logger.warning(
            "%s: earlier runs were killed, and up to %d of their calls are not counted in what was "
            "spent",
            path.parent if path.name == SPENT else path,
            uncounted,
        )
    open_ = uncounted
    if not budget.limited and caller.most_in_flight:
        open_ += caller.most_in_flight + _CALLS_PER_WRITE - 1
    caller.counts.before = budget.before
    try:
        # Not emptied: a kill at this moment must not lose what was spent.
        path.touch(PRIVATE_FILE)
        file = path.open("r+b", buffering=0)
    except OSError as error:
        raise _unwritable(path, error) from None
    longest = _FEWEST_BYTES
    unwritten, written_at = 0, monotonic()

    def write(spent: Spending, uncounted: int) -> None:
        nonlocal longest
        line = _line(spent, uncounted)
        # What a longer one has left behind it must not stay.
        longest = max(longest, len(line))
        line = line.ljust(longest) + b"\n"
        file.seek(0)
        if (written := file.write(line)) != len(line):
            raise OSError(f"only {written} of {len(line)} bytes went into {path}")

    def record(at_once: bool) -> None:
        nonlocal unwritten, written_at
        unwritten += 1
        now = monotonic()
        if at_once or unwritten == _CALLS_PER_WRITE or now - written_at > _SECONDS_PER_WRITE:
            write(budget.spending, open_)
            unwritten, written_at = 0, now

    with file:
        try:
            write(budget.spending, open_)
        except OSError as error:
            raise _unwritable(path, error) from None
        budget.record = record
        try:
            yield
        finally:
            budget.record = None
            # What cannot be written now leaves the number too high, and nothing out.
            with suppress(OSError):
                write(budget.spending, uncounted)


def _unwritable(path: Path, error: OSError) -> RunFolderError:
    return RunFolderError(f"{path} cannot be written: {error.strerror or error}")


def _line(spent: Spending, uncounted: int) -> bytes:
    record: dict[str, Any] = {"calls": spent.calls, "usage": spent.usage, "uncounted": uncounted}
    if spent.batched:
        record["batched"] = spent.batched
    return orjson.dumps(record)


def _read(document: Any) -> tuple[Spending, int]:
    usage = {str(model): usage_in(used) for model, used in document["usage"].items()}
    # Earlier versions did not write how many are not counted.
    uncounted = count_in(document.get("uncounted", 0))
    batched = count_in(document.get("batched", 0))
    return Spending(count_in(document["calls"]), usage, batched), uncounted
