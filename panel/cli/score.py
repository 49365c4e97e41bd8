"""`persona-panel score`: responses in, a run folder and a leaderboard out."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from panel.cli.failures import refusals

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
    as_json: bool,
) -> None:
    """Have a panel read every response in RESPONSES, and rank them.

    RESPONSES is a .jsonl, .csv or .parquet file, or - for JSONL on standard input, with
    id, prompt, response and system (or response_id, prompt_text, response_text,
    respondent_id). Other columns come back in the outputs.

    Exit status: 0, all judgments are there; 1, finished, but some are missing;
    2, bad input or configuration, nothing was called.
    """
    if panel_file and (personas or rubric or models):
        raise click.UsageError("--panel says it all: leave out --personas, --rubric and --model.")

    import gc

    from rich.console import Console

    from panel.cli.progress import ScoreProgress
    from panel.cli.tables import show_run
    from panel.files.responses import load_responses
    from panel.models.weights import NOTICE
    from panel.panel import DEFAULT_MODEL, Panel

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
    said = Console(stderr=True, highlight=False)
    said.print(
        f"{len(batch):,} responses × {len(panel.judges)} judges ({', '.join(panel.models)})",
        markup=False,
    )
    if DEFAULT_MODEL in panel.models:
        said.print(NOTICE, style="yellow")
    folder = Path(out) if out else Path("runs") / time.strftime("%Y%m%d-%H%M%S")
    # What the imports made stays for good: the collector need not look at it again.
    gc.freeze()
    with ScoreProgress(len(batch) * len(panel.judges)) as progress:
        run = panel.score(batch, out=folder, on_judgment=progress.take)
    if as_json:
        sys.stdout.write((folder / "summary.json").read_text("utf-8"))
    else:
        labels = {dimension.id: dimension.label for dimension in panel.rubric.dimensions}
        show_run(run, Console(), labels)
        Console().print(f"The run is in {folder}", soft_wrap=True, markup=False)
    if not run.coverage.complete:
        sys.exit(INCOMPLETE)
