"""`persona-panel score`: responses in, a run folder and a leaderboard out."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from panel.cli.failures import refusals

if TYPE_CHECKING:
    from graphs import Response
    from panel.calls.budget import Caps
    from panel.panel import Panel

INCOMPLETE = 1


@click.command()
@click.argument("responses", metavar="RESPONSES")
@click.option(
    "--panel", "panel_file", metavar="PANEL.yaml", help="A panel file; sets all of the next three."
)
@click.option("--personas", metavar="NAME|FILE", help="Who reads.  [default: perspectives]")
@click.option("--rubric", metavar="NAME|FILE", help="What is asked.  [default: scrub]")
@click.option(
    "--model",
    "models",
    metavar="SPEC",
    multiple=True,
    help="provider:name; give it again for each further model.  [default: local:smollm2-135m]",
)
@click.option("--out", metavar="RUN", help="The run's folder.  [default: runs/ and the time]")
@click.option(
    "--concurrency",
    metavar="N",
    type=click.IntRange(min=1),
    help="Calls in flight at most, for each model without a limit of its own.  [default: 32]",
)
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), help="Read the first N responses only."
)
@click.option(
    "--dry-run", is_flag=True, help="Say what it would take, model by model; call nothing."
)
@click.option(
    "--max-usd",
    metavar="X",
    type=click.FloatRange(min=0, min_open=True),
    help="Stop before the call that would pass this many US dollars.",
)
@click.option(
    "--max-calls",
    metavar="N",
    type=click.IntRange(min=1),
    help="Stop before the call that would pass this many calls, retries counted.",
)
@click.option(
    "--max-tokens",
    metavar="N",
    type=click.IntRange(min=1),
    help="Stop before the call that would pass this many tokens, in and out.",
)
@click.option("--json", "as_json", is_flag=True, help="Print summary.json, and nothing else.")
@refusals
def score(
    responses: str,
    panel_file: str | None,
    personas: str | None,
    rubric: str | None,
    models: tuple[str, ...],
    out: str | None,
    concurrency: int | None,
    limit: int | None,
    dry_run: bool,
    max_usd: float | None,
    max_calls: int | None,
    max_tokens: int | None,
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
    if panel_file and (personas or rubric or models):
        raise click.UsageError("--panel says it all: leave out --personas, --rubric and --model.")

    from panel.calls.budget import Caps
    from panel.files.responses import load_responses
    from panel.panel import Panel
    from panel.seating import DEFAULT_MODEL

    batch = load_responses(responses, limit=limit)
    if panel_file:
        panel = Panel.from_file(panel_file, concurrency=concurrency)
    else:
        panel = Panel(
            personas or "perspectives",
            models or DEFAULT_MODEL,
            rubric or "scrub",
            concurrency=concurrency,
        )
    if dry_run:
        _tell(panel, batch)
        return
    folder = Path(out) if out else Path("runs") / time.strftime("%Y%m%d-%H%M%S")
    _read(panel, batch, folder, Caps(max_usd, max_calls, max_tokens), as_json)


def _tell(panel: Panel, batch: list[Response]) -> None:
    """What the run would take."""
    from rich.console import Console

    from panel.cli.tables import show_estimates

    show_estimates(panel.estimate(batch), Console())


def _read(panel: Panel, batch: list[Response], folder: Path, caps: Caps, as_json: bool) -> None:
    """The run itself, with its tables and its exit status."""
    from rich.console import Console

    from panel.cli.tables import show_run
    from panel.cli.watching import counted, watched

    total = len(batch) * len(panel.judges)
    with watched(panel, counted(len(batch), "response"), total, folder) as progress:
        run = panel.score(batch, out=folder, caps=caps, on_judgment=progress.take)
    if as_json:
        sys.stdout.write((folder / "summary.json").read_text("utf-8"))
    else:
        labels = {dimension.id: dimension.label for dimension in panel.rubric.dimensions}
        show_run(run, Console(), labels)
        Console().print(f"The run is in {folder}", soft_wrap=True, markup=False)
    if not run.coverage.complete:
        sys.exit(INCOMPLETE)
