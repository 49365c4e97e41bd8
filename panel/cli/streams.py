"""Standard streams that never cost a result: what they cannot take is left out, not raised.

A reader may have left (`| head -1`), a disk be full, a terminal be gone, an encoding lack a
character. Files are written all the same, and the exit status tells of output that was lost.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

_LEFT = (errno.EPIPE, errno.EINVAL)
"""What a write meets whose reader has left; the second on Windows."""


class _Guarded(io.RawIOBase):
    """The file under a standard stream; what it cannot take is dropped, and `fault` says why."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.fault: OSError | None = None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        descriptor: int = self._raw.fileno()
        return descriptor

    def isatty(self) -> bool:
        return bool(self._raw.isatty())

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        # Once something is missing, what follows would not be understood.
        while self.fault is None:
            try:
                written: int | None = self._raw.write(data)
                if written is not None:
                    return written
                # A pipe that does not block, and is full for now.
                select.select([], [self._raw], [])
            except OSError as error:
                self.fault = error
        return size


@contextmanager
def guarded() -> Iterator[Callable[[], OSError | None]]:
    """Guard the standard streams of this process.

    What is yielded writes out what was printed, and returns why standard output is not whole, if
    it is not and somebody is still there to read it.
    """
    # Else the next file that is opened, the cache's database, say, takes the number of a stream
    # that was closed, and with it what a library in C prints.
    for descriptor in range(3):
        _occupy(descriptor)
    given = sys.stdout, sys.stderr
    sys.stdout, guard = _guarded(sys.stdout)
    sys.stderr, _ = _guarded(sys.stderr)

    def fault() -> OSError | None:
        flush()
        lost = None if guard is None else guard.fault
        return None if lost is None or lost.errno in _LEFT else lost

    try:
        yield fault
    finally:
        flush()
        sys.stdout, sys.stderr = given


def flush() -> None:
    """Write out what was printed."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def _occupy(descriptor: int) -> None:
    """See that a descriptor is not free."""
    try:
        os.fstat(descriptor)
    except OSError:
        with suppress(OSError):
            # The lowest free one is taken: those below are not free any more.
            os.open(os.devnull, os.O_RDWR)


def _guarded(stream: Any) -> tuple[Any, _Guarded | None]:
    """A text stream that writes where `stream` does, and raises nothing."""
    if stream is None:
        # Closed by whoever started the command: nothing is wanted.
        return open(os.devnull, "w", encoding="utf-8"), None  # noqa: PTH123
    if not isinstance(stream, io.TextIOWrapper):
        # A notebook's or a test's own.
        return stream, None
    binary = stream.buffer
    guard = _Guarded(getattr(binary, "raw", binary))
    return io.TextIOWrapper(
        io.BufferedWriter(guard),
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering or stream.write_through,
    ), guard
