"""Ctrl-C, SIGTERM and SIGHUP: the first lets a run write what it has, a second ends the process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from persona_panel.cli.streams import flush
from persona_panel.files.addresses import remove_temporary_folder

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

_HEEDED = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows lacks the last
_ECHO_S = 0.3
"""How soon a signal after another is the same one: `timeout` sends each to the process and to its
group, and so do terminals that are closed."""
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
    """What `work` returns.

    Raises:
        KeyboardInterrupt: a signal stopped it; what it does on being cancelled is done.
    """
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
    """Whether a signal came."""
    return _received is not None


def end(message: str | None = None) -> NoReturn:
    """End the process after a signal, with a message and its exit status.

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
    click.echo(f"{name}: {message}", err=True)
    flush()
    remove_temporary_folder()
    os._exit(_status(stopped))


def _status(number: int) -> int:
    """What a shell has for a process that this signal ended."""
    return 128 + number
