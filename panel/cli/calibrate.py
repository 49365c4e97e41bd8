"""`persona-panel calibrate`: a panel's means of systems, corrected by people's ratings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from persona_panel.cli.column_mapping import COLUMNS_OF_RATINGS, ratings_argument
from persona_panel.cli.failures import refusals_without_calls
from persona_panel.cli.gate import Gate, gate_options
from persona_panel.cli.incomplete import say_rescaled, say_what_is_missing
from persona_panel.cli.options import full_option, output_format
from persona_panel.cli.people_options import (
    HumanReading,
    human_options,
    say_reading,
    selected_option,
)
from persona_panel.files.secrets.visible import standard_output

if TYPE_CHECKING:
    from persona_panel.reports.formats import Renderer


@click.command()
@ratings_argument("panel")
@human_options("People's ratings of a part of the items.", COLUMNS_OF_RATINGS, required=True)
@selected_option
@full_option
@output_format
@gate_options("corrected[my-model] >= 6", "corrected_difference[new, old] > -0.2")
@refusals_without_calls
def calibrate(
    panel: str,
    mapping: Mapping[str, str],
    human: str,
    human_mapping: Mapping[str, str],
    reading: HumanReading,
    selected: str | None,
    full: bool,
    renderer: Renderer,
    gate: Gate,
) -> None:
    """Correct a panel's means of systems by people's ratings of a part of the items.

    PANEL is a run's folder, or ratings with the system of each item in the column source; RATINGS
    are read as by `correlate`. The corrected mean estimates what people would give to everything on
    average: a bias of the panel cancels, and the 95 % interval over prompts is the narrower the
    more the panel goes with people (prediction-powered inference, with its weight λ tuned).
    Differences between systems are corrected likewise. From 8 prompts rated by people on there is a
    correction. With several dimensions on one scale their mean, the composite, comes first. Of a
    run's folder it is also said which of the differences between systems that the run establishes
    people's ratings do not show.

    What people rated has to be a random part, or one that `select` chose: then give its file as
    --selected, or RATINGS with its column inclusion_probability.

    Printed are the conclusion and the means of systems, of the composite alone where there is one;
    with --full those on each dimension, and all differences. --json always has all: `rows`, one
    for each system and dimension (`composite` first), and `differences`, one for each pair of
    systems; `labels_to_halve` has how many items people would have to rate for intervals half as
    wide.

    Exit status: 0; 2, bad input, each fault named with its line; 3, a requirement is not met, such
    as --require 'corrected[my-model] >= 6' or 'corrected_difference[new, old] > -0.2'; without a
    dimension it is on the composite.
    """
    from persona_panel.files.aligned_ratings import load_aligned_ratings
    from persona_panel.files.rating_checks import check_calibration
    from persona_panel.files.selections import given_inclusion, inclusion_of
    from persona_panel.reports.gate.calibration_figures import calibration_figures
    from persona_panel.results.conclusions.calibrate import calibrate_conclusion
    from persona_panel.results.conclusions.leads import established_leads
    from persona_panel.runs.load import load_run
    from persona_panel.runs.run import composite_name
    from persona_panel.statistics import calibrate as calibration

    ours, theirs = load_aligned_ratings(
        panel, human, mapping=mapping, human_mapping=human_mapping, **reading
    )
    say_reading(theirs.origin)
    say_rescaled(ours)
    check_calibration(ours, theirs, panel, human)
    known = given_inclusion(human, selected, human_mapping)
    chances = None if known is None else inclusion_of(known, ours, theirs, selected or human)
    found = calibration(ours, theirs, inclusion=chances)
    gate.refuse_unknown(lambda: calibration_figures(found))
    if (Path(panel) / "run.json").is_file():
        run = load_run(panel)
        leads, leads_on = established_leads(run.leaderboard()), composite_name(run.rubric)
        found = replace(found, leads=leads, leads_on=leads_on)
    with standard_output() as to:
        renderer.render_calibration(found, full, to)
    say_what_is_missing(panel, ours.coverage)
    gate.finish(lambda: calibration_figures(found), conclusion=lambda: calibrate_conclusion(found))
