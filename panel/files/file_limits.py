"""What may be read of a file: regular files alone, up to a size, a length of a line and a depth of
nesting, so that no file takes more memory than it should. What is unpacked has limits of its own.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from stat import S_ISREG
from typing import IO, Any, Protocol, TypeVar, cast, runtime_checkable

import orjson

from persona_panel.files.errors import Fault, InputError

LARGEST_DOCUMENT = 256_000_000
"""Bytes of a file that is read as a whole."""
LONGEST_LINE = 16_000_000
"""Bytes of a line, and characters of a row of CSV, which may have several lines."""
MOST_COLUMNS = 10_000
"""Columns of a table of text."""
MOST_FAULTS = 100_000
"""Faults of a file after which it is read no further."""
DEEPEST = 100
"""Levels of nesting in JSON."""
SHORTER_LINE = "shorter lines; is this the right file?"

T_co = TypeVar("T_co", bound=bytes | str, covariant=True)


class TooDeep(ValueError):
    """JSON with more levels of nesting than are read."""

    def __init__(self) -> None:
        super().__init__(f"more than {DEEPEST} levels of nesting")


class LineTooLong(ValueError):
    """A line, or a row of a table of text, that is longer than is read.

    Attributes:
        line: its number, from 1.
    """

    def __init__(self, line: int, longest: int) -> None:
        super().__init__(f"a line of more than {longest:,} bytes")
        self.line = line


@runtime_checkable
class HasLines(Protocol[T_co]):
    """A stream of which so much of a line can be read."""

    def readline(self, limit: int, /) -> T_co: ...


class RegularFile:
    """The lines of a file, up to the size that it had when it was opened: one that another process
    writes to all the time has an end, too.

    Raises:
        OSError: it cannot be opened, or is no regular file: a pipe, say, would be waited for, and
            some devices have no end.
    """

    def __init__(self, path: Path) -> None:
        self.file = open_regular(path)
        self.size = self._left = os.fstat(self.file.fileno()).st_size

    def __enter__(self) -> RegularFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def readline(self, limit: int, /) -> bytes:
        """The next line, or that much of it."""
        line = self.file.readline(min(limit, self._left))
        self._left -= len(line)
        return line


def open_regular(path: Path) -> IO[bytes]:
    """Open a file for reading; raises as `RegularFile` does."""
    # Asked before it is opened: opening a pipe waits for whoever writes to it.
    status = path.stat()
    if not S_ISREG(status.st_mode) and not path.is_dir():
        raise OSError(errno.EINVAL, "no regular file", str(path))
    return path.open("rb")


def content_of(path: Path, most: int = LARGEST_DOCUMENT) -> bytes:
    """The whole content of a file.

    Raises:
        OSError: as `RegularFile`.
        InputError: it is larger than that.
    """
    with open_regular(path) as file:
        content = file.read(most + 1) if os.fstat(file.fileno()).st_size <= most else None
    if content is None or len(content) > most:
        raise InputError([Fault(str(path), size_of(path), at_most(most))])
    return content


def size_of(path: Path) -> str:
    """How large a file is, as faults say it."""
    return f"a file of {path.stat().st_size:,} bytes"


def at_most(most: int) -> str:
    """What is expected of a file that is too large."""
    return f"at most {most:,} bytes; is this the right file?"


def lines_in(stream: HasLines[T_co], longest: int = LONGEST_LINE) -> Iterator[T_co]:
    """The lines of a stream.

    Raises:
        LineTooLong: a line is longer than that.
    """
    number = 0
    while line := stream.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise LineTooLong(number, longest)
        yield line


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file.

    Raises:
        OSError: as `RegularFile`.
        InputError: a line is longer than is read.
    """
    with RegularFile(path) as file:
        try:
            yield from lines_in(file)
        except LineTooLong as error:
            raise InputError([Fault(str(path), str(error), SHORTER_LINE, error.line)]) from None


class RowLines:
    """The lines of a table of text.

    Raises:
        LineTooLong: those of a row are longer together than is read, as they are behind a quote
            that is never closed.

    Attributes:
        length: of the row so far; whoever reads rows sets it to 0 after each.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.length = 0

    def __iter__(self) -> Iterator[str]:
        for number, text in enumerate(self._lines, 1):
            self.length += len(text)
            if self.length > LONGEST_LINE:
                raise LineTooLong(number, LONGEST_LINE)
            yield text


def json_of(path: Path) -> Any:
    """The JSON that a file holds.

    Raises:
        OSError: as `RegularFile`.
        InputError: it is too large.
        ValueError: it holds none, or is nested too deeply.
    """
    return json_in(content_of(path))


def json_in(content: bytes) -> Any:
    """The value of JSON.

    Raises:
        ValueError: it is none, or is nested too deeply.
    """
    value = orjson.loads(content)
    # Counted first, which costs next to nothing.
    if content.count(b"[") + content.count(b"{") > DEEPEST:
        require_shallow(value)
    return value


def require_shallow(value: Any) -> None:
    """See that a value of JSON's types is not nested too deeply.

    Raises:
        TooDeep: it is.
    """
    level = [value]
    for _ in range(DEEPEST):
        inner = [cast(Any, one.values() if isinstance(one, dict) else one) for one in level]
        level = [one for values in inner for one in values if isinstance(one, dict | list)]
        if not level:
            return
    raise TooDeep
