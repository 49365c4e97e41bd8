"""A run's folder read back by a process that has loaded what `score` has at its end; with --page
its page is written, too: the difference is what the page costs there.

    python page.py FOLDER [--page]
"""

from __future__ import annotations

import sys
from pathlib import Path

import persona_panel.analyses.score
import persona_panel.cli.score
import persona_panel.results.formats.terminal
import persona_panel.runs.executor  # noqa: F401
from persona_panel.analyses.run_summary import SAYS_WHO_DIFFERS
from persona_panel.analyses.who_differs import differs_document
from persona_panel.runs.load import load_run


def main(folder: str, *page: str) -> None:
    run = load_run(folder)
    # What summary.json says of who differs was computed for it.
    if run.coverage.expected <= SAYS_WHO_DIFFERS:
        differs_document(run)
    if page:
        from persona_panel.reports.page.report import NAME, report_of

        report_of(run).write(Path(folder) / NAME)


if __name__ == "__main__":
    main(*sys.argv[1:])
