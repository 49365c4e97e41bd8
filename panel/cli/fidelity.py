"""`persona-panel fidelity`: do personas differ as the people they stand for differ?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from persona_panel.cli.column_mapping import COLUMNS_OF_RATINGS, ratings_argument
from persona_panel.cli.failures import refusals_without_calls
from persona_panel.cli.gate import Gate, gate_options
from persona_panel.cli.incomplete import say_what_is_missing
from persona_panel.cli.options import output_format
from persona_panel.cli.people_options import HumanReading, group_options, human_options, say_reading
from persona_panel.files.secrets.visible import standard_output

if TYPE_CHECKING:
    from persona_panel.reports.formats import Renderer


@click.command()
@ratings_argument("panel")
@human_options("The human ratings.", COLUMNS_OF_RATINGS, required=True)
@group_options(required=True)
@click.option(
    "--items",
    metavar="ITEMS",
    help="A file with `item` and attributes of items, for contrasts within strata. Without it "
    "they are the metadata of the run, and columns of PANEL and RATINGS.",
)
@click.option(
    "--dimension",
    metavar="NAME",
    help="Compare this dimension only. Human ratings that name none are of it.",
)
@output_format
@gate_options("fidelity[left-right] != caricature", "fidelity_ratio[left-right] < 2")
@refusals_without_calls
def fidelity(
    panel: str,
    mapping: Mapping[str, str],
    human: str,
    human_mapping: Mapping[str, str],
    reading: HumanReading,
    raters: str,
    groups: str,
    items: str | None,
    dimension: str | None,
    renderer: Renderer,
    gate: Gate,
) -> None:
    """Compare how personas differ with how the people they stand for differ.

    PANEL is a run's folder, or ratings; RATINGS are people's ratings of the same items, both as
    `correlate` takes them. GROUPS says which people form a group, which personas stand for it,
    and which groups are contrasted:

    \b
      groups:
        left:  {condition: political_ideology < 0, personas: left-annotator}
        right: {condition: political_ideology > 0, personas: right-annotator}
      contrasts:
        - left - right
        - {contrast: left - right, within: outlet_side = left}

    For each contrast it prints people's difference, paired by item, with a 95 % interval over
    prompts and raters; the personas' difference, over prompts and, where there are several,
    models; their ratio with Fieller's interval; and a verdict. Without prompts (a run's, or a
    column: --map-human prompt=topic) intervals are over items, as if these were independent.
    Verdicts rest on intervals that are widened for all contrasts (Bonferroni):

    \b
      as people       the ratio is shown to lie from 0.5 to 2 (90 % interval)
      exaggerated     the ratio's lower end is above 1
      caricature      the ratio's lower end is above 2
      flattened       the ratio's upper end is below 0.5
      reversed        the ratio's upper end is below 0
      not measurable  people's interval holds 0, or the ratio's is too wide

    Exit status: 0; 2, bad input, each fault named; 3, a requirement is not met.
    """
    from persona_panel.analyses.fidelity.measure import persona_fidelity
    from persona_panel.reports.gate.fidelity_figures import fidelity_figures

    found = persona_fidelity(
        panel,
        human,
        raters,
        groups,
        items=items,
        dimension=dimension,
        mapping=mapping,
        human_mapping=human_mapping,
        **reading,
    )
    gate.refuse_unknown(lambda: fidelity_figures(found.rows))
    say_reading(found.people)
    with standard_output() as to:
        renderer.render_fidelity(found, to)
    say_what_is_missing(panel, found.coverage)
    gate.finish(lambda: fidelity_figures(found.rows), conclusion=found.conclusion)
