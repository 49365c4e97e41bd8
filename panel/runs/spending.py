"""What all runs into a folder have spent: spent.json, which caps count.

Written at every call, so that a run that is killed leaves it true: in one place over and over, in
one write of a few hundred bytes, which costs a call some microseconds. A kill cannot part a write.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from panel.calls.budget import NOTHING_SPENT, Spending
from panel.calls.caller import Caller
from panel.errors import RunFolderError
from panel.io.private_files import PRIVATE_FILE
from panel.runs.judgment_lines import count_in, usage_in
from panel.runs.output import RunOutput

_NAME = "spent.json"
_FEWEST_BYTES = 1024
"""Taken at once, so that a disk that fills up later stops no record."""


def spent_in(folder: Path) -> Spending:
    """What was spent for a run's folder so far; nothing where there is no record, or no folder.

    Raises:
        RunFolderError: the record cannot be read.
    """
    path = folder / _NAME
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING_SPENT
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error.strerror}") from None
    # Killed before the first write.
    if not content.strip():
        return NOTHING_SPENT
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
def spending_kept(caller: Caller, folder: Path | None) -> Iterator[None]:
    """Have a caller go on from what was spent for a folder, and write down what it spends.

    The folder is this run's alone, by its lock; None, there is none to write to.

    Raises:
        RunFolderError: the record cannot be read or written.
        ConfigurationError: as `Budget.go_on_from`.
    """
    if folder is None:
        yield
        return
    budget = caller.budget
    budget.go_on_from(spent_in(folder))
    caller.counts.before = budget.before
    path = folder / _NAME
    try:
        # Not emptied: a kill at this moment must not lose what was spent.
        path.touch(PRIVATE_FILE)
        file = path.open("r+b", buffering=0)
    except OSError as error:
        raise _unwritable(path, error) from None
    longest = _FEWEST_BYTES

    def record(spent: Spending) -> None:
        nonlocal longest
        line = _line(spent)
        # What a longer one has left behind it must not stay.
        longest = max(longest, len(line))
        line = line.ljust(longest) + b"\n"
        file.seek(0)
        if (written := file.write(line)) != len(line):
            raise OSError(f"only {written} of {len(line)} bytes went into {path}")

    with file:
        try:
            record(budget.spending)
        except OSError as error:
            raise _unwritable(path, error) from None
        budget.record = record
        try:
            yield
        finally:
            budget.record = None


def _unwritable(path: Path, error: OSError) -> RunFolderError:
    return RunFolderError(f"{path} cannot be written: {error.strerror or error}")


def _line(spent: Spending) -> bytes:
    return orjson.dumps({"calls": spent.calls, "usage": spent.usage})


def _read(document: Any) -> Spending:
    usage = {str(model): usage_in(used) for model, used in document["usage"].items()}
    return Spending(count_in(document["calls"]), usage)
