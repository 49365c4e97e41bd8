"""Signals and streams that end a command: Ctrl-C, SIGTERM and SIGHUP, and standard streams that
take no more.

A reader may have left (`| head -1`), a disk be full, a terminal be gone, an encoding lack a
character. Files are written all the same, and the exit status tells of output that was lost.
"""

from __future__ import annotations

import errno
import io
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from persona_panel.files.addresses import remove_temporary_folder
from persona_panel.files.secrets import say, say_sentences

if TYPE_CHECKING:
    import asyncio


_LEFT = (errno.EPIPE, errno.EINVAL)
"""The errors of a write whose reader has left; the second on Windows."""


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
    streams = sys.stdout, sys.stderr
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
        sys.stdout, sys.stderr = streams


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


T = TypeVar("T")

_HEEDED = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows lacks the last
_ECHO_S = 0.3
"""The seconds within which a signal after another is the same one: `timeout` sends each to the
process and to its group, and so do terminals that are closed."""
_SHOW_CURSOR = b"\x1b[?25h"

_received: signal.Signals | None = None
_received_at = 0.0
_running: asyncio.Task[Any] | None = None
_has_run = False


@contextmanager
def heeded() -> Iterator[None]:
    """Have these signals stop what goes on, in an orderly way.

    Where a run is under way it is cancelled, else KeyboardInterrupt is raised. Signals that this
    process was started to ignore (`nohup`, a script's background job) stay ignored.
    """
    global _received, _has_run
    _received, _has_run = None, False
    before = {}
    for name in _HEEDED:
        number = getattr(signal, name, None)
        # None: it is not Python's to handle.
        if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
            before[number] = signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    global _received, _received_at
    now = time.monotonic()
    if _received is not None:
        if now - _received_at > _ECHO_S:
            remove_temporary_folder()
            # A progress bar hides the cursor.
            if os.isatty(2):
                with suppress(OSError):
                    os.write(2, _SHOW_CURSOR)
            os._exit(_status(number))
        return
    _received, _received_at = signal.Signals(number), now
    if _running is None:
        raise KeyboardInterrupt
    # From a handler a loop that waits must be woken, too.
    _running.get_loop().call_soon_threadsafe(_running.cancel)


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end and return its value. Raises KeyboardInterrupt: a signal stopped it;
    what it does on being cancelled is done."""
    # Help needs none.
    import asyncio

    from persona_panel.models import event_loops

    async def run() -> T:
        global _running, _has_run
        _running, _has_run = asyncio.current_task(), True
        try:
            return await work
        finally:
            _running = None

    try:
        return event_loops.run(run())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def received() -> bool:
    """Return whether a signal came."""
    return _received is not None


def end(message: str | None = None) -> NoReturn:
    """End the process after a signal, with a message, a sentence and perhaps a command on lines of
    its own, and its exit status.

    A model in this process may be in the middle of a text: it is not waited for.
    """
    stopped = _received or signal.SIGINT
    if message is None:
        message = (
            "all replies received are stored, and the same command continues the run."
            if _has_run
            else "no model was called."
        )
    name = "Interrupted" if stopped is signal.SIGINT else f"Ended by {stopped.name}"
    sentence, _, command = message.partition("\n")
    say_sentences(f"{name}: {sentence}", err=True)
    if command:
        say(command, err=True)
    flush()
    remove_temporary_folder()
    os._exit(_status(stopped))


def _status(number: int) -> int:
    """Return a shell's exit status for a process that this signal ended."""
    return 128 + number
