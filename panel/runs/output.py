"""The output of a run: into a folder or to an address, by files of JSON lines that grow and never
lose what they held.

A run that goes on from another one begins its lines anew, in a hidden file beside the old one,
which takes its place as soon as it has every result that the old one has. Files at an address
cannot be appended to or locked: until it is sent the folder stays on this machine.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar
from uuid import uuid4

import orjson
import platformdirs
from pydantic import TypeAdapter, ValidationError

from persona_panel.files.addresses import is_address, refuse_one_slash, temporary_folder
from persona_panel.files.errors import Fault, InputError, RunFolderError
from persona_panel.files.file_formats import is_file_name
from persona_panel.files.limits import lines_of
from persona_panel.files.named_files import (
    Original,
    RemoteFolder,
    RunCopy,
    Telling,
    digest_of,
    reason_of,
    show_as,
    stamps_of,
    untold,
    without_query,
)
from persona_panel.files.outputs import (
    as_json,
    make_private_folder,
    open_private,
    replace_file,
    sync,
)
from persona_panel.files.secrets import SECRETS

SPENT = "spent.json"
"""The end of the name of the record of what was spent; a folder's has no other name."""


@dataclass(frozen=True, slots=True)
class RunOutput:
    """A folder for a run, in place of its path alone.

    `overwrite`: a run that is there, of another panel or other texts, is replaced; it is
    refused otherwise. `texts`: whether responses.jsonl keeps the texts that were judged, or
    only their SHA-256; without texts no file has metadata. `inputs`: files that the run is made
    of, to be named in run.json with size and SHA-256 (that of a `ResponseFile` is named anyhow).
    `mappings`: by the names of such files, how their columns were mapped.
    """

    path: str | Path
    overwrite: bool = False
    texts: bool = True
    inputs: tuple[str | Path, ...] = ()
    mappings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, source: str | Path | RunOutput) -> RunOutput:
        """Return a path as an output."""
        return source if isinstance(source, RunOutput) else cls(source)

    def with_file(self, name: str, mapping: Mapping[str, str]) -> RunOutput:
        """Return the same for a run whose first input is this file, with its columns so mapped."""
        mappings = {name: mapping, **self.mappings} if mapping else self.mappings
        return replace(self, inputs=(name, *self.inputs), mappings=mappings)

    @property
    def folder(self) -> Path:
        """Return the path of the folder as a `Path`."""
        return Path(self.path)

    @property
    def spent(self) -> Path:
        """Return the file of what all runs into the folder have spent."""
        return self.folder / SPENT


try:
    import fcntl
except ImportError:  # Windows has none: there two runs must be kept apart by hand
    fcntl = None  # type: ignore[assignment]

_GATHERED_BYTES = 1 << 16

KeyOf = Callable[[Mapping[str, Any]], Hashable | None]


class AppendedFile:
    """A file open for adding lines; locked against other runs until it is closed.

    Attributes:
        is_empty: whether no line was added yet.

    Args:
        path: of the file, which may be there.
        key_of: what a line holds the result of; None where it is none that must be kept.
        fresh: whether what the file holds is to go.
        until_first: whether what is to go stays until there is a line to take its place.
        shown: what is written, for the error of a run that comes second; the file's folder where
            nothing is given.
        on_change: called once, before the file first holds a result that it did not hold.

    Raises:
        RunFolderError: another run is writing to it.
        OSError: it cannot be written.
    """

    def __init__(
        self,
        path: Path,
        key_of: KeyOf,
        *,
        fresh: bool,
        until_first: bool = False,
        shown: Path | None = None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._path, self._key_of, self._on_change = path, key_of, on_change
        shown = shown or path.parent
        # Not emptied before it is sure that nobody else is writing it.
        self._held = open_private(path, "ab", buffered=False)
        _lock(self._held, shown)
        self._missing = set() if fresh else results_in(path, key_of)
        self._new: Path | None = None
        self._returned: set[int] = set()
        self._changes = False
        self.is_empty = True
        if self._missing or (fresh and until_first and path.stat().st_size):
            self._new = path.with_name(f".{path.name}.new")
            self._file = open_private(self._new, "wb", buffered=False)
            # It is locked too by the time that it takes the other's name.
            _lock(self._file, shown)
        else:
            self._file = self._held
            self._file.truncate(0)
        # Whole lines are written together: a kill leaves half of the last one at most.
        self._lines: list[bytes] = []
        self._gathered = 0
        self._digest = hashlib.sha256()

    def add(self, line: Mapping[str, Any]) -> None:
        """Append a line; it is in the file after the next flush at the latest."""
        text = SECRETS.scrub_bytes(as_json(line, orjson.OPT_APPEND_NEWLINE))
        self._lines.append(text)
        self._gathered += len(text)
        self.is_empty = False
        if (key := self._key_of(line)) is not None:
            if (digest := hash(key)) in self._missing:
                self._missing.remove(digest)
                self._returned.add(digest)
            elif digest not in self._returned:
                self._changes = True
        if self._gathered >= _GATHERED_BYTES:
            self.flush()
        # An open file cannot be renamed everywhere.
        if self._new is not None and not self._missing and fcntl is not None:
            self._take_place()

    def flush(self) -> None:
        """Hand what was appended to the operating system. Raises OSError: it cannot be written; no
        part of a line is."""
        if self._new is None:
            self._announce_change()
        end = self._file.seek(0, os.SEEK_END)
        content = b"".join(self._lines)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.truncate(end)
            raise
        self._digest.update(content)
        self._lines.clear()
        self._gathered = 0

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of what was written."""
        return self._digest.hexdigest()

    def close(self) -> int:
        """Close the file, and return how many results it held that were not added again. If there
        are any, or nothing has come to take the place of what was to stay until then, it is what it
        was before. Raises OSError: the last lines cannot be written."""
        try:
            self.flush()
            sync(self._file)
        finally:
            self._file.close()
            self._held.close()
        if self._new is not None:
            if self._missing or self.is_empty:
                self._new.unlink()
            else:
                self._announce_change()
                self._new.replace(self._path)
        return len(self._missing)

    def discard(self) -> None:
        """Close the file without what was added: it is what it was before, or empty if what was
        added had its place already."""
        try:
            if self._new is None:
                self._changes = True
                self._announce_change()
                self._file.truncate(0)
            else:
                self._new.unlink()
        finally:
            self._file.close()
            self._held.close()

    def _take_place(self) -> None:
        if self._new is not None:
            self.flush()
            sync(self._file)
            self._announce_change()
            self._new.replace(self._path)
            self._new = None

    def _announce_change(self) -> None:
        if self._changes:
            self._on_change()
            self._on_change = lambda: None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep a file, which is made if need be, for this run; what it holds stays. Raises
    RunFolderError: another run has it; OSError: it cannot be made."""
    with open_private(path, "ab", buffered=False) as file:
        _lock(file, path)
        yield


def results_in(path: Path, key_of: KeyOf) -> set[int]:
    """Return the results in a file, by their keys' hashes: a run may have millions."""
    keys = set()
    for text in lines_of(path):
        try:
            key = key_of(orjson.loads(text))
        except (ValueError, LookupError, TypeError, AttributeError):
            # A kill has torn it.
            continue
        if key is not None:
            keys.add(hash(key))
    return keys


def _lock(file: IO[bytes], shown: Path) -> None:
    """Keep a file for this run while it is open; that ends with the process, however it ends.
    Raises RunFolderError: another process, or another run of this one, writes there."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise RunFolderError(
            f"another run is writing to {shown}; wait for it, or choose another --out"
        ) from None


P = ParamSpec("P")
T = TypeVar("T")

_ORIGINAL = TypeAdapter(Original)


@contextmanager
def written_here(
    output: RunOutput, *, dry: bool = False, stays: bool = False, telling: Telling = untold
) -> Iterator[RunOutput]:
    """Open the place where a run for an output is written: for one at an address a folder of this
    machine, which is as what is there and is sent at the end; any other is given back. `dry`:
    whether nothing is to be written there or kept here: the folder is one to read; `stays`: whether
    what was sent is read here until the process ends; `telling`: given the address, what goes on
    while the run is sent. Raises InputError: a package for such an address is not installed, or it
    is none, or a file's; or what is meant as one has one slash; RunFolderError: what is there
    cannot be read or written or is no run's folder; or the folder of this machine cannot be
    written; or another run writes there, or has since this one began; RunStopped: it cannot be
    sent; says where it is."""
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


def sent_to_address(work: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Let a function that writes a run to `out` take an address, too."""

    @wraps(work)
    async def carried_out(*args: P.args, **kwargs: P.kwargs) -> T:
        out: Any = kwargs.get("out")
        if out is None:
            return await work(*args, **kwargs)
        with written_here(RunOutput.of(out), stays=True) as here:
            return await work(*args, **(kwargs | {"out": here}))  # type: ignore[arg-type]

    return carried_out


class _KeptRun:
    """A run for an address in a folder of this machine (its name has no passwords and tokens), with
    what was there when it began beside it until it is sent."""

    def __init__(self, there: RemoteFolder) -> None:
        digest = hashlib.sha256(there.address.encode()).hexdigest()[:16]
        self._below = Path(platformdirs.user_cache_dir("persona-panel"), "runs", digest)
        self._there, self.path = there, self._below / "run"
        self._original_file = self._below / "original.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep the folder for this run. Raises RunFolderError: another run has it, or it cannot be
        made."""
        lock = self._below / "lock"
        show_as(lock, self._there)
        with ExitStack() as held:
            with self._written():
                make_private_folder(self._below)
                held.enter_context(locked(lock))
            yield

    def copy(self) -> RunCopy:
        """Return the run as this machine left it before it was sent, or else as it is there. Raises
        RunFolderError: what is there cannot be copied or written, is of no run, or of another one
        since."""
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
        """Copy the run to another path, with nothing changed here or there; return the path. Raises
        RunFolderError: as `copy`."""
        if (copy := self._interrupted()) is not None:
            shutil.copytree(copy.path, path)
        else:
            self._fetch(self._names_of_run(), path)
        show_as(path, self._there)
        return path

    def forget(self) -> None:
        """Note that what is here is as it is there: it need not be kept."""
        self._original_file.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove what need not be kept, unless another run goes on with it."""
        with suppress(RunFolderError, OSError), locked(self._below / "lock"):
            if self._unsent() is None:
                shutil.rmtree(self._below, ignore_errors=True)

    def _unsent(self) -> Original | None:
        """Return what was there when the run that is kept began."""
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
        """Raise an error that says what cannot be done with the address, in place of any
        failure."""
        try:
            yield
        except RunFolderError:
            raise
        # Each package raises what it likes for a key, a network or a bucket.
        except Exception as error:
            raise RunFolderError(
                f"{self._there.address} cannot be {done} ({reason_of(error)}); check the address "
                "and the permissions, or choose another --out"
            ) from None

    @contextmanager
    def _written(self) -> Iterator[None]:
        """Raise an error that says that the folder of this machine cannot be written."""
        try:
            yield
        except OSError as error:
            raise RunFolderError(
                f"{self._below} cannot be written ({error.strerror}), where a run for "
                f"{self._there.address} is kept until it is sent; set XDG_CACHE_HOME to another "
                "folder"
            ) from None
