"""A run's folder read back by a process that has loaded what `score` has at its end; with --page
its summary and its page are made, too: the difference is what they cost there.

    python page.py FOLDER [--page]
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

# As the command does, here and below; numpy reads it when it is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import persona_panel.cli.score  # noqa: F401
from persona_panel.analyses.run_summary import run_summary
from persona_panel.runs.load import load_run
from persona_panel.statistics.core import special


def main(folder: str, *page: str) -> None:
    special.stdtr(1, 0.0)
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    run = load_run(folder)
    if page:
        from persona_panel.reports.page.report import NAME, report_of

        run_summary(run)
        report_of(run).write(Path(folder) / NAME)


if __name__ == "__main__":
    main(*sys.argv[1:])
