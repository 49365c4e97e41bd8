"""Event loops: one that lasts as long as the process, and one for each call from code that is not
asynchronous. They are uvloop's where there is one, which takes a sixth off a judgment's CPU.

Clients in providers' packages belong to the event loop in which they opened their first
connection, and fail once it is closed. A script that scores twice, a notebook or a worker has a new
loop each time; so these clients work in the lasting one, in a thread of its own, whoever asks.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context
from inspect import isawaitable
from socket import socketpair
from typing import Any, TypeVar
from weakref import WeakSet

from persona_panel.files.errors import ConfigurationError

T = TypeVar("T")

MOST_THREADS = 256
"""The most calls in flight of packages that block a thread for each, such as Amazon's."""
_UNTIL_STOPPED_S = 2.0

_starting = threading.Lock()
_lasting: asyncio.AbstractEventLoop | None = None
_passing: WeakSet[asyncio.AbstractEventLoop] = WeakSet()


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of uvloop's; asyncio's own where that package is not to be had, as on Windows,
    and there one that can watch libcurl's sockets."""
    # Here, since most commands need none.
    try:
        import uvloop
    except ImportError:
        return asyncio.SelectorEventLoop()
    return uvloop.new_event_loop()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine as `asyncio.run` does, in a loop of `new_loop`. Raises ConfigurationError:
    this process can open no file or connection for it."""
    try:
        # What a loop opens when it starts: uvloop's could only break off, with half of it done.
        for end in socketpair() + socketpair():
            end.close()
    except OSError as error:
        work.close()
        raise ConfigurationError(
            f"no event loop can be started: {error.strerror}; let the process open more files and "
            "connections (ulimit -n)"
        ) from None
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(work)


def lasting_loop() -> asyncio.AbstractEventLoop:
    """Return the loop that runs for as long as the process, started when it is first needed.

    A process that was forked off has one of its own.
    """
    global _lasting
    with _starting:
        if _lasting is None:
            _lasting = new_loop()
            _lasting.set_default_executor(ThreadPoolExecutor(MOST_THREADS, "panel-calls"))
            # A daemon: the process ends without waiting for a call that hangs.
            thread = threading.Thread(
                target=_lasting.run_forever, name="panel-event-loop", daemon=True
            )
            thread.start()
            atexit.register(_stop, _lasting, thread)
        return _lasting


async def in_lasting_loop(work: Coroutine[Any, Any, T], context: Context) -> T:
    """Await `work` in the lasting loop and return its result. Cancelling this cancels it there.

    Connections that are opened there keep `context` for as long as they live.
    """
    doing = context.run(asyncio.run_coroutine_threadsafe, work, lasting_loop())
    return await asyncio.wrap_future(doing)


def run_in_lasting_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in the lasting loop, from any other thread."""
    return asyncio.run_coroutine_threadsafe(work, lasting_loop()).result()


def close_later(close: Callable[[], Any]) -> None:
    """Call this in the lasting loop and await what it returns, if that has ever run; from any
    thread."""

    async def closed() -> None:
        # There is nobody left who could be told of an error.
        with suppress(Exception):
            if isawaitable(closing := close()):
                await closing

    if _lasting is not None:
        asyncio.run_coroutine_threadsafe(closed(), _lasting)


def is_passing(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether a loop was made by `run_in_loop` and ends with what it was made for."""
    return loop in _passing


def run_in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a new loop, even if a loop runs already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run(_in_passing_loop(work))
    # A notebook's loop is already running here: the work gets one of its own, beside it.
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()

    async def started_here() -> T:
        task = asyncio.ensure_future(_in_passing_loop(work))
        started.set_result((asyncio.get_running_loop(), task))
        return await task

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run, started_here())
        try:
            return running.result()
        except KeyboardInterrupt:
            # Else leaving the block would wait for all that is still to be paid for.
            loop, task = started.result()
            loop.call_soon_threadsafe(task.cancel)
            raise


async def _in_passing_loop(work: Coroutine[Any, Any, T]) -> T:
    _passing.add(asyncio.get_running_loop())
    return await work


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(loop.stop)
    thread.join(_UNTIL_STOPPED_S)


def _forget() -> None:
    """Forget the lasting loop in a forked process, where no thread runs it."""
    global _lasting, _starting
    _lasting, _starting = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
