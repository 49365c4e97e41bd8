"""`persona-panel score`: responses in, a run folder and a leaderboard out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from panel.cli.failures import refusals
from panel.cli.options import Readers, caps, deliberating, dry_run, out, readers

if TYPE_CHECKING:
    from graphs.deliberation import Deliberation
    from panel.calls.budget import Caps
    from panel.files.responses import ResponseFile
    from panel.panel import Panel

INCOMPLETE = 1


@click.command()
@click.argument("responses", metavar="RESPONSES")
@readers
@deliberating
@click.option(
    "--human",
    metavar="RATINGS",
    help="People's ratings of the same responses, as `agree` takes them: says whether "
    "deliberation moved the panel toward them.",
)
@out
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), help="Read the first N responses only."
)
@dry_run
@caps
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print summary.json, or with --dry-run the estimates, and nothing else.",
)
@refusals
def score(
    responses: str,
    readers: Readers,
    deliberation: Deliberation | None,
    human: str | None,
    folder: Path,
    limit: int | None,
    dry_run: bool,
    caps: Caps,
    as_json: bool,
) -> None:
    """Have a panel read every response in RESPONSES, and rank them.

    RESPONSES is a .jsonl, .csv or .parquet file, or - for JSONL on standard input, with
    id, prompt, response and system (or response_id, prompt_text, response_text,
    respondent_id). Other columns come back in the outputs.

    Exit status: 0, all judgments are there; 1, finished, but some are missing;
    2, bad input or configuration, nothing was called; 130, interrupted. Whatever
    ended a run, the same command goes on where it stopped.
    """
    from panel.files.responses import ResponseFile

    batch = ResponseFile(responses, limit=limit)
    panel = readers.panel(deliberation)
    if human and not panel.deliberates:
        raise click.UsageError("--human is held against a deliberation: add --deliberate N.")
    if dry_run:
        from panel.cli.tables import tell_estimates

        tell_estimates(panel.estimate(batch), as_json=as_json)
    else:
        _read(panel, batch, folder, caps, human, as_json)


def _read(
    panel: Panel,
    batch: ResponseFile,
    folder: Path,
    caps: Caps,
    human: str | None,
    as_json: bool,
) -> None:
    """The run itself, with its tables and its exit status."""
    from panel.cli.printing import output
    from panel.cli.tables import show_run
    from panel.cli.watching import counted, watched

    humans = None
    if human:
        # It reads Parquet, too.
        from panel.files.ratings import load_ratings

        humans = load_ratings(human)
    total = len(batch) * len(panel.judges)
    with watched(panel, counted(len(batch), "response"), total, folder) as progress:
        run = panel.score(batch, out=folder, caps=caps, humans=humans, on_judgment=progress.take)
    if as_json:
        sys.stdout.write((folder / "summary.json").read_text("utf-8"))
    else:
        console = output()
        labels = {dimension.id: dimension.label for dimension in panel.rated.dimensions}
        show_run(run, console, labels)
        if (report := run.deliberation()) is not None:
            from panel.cli.deliberation import show_deliberation

            show_deliberation(report, console, labels)
        console.print(f"The run is in {folder}", soft_wrap=True, markup=False)
    if not run.coverage.complete:
        sys.exit(INCOMPLETE)
