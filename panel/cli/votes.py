"""`persona-panel votes`: the effective number of votes of personas, replicates and models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from persona_panel.cli.failures import refusals_without_calls
from persona_panel.cli.incomplete import say_what_is_missing
from persona_panel.cli.options import output_format
from persona_panel.cli.people_options import HumanReading, human_options, say_reading
from persona_panel.files.secrets.visible import standard_output

if TYPE_CHECKING:
    from persona_panel.reports.formats import Renderer


@click.command()
@click.argument("run")
@human_options("Human ratings of the same responses, in the form that `agree` reads.")
@output_format
@refusals_without_calls
def votes(
    run: str,
    human: str | None,
    human_mapping: Mapping[str, str],
    reading: HumanReading,
    renderer: Renderer,
) -> None:
    """Estimate the effective number of votes of the judges of RUN, a run's folder.

    k judges whose ratings correlate by r have k / (1 + (k - 1) r) effective votes. Counted at
    the same number of judgments: personas on one model; replicates of a judge without a persona on
    it (`score --plain-judge`); models with the same persona. Differences have 95 % intervals that
    hold together. Without --human all agreement counts as dependence, that about what is true as
    well; with it only errors do, and the mean of all judges is compared with the judge that is
    nearest to people on other prompts. --json has the same of each dimension, the `composite`
    first.

    Exit status: 0, or 2 for bad input.
    """
    from persona_panel.runs.votes import votes_report

    report = votes_report(run, human, human_mapping, **reading)
    say_reading(report.people)
    with standard_output() as to:
        renderer.render_votes(report, to)
    say_what_is_missing(run, report.coverage)
