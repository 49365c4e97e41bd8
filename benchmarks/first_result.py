"""How long a newcomer waits for a first leaderboard: the README's first command, step by step.

    python -m benchmarks.first_result            with no package in pip's cache, then with all
    python -m benchmarks.first_result --offline  the demo alone, in this environment

Each time in a fresh copy of what git has, an environment of its own and an empty cache of replies
and weights. Wall time and CPU of each step, the environment's size, and what the demo has printed
last after 1, 5, 15, 30 and 60 s. CPU counts on a machine that does something else, too.
"""

from __future__ import annotations

import argparse
import io
import os
import resource
import shlex
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.harness import COMMAND, ROOT, environment, scratch
from persona_panel.results.conclusions.wording import counted

MARKS_S = (1, 5, 15, 30, 60)
Printed = list[tuple[float, str]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--offline", action="store_true", help="install nothing")
    if parser.parse_args().offline:
        with scratch("first-result") as folder:
            show_screen(step("demo", [*COMMAND, "demo"], folder, environment(**caches(folder))))
        return
    with scratch("first-result") as packages:
        for state in ("cold", "warm"):
            print(f"\nCache of packages: {state}")
            with scratch("first-result") as folder:
                install(folder, os.environ | caches(folder) | {"PIP_CACHE_DIR": str(packages)})


def install(folder: Path, env: Mapping[str, str]) -> None:
    """Run the README's first command in a copy of the repository, step by step."""
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="tar")
    # Whoever measures may be in an environment; a newcomer is not.
    python = [sys._base_executable, *first_command()[0][1:]]
    *steps, demo = [python, *first_command()[1:]]
    started = time.monotonic()
    for words in steps:
        step(shlex.join(words[1:])[:48], words, folder, env)
    printed = step("demo", demo, folder, env)
    size = sum(path.lstat().st_size for path in folder.joinpath(".venv").rglob("*"))
    print(
        f"{'together':<50}{time.monotonic() - started:>7.1f} s      {size / 1e6:,.0f} MB installed"
    )
    show_screen(printed)


def first_command() -> list[list[str]]:
    """The steps of the README's first command."""
    after = ROOT.joinpath("README.md").read_text("utf-8").partition("<!-- first command -->")[2]
    return [shlex.split(part) for part in after.splitlines()[2].split(" && ")]


def caches(folder: Path) -> dict[str, str]:
    """Empty folders for what is kept between runs."""
    return {"XDG_CACHE_HOME": str(folder / "cache"), "PERSONA_PANEL_CACHE": str(folder / "replies")}


def step(name: str, command: Sequence[str], folder: Path, env: Mapping[str, str]) -> Printed:
    """Run a step in a folder, print what it took, and return its lines with their times."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    with subprocess.Popen(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        printed = list(_timed(process.stdout or (), started))
    wall_s = time.monotonic() - started
    if process.returncode:
        raise RuntimeError(f"{name}: {' '.join(line for _, line in printed)[-600:]}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    print(f"{name:<50}{wall_s:>7.1f} s {cpu_s:>7.1f} s CPU", flush=True)
    return printed


def _timed(lines: Iterator[str] | Sequence[str], started: float) -> Iterator[tuple[float, str]]:
    for line in lines:
        yield time.monotonic() - started, line.rstrip()


def show_screen(printed: Printed) -> None:
    """Print how many lines stood there at each mark, and the last of them."""
    for mark in MARKS_S:
        lines = [line for at, line in printed if at <= mark and line]
        print(f"{mark:>4} s  {counted(len(lines), 'line')}: {lines[-1] if lines else ''}")


if __name__ == "__main__":
    main()
