"""Limits within which files are read: regular files alone, up to a size, a length of a line and a
depth; text in UTF-8; packed data up to a ratio, wherever it comes from.

The number of files and connections that this process may open is the user's limit (`ulimit -n`),
and stays as it is: what this process starts would inherit a higher one.
"""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import os
import sqlite3
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from stat import S_ISREG
from typing import IO, Any, Protocol, TypeVar, cast, runtime_checkable

import orjson

from persona_panel.files.errors import Fault, InputError, first_lines
from persona_panel.files.wording import undecodable, unreadable

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
    """A line, or a row of a table of text, that is longer than is read. `line`: its number, from
    1."""

    def __init__(self, line: int, longest: int) -> None:
        super().__init__(f"a line of more than {longest:,} bytes")
        self.line = line


@runtime_checkable
class HasLines(Protocol[T_co]):
    """A stream of which a line can be read up to a limit."""

    def readline(self, limit: int, /) -> T_co: ...


class RegularFile:
    """The lines of a file, up to the size that it had when it was opened, so that a file to which
    another process writes all the time has an end too. Raises OSError: it cannot be opened, or is
    no regular file: a pipe, say, would be waited for, and some devices have no end."""

    def __init__(self, path: Path) -> None:
        self.file = open_regular(path)
        self.size = self._left = os.fstat(self.file.fileno()).st_size

    def __enter__(self) -> RegularFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def readline(self, limit: int, /) -> bytes:
        """Return the next line, or its first `limit` bytes."""
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
    """Read the whole content of a file. Raises OSError: as `RegularFile`; InputError: it is larger
    than that."""
    with open_regular(path) as file:
        content = file.read(most + 1) if os.fstat(file.fileno()).st_size <= most else None
    if content is None or len(content) > most:
        raise InputError([Fault(str(path), size_of(path), at_most(most))])
    return content


def size_of(path: Path) -> str:
    """Return the size of a file in words, for a fault."""
    return f"a file of {path.stat().st_size:,} bytes"


def at_most(most: int) -> str:
    """Return what is expected of a file that is too large, for a fault."""
    return f"at most {most:,} bytes; is this the right file?"


def lines_in(stream: HasLines[T_co], longest: int = LONGEST_LINE) -> Iterator[T_co]:
    """Yield the lines of a stream. Raises LineTooLong: a line is longer than that."""
    number = 0
    while line := stream.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise LineTooLong(number, longest)
        yield line


def lines_of(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file. Raises OSError: as `RegularFile`; InputError: a line is longer
    than is read."""
    with RegularFile(path) as file:
        try:
            yield from lines_in(file)
        except LineTooLong as error:
            raise InputError([Fault(str(path), str(error), SHORTER_LINE, error.line)]) from None


class RowLines:
    """The lines of a table of text. `length`: of the row so far; whoever reads rows sets it to 0
    after each. Raises LineTooLong: those of a row are longer together than is read, as they are
    behind a quote that is never closed."""

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
    """Read a file of JSON. Raises OSError: as `RegularFile`; InputError: it is too large;
    ValueError: it holds none, or is nested too deeply."""
    return json_in(content_of(path).removeprefix(codecs.BOM_UTF8))


def json_in(content: bytes) -> Any:
    """Parse JSON. Raises ValueError: it is none, or is nested too deeply."""
    value = orjson.loads(content)
    # Counted first, which costs next to nothing.
    if content.count(b"[") + content.count(b"{") > DEEPEST:
        require_shallow(value)
    return value


def require_shallow(value: Any) -> None:
    """Refuse a value of JSON's types that is nested too deeply. Raises TooDeep: it is."""
    level = [value]
    for _ in range(DEEPEST):
        inner = [cast(Any, node.values() if isinstance(node, dict) else node) for node in level]
        level = [node for values in inner for node in values if isinstance(node, dict | list)]
        if not level:
            return
    raise TooDeep


_LARGEST_TEXT = 1_000_000
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class AddFault(Protocol):
    """A function that takes a fault of a file; see `persona_panel.files.records.Report.add`."""

    def __call__(
        self, problem: str, expected: str, *, line: int | None = None, field: str | None = None
    ) -> None: ...


def text_lines(
    stream: Iterable[bytes | str] | HasLines[bytes | str],
    add: AddFault,
    longest: int = LONGEST_LINE,
) -> Iterator[str]:
    """Yield a text's lines, without a byte order mark. Broken lines are made readable, so that
    reading goes on; their faults are added at the end. Raises LineTooLong: a line of a stream is
    longer than that."""
    decoding, nul = _Decoding(), _Nul()
    lines: Iterator[bytes | str] = iter(
        lines_in(stream, longest) if isinstance(stream, HasLines) else stream
    )
    first = next(lines, b"")
    whole: Iterable[bytes | str] = chain([first], lines) if first else ()
    if isinstance(first, bytes) and first.startswith(_UTF_16):
        whole = _utf_16_lines(whole, add)
    for number, raw in enumerate(whole, 1):
        if isinstance(raw, bytes):
            if number == 1 and _is_utf_16(raw):
                add("UTF-16 text without a byte order mark", "UTF-8 text", line=1)
                return
            text = decoding.text_of(raw, number)
        else:
            text = raw
        if number == 1:
            text = text.removeprefix("\ufeff")
        yield nul.removed(text, number) if "\0" in text else text
    decoding.report(add)
    nul.report(add)


def _utf_16_lines(stream: Iterable[bytes | str], add: AddFault) -> Iterator[str]:
    """Yield the lines of UTF-16 text with a byte order mark, as Excel's Unicode Text is."""
    decoder = codecs.getincrementaldecoder("utf-16")()
    rest, number = "", 0
    try:
        for raw in stream:
            # A line of bytes ends at 0x0a, which may be half of another character.
            *whole, rest = (rest + decoder.decode(cast("bytes", raw))).split("\n")
            for line in whole:
                number += 1
                yield f"{line}\n"
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        add(f"bytes that are not UTF-16 ({error.reason})", "UTF-16 or UTF-8 text", line=number + 1)
        return
    if rest:
        yield rest


def text_of_file(path: Path, *, field: str | None = None) -> str:
    """Return the whole text of a file, without a byte order mark; `field` is what faults name.
    Raises InputError: it cannot be read, is too large, or is no UTF-8."""
    expected = "a file of text in UTF-8"
    try:
        return content_of(path, _LARGEST_TEXT).decode("utf-8-sig")
    except OSError:
        raise InputError([Fault(str(path), unreadable(path), expected, field=field)]) from None
    except UnicodeDecodeError as error:
        raise InputError([Fault(str(path), undecodable(error), expected, field=field)]) from None


def _is_utf_16(line: bytes) -> bool:
    # Every other byte of Western text is a NUL.
    return line.count(0) * 3 > len(line)


class _Decoding:
    """A decoder of lines, which remembers those that are not UTF-8."""

    def __init__(self) -> None:
        self._offset = 0
        self._lines: list[int] = []
        self._first = ""
        self._n_bytes = self._n_high = 0
        self._is_cp1252 = True
        self._has_utf_8 = False

    def text_of(self, raw: bytes, line: int) -> str:
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            text = self._guessed(raw, error, line)
        else:
            self._has_utf_8 = self._has_utf_8 or not raw.isascii()
        self._offset += len(raw)
        return text

    def _guessed(self, raw: bytes, error: UnicodeDecodeError, line: int) -> str:
        if not self._lines:
            self._first = undecodable(error, self._offset)
        self._lines.append(line)
        self._n_bytes += len(raw)
        self._n_high += sum(byte > 127 for byte in raw)
        try:
            return raw.decode("cp1252")
        except UnicodeDecodeError:
            self._is_cp1252 = False
            return raw.decode(errors="replace")

    def report(self, add: AddFault) -> None:
        if not self._lines:
            return
        problem, expected = self._first, "UTF-8 text"
        # Other alphabets have bytes above 127 in most letters, and cp1252 reads them, too.
        if self._is_cp1252 and self._n_high * 3 < self._n_bytes:
            problem = f"probably Windows-1252 (cp1252): {problem}"
            expected += "; save the file as UTF-8 (in Excel: CSV UTF-8)"
        if len(self._lines) > 1:
            problem += f", and such bytes on {first_lines(self._lines)}"
        if self._has_utf_8:
            problem += "; other lines are UTF-8"
        add(problem, expected, line=self._lines[0])


class _Nul:
    """A filter that takes NULs out of lines, and remembers where they were."""

    def __init__(self) -> None:
        self._lines: list[int] = []
        self._column = 0

    def removed(self, text: str, line: int) -> str:
        self._column = self._column or text.index("\0") + 1
        self._lines.append(line)
        return text.replace("\0", "")

    def report(self, add: AddFault) -> None:
        if not self._lines:
            return
        more = f", and NULs on {first_lines(self._lines)}" if len(self._lines) > 1 else ""
        add(f"a NUL at column {self._column}{more}", "UTF-8 text", line=self._lines[0])


_RATIO = 100
"""The largest ratio of a file's unpacked size to its own; text rarely gets beyond 30."""
_ALWAYS_BYTES = 64_000_000
"""The bytes to which any file may unpack: a small file of equal lines has a higher ratio."""
_PIECE_BYTES = 16_384


class TooMuchUnpacked(ValueError):
    """Something unpacks to more than it may; the message says how much that is."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(
            f"unpacks to more than {most_bytes:,} bytes, the most that is read of it: {_RATIO} "
            f"times its size, but {_ALWAYS_BYTES // 1_000_000} MB at the least"
        )


class UnreadablePacking(ValueError):
    """Something breaks off, or is not packed by gzip or deflate; the message says so."""


def most_unpacked(packed_bytes: int) -> int:
    """Return the number of bytes to which a file of so many may unpack."""
    return max(_ALWAYS_BYTES, _RATIO * packed_bytes)


def require_unpackable(packed_bytes: int, bytes_: int) -> None:
    """Refuse a file that would be too large when unpacked. Raises TooMuchUnpacked: a file of
    `packed_bytes` unpacks to `bytes_`."""
    if bytes_ > (most := most_unpacked(packed_bytes)):
        raise TooMuchUnpacked(most)


def unpacked(body: bytes, most_bytes: int, *, whole: bool = True) -> bytes:
    """Unpack a body that was packed by gzip or deflate, up to `most_bytes`; `whole` where nothing
    of the body is missing. Raises UnreadablePacking: it breaks off, or is no such thing."""
    rest, pieces, room = memoryview(body), list[bytes](), most_bytes
    ended = 0
    try:
        # One after another, as gzip allows.
        while rest and room:
            # Some servers leave out what deflate begins with.
            bare = not ended and body[0] & 15 != 8 and body[:2] != b"\x1f\x8b"
            unpacking = zlib.decompressobj(-zlib.MAX_WBITS if bare else 32 + zlib.MAX_WBITS)
            while rest and room and not unpacking.eof:
                # Not all of it: what it leaves is copied each time.
                piece = rest[:_PIECE_BYTES]
                pieces.append(unpacking.decompress(piece, room))
                room -= len(pieces[-1])
                left = len(unpacking.unused_data) + len(unpacking.unconsumed_tail)
                rest = rest[len(piece) - left :]
            if whole and room and not unpacking.eof:
                raise UnreadablePacking("broke off")
            ended = len(pieces)
    except zlib.error as error:
        # What follows a whole one means nothing.
        if not ended:
            raise UnreadablePacking(f"cannot be read: {error}") from None
    return b"".join(pieces[:ended])


def unpacked_file(file: IO[bytes]) -> IO[bytes]:
    """Open a file that was packed by gzip, to be read piece by piece or line by line.

    Reading raises gzip.BadGzipFile, EOFError or zlib.error where it is damaged, and
    TooMuchUnpacked once more has been read than the part of the file so far may unpack to.
    """
    return cast("IO[bytes]", io.BufferedReader(_GzipStream(file)))


class _GzipStream(io.RawIOBase):
    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._unpacking, self._n_bytes = file, gzip.GzipFile(fileobj=file), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        # Not `read`, which waits for so many bytes, and has none where a file ends early.
        piece = self._unpacking.read1(min(len(buffer), _PIECE_BYTES))
        self._n_bytes += len(piece)
        require_unpackable(self._file.tell(), self._n_bytes)
        buffer[: len(piece)] = piece
        return len(piece)


KEPT_FREE = 24
"""Descriptors kept for all else that opens while calls are made: the cache and its journal, a run's
files, look-ups of names, modules."""
_OUT_OF = frozenset({errno.EMFILE, errno.ENFILE})


def left_for_calls() -> int | None:
    """Return how many connections this process may open besides what it has open and will need, 1
    or more; None where there is no limit."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return None
    return max(1, limit - sum(1 for _ in Path("/dev/fd").iterdir()) - KEPT_FREE)


def shared_out(wanted: Sequence[int], available: int | None) -> list[int]:
    """Divide `available` among those who want `wanted`, in fair shares of 1 or more.

    Who wants less than a share leaves the rest to the others.

    >>> shared_out([4, 100, 100], 60)
    [4, 28, 28]
    """
    if available is None or sum(wanted) <= available:
        return list(wanted)
    shares = [0] * len(wanted)
    left = available
    # The least wanted first: what it leaves is shared by those that come after.
    for done, place in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        shares[place] = max(1, min(wanted[place], left // (len(wanted) - done)))
        left -= shares[place]
    return shares


def spare_descriptor() -> int | None:
    """Open a descriptor that can be closed where another is needed; None where there is none
    left.
    """
    try:
        return os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return None


def is_lack_of_descriptors(error: BaseException) -> bool:
    """Return whether an error came about because no further file or connection could be opened."""
    return any(
        (isinstance(cause, OSError) and cause.errno in _OUT_OF)
        # SQLite does not say why it cannot open a file.
        or getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_CANTOPEN
        for cause in _with_causes(error)
    )


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and all its causes; clients wrap the system's errors in their own."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        cause = waiting.pop()
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [cause.__cause__, cause.__context__, getattr(cause, "os_error", None)]
        if isinstance(cause, BaseExceptionGroup):
            waiting += cause.exceptions
