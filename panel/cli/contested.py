"""`persona-panel contested`: the responses on which personas disagree, and who stands where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from persona_panel.cli.failures import refusals_without_calls
from persona_panel.cli.options import output_format
from persona_panel.files.secrets.visible import standard_output

if TYPE_CHECKING:
    from persona_panel.reports.formats import Renderer


@click.command()
@click.argument("run")
@click.option(
    "--top",
    metavar="K",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How many responses to list.",
)
@output_format
@refusals_without_calls
def contested(run: str, top: int, renderer: Renderer) -> None:
    """List the responses of RUN on which its personas disagree most, with reasons.

    RUN is a run's folder. The measure is the standard deviation between personas, in points (or in
    shares of the scale's width, where dimensions have different scales), once the severity of
    judges and the noise are taken out: by how much models of one persona differ, or, of one model,
    its replicates. Responses on which personas differ by more than noise explains (adjusted p below
    0.05) come first, the widest spread before the others. With one persona, one model and one
    replicate, or without a dimension with numbers, nothing can be said.

    Exit status: 0, or 2 for bad input.
    """
    from persona_panel.analyses.breakdown import contested as ranked
    from persona_panel.runs.load import load_run

    found = ranked(load_run(run))
    with standard_output() as to:
        renderer.render_contested(found, top, to)
