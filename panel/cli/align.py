"""`persona-panel align`: a panel's scores recalibrated by people's ratings, with held-out gains."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from persona_panel.cli.failures import refusals_without_calls, say_rescaled, say_what_is_missing
from persona_panel.cli.options import (
    COLUMNS_OF_RATINGS,
    full_option,
    output_format,
    ratings_argument,
)
from persona_panel.cli.people_options import HumanReading, human_options, say_reading
from persona_panel.files.secrets.visible import say, standard_output, visible

if TYPE_CHECKING:
    from persona_panel.reports.formats import Renderer
    from persona_panel.statistics import AlignmentMethod


@click.command()
@ratings_argument("panel")
@human_options("People's ratings of some of the items.", COLUMNS_OF_RATINGS, required=True)
@click.option(
    "--method",
    "methods",
    type=click.Choice(["isotonic", "weights", "subset"]),
    multiple=True,
    help="What is learnt; repeatable.  [default: all three]",
)
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    default=5,
    show_default=True,
    metavar="K",
    help="Into how many parts prompts are dealt.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the dealing.",
)
@click.option(
    "--out",
    metavar="FILE",
    help="Write the aligned scores of one --method to this CSV file, as ratings.",
)
@full_option
@output_format
@refusals_without_calls
def align(
    panel: str,
    mapping: Mapping[str, str],
    human: str,
    human_mapping: Mapping[str, str],
    reading: HumanReading,
    methods: tuple[AlignmentMethod, ...],
    folds: int,
    seed: int,
    out: str | None,
    full: bool,
    renderer: Renderer,
) -> None:
    """Learn from people's ratings how to combine or rescale a panel's scores.

    PANEL is a run's folder, or ratings; RATINGS are people's ratings, both as `correlate` takes
    them. Each prompt is scored by what was learnt from other prompts (cross-fitting), and the
    figures are of these held-out scores:

    \b
      isotonic  a rising function of the mean of all judges
      weights   a mean of judges with weights of 0 or more that sum to 1
      subset    the mean of some of the judges

    A gain is established where the error, compared with people's mean, is lower than that of the
    panel as it is, and the scores are shown to order the texts of a prompt as people do. Nothing is
    learnt from fewer than ten prompts, or where the reliability of people's mean is not shown to be
    above 0.25. With several dimensions on one scale their mean, the composite, comes first. A
    missing rating stays missing: the weights of the other judges are divided by their sum.

    `align` changes the scores of single texts. For the mean of a system with an interval, take
    `calibrate`, which cancels a bias of the panel.

    --out has the column learnt_from: `other prompts` for texts that people rated, `all rated
    prompts` for the others. It is written without an established gain, too, with a warning.

    Printed are the conclusion and the change of the error, one line a dimension; with --full all
    figures and weights. --json always has all.

    Exit status: 0, or 2 for bad input, each fault named with its line.
    """
    from persona_panel.files.aligned_ratings import load_aligned_ratings
    from persona_panel.files.aligned_scores_file import require_csv, write_aligned_scores
    from persona_panel.files.errors import Fault, InputError
    from persona_panel.results.conclusions.align import without_a_gain
    from persona_panel.statistics import align as alignment
    from persona_panel.statistics.alignment import METHODS

    methods = tuple(dict.fromkeys(methods)) or METHODS
    if out is not None and len(methods) > 1:
        raise click.UsageError(
            "--out takes the scores of one method; name it, for instance --method isotonic."
        )
    if out is not None:
        require_csv(Path(out))
    ours, theirs = load_aligned_ratings(
        panel, human, mapping=mapping, human_mapping=human_mapping, **reading
    )
    say_reading(theirs.origin)
    say_rescaled(ours)
    try:
        found = alignment(ours, theirs, methods=methods, folds=folds, seed=seed)
    except ValueError as error:
        expected = "scores of the same items and dimension, as numbers, on both sides"
        raise InputError([Fault(human, str(error), expected)]) from None
    with standard_output() as to:
        renderer.render_alignment(found, full, to)
    say_what_is_missing(panel, ours.coverage)
    if out is not None:
        n = write_aligned_scores(found, Path(out))
        say(f"{n:,} aligned scores are in {out}.", err=True)
        if warning := without_a_gain(found):
            say(f"Warning: {visible(warning)}", err=True)
