"""Everything that CI checks, in one command: `python -m tests`.

Lint, format, types, floors, dependencies, the documentation, then the tests. Other arguments go to
pytest. `--quick`: less than a minute of it, see `tests.quick`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE, STDOUT

from tests.quick import quick_tests

PACKAGES = ("graphs", "panel", "personas", "rubrics")
QUICK_CHECKS = (("ruff", "check", "."), ("ruff", "format", "--check", "."), ("lint-imports",))
CHECKS = (
    # The longest is begun first.
    ("mypy",),
    *QUICK_CHECKS,
    # What is declared and what is imported: by everything, and without what only tests have.
    ("deptry", "."),
    ("deptry", *PACKAGES, "--optional-dependencies-dev-groups", "test,docs"),
    ("mkdocs", "build", "--strict"),
)


def main() -> int:
    """Run every check, also behind one that fails; 1 if any did."""
    root = Path(__file__).parent.parent
    scripts = Path(sys.executable).parent
    cores = os.cpu_count() or 1
    checks, arguments = CHECKS, sys.argv[1:]
    # Many tests wait for a server or a process, so one worker more than there are cores keeps them
    # all at work.
    workers = cores + 1
    if "--quick" in arguments:
        arguments.remove("--quick")
        checks, workers = QUICK_CHECKS, cores
        arguments = ["-m", "not slow", *arguments, *quick_tests()]
    # Files are kept whole: what a fixture of a module makes is made once.
    spread = ("-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder")
    # Tests begin hundreds of processes: to compile what they import each time is most of their CPU.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run(words: Sequence[str], output: int | None = None) -> subprocess.CompletedProcess[str]:
        command = [scripts / words[0], *words[1:]]
        return subprocess.run(
            command, cwd=root, env=env, stdout=output, stderr=output and STDOUT, text=True
        )

    failed = []
    with ThreadPoolExecutor(cores) as pool:
        running = [(check, pool.submit(run, check, PIPE)) for check in checks]
        for check, done in ((check, future.result()) for check, future in running):
            print(f"== {' '.join(check)}\n{done.stdout}", end="", flush=True)
            failed += [check[0]] if done.returncode != 0 else []
    # Behind the checks: one of the tests goes on from what mypy has read.
    tests = ("pytest", *spread, *arguments)
    print(f"== {' '.join(tests)}", flush=True)
    failed += ["pytest"] if run(tests).returncode != 0 else []
    print(f"failed: {', '.join(failed)}" if failed else "all checks passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
