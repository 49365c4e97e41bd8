"""`persona-panel compare`: runs compared with the first of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from persona_panel.cli.column_mapping import COLUMNS_OF_RATINGS
from persona_panel.cli.failures import refusals_without_calls
from persona_panel.cli.gate import Gate, gate_options
from persona_panel.cli.options import by_option, output_format, random_option
from persona_panel.cli.people_options import (
    HumanReading,
    epsilon_option,
    human_options,
    say_reading,
)
from persona_panel.files.secrets.visible import say, standard_output

if TYPE_CHECKING:
    from persona_panel.reports.formats import Renderer
    from persona_panel.statistics import Random


@click.command()
@click.argument("run_a", metavar="RUN_A")
@click.argument("run_b", metavar="RUN_B")
@click.argument("more", metavar="[RUN…]", nargs=-1)
@human_options(
    "Human ratings of the texts, where panels are compared: which panel is nearer to people.",
    COLUMNS_OF_RATINGS,
)
@epsilon_option("With --human, add either panel's winning rate by the alternative annotator test,")
@click.option(
    "--html",
    metavar="FILE",
    help="Write the comparison to this file, too, as a page that needs no other file.",
)
@by_option(
    "Also the differences within each persona, axis (of personas), model, prompt or dimension, or "
    "each value of a column of the responses, and whether they differ between these."
)
@random_option("What intervals and tests take as a sample")
@output_format
@gate_options("difference[new, old] > -0.2", "difference[new, old, clarity] >= 0")
@refusals_without_calls
def compare(
    run_a: str,
    run_b: str,
    more: tuple[str, ...],
    human: str | None,
    human_mapping: Mapping[str, str],
    reading: HumanReading,
    epsilon: float | None,
    html: str | None,
    by: str | None,
    random: Random,
    renderer: Renderer,
    gate: Gate,
) -> None:
    """Compare runs with the first of them: each RUN is the folder of a run of `score`.

    Other texts, same panel (did a new system improve?): systems of the same name are paired, or
    the two systems where each run has one; their responses by prompt, and by the metadata column
    `pair` where all of them have one; ratings by judge. Same texts, other panel (another model,
    elicitation, or personas): ratings of the same responses are paired. The output begins with
    which of the two it is, and lists what does not match.

    For the composite and each dimension it prints the mean difference over prompts, with a 95 %
    confidence interval, p adjusted by Holm's method over all dimensions and runs (the composite is
    a family of its own, tested at half of the level, as in `agree`), and the effect size (the mean
    of the prompts' differences, divided by their standard deviation); and the responses that
    changed most. Of two panels, also how far they rank responses alike and, with
    --human, which of them is nearer to people: in how it ranks responses, in its scores, and in how
    often it is at least as near to the other people as a person is (the advantage `rho` of
    `correlate`).

    RATINGS is a file as `correlate` reads it; --map-human says which columns its fields are, where
    they have other names. --json prints a list of the differences, with p
    before it was adjusted, too, and with those of each system under `systems` of the composite's,
    where there are several; with --human or --by an object: the list under `rows`, nearness to
    people under `people`, the differences of strata under `strata`, and under `apart` how far each
    stratum is above the mean of the others.

    Exit status: 0; 2 for bad input and for runs that cannot be compared; 3 where a requirement is
    not met.
    """
    from persona_panel.analyses.comparison.compare import compare as compared
    from persona_panel.reports.gate.comparison_figures import comparison_figures

    if epsilon is not None and human is None:
        raise click.UsageError("--epsilon is of people's ratings; give them as --human RATINGS.")
    found = compared(
        run_a,
        run_b,
        *more,
        human=human,
        random=random,
        by=by,
        epsilon=epsilon,
        human_mapping=human_mapping,
        **reading,
    )
    gate.refuse_unknown(lambda: comparison_figures(found))
    say_reading(found.people)
    if html is not None:
        from persona_panel.analyses.comparison.page.writing import write_page

        write_page(found, Path(html))
    with standard_output() as to:
        renderer.render_run_comparison(found, to)
    if html is not None:
        say(f"The page is in {html}", err=True)
    gate.finish(lambda: comparison_figures(found), conclusion=lambda: list(found.conclusion))
