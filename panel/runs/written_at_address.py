"""Runs that are written to an address (`s3://bucket/run`): in a folder of this machine, which is
sent there when the run ends, however it ends.

Files at such an address cannot be appended to or locked, so no run goes on in them. Until it is
sent the folder stays on this machine, also after a kill: the same command goes on with it there.
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import wraps
from pathlib import Path, PurePosixPath
from typing import Any, ParamSpec, TypeVar

import orjson
import platformdirs

from panel.errors import RunFolderError, RunStopped
from panel.io.file_sets import is_address, said_of
from panel.io.private_files import make_private_folder
from panel.io.run_copies import RemoteFolder, RunCopy, stamps_of
from panel.runs.growing_file import locked
from panel.runs.output import RunOutput

P = ParamSpec("P")
T = TypeVar("T")

_SENT = "sent"


@contextmanager
def written_here(output: RunOutput, *, dry: bool = False) -> Iterator[RunOutput]:
    """Where a run for an output is written: for one at an address a folder of this machine, which
    is as what is there and is sent at the end; any other is given back.

    Args:
        dry: whether nothing is to be written there.

    Raises:
        InputError: a package for such an address is not installed, or it is none.
        RunFolderError: what is there cannot be read or written or is no run's folder; or another
            run of this machine writes there; or one of another machine has since this one began.
        RunStopped: it cannot be sent; says where it is.
    """
    if not is_address(output.path):
        yield output
        return
    there = RemoteFolder(str(output.path))
    digest = hashlib.sha256(there.address.encode()).hexdigest()[:16]
    parent = Path(platformdirs.user_cache_dir("persona-panel"), "runs", digest)
    path = parent / (PurePosixPath(there.address).name or "run")
    make_private_folder(parent)
    atexit.register(_remove, path, there.address)
    with _locked(parent, there.address):
        try:
            if not dry:
                there.try_to_write()
            copy = _copy(there, path, output)
        except RunFolderError:
            raise
        # Each package raises what it likes for a key, a network or a bucket.
        except Exception as error:
            raise RunFolderError(
                f"{there.address} cannot be used ({said_of(error)}); check the address and the "
                "permissions, or choose another --out"
            ) from None
        try:
            yield replace(output, path=path)
        finally:
            if not dry and (path / "run.json").exists():
                _send(copy, there.address)
                (parent / _SENT).touch()


def sent_to_address(
    work: Callable[P, Awaitable[T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Of a function that writes a run to `out`, one that takes an address, too."""

    @wraps(work)
    async def carried_out(*args: P.args, **kwargs: P.kwargs) -> T:
        out: Any = kwargs.get("out")
        if out is None:
            return await work(*args, **kwargs)
        with written_here(RunOutput.of(out)) as here:
            return await work(*args, **(kwargs | {"out": here}))  # type: ignore[arg-type]

    return carried_out


@contextmanager
def _locked(parent: Path, address: str) -> Iterator[None]:
    lock = parent / "lock"
    try:
        with locked(lock):
            yield
    except RunFolderError as error:
        raise type(error)(str(error).replace(str(lock), address)) from None


def _copy(there: RemoteFolder, path: Path, output: RunOutput) -> RunCopy:
    """The run as this machine left it before it was sent, or else as it is there."""
    sent, names = path.with_name(_SENT), there.names()
    if names and "run.json" not in names:
        raise RunFolderError(
            f"{there.address} is not the folder of a run, and not empty (it contains {names[0]}); "
            "choose another --out"
        )
    if (path / "run.json").exists() and not sent.exists() and not output.overwrite:
        if not _goes_on(there, path):
            raise RunFolderError(
                f"{there.address} was written by another run since one into it was interrupted on "
                f"this machine; to go on with what is there, remove {path}"
            )
        return RunCopy(there, path, {})
    shutil.rmtree(path, ignore_errors=True)
    sent.unlink(missing_ok=True)
    if not names:
        return RunCopy(there, path, {})
    make_private_folder(path)
    # A folder without it is fetched anew.
    there.fetch([*(name for name in names if name != "run.json"), "run.json"], path)
    return RunCopy(there, path, stamps_of(path))


def _goes_on(there: RemoteFolder, path: Path) -> bool:
    """Whether a folder of this machine holds every start of the run that is there."""
    theirs = there.manifest().get("starts", [])
    ours = orjson.loads((path / "run.json").read_bytes()).get("starts", [])
    return bool(ours[: len(theirs)] == theirs)


def _send(copy: RunCopy, address: str) -> None:
    try:
        copy.send_changes()
    except Exception as error:
        raise RunStopped(
            f"the run cannot be sent to {address} ({said_of(error)}); it is in {copy.path}, and "
            "the same command sends it"
        ) from error


def _remove(path: Path, address: str) -> None:
    """Remove what was sent, and what no run was written to, unless another run goes on with it."""
    with suppress(RunFolderError, OSError), _locked(path.parent, address):
        if path.with_name(_SENT).exists() or not (path / "run.json").exists():
            shutil.rmtree(path.parent, ignore_errors=True)
