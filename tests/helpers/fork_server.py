"""A process that has imported what `persona-panel` needs, and forks for each command that it is
asked for.

Most of the CPU time of a short command goes into imports. A fork finds them done, and is in all
else a process of its own: its own arguments, folder, environment, umask, standard streams, signals
and exit status. What Python reads at its start (PYTHONIOENCODING, say) has no effect, and that each
command imports what it needs `tests/panel/cli/test_imports.py` shows.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from tests.helpers.command import COMMAND
from tests.helpers.fork_client import NUMBER

IMPORTED = (
    "aiohttp", "asyncio", "asyncio_throttle", "click", "diskcache", "jinja2", "json_repair",
    "langchain_core.language_models", "langchain_core.messages", "langgraph.graph",
    "langgraph.runtime", "langgraph.types", "langsmith", "numpy", "orjson", "platformdirs",
    "pydantic", "rich.console", "rich.live", "rich.progress", "rich.table", "rich.text",
    "scipy.optimize", "scipy.special", "scipy.stats", "sqlite3", "tenacity", "yaml",
)  # fmt: skip
"""What the project requires."""
PACKAGES = ("graphs", "panel", "personas", "rubrics")
LEFT_OUT = (
    "panel.calls.stores.redis", "panel.cli.", "panel.clusters.engines.ray",
    "panel.clusters.ray_", "panel.figures.", "panel.ray", "panel.statistics.figures.",
    "panel.sweep.plots",
)  # fmt: skip
"""How the names of modules begin that each fork imports itself: those that import an extra, and
those of commands, whose options name the extensions that are installed."""
EXTRAS = {"matplotlib", "pandas", "polars", "ray", "redis"}
"""Not imported here: a test may hide them from a command."""

Request = tuple[list[str], str, dict[str, str], int, list[int]]
"""Arguments, folder, environment, umask and the descriptors of the standard streams."""


def served(address: str) -> Request | None:
    """Fork for what is asked at this Unix socket, until standard input ends.

    Returns more than once: in each fork what was asked, and in this process None, at the end.
    """
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen()
    woken, waking = socket.socketpair()
    waking.setblocking(False)
    # A child's end is a byte in `woken`.
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(waking.fileno())
    begun: dict[int, socket.socket] = {}
    print("ready", flush=True)
    with selectors.DefaultSelector() as selector:
        for file in (0, listening, woken):
            selector.register(file, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj == 0:
                    return None
                if key.fileobj is woken:
                    woken.recv(4096)
                    _tell_ends(begun)
                    continue
                asking, _ = listening.accept()
                asked = _read(asking)
                if pid := os.fork():
                    begun[pid] = asking
                    asking.sendall(pid.to_bytes(NUMBER, "big", signed=True))
                    for stream in asked[-1]:
                        os.close(stream)
                    continue
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for open_ in (listening, woken, waking, asking, *begun.values()):
                    open_.close()
                return asked


def _read(asking: socket.socket) -> Request:
    size, streams, _, _ = socket.recv_fds(asking, NUMBER, 3)
    text = asking.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
    arguments, folder, env, umask = json.loads(text)
    return arguments, folder, env, umask, streams


def _tell_ends(begun: dict[int, socket.socket]) -> None:
    while begun:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        # Whoever asked may have left.
        with begun.pop(pid) as asking, suppress(OSError):
            ended = os.waitstatus_to_exitcode(status)
            asking.sendall(ended.to_bytes(NUMBER, "big", signed=True))


def run(asked: Request, paths: list[str]) -> None:
    """Be what was asked for: the installed command, or Python with a file, `-c` or `-m`.

    `paths`: where modules are looked for, behind PYTHONPATH.
    """
    (program, *arguments), folder, env, umask, streams = asked
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.umask(umask)
    os.environ.clear()
    os.environ.update(env)
    before = env["PYTHONPATH"].split(os.pathsep) if env.get("PYTHONPATH") else []
    sys.path[:] = [*before, *paths]
    importlib.invalidate_caches()
    if not Path(program).name.startswith("python"):
        arguments = [COMMAND, *arguments]
    if arguments[0] == "-m":
        sys.path.insert(0, folder)
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    if arguments[0] == "-c":
        sys.path.insert(0, "")
        name, source = "<string>", arguments.pop(1)
    else:
        sys.path.insert(0, str(Path(arguments[0]).parent))
        file = Path(arguments[0]).absolute()
        name, source = str(file), file.read_text("utf-8")
    sys.argv = arguments
    # Not by runpy: what a script defines is to be found in `__main__`.
    sys.modules["__main__"] = main = ModuleType("__main__")
    if name != "<string>":
        # Worker processes read it again.
        main.__file__ = name
    exec(compile(source, name, "exec", dont_inherit=True), main.__dict__)


def import_packages() -> None:
    """Import the modules of the project, but for those left out."""
    for package in map(importlib.import_module, PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith(LEFT_OUT):
                importlib.import_module(module.name)
    assert not EXTRAS & set(sys.modules), "a module that imports an extra belongs into LEFT_OUT"


if __name__ == "__main__":
    for _name in IMPORTED:
        importlib.import_module(_name)
    import_packages()
    # The first is the folder that it was started in.
    _paths = sys.path[1:]
    # A collection would write to every object, and so copy the memory that forks share.
    gc.collect()
    gc.freeze()
    if (_asked := served(sys.argv[1])) is not None:
        run(_asked, _paths)
