"""`persona-panel agree`: how far raters agree, and how good they are as a panel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import click

from persona_panel.cli.column_mapping import ratings_argument
from persona_panel.cli.failures import refusals_without_calls
from persona_panel.cli.gate import Gate, gate_options
from persona_panel.cli.incomplete import say_rescaled, say_what_is_missing
from persona_panel.cli.options import (
    analysis_options,
    by_option,
    full_option,
    output_format,
    random_option,
)
from persona_panel.cli.people_options import say_reading, scale_option
from persona_panel.files.secrets.visible import standard_output

if TYPE_CHECKING:
    from persona_panel.files.people_scales import GivenScale
    from persona_panel.reports.formats import Renderer
    from persona_panel.results.requirements.figures import Figure
    from persona_panel.statistics import Breakdown, Random, Strata


@click.command()
@ratings_argument("ratings")
@by_option(
    "Within each persona, axis (of personas), model, prompt, dimension or source, or each value of "
    "another column of RATINGS (of a run: of its responses), and whether these differ; group: all "
    "dimensions together."
)
@click.option(
    "--level",
    type=click.Choice(["ordinal", "interval", "nominal"]),
    default="ordinal",
    show_default=True,
    help="Level of measurement of the scores: Krippendorff's alpha is computed at it, and "
    "statistics that need ordered scores are left out at nominal.",
)
@random_option("What intervals take as a sample")
@analysis_options
@full_option
@scale_option("--scale", "RATINGS")
@output_format
@gate_options("krippendorff_alpha >= 0.667", "icc2k[clarity] >= 0.8")
@refusals_without_calls
def agree(
    ratings: str,
    mapping: Mapping[str, str],
    scale: GivenScale | None,
    by: str | None,
    level: Literal["ordinal", "interval", "nominal"],
    random: Random,
    resamples: int,
    intervals: bool,
    full: bool,
    renderer: Renderer,
    gate: Gate,
) -> None:
    """Measure inter-rater agreement in RATINGS, and how good the raters are as a panel.

    RATINGS is a run's folder, or a .jsonl, .json, .csv, .tsv (each also with .gz) or .parquet
    file with a line for each rating: item, rater, score (or rank, 1 the best; or label, the name
    of a category) and optionally dimension, group (of the rater: human, expert, a model), prompt
    and source (of the item). --map says which columns they are, where they have other names.
    Empty cells, ? and NA are gaps, and stay gaps. Of a run, judges are raters, and their
    models groups. Labels have no order: of them there are the nominal statistics.

    Every statistic has a 95 % confidence interval over prompts (over items, where there are
    none), or the reason why there is none: Student's t over what it is without each prompt.
    p-values are those of permutation
    tests within prompts, adjusted by Holm's method over dimensions, and over strata with --by.
    Strata are compared with each other by Student's t over prompts, with these raters as they are.

    Where ratings have several dimensions on one scale there is their mean, too, the composite, as a
    family of its own: it is tested at half of the level, the dimensions at the other half, and each
    at the whole level once all of the other is shown. Printed are the conclusion and the main
    statistics of all raters together, one line a dimension, or with --by one a stratum; with --full
    all tables. --json always has all.

    Exit status: 0; 2, bad input, each fault named with its line; 3, a requirement is not met.
    """
    from persona_panel.cli.analysis_progress import AnalysisProgress
    from persona_panel.files.rating_checks import check_groups
    from persona_panel.files.ratings import load_ratings
    from persona_panel.reports.gate.row_figures import row_figures
    from persona_panel.results.conclusions.agree import agree_conclusion
    from persona_panel.statistics import (
        AnalysisOptions,
        agreement_differences,
        panel_quality,
    )
    from persona_panel.statistics import agree as agreement

    found = load_ratings(
        ratings, min_raters=2, mapping=mapping, scale=scale, scale_option="--scale"
    )
    say_reading(found.origin)
    say_rescaled(found)
    check_groups(ratings, found)
    strata: Breakdown | Strata = "group"
    if by != "group":
        from persona_panel.analyses.breakdown.rating_strata import strata_of

        strata = strata_of(ratings, found, by or "dimension", mapping)
    options = AnalysisOptions(
        level=level, random=random, intervals=intervals, n_permutations=resamples
    )
    whole = strata == "dimension"
    with AnalysisProgress(1 + whole) as progress:
        rows = agreement(found, options, strata, progress.take)
        if by is not None and strata != "group":
            rows += agreement_differences(found, strata, options)
        if whole:
            rows += panel_quality(found, options, progress.take)

    def figures() -> list[Figure]:
        return row_figures(rows, found.labels, of_items=found.prompts is None)

    gate.refuse_unknown(figures)
    by = by or "dimension"
    with standard_output() as to:
        renderer.render_agreement(rows, found, by, full, to)
    say_what_is_missing(ratings, found.coverage)
    gate.finish(
        figures,
        conclusion=lambda: agree_conclusion(rows, found, by),
    )
