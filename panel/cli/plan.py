"""`persona-panel plan`: how many prompts, personas, models, replicates and people it takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from persona_panel.cli.failures import refusals_without_calls
from persona_panel.cli.incomplete import say_what_is_missing
from persona_panel.cli.options import output_format
from persona_panel.cli.people_options import HumanReading, human_options, say_reading
from persona_panel.files.secrets.visible import standard_output

if TYPE_CHECKING:
    from persona_panel.reports.formats import Renderer


class _Points(click.FloatRange):
    """Points: click takes nan and inf for numbers, which no width is."""

    name = "points"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        points = super().convert(value, param, ctx)
        if not math.isfinite(points):
            self.fail(f"found {value!r}; expected a number of points above 0", param, ctx)
        return points


@click.command()
@click.option(
    "--from",
    "source",
    metavar="RUN",
    required=True,
    help="A run's folder, or a file of ratings as `agree` reads it.",
)
@click.option(
    "--half-width",
    metavar="POINTS",
    type=_Points(min=0, min_open=True),
    help="Wanted half-width (the ± ) of the 95 % interval of a system's mean over prompts and "
    "judges: the cheapest design that can be expected to reach it is printed.",
)
@click.option(
    "--difference",
    metavar="POINTS",
    type=_Points(min=0, min_open=True),
    help="Difference of two systems' means that is to be detected with 80 % power, at 5 %: the "
    "cheapest design that can be expected to detect it is printed.",
)
@human_options(
    "Human ratings of the same responses: how many raters and prompts people would take."
)
@output_format
@refusals_without_calls
def plan(
    source: str,
    half_width: float | None,
    difference: float | None,
    human: str | None,
    human_mapping: Mapping[str, str],
    reading: HumanReading,
    renderer: Renderer,
) -> None:
    """Plan a study: how many prompts, personas, models, replicates and human raters it takes.

    From the ratings of a run, a pilot say. Of systems that answered the same prompts, and of single
    responses, it prints where the variance of scores comes from (generalizability study), and for
    the present number of prompts, personas, models and replicates, and for half and twice as many
    of each (decision study): the standard errors of a mean, the generalizability and dependability
    coefficients, the expected half-width of the leaderboard's interval over prompts and judges, the
    difference of two systems that is detected with 80 % power, calls and, of a run, dollars.

    Prompts, personas, models and systems are taken as samples; the dimensions of the rubric are
    not. Figures are of the composite; --json has those of each dimension.

    Exit status: 0, or 2 for bad input.
    """
    from persona_panel.runs.design import PrecisionTarget, design_report

    if half_width is not None and difference is not None:
        raise click.UsageError("--half-width and --difference exclude each other; leave one out.")
    target = None
    if half_width is not None:
        target = PrecisionTarget("half_width", half_width)
    elif difference is not None:
        target = PrecisionTarget("difference", difference)
    report = design_report(source, target, human, human_mapping, **reading)
    say_reading(None if report.people is None else report.people.origin)
    with standard_output() as to:
        renderer.render_design(report, to)
    say_what_is_missing(source, report.coverage)
