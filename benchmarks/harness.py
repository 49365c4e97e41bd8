"""What the benchmarks share: options, the stub, a batch on disk, and what a process has used.

The standard library only, so that the process that measures stays small: a child's peak
memory is never reported below what its parent held when it started it. What is measured
and printed is in the modules beside this one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parent.parent
COMMAND = [sys.executable, "-c", "from persona_panel.cli.main import main; main()"]
TEXT = "Meritocracy promises that places go to the able, and hides how ability is made. " * 30
LATENCY_S = 0.02
WATCH_S = 1.0

CellT = TypeVar("CellT")
FoundT = TypeVar("FoundT")


@dataclass(frozen=True, slots=True)
class Used:
    """What a process and those that it waited for used, in seconds and MB."""

    cpu_s: float
    wall_s: float
    peak_mb: float


def simulation_parser(
    description: str | None, simulations: int, *, scale: float = 1.0, jobs: bool = False
) -> argparse.ArgumentParser:
    """A parser with `--scale`, which gives `options.simulations`: of so many, at least two; and
    with `--jobs`, where cells may be simulated in several processes."""

    def scaled(text: str) -> int:
        return max(2, round(simulations * float(text)))

    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--scale",
        dest="simulations",
        metavar="SCALE",
        type=scaled,
        default=str(scale),
        help=f"of {simulations:,} simulations a cell (default: {scale:g})",
    )
    if jobs:
        parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    return parser


def add_parts(parser: argparse.ArgumentParser, names: Iterable[str], one: str = "part") -> None:
    """Have the parser take some of these names, all where none is given, as `options.parts`."""
    names = tuple(names)

    def known(name: str) -> str:
        if name not in names:
            raise argparse.ArgumentTypeError(f"no such {one}: {name}; there are {', '.join(names)}")
        return name

    parser.add_argument(
        "parts",
        nargs="*",
        type=known,
        default=names,
        metavar=one.upper(),
        help=f"of {', '.join(names)}",
    )


def simulated_cells(
    measured: Callable[[CellT], FoundT], cells: Sequence[CellT], jobs: int
) -> Iterator[tuple[CellT, FoundT]]:
    """Each cell and what is measured of it, in order, in so many processes at a time."""
    with ProcessPoolExecutor(jobs) as pool:
        yield from zip(cells, pool.map(measured, cells), strict=True)


@contextmanager
def stub(
    *, latency_s: float = LATENCY_S, fault_rate: float = 0.0, stall_s: float = 0.3, seed: int = 0
) -> Iterator[str]:
    """tests/server.py as a process of its own; yields its address, less the /v1."""
    command = [sys.executable, "-m", "tests.server", "--latency", str(latency_s)]
    if fault_rate:
        command += ["--unusable", "--fault-rate", str(fault_rate)]
        command += ["--stall", str(stall_s), "--seed", str(seed)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
    finally:
        process.terminate()
        process.wait()


def calls_received(url: str) -> dict[str, Any]:
    """What the server has counted: `received`, `in_flight`, and `kinds` of answers."""
    with urllib.request.urlopen(f"{url}/calls", timeout=10) as answer:
        counted: dict[str, Any] = json.load(answer)
    return counted


@contextmanager
def scratch(prefix: str) -> Iterator[Path]:
    """A folder for the time of a benchmark."""
    with tempfile.TemporaryDirectory(prefix=f"{prefix}-") as folder:
        yield Path(folder)


def write_responses(file: Path, count: int, text: str = TEXT) -> Path:
    """Responses of four systems, each text another; written one by one."""
    with file.open("w") as lines:
        for i in range(count):
            row = {"id": f"r{i}", "prompt": f"Prompt {i // 4}", "system": f"s{i % 4}"}
            lines.write(json.dumps(row | {"response": f"{i} {text}"}) + "\n")
    return file


def write_panel(file: Path, models: Sequence[str]) -> Path:
    """Ten personas, the rubric `scrub`, and these models (YAML mappings)."""
    lines = "".join(f"  - {model}\n" for model in models)
    file.write_text(f"personas: perspectives\nrubric: scrub\nmodels:\n{lines}")
    return file


def model_line(name: str, url: str, **settings: object) -> str:
    """A model of the stub as the panel file has it."""
    rest = "".join(f", {key}: {value}" for key, value in settings.items())
    return f"{{model: 'openai:{name}', base_url: '{url}/v1'{rest}}}"


def write_stubs(folder: Path, url: str, models: int, concurrency: int) -> Path:
    """The panel file of so many models of the stub, which share the calls in flight."""
    share = max(1, concurrency // models)
    names = [f"stub-{n}" for n in range(models)]
    lines = [model_line(name, url, concurrency=share) for name in names]
    return write_panel(folder / "panel.yaml", lines)


def score(responses: Path, panel: Path, *options: str) -> list[str]:
    """The command that has the panel read the responses; the run's folder is still to come."""
    return [*COMMAND, "score", str(responses), "--panel", str(panel), *options, "--json", "--out"]


def environment(**more: str) -> dict[str, str]:
    """This process's, with this checkout first among the imports and no provider's key.

    Python keeps what it compiles, as it does for users: a start that compiles all modules and
    templates again takes half as long again.
    """
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return kept | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": ""} | more


def measure(
    command: Sequence[str],
    env: Mapping[str, str],
    *,
    watch: Callable[[int, float], None] | None = None,
) -> Used:
    """Run a command to its end.

    `watch` is called with the process id and the seconds gone, every WATCH_S.

    Raises:
        RuntimeError: its exit status is not 0; says the end of its output.
    """
    with tempfile.TemporaryFile() as output:
        started = time.monotonic()
        process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=output, stderr=subprocess.STDOUT
        )
        options = os.WNOHANG if watch else 0
        try:
            while (ended := os.wait4(process.pid, options))[0] == 0 and watch:
                watch(process.pid, time.monotonic() - started)
                time.sleep(WATCH_S)
        except BaseException:  # nothing goes on spending CPU when this is interrupted
            process.kill()
            raise
        wall_s = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(ended[1])
        if process.returncode != 0:
            output.seek(0)
            words = output.read().decode(errors="replace").strip()[-600:]
            raise RuntimeError(f"ended with {process.returncode}: {words}")
    usage = ended[2]
    return Used(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss / 1024)


def resident_mb(pid: int) -> float:
    """What the process holds in memory now (Linux); 0 once it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in status.splitlines() if line[:6] == "VmRSS:") / 1024
