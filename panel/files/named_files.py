"""Files that an argument names: one file, those of a folder or a pattern, and runs' folders at
addresses that fsspec knows (`s3://…`, `gs://…`), copied here once a process.

What is at an address can neither be appended to nor locked, and a run's files are read in pieces:
so a run there is read and written in a copy on this machine, and what has changed is sent back.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from glob import glob, has_magic
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from uuid import uuid4

from persona_panel.files.addresses import is_address, temporary_folder
from persona_panel.files.errors import Fault, InputError, RunFolderError, RunStopped
from persona_panel.files.file_formats import is_file_name
from persona_panel.files.secrets import SECRETS, without_credentials
from persona_panel.files.wording import extra, not_installed

_PARQUET = "*.parquet"
_EXPECTED_FILES = "a file, or a folder of Parquet files"


class NamedFile(NamedTuple):
    """A file as faults name it, and where it can be read."""

    name: str
    path: Path


def files_of(source: str | Path) -> Sequence[NamedFile]:
    """Return the files that a path, a pattern (`texts/*.parquet`) or an address stands for, sorted
    by name. A folder stands for all Parquet files in it, at any depth, except those whose name, or
    a folder's on the way, begins with `.` or `_`, with which Spark and Arrow mark what is no data.
    A path that is neither a folder nor a pattern stands for itself, whether there is such a file or
    not. Raises InputError: there is none, the name is empty, or what is elsewhere cannot be read.
    """
    name = str(source)
    if not name:
        raise _nothing("''", "an empty name")
    if is_address(name):
        return _copies(name)
    path = Path(source)
    if path.is_dir():
        paths = [file for file in sorted(path.rglob(_PARQUET)) if file.is_file()]
        paths = [file for file in paths if not _is_hidden(file.relative_to(path).parts)]
        if not paths:
            raise _nothing(name, "a folder without a Parquet file")
    elif has_magic(name) and not path.exists():
        paths = sorted(map(Path, glob(name, recursive=True)))  # noqa: PTH207 (it may be absolute)
        if not paths:
            raise _nothing(name, "no file of such a name")
    else:
        return [NamedFile(name, path)]
    return [NamedFile(str(path), path) for path in paths]


def without_query(path: str) -> str:
    """Return a path of an address without its query, which may hold a token and hides the suffix of
    the file's name."""
    return re.sub(r"\?[^?]*=.*", "", path)


def with_lower_scheme(address: str) -> str:
    """Return an address with its scheme in lower case, as fsspec knows it."""
    scheme, slashes, rest = address.partition("://")
    return f"{scheme.lower()}{slashes}{rest}"


def file_system(address: str, expected: str) -> tuple[Any, str]:
    """Return fsspec's file system for an address, and the place's name in it. `expected`: for the
    fault. Raises InputError: a package for it is not installed, or nothing knows such addresses."""
    try:
        import fsspec
    except ImportError:
        needed = not_installed("a file here; addresses need", "fsspec", extra("remote"))
        raise _nothing(address, "an address", needed) from None
    # Its secrets are learnt: they may come back in whatever is told of it.
    without_credentials(address)
    try:
        system, root = fsspec.url_to_fs(with_lower_scheme(address))
    except ImportError as error:
        # fsspec says which package such an address needs.
        raise _nothing(address, "an address", f"the package for it ({error})") from None
    except Exception as error:
        raise _nothing(address, f"what cannot be read ({reason_of(error)})", expected) from None
    return system, str(root)


def reason_of(error: Exception) -> str:
    """Return the message of a package that cannot reach an address, without credentials."""
    return without_credentials(" ".join(str(error).split()))[:200] or type(error).__name__


@cache
def _copies(address: str) -> Sequence[NamedFile]:
    """Copy the files at an address into a folder that is removed when the process ends."""
    system, root = file_system(address, _EXPECTED_FILES)
    try:
        remote_paths = _listed(system, root)
        folder = Path(tempfile.mkdtemp(dir=temporary_folder()))
        copies = []
        for number, path in enumerate(remote_paths):
            own = folder / f"{number}-{PurePosixPath(without_query(path)).name}"
            system.get_file(path, str(own))
            copies.append(NamedFile(str(system.unstrip_protocol(path)), own))
    except FileNotFoundError:
        raise _nothing(address, "no such file") from None
    # Each package raises what it likes for a key, a network or a bucket.
    except Exception as error:
        reason = f"what cannot be copied to this machine ({reason_of(error)})"
        raise _nothing(address, reason) from None
    if not copies:
        raise _nothing(address, "no file there")
    return copies


def _listed(system: Any, root: str) -> list[str]:
    is_pattern = has_magic(root)
    # A name with brackets may be a file's; `exists` would take it for a pattern in some systems.
    if is_pattern and system.isfile(root):
        return [root]
    if system.isdir(root):
        paths = sorted(path for path in system.find(root) if path.endswith(_PARQUET[1:]))
        return [path for path in paths if not _is_hidden(path.removeprefix(root).split("/"))]
    return sorted(system.glob(root)) if is_pattern else [root]


def _is_hidden(names: Iterable[str]) -> bool:
    return any(name.startswith((".", "_")) for name in names)


def _nothing(name: str, problem: str, expected: str = _EXPECTED_FILES) -> InputError:
    return InputError([Fault(name, problem, expected)])


_MANIFEST = "run.json"
_SENDER = ".persona-panel-sender"
_EXPECTED_FOLDER = "a run's folder, as `score --out` writes it"
_Stamp = tuple[int, int]
Telling = Callable[[str], AbstractContextManager[None]]


@contextmanager
def untold(address: str) -> Iterator[None]:
    """Tell nobody about sending."""
    yield


class RemoteFolder:
    """The files of a folder at an address, without those of folders in it; names that begin with a
    dot are not among them. `address`: where it is, as it is shown: without passwords and tokens.
    Raises InputError: the package for such an address is not installed, or it is none."""

    def __init__(self, address: str) -> None:
        shown = without_credentials(with_lower_scheme(address))
        # The slashes of `memory://` and the last of `file:///` belong to it.
        self.address = re.sub(r"(?<![:/])/+$", "", shown)
        self._system, self._root = file_system(address, _EXPECTED_FOLDER)

    def names(self) -> list[str]:
        """Return the names of the files, sorted, without an empty run.json; none where there is no
        such folder."""
        self._system.invalidate_cache()
        try:
            listed: list[dict[str, Any]] = self._system.ls(self._root, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        # Of a file, its own entry is listed; a folder may have one with an empty name.
        sizes = {
            str(entry["name"])
            .rstrip("/")
            .removeprefix(self._root.rstrip("/"))
            .lstrip("/"): entry.get("size")
            for entry in listed
            if entry["type"] == "file"
        }
        if sizes.get(_MANIFEST) == 0:
            del sizes[_MANIFEST]
        return sorted(name for name in sizes if name and "/" not in name and name[0] != ".")

    def run_digest(self) -> str | None:
        """Return the SHA-256 of its run.json; None where there is none, or an empty one."""
        self._system.invalidate_cache()
        try:
            content = self._system.cat_file(self._path(_MANIFEST))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return hashlib.sha256(content).hexdigest() if content else None

    def fetch(self, names: list[str], folder: Path) -> None:
        """Copy files into a folder that exists."""
        for name in names:
            self._system.get_file(self._path(name), str(folder / name))

    def send(self, file: Path) -> None:
        """Put a file there under its name, in place of another."""
        self._system.put_file(str(file), self._path(file.name))

    def claim(self, sender: str) -> None:
        """Show other senders that a run is being sent there."""
        self._system.pipe_file(self._path(_SENDER), sender.encode())

    def end_claim(self, sender: str) -> None:
        """End that claim, unless another process has made one. Where no file can be removed, an
        empty one stays; where none can be written, the claim stays."""
        with suppress(Exception):
            self.refuse_another_sender(sender)
            self._system.pipe_file(self._path(_SENDER), b"")
            self._system.rm_file(self._path(_SENDER))

    def refuse_another_sender(self, sender: str) -> None:
        """Refuse to go on while another process sends a run there. Raises RunFolderError: somebody
        does, or did and was killed."""
        self._system.invalidate_cache()
        try:
            claimed: bytes = self._system.cat_file(self._path(_SENDER))
        except (FileNotFoundError, NotADirectoryError):
            return
        if claimed not in (b"", sender.encode()):
            raise RunFolderError(
                f"another run is being sent to {self.address}, or was when it was killed: in that "
                f"case start it again, or remove {_SENDER} there"
            )

    def empty_manifest(self) -> None:
        """Empty run.json, so that this is no run's folder. This needs no permission to remove
        files: a key that only adds to an archive has none."""
        self._system.pipe_file(self._path(_MANIFEST), b"")

    def remove(self, name: str) -> None:
        """Remove a file."""
        self._system.rm_file(self._path(name))

    def try_to_write(self) -> Exception | None:
        """Put an empty file there, to see that files can be put there. Returns why it cannot be
        removed again, None where it was."""
        probe = self._path(".persona-panel")
        try:
            self._system.pipe_file(probe, b"")
        except FileNotFoundError:
            # A folder that is still to be made; but a bucket is nothing to be made by the way.
            if not self._system.exists(self._root.partition("/")[0] or "/"):
                raise
            self._system.makedirs(self._root, exist_ok=True)
            self._system.pipe_file(probe, b"")
        try:
            self._system.rm_file(probe)
        except Exception as error:
            return error
        return None

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"


class Original(NamedTuple):
    """The state of an address when a copy of it is made: the digest of run.json, the names of the
    files, and the name under which the copy is sent."""

    run: str | None
    names: list[str]
    sender: str = ""


class RunCopy:
    """A copy of a run's folder; errors and messages call it by its address.

    Args:
        path: of the copy.
        stamps: of the files that are the same there; all others, and those that change from now
            on, are sent.
        kept_in: the folder above it, where it stays until it is sent; None where it does not stay.
    """

    def __init__(
        self,
        there: RemoteFolder,
        path: Path,
        original: Original,
        stamps: Mapping[str, _Stamp],
        kept_in: Path | None = None,
    ) -> None:
        self.path = path
        self._there, self._original = there, original
        self._sender = original.sender or uuid4().hex
        self._stamps, self._kept_in = dict(stamps), kept_in
        show_as(path, there)

    def refuse_another(self) -> None:
        """Refuse to go on unless the original is still there, or as much of this copy as was sent.
        Raises RunFolderError: another run has been written there, or is being sent."""
        self._there.refuse_another_sender(self._sender)
        theirs = self._there.run_digest()
        if theirs is None:
            # run.json is emptied first, and sent last; commands that read leave it.
            ours = {*self._original.names, *stamps_of(self.path)}
            same = self._kept_in is not None and set(self._there.names()) <= ours
        else:
            same = theirs in (self._original.run, digest_of(self.path))
        if not same:
            then = "The same command reads that"
            if self._kept_in is not None:
                then = f"This one is kept in {self._kept_in}; to go on with what is at the "
                then += "address, remove that folder"
            raise RunFolderError(
                f"{self._there.address} was written by another run since this one began. {then}"
            )

    def was_sent(self) -> bool:
        """Return whether the copy is at the address already, as after a process that was killed
        before it noted that; if so, the claim there is ended."""
        if self._there.run_digest() != digest_of(self.path):
            return False
        self._there.end_claim(self._sender)
        return True

    def send(self, *, whole: bool = False, telling: Telling = untold) -> None:
        """Send what has changed. Where run.json has, it is emptied there first and sent last, so
        that a run with it is whole.

        Args:
            whole: whether the copy is all of the run, so that files that are gone from it are
                removed there. None is where it has no run.json: then the copy has vanished.
            telling: given the address, what goes on while it is sent, where there is anything to.

        Raises:
            RunStopped: it cannot be sent, or another run has been written there.
            KeyboardInterrupt: it was not sent to its end; says so.
        """
        now = stamps_of(self.path)
        changed = [name for name, stamp in now.items() if self._stamps.get(name) != stamp]
        gone = sorted(set(self._original.names) - now.keys()) if whole and _MANIFEST in now else []
        if not changed and not gone:
            return
        try:
            with telling(self._there.address):
                self._send(changed, gone)
        except RunFolderError as error:
            raise RunStopped(str(error)) from None
        except RunStopped:
            raise
        except KeyboardInterrupt:
            raise KeyboardInterrupt(self._unsent("has not all been sent")) from None
        # Each package raises what it likes for a key, a network or a bucket.
        except Exception as error:
            raise RunStopped(self._unsent("cannot be sent", f" ({reason_of(error)})")) from error
        self._original = Original(digest_of(self.path), sorted(now), self._sender)
        self._stamps = now

    def _send(self, changed: list[str], gone: list[str]) -> None:
        """Send files, and remove those that are gone."""
        self._refuse_another_sender()
        self.refuse_another()
        # What is there is no run from here on, which a key that has expired must not leave.
        unremoved = self._there.try_to_write()
        if gone and unremoved is not None:
            raise RunStopped(
                self._unsent(
                    "cannot be sent",
                    f", as no file there can be removed ({reason_of(unremoved)}), and this run has "
                    f"no {' and no '.join(gone)} as the earlier one there does: remove that there",
                )
            )
        if _MANIFEST in changed:
            self._there.claim(self._sender)
        try:
            # A whole run may have been sent there before the claim was seen.
            self.refuse_another()
            if _MANIFEST in changed and self._there.run_digest() is not None:
                self._there.empty_manifest()
            for name in gone:
                with suppress(FileNotFoundError):
                    self._there.remove(name)
            for name in sorted(changed, key=lambda name: (name == _MANIFEST, name)):
                # Who claimed it at the same moment may have been the last.
                self._refuse_another_sender()
                self._there.send(self.path / name)
        finally:
            if _MANIFEST in changed:
                self._there.end_claim(self._sender)

    def _refuse_another_sender(self) -> None:
        try:
            self._there.refuse_another_sender(self._sender)
        except RunFolderError as error:
            raise RunStopped(self._unsent("cannot be sent", f", as {error}")) from None

    def _unsent(self, how: str, why: str = "") -> str:
        if self._kept_in is None:
            then = "it is lost: copy the run to a folder of this machine, and use that"
        else:
            then = f"it is kept in {self._kept_in}, and the same command sends it"
        return f"what was written {how} to {self._there.address}{why}; {then}"


def stamps_of(folder: Path) -> dict[str, _Stamp]:
    """Return the files of a folder except hidden ones, each with its time of change and size."""
    stamps = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_file() and path.name[0] != ".":
            about = path.stat()
            stamps[path.name] = (about.st_mtime_ns, about.st_size)
    return stamps


def digest_of(folder: Path) -> str | None:
    """Return the SHA-256 of the run.json in a folder of this machine; None where there is none."""
    try:
        return hashlib.sha256((folder / _MANIFEST).read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


def copied_run(source: str | Path) -> RunCopy | None:
    """Copy a run's folder at an address to this machine until the process ends; None for what is no
    address, and for an address of something else. Raises InputError: what is there cannot be
    copied."""
    # Some servers say the same of every path that begins as a file's does.
    if not is_address(source) or is_file_name(without_query(str(source))):
        return None
    there = RemoteFolder(str(source))
    try:
        if there.run_digest() is None:
            return None
        names = there.names()
        parent = Path(tempfile.mkdtemp(dir=temporary_folder()))
        path = parent / "run"
        path.mkdir()
        there.fetch(names, path)
    # Each package raises what it likes for a key, a network or a bucket.
    except Exception as error:
        problem = f"what cannot be copied to this machine ({reason_of(error)})"
        raise InputError([Fault(there.address, problem, _EXPECTED_FOLDER)]) from None
    return RunCopy(there, path, Original(digest_of(path), names), stamps_of(path))


def local_run(source: str | Path) -> str | Path:
    """Return the place where a run's folder can be read: the copy of one at an address; anything
    else as it is. Raises InputError: as `copied_run`."""
    copy = copied_run(source)
    return source if copy is None else copy.path


def show_as(folder: Path, there: RemoteFolder) -> None:
    """Have messages call a copy by its address."""
    SECRETS.name_copy(str(folder), there.address)


def is_copy(folder: str | Path) -> bool:
    """Return whether a folder is a copy of one at an address."""
    return SECRETS.is_copy(str(folder))


def written_place(folder: str | Path) -> str:
    """Return where a run is written, for errors: of a copy the folder above it, which is on this
    machine."""
    if not is_copy(folder):
        return str(folder)
    address = shown_folder(folder)
    return f"{Path(folder).parent} (where a run for {address} is kept until it is sent)"


def shown_folder(folder: str | Path) -> str:
    """Return the name of a run's folder in messages: of a copy, its address without passwords and
    tokens."""
    return SECRETS.scrub(str(folder))
