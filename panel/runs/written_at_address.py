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
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from uuid import uuid4

import orjson
import platformdirs
from pydantic import TypeAdapter, ValidationError

from persona_panel.files.addresses import is_address, refuse_one_slash, temporary_folder
from persona_panel.files.errors import Fault, InputError, RunFolderError
from persona_panel.files.file_formats import is_file_name
from persona_panel.files.file_sets import said_of, without_query
from persona_panel.files.private_files import make_private_folder, replace_file
from persona_panel.files.run_copies import (
    Original,
    RemoteFolder,
    RunCopy,
    Telling,
    digest_of,
    show_as,
    stamps_of,
    untold,
)
from persona_panel.runs.growing_file import locked
from persona_panel.runs.output import RunOutput

P = ParamSpec("P")
T = TypeVar("T")

_ORIGINAL = TypeAdapter(Original)


@contextmanager
def written_here(
    output: RunOutput,
    *,
    dry: bool = False,
    stays: bool = False,
    telling: Telling = untold,
) -> Iterator[RunOutput]:
    """Where a run for an output is written: for one at an address a folder of this machine, which
    is as what is there and is sent at the end; any other is given back.

    Args:
        dry: whether nothing is to be written there or kept here: the folder is one to read.
        stays: whether what was sent is read here until the process ends.
        telling: given the address, what goes on while the run is sent.

    Raises:
        InputError: a package for such an address is not installed, or it is none, or a file's; or
            what is meant as one has one slash.
        RunFolderError: what is there cannot be read or written or is no run's folder; or the folder
            of this machine cannot be written; or another run writes there, or has since this one
            began.
        RunStopped: it cannot be sent; says where it is.
    """
    refuse_one_slash(output.path)
    if not is_address(output.path):
        yield output
        return
    there = RemoteFolder(str(output.path))
    if is_file_name(without_query(str(output.path))):
        raise InputError([Fault(there.address, "the address of a file", "that of a run's folder")])
    kept = _KeptRun(there)
    if dry:
        with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
            yield replace(output, path=kept.copy_to_read(Path(folder, "run")))
        return
    if stays:
        atexit.register(kept.remove)
    try:
        with kept.locked():
            copy = kept.copy()
            try:
                yield replace(output, path=kept.path)
            finally:
                # One without was not begun, or has vanished.
                if digest_of(kept.path) is not None:
                    copy.send(whole=True, telling=telling)
                    kept.forget()
    finally:
        if not stays:
            kept.remove()


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


class _KeptRun:
    """A run for an address in a folder of this machine, with what was there when it began beside
    it until it is sent.

    Attributes:
        path: of the folder. Passwords and tokens are no part of its name, and may change.
    """

    def __init__(self, there: RemoteFolder) -> None:
        digest = hashlib.sha256(there.address.encode()).hexdigest()[:16]
        self._below = Path(platformdirs.user_cache_dir("persona-panel"), "runs", digest)
        self._there, self.path = there, self._below / "run"
        self._original_file = self._below / "original.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep the folder for this run.

        Raises:
            RunFolderError: another run has it, or it cannot be made.
        """
        lock = self._below / "lock"
        show_as(lock, self._there)
        with ExitStack() as held:
            with self._written():
                make_private_folder(self._below)
                held.enter_context(locked(lock))
            yield

    def copy(self) -> RunCopy:
        """The run as this machine left it before it was sent, or else as it is there.

        Raises:
            RunFolderError: what is there cannot be copied or written, is of no run, or of another
                one since.
        """
        with self._reached("used"):
            self._there.try_to_write()
        if (copy := self._interrupted()) is not None and not copy.was_sent():
            return copy
        names = self._names_of_run()
        with self._written():
            self.forget()
            shutil.rmtree(self.path, ignore_errors=True)
        self._fetch(names, self.path)
        original = Original(digest_of(self.path), names, uuid4().hex)
        with self._written():
            replace_file(self._original_file, orjson.dumps([*original]))
        return RunCopy(self._there, self.path, original, stamps_of(self.path), self._below)

    def copy_to_read(self, path: Path) -> Path:
        """The same at another path, with nothing changed here or there; gives the path.

        Raises:
            RunFolderError: as `copy`.
        """
        if (copy := self._interrupted()) is not None:
            shutil.copytree(copy.path, path)
        else:
            self._fetch(self._names_of_run(), path)
        show_as(path, self._there)
        return path

    def forget(self) -> None:
        """What is here is as it is there: it need not be kept."""
        self._original_file.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove what need not be kept, unless another run goes on with it."""
        with suppress(RunFolderError, OSError), locked(self._below / "lock"):
            if self._unsent() is None:
                shutil.rmtree(self._below, ignore_errors=True)

    def _unsent(self) -> Original | None:
        """What was there when the run that is kept began; None where none is, or nothing has been
        done since."""
        try:
            original = _ORIGINAL.validate_json(self._original_file.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError:
            # Empty where a machine lost power: what is there is not taken for the original.
            original = Original(None, [])
        return None if digest_of(self.path) in (None, original.run) else original

    def _interrupted(self) -> RunCopy | None:
        if (original := self._unsent()) is None:
            return None
        copy = RunCopy(self._there, self.path, original, {}, self._below)
        with self._reached("used"):
            copy.refuse_another()
        return copy

    def _names_of_run(self) -> list[str]:
        with self._reached("used"):
            self._there.refuse_another_sender("")
            names = self._there.names()
        if names and "run.json" not in names:
            raise RunFolderError(
                f"{self._there.address} is not the folder of a run, and not empty (it contains "
                f"{names[0]}); choose another --out, or empty it if a run was not wholly sent there"
            )
        return names

    def _fetch(self, names: list[str], path: Path) -> None:
        if names:
            with self._reached(f"copied to {path.parent}"):
                make_private_folder(path)
                self._there.fetch(names, path)

    @contextmanager
    def _reached(self, done: str) -> Iterator[None]:
        """Says of what fails what cannot be done with the address."""
        try:
            yield
        except RunFolderError:
            raise
        # Each package raises what it likes for a key, a network or a bucket.
        except Exception as error:
            raise RunFolderError(
                f"{self._there.address} cannot be {done} ({said_of(error)}); check the address and "
                "the permissions, or choose another --out"
            ) from None

    @contextmanager
    def _written(self) -> Iterator[None]:
        """Says of what fails that the folder of this machine cannot be written."""
        try:
            yield
        except OSError as error:
            raise RunFolderError(
                f"{self._below} cannot be written ({error.strerror}), where a run for "
                f"{self._there.address} is kept until it is sent; set XDG_CACHE_HOME to another "
                "folder"
            ) from None
