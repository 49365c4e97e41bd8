"""A process that has imported what `persona-panel` needs, and forks for each command that it is
asked for.

Most of the CPU time of a short command goes into imports. A fork finds them done, and is in all
else a process of its own: its own arguments, folder, environment, umask, standard streams, signals
and exit status. Of what Python reads at its start PYTHONIOENCODING alone has an effect, and that
each command imports what it needs `tests/panel/cli/test_imports.py` shows. A fork that has run to
its end does not take its modules apart, which takes three times the rest of a short command.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from tests.helpers.command import COMMAND
from tests.helpers.fork_client import NUMBER, as_bytes

IMPORTED = (
    "asyncio", "asyncio_throttle", "click", "diskcache", "jinja2", "json_repair",
    "langchain_core.language_models", "langchain_core.messages", "langgraph.graph",
    "langgraph.runtime", "langgraph.types", "langsmith", "numpy", "orjson", "platformdirs",
    "pycurl", "pydantic", "rich.console", "rich.live", "rich.progress", "rich.table", "rich.text",
    "scipy.optimize", "scipy.special", "scipy.stats", "sqlite3", "tenacity", "yaml",
)  # fmt: skip
"""What the project requires."""
PACKAGES = ("persona_panel",)
LEFT_OUT = (
    "persona_panel.calls.stores.redis",
    "persona_panel.clusters.engines.ray", "persona_panel.clusters.ray_",
    "persona_panel.experiments.prompt_sets.prompt_map", "persona_panel.results.charts",
    "persona_panel.results.heatmap", "persona_panel.experiments.sweep.plots",
    "persona_panel.studio.http",
)  # fmt: skip
"""How the names of modules begin that each fork imports itself: those that import an extra."""
COMMANDS = "persona_panel.cli."
"""How those of commands begin, whose options name the extensions that are installed."""
EXTRAS = {"matplotlib", "pandas", "polars", "ray", "redis"}
"""Not imported by the modules above: a test may hide them from a command, or they are absent."""


class Request(NamedTuple):
    """A command that is asked for."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    umask: int
    streams: list[int]
    """Descriptors of the standard streams."""


class ForkServer:
    """Forks for each request at a Unix socket, and tells whoever asked how its fork ended."""

    def __init__(self, address: str) -> None:
        self._requests = socket.socket(socket.AF_UNIX)
        self._requests.bind(address)
        self._requests.listen()
        # When a fork ends, its signal writes a byte into one end, and `select` sees it at the
        # other.
        self._ends, self._signalled = socket.socketpair()
        self._signalled.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._signalled.fileno())
        self._asking: dict[int, socket.socket] = {}
        """Who asked for each fork that goes on, by its process id."""

    def serve(self) -> Request | None:
        """Serve until standard input ends, and then return None.

        In a fork it returns, too: the request that the fork is for.
        """
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([sys.stdin, self._requests, self._ends], [], [])
            if sys.stdin in ready:
                return None
            if self._ends in ready:
                self._ends.recv(4096)
                self._tell_ends()
            if self._requests in ready and (request := self._fork()):
                return request

    def _fork(self) -> Request | None:
        """Fork for the next request: in the fork that request, in this process None."""
        asking, _ = self._requests.accept()
        request = _received(asking)
        pid = os.fork()
        if pid == 0:
            asking.close()
            self._close()
            return request
        self._asking[pid] = asking
        asking.sendall(as_bytes(pid))
        for stream in request.streams:
            os.close(stream)
        return None

    def _close(self) -> None:
        """In a fork: close what is the server's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for one in (self._requests, self._ends, self._signalled, *self._asking.values()):
            one.close()

    def _tell_ends(self) -> None:
        """Tell the exit status of each fork that has ended."""
        while self._asking:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            # Whoever asked may have left.
            with self._asking.pop(pid) as asking, suppress(OSError):
                asking.sendall(as_bytes(os.waitstatus_to_exitcode(status)))


def _received(asking: socket.socket) -> Request:
    size, streams, _, _ = socket.recv_fds(asking, NUMBER, 3)
    text = asking.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
    return Request(*json.loads(text), streams)


def become(request: Request, paths: list[str]) -> None:
    """Take the standard streams, folder, umask and environment that are asked for.

    `paths`: where modules are looked for, behind PYTHONPATH.
    """
    for number, descriptor in enumerate(request.streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request.folder)
    os.umask(request.umask)
    os.environ.clear()
    os.environ.update(request.environment)
    if encoding := request.environment.get("PYTHONIOENCODING"):
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            stream = open(  # noqa: SIM115
                number, "w" if number else "r", 1 if number == 2 else -1, encoding,
                "backslashreplace" if number == 2 else "strict", closefd=False,
            )  # fmt: skip
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
    given = request.environment.get("PYTHONPATH")
    sys.path[:] = [*(given.split(os.pathsep) if given else []), *paths]
    if given:
        # There may be other extensions.
        for name in [name for name in sys.modules if name.startswith(COMMANDS)]:
            del sys.modules[name]
    importlib.invalidate_caches()


def run(program: str, *arguments: str) -> None:
    """Run the installed command, or as Python a file, `-c` or `-m`."""
    if not Path(program).name.startswith("python"):
        arguments = (COMMAND, *arguments)
    what, *rest = arguments
    if what == "-m":
        sys.path.insert(0, str(Path.cwd()))
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif what == "-c":
        sys.path.insert(0, "")
        sys.argv = ["-c", *rest[1:]]
        _run_as_main(rest[0], None)
    else:
        sys.path.insert(0, str(Path(what).parent))
        sys.argv = [what, *rest]
        _run_as_main(Path(what).read_text("utf-8"), Path(what).absolute())


def _run_as_main(source: str, file: Path | None) -> None:
    """Not by runpy: what a script defines is to be found in `__main__`."""
    sys.modules["__main__"] = main = ModuleType("__main__")
    if file is not None:
        # Worker processes read it again.
        main.__file__ = str(file)
    code = compile(source, str(file or "<string>"), "exec", dont_inherit=True)
    exec(code, main.__dict__)


def import_packages() -> None:
    """Import the modules of the project, but for those left out."""
    for package in map(importlib.import_module, PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith(LEFT_OUT):
                importlib.import_module(module.name)
    for name in [name for name in sys.modules if name.startswith(PACKAGES)]:
        for value in vars(sys.modules[name]).values():
            # Which extensions are installed is found out by each fork.
            if isinstance(value, functools._lru_cache_wrapper):
                value.cache_clear()
    assert not EXTRAS & set(sys.modules), "a module that imports an extra belongs into LEFT_OUT"


def end_at_once() -> None:
    """End a fork of known status without taking apart what was imported."""
    if _status is None:
        return
    # What is not awaited or not closed is warned of, as ever.
    gc.collect()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # The ordinary end says so.
    os._exit(_status)


_status: int | None = None
"""The exit status of a fork that has run to its end."""

if __name__ == "__main__":
    # The first that is registered is called last, when threads have ended.
    atexit.register(end_at_once)
    for _name in IMPORTED:
        importlib.import_module(_name)
    import_packages()
    # No test hides it from a fork, and it is most of what a command with figures imports.
    with suppress(ImportError):
        for _name in ("figure", "backends.backend_agg", "backends.backend_svg"):
            importlib.import_module(f"matplotlib.{_name}")
    # The first is the folder that it was started in.
    _paths = sys.path[1:]
    # A collection would write to every object, and so copy the memory that forks share.
    gc.collect()
    gc.freeze()
    if (_request := ForkServer(sys.argv[1]).serve()) is not None:
        become(_request, _paths)
        try:
            run(*_request.arguments)
            _status = 0
        except SystemExit as _ended:
            _status = _ended.code if isinstance(_ended.code, int) else 1 if _ended.code else 0
            raise
