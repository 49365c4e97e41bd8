"""Where coroutines run: one loop that lasts, and one for each call that is not asynchronous."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from contextlib import closing
from contextvars import ContextVar, copy_context

import pytest

from persona_panel.models.event_loops import (
    in_lasting_loop,
    is_passing,
    lasting_loop,
    new_loop,
    run_in_loop,
)

TOLD: ContextVar[str] = ContextVar("told", default="nothing")


async def running() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


async def lasting() -> asyncio.AbstractEventLoop:
    return await in_lasting_loop(running(), copy_context())


def test_loops_are_asyncios_where_uvloop_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new loop is of uvloop where the package is installed, of asyncio where it is not."""
    pytest.importorskip("uvloop", reason="uvloop is not to be had here")
    with closing(new_loop()) as loop:
        assert type(loop).__module__.split(".")[0] == "uvloop"
    monkeypatch.setitem(sys.modules, "uvloop", None)
    with closing(new_loop()) as loop:
        assert type(loop).__module__.split(".")[0] == "asyncio"


def test_the_lasting_loop_is_the_same_in_every_run() -> None:
    """Whatever loop asks, and from whatever thread, work is done in one loop."""
    loops = [asyncio.run(lasting()) for _ in range(3)]
    thread = threading.Thread(target=lambda: loops.append(asyncio.run(lasting())))
    thread.start()
    thread.join()
    loops.append(asyncio.run(in_lasting_loop(lasting(), copy_context())))
    assert set(loops) == {lasting_loop()}
    assert len(loops) == 5


def test_what_fails_there_fails_here() -> None:
    """An error of the work is raised where it is awaited."""

    async def fail() -> None:
        raise LookupError("as meant")

    with pytest.raises(LookupError, match="as meant"):
        asyncio.run(in_lasting_loop(fail(), copy_context()))


async def test_work_that_is_cancelled_here_ends_there() -> None:
    """A call that is no longer waited for does not go on behind the back of its caller."""
    began, ended = threading.Event(), threading.Event()

    async def wait() -> None:
        began.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()

    task = asyncio.create_task(in_lasting_loop(wait(), copy_context()))
    assert await asyncio.to_thread(began.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, 5)


def test_work_there_has_the_context_it_is_given() -> None:
    """Traces and the like go along, and what is set there is not seen here."""

    async def tell() -> str:
        said = TOLD.get()
        TOLD.set("something else")
        return said

    context = copy_context()
    context.run(TOLD.set, "something")
    assert asyncio.run(in_lasting_loop(tell(), context)) == "something"
    assert (TOLD.get(), context[TOLD]) == ("nothing", "something")


def test_a_loop_of_run_in_loop_is_known_to_pass() -> None:
    """A loop that ends with its work is told from one that a user keeps."""

    async def passes() -> bool:
        return is_passing(asyncio.get_running_loop())

    assert run_in_loop(passes())
    assert not asyncio.run(passes())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_has_a_lasting_loop_of_its_own() -> None:
    """The thread of the first loop is not there any more; calls work all the same."""
    code = (
        "import asyncio, os, sys, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "from contextvars import copy_context\n"
        "from persona_panel.models.event_loops import in_lasting_loop\n"
        "async def work():\n"
        "    return 7\n"
        "def ask():\n"
        "    return asyncio.run(asyncio.wait_for(in_lasting_loop(work(), copy_context()), 5))\n"
        "assert ask() == 7\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(ask())\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, text=True)
    assert done.returncode == 7, done.stderr


def test_the_process_ends_though_a_call_hangs() -> None:
    """Neither a call under way nor the lasting loop keeps a script from its end."""
    code = (
        "import asyncio\n"
        "from contextvars import copy_context\n"
        "from persona_panel.models.event_loops import in_lasting_loop\n"
        "async def main():\n"
        "    asyncio.create_task(in_lasting_loop(asyncio.sleep(600), copy_context()))\n"
        "    await asyncio.sleep(0.1)\n"
        "asyncio.run(main())\n"
        "print('done')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
