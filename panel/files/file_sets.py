"""What an argument names that stands for files: one, those of a folder or a pattern, also where an
address leads by fsspec (`s3://…`, `gs://…`, `memory://…`).

Files elsewhere are copied once a process: an input is gone through several times.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from glob import glob, has_magic
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from persona_panel.files.addresses import is_address, temporary_folder
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.secrets import without_credentials

_PARQUET = "*.parquet"
_EXPECTED_FILES = "a file, or a folder of Parquet files"


class NamedFile(NamedTuple):
    """A file as faults name it, and where it can be read."""

    name: str
    path: Path


def files_of(source: str | Path) -> Sequence[NamedFile]:
    """The files that a path, a pattern (`texts/*.parquet`) or an address stands for, in the order
    of their names; of a folder, all Parquet files in it, at whatever depth, but none whose name, or
    that of a folder on the way to it, begins with `.` or `_`: so Spark and Arrow name what is no
    data. A path that is neither a folder nor a pattern is itself, whether there is such a file or
    not.

    Raises:
        InputError: there is none, the name is empty, or what is elsewhere cannot be read.
    """
    name = str(source)
    if not name:
        raise _nothing("''", "an empty name")
    if is_address(name):
        return _copies(name)
    path = Path(source)
    if path.is_dir():
        found = [one for one in sorted(path.rglob(_PARQUET)) if one.is_file()]
        found = [one for one in found if not _is_hidden(one.relative_to(path).parts)]
        if not found:
            raise _nothing(name, "a folder without a Parquet file")
    elif has_magic(name) and not path.exists():
        found = sorted(map(Path, glob(name, recursive=True)))  # noqa: PTH207 (it may be absolute)
        if not found:
            raise _nothing(name, "no file of such a name")
    else:
        return [NamedFile(name, path)]
    return [NamedFile(str(one), one) for one in found]


def without_query(path: str) -> str:
    """A path as addresses have it, without the query that some end with: it may hold a token, and
    a name without it ends as that of a file does."""
    return re.sub(r"\?[^?]*=.*", "", path)


def with_lower_scheme(address: str) -> str:
    """An address as fsspec knows its scheme."""
    scheme, slashes, rest = address.partition("://")
    return f"{scheme.lower()}{slashes}{rest}"


def file_system(address: str, expected: str) -> tuple[Any, str]:
    """What reaches an address, and what it calls the place there.

    Args:
        expected: for the fault.

    Raises:
        InputError: a package for it is not installed, or nothing knows such addresses.
    """
    try:
        import fsspec
    except ImportError:
        needed = "fsspec to be installed: pip install 'persona-panel[remote]'"
        raise _nothing(address, "an address", needed) from None
    # Its secrets are learnt: they may come back in whatever is told of it.
    without_credentials(address)
    try:
        system, root = fsspec.url_to_fs(with_lower_scheme(address))
    except ImportError as error:
        # fsspec says which package such an address needs.
        raise _nothing(address, "an address", f"the package for it ({error})") from None
    except Exception as error:
        raise _nothing(address, f"what cannot be read ({said_of(error)})", expected) from None
    return system, str(root)


def said_of(error: Exception) -> str:
    """What a package says that cannot reach an address."""
    return without_credentials(" ".join(str(error).split()))[:200] or type(error).__name__


@cache
def _copies(address: str) -> Sequence[NamedFile]:
    """The files behind an address, copied into a folder that is removed when the process ends."""
    system, root = file_system(address, _EXPECTED_FILES)
    try:
        found = _listed(system, root)
        folder = Path(tempfile.mkdtemp(dir=temporary_folder()))
        copies = []
        for number, path in enumerate(found):
            own = folder / f"{number}-{PurePosixPath(without_query(path)).name}"
            system.get_file(path, str(own))
            copies.append(NamedFile(str(system.unstrip_protocol(path)), own))
    except FileNotFoundError:
        raise _nothing(address, "no such file") from None
    # Each package raises what it likes for a key, a network or a bucket.
    except Exception as error:
        said = f"what cannot be copied to this machine ({said_of(error)})"
        raise _nothing(address, said) from None
    if not copies:
        raise _nothing(address, "no file there")
    return copies


def _listed(system: Any, root: str) -> list[str]:
    is_pattern = has_magic(root)
    # A name with brackets may be a file's; `exists` would take it for a pattern in some systems.
    if is_pattern and system.isfile(root):
        return [root]
    if system.isdir(root):
        found = sorted(path for path in system.find(root) if path.endswith(_PARQUET[1:]))
        return [one for one in found if not _is_hidden(one.removeprefix(root).split("/"))]
    return sorted(system.glob(root)) if is_pattern else [root]


def _is_hidden(names: Iterable[str]) -> bool:
    return any(name.startswith((".", "_")) for name in names)


def _nothing(name: str, found: str, expected: str = _EXPECTED_FILES) -> InputError:
    return InputError([Fault(name, found, expected)])
