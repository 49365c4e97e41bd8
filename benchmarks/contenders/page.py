"""A run's folder read back by a process that has loaded what `score` has at its end; with --page
its page is written, too: the difference is what the page costs there.

    python page.py FOLDER [--page]
"""

from __future__ import annotations

import sys
from pathlib import Path

import panel.cli.score
import panel.reports.json
import panel.reports.terminal.run
import panel.runs.executor  # noqa: F401
from panel.breakdown.summary import differs_document
from panel.runs.load import load_run
from panel.runs.run import SAYS_WHO_DIFFERS


def main(folder: str, *page: str) -> None:
    run = load_run(folder)
    # What summary.json says of who differs was computed for it.
    if run.coverage.expected <= SAYS_WHO_DIFFERS:
        differs_document(run)
    if page:
        from panel.report_page.report import NAME, report_of

        report_of(run).write(Path(folder) / NAME)


if __name__ == "__main__":
    main(*sys.argv[1:])
