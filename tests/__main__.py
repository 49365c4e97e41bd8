"""Everything that CI checks, in one command: `python -m tests`.

Lint, format, types, floors, dependencies, the documentation, then the tests. Arguments go to
pytest.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PACKAGES = ("graphs", "panel", "personas", "rubrics")
CHECKS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy",),
    ("lint-imports",),
    # What is declared and what is imported: by everything, and without what only tests have.
    ("deptry", "."),
    ("deptry", *PACKAGES, "--optional-dependencies-dev-groups", "test,docs"),
    ("mkdocs", "build", "--strict"),
)


def main() -> int:
    """Run every check, also behind one that fails; 1 if any did."""
    root = Path(__file__).parent.parent
    scripts = Path(sys.executable).parent
    failed = []
    # Files are kept whole: what a fixture of a module makes is made once. Many tests wait for a
    # server or a process, so one worker more than there are cores keeps them all at work.
    workers = str((os.cpu_count() or 1) + 1)
    spread = ("-n", workers, "--dist", "loadfile", "--no-loadscope-reorder")
    tests = ("pytest", *spread, *sys.argv[1:])
    for name, *arguments in (*CHECKS, tests):
        print(f"== {name} {' '.join(arguments)}", flush=True)
        if subprocess.run([scripts / name, *arguments], cwd=root).returncode != 0:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all checks passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
