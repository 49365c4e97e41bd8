"""Runs that are written to an address (`s3://bucket/run`): in a folder of this machine, which is
sent there when the run ends, however it ends.

Files at such an address cannot be appended to or locked, so no run goes on in them. Until it is
sent the folder stays on this machine, also after a kill: the same command goes on with it there.
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import orjson
import platformdirs

from panel.errors import RunFolderError, RunStopped
from panel.io.file_sets import is_address, refuse_one_slash, said_of
from panel.io.private_files import make_private_folder
from panel.io.run_copies import RemoteFolder, RunCopy, show_as, stamps_of
from panel.runs.growing_file import locked
from panel.runs.output import RunOutput

P = ParamSpec("P")
T = TypeVar("T")

_SENDING, _SENT = "sending", "sent"
"""Beside the run that is kept here: its first file is about to be sent; all are."""


@contextmanager
def written_here(
    output: RunOutput, *, dry: bool = False, stays: bool = False
) -> Iterator[RunOutput]:
    """Where a run for an output is written: for one at an address a folder of this machine, which
    is as what is there and is sent at the end; any other is given back.

    Args:
        dry: whether nothing is to be written there or kept here: the folder is one to read.
        stays: whether what was sent is read here until the process ends.

    Raises:
        InputError: a package for such an address is not installed, or it is none; or what is meant
            as one has one slash.
        RunFolderError: what is there cannot be read or written or is no run's folder; or another
            run of this machine writes there; or one of another machine has since this one began.
        RunStopped: it cannot be sent; says where it is.
    """
    refuse_one_slash(output.path)
    if not is_address(output.path):
        yield output
        return
    there = RemoteFolder(str(output.path))
    kept = _kept_folder(there)
    if dry:
        with tempfile.TemporaryDirectory(prefix="persona-panel-") as folder:
            path = Path(folder, kept.name)
            with _reached(there):
                _copy_to_read(there, kept, path)
            yield replace(output, path=path)
        return
    make_private_folder(kept.parent)
    if stays:
        atexit.register(_remove, kept, there.address)
    try:
        with _locked(kept.parent, there.address):
            with _reached(there):
                there.try_to_write()
                copy = _copy(there, kept)
            try:
                yield replace(output, path=kept)
            finally:
                if (kept / "run.json").exists():
                    _send(copy, there.address)
    finally:
        if not stays:
            _remove(kept, there.address)


def sent_to_address(
    work: Callable[P, Awaitable[T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Of a function that writes a run to `out`, one that takes an address, too."""

    @wraps(work)
    async def carried_out(*args: P.args, **kwargs: P.kwargs) -> T:
        out: Any = kwargs.get("out")
        if out is None:
            return await work(*args, **kwargs)
        with written_here(RunOutput.of(out), stays=True) as here:
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


@contextmanager
def _reached(there: RemoteFolder) -> Iterator[None]:
    """Says of what fails that the address cannot be used."""
    try:
        yield
    except RunFolderError:
        raise
    # Each package raises what it likes for a key, a network or a bucket.
    except Exception as error:
        raise RunFolderError(
            f"{there.address} cannot be used ({said_of(error)}); check the address and the "
            "permissions, or choose another --out"
        ) from None


def _kept_folder(there: RemoteFolder) -> Path:
    """Where a run for an address is kept on this machine; passwords and tokens are no part of its
    name, and may change."""
    digest = hashlib.sha256(there.address.encode()).hexdigest()[:16]
    return Path(platformdirs.user_cache_dir("persona-panel"), "runs", digest, "run")


def _copy(there: RemoteFolder, kept: Path) -> RunCopy:
    """The run as this machine left it before it was sent, or else as it is there."""
    names = there.names()
    if _is_interrupted(there, kept, names):
        return RunCopy(there, kept, {})
    shutil.rmtree(kept, ignore_errors=True)
    for marker in (_SENDING, _SENT):
        kept.with_name(marker).unlink(missing_ok=True)
    _fetch(there, names, kept)
    return RunCopy(there, kept, stamps_of(kept))


def _copy_to_read(there: RemoteFolder, kept: Path, path: Path) -> None:
    """The same at another path, with nothing changed where a run is kept."""
    names = there.names()
    if _is_interrupted(there, kept, names):
        make_private_folder(path)
        for name in stamps_of(kept):
            shutil.copy2(kept / name, path)
    else:
        _fetch(there, names, path)
    show_as(path, there)


def _fetch(there: RemoteFolder, names: list[str], path: Path) -> None:
    if names:
        make_private_folder(path)
        # A folder without it is fetched anew.
        there.fetch([*(name for name in names if name != "run.json"), "run.json"], path)


def _is_interrupted(there: RemoteFolder, kept: Path, names: list[str]) -> bool:
    """Whether this machine keeps a run that has not been sent, or not whole, to `there`, where
    files are called `names`.

    Raises:
        RunFolderError: what is there is of no run, or of one that has gone on without it.
    """
    is_kept = (kept / "run.json").exists() and not kept.with_name(_SENT).exists()
    # run.json is sent last: where the first sending was cut off, there are other files alone.
    begun = is_kept and kept.with_name(_SENDING).exists()
    if names and "run.json" not in names and not begun:
        raise RunFolderError(
            f"{there.address} is not the folder of a run, and not empty (it contains {names[0]}); "
            "choose another --out"
        )
    if is_kept and not _goes_on(there, kept):
        raise RunFolderError(
            f"{there.address} was written by another run since one into it was interrupted on "
            f"this machine; to go on with what is there, remove {kept}"
        )
    return is_kept


def _goes_on(there: RemoteFolder, path: Path) -> bool:
    """Whether a folder of this machine holds every start of the run that is there."""
    theirs = there.manifest().get("starts", [])
    ours = orjson.loads((path / "run.json").read_bytes()).get("starts", [])
    return bool(ours[: len(theirs)] == theirs)


def _send(copy: RunCopy, address: str) -> None:
    copy.path.with_name(_SENDING).touch()
    try:
        copy.send_changes(removing=True)
    except Exception as error:
        raise RunStopped(
            f"the run cannot be sent to {address} ({said_of(error)}); it is in {copy.path}, and "
            "the same command sends it"
        ) from error
    copy.path.with_name(_SENT).touch()


def _remove(path: Path, address: str) -> None:
    """Remove what was sent, and what no run was written to, unless another run goes on with it."""
    with suppress(RunFolderError, OSError), _locked(path.parent, address):
        if path.with_name(_SENT).exists() or not (path / "run.json").exists():
            shutil.rmtree(path.parent, ignore_errors=True)
