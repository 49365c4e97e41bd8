"""`persona-panel design`: how many prompts, personas, models and replicates it takes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from panel.cli.failures import refusals_without_calls
from panel.cli.options import output_format
from panel.secrets.visible import standard_output

if TYPE_CHECKING:
    from panel.reports import Renderer


class _Width(click.FloatRange):
    """Points: click takes nan and inf for numbers, which no width is."""

    name = "points"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        width = super().convert(value, param, ctx)
        if not math.isfinite(width):
            self.fail(f"found {value!r}; expected a number of points above 0", param, ctx)
        return width


@click.command()
@click.argument("ratings")
@click.option(
    "--width",
    metavar="POINTS",
    type=_Width(min=0, min_open=True),
    help="Wanted width, from end to end, of the 95 % interval of a system's mean over prompts and "
    "judges: the cheapest design that can be expected to reach it is printed.",
)
@output_format
@refusals_without_calls
def design(ratings: str, width: float | None, renderer: Renderer) -> None:
    """Estimate how precise other designs would be: more prompts, personas, models.

    RATINGS is a run's folder, or a file of ratings as `agree` reads it. Of systems that answered
    the same prompts, and of single responses, it prints where the variance of scores comes from
    (generalizability study), and for the present number of prompts, personas, models and
    replicates, and for half and twice as many of each (decision study): the standard errors of a
    mean, the generalizability and dependability coefficients, the expected width of the
    leaderboard's interval over prompts and judges, calls and, of a run, dollars.

    Prompts, personas, models and systems are taken as samples; the dimensions of the rubric are
    not. Figures are of the composite; --json has those of each dimension.

    Exit status: 0, or 2 for bad input.
    """
    from panel.runs.design import design_report

    report = design_report(ratings, width)
    with standard_output() as to:
        renderer.render_design(report, to)
