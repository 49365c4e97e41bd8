"""What is said on standard error of a run that lacks judgments: its figures rest on the others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from panel.secrets.visible import say, visible

if TYPE_CHECKING:
    from panel.runs.collected import Coverage


def say_what_is_missing(source: str, coverage: Coverage | None = None) -> None:
    """One line where judgments of a run are missing, as they failed or the run was stopped.

    Args:
        source: the run's folder; nothing is said of a file of ratings.
        coverage: of the run, where it was read already.
    """
    from panel.conclusions.wording import missing_judgments

    if coverage is None:
        coverage = _coverage(source)
    if coverage is None or not coverage.missing:
        return
    n = sum(coverage.missing.values())
    told = missing_judgments(n, coverage.expected, of=visible(source), by_status=coverage.missing)
    say(
        f"{told}: figures are of those that are there. The command that began the run continues "
        "it.",
        err=True,
    )


def _coverage(source: str) -> Coverage | None:
    from panel.errors import InputError
    from panel.runs.load import load_run

    if not Path(source).is_dir():
        return None
    try:
        return load_run(source).coverage
    except InputError:
        # The command reads less of a folder than this; what it needs it has had.
        return None
