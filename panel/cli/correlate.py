"""`persona-panel correlate`: panel scores compared with human ratings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import click

from persona_panel.cli.column_mapping import COLUMNS_OF_RATINGS, ratings_argument
from persona_panel.cli.failures import refusals_without_calls
from persona_panel.cli.gate import Gate, gate_options
from persona_panel.cli.incomplete import say_rescaled, say_what_is_missing
from persona_panel.cli.options import analysis_options, by_option, full_option, output_format
from persona_panel.cli.people_options import (
    HumanReading,
    epsilon_option,
    human_options,
    say_reading,
)
from persona_panel.files.secrets.visible import standard_output

if TYPE_CHECKING:
    from persona_panel.reports.formats import Renderer
    from persona_panel.results.requirements.figures import Figure
    from persona_panel.statistics import Strata


@click.command()
@ratings_argument("panel")
@human_options("The human ratings.", COLUMNS_OF_RATINGS, required=True)
@epsilon_option("Add the alternative annotator test,")
@by_option(
    "Within each persona, axis (of personas), model, prompt, dimension or source, or each value of "
    "another column of PANEL (of a run: of its responses), and whether these differ."
)
@analysis_options
@full_option
@output_format
@gate_options("tau_b >= 0.4", "tau_b_within_prompts[clarity] >= 0.3", "omega >= 0.5")
@refusals_without_calls
def correlate(
    panel: str,
    mapping: Mapping[str, str],
    human: str,
    human_mapping: Mapping[str, str],
    reading: HumanReading,
    epsilon: float | None,
    by: str | None,
    resamples: int,
    intervals: bool,
    full: bool,
    renderer: Renderer,
    gate: Gate,
) -> None:
    """Compare panel scores with human ratings. PANEL is a run's folder, or ratings.

    Ratings are a .jsonl, .json, .csv, .tsv (each also with .gz) or .parquet file with a line
    for each rating: item, rater, score (or rank, 1 the best; or label, the name of a category)
    and optionally dimension, group, prompt and source. --map and --map-human say which columns
    they are, where they have other names. Items are matched by their names: those of a run are
    prompt_id/id, or id alone where ids come once. Labels are compared by the majority of each side.
    Ratings without a dimension are of the whole: they are compared with the mean of the other
    side's dimensions.

    The panel's score of an item is the mean over its judges, the human score the mean over
    people, or their mean rank. For comparison, the same statistics of one person and the mean of
    the others are printed, and the difference of panel and human where both are compared with the
    same other people. Every statistic has a 95 % confidence interval over prompts (over
    items, where there are none), or the reason why there is none: Student's t over what it is
    without each prompt. p-values are those of permutation tests, within prompts where
    there are any, adjusted by Holm's method over dimensions, and over strata with --by.
    Strata are compared with each other by Student's t over prompts.

    Where there are several dimensions on one scale there is their mean, too, the composite, as a
    family of its own: it is tested at half of the level, the dimensions at the other half, and each
    at the whole level once all of the other is shown. Printed are the conclusion and the main
    statistics of all judges together, one line a dimension, or with --by one a stratum; with --full
    all tables. --json always has all.

    With --epsilon, whether the panel and each of its judges may take the place of a person, by the
    alternative annotator test: the winning rate (`omega` in --require), and how often each is at
    least as near to the other people as a person is (`rho`). People with fewer than 30 shared items
    are left out. With several dimensions on one scale their mean, the composite, comes first, with
    its correlations. In --json the rows of a single judge have its name in `rater`, the panel's
    null.

    Exit status: 0; 2, bad input, each fault named with its line; 3, a requirement is not met.
    """
    from persona_panel.cli.analysis_progress import AnalysisProgress
    from persona_panel.files.aligned_ratings import load_aligned_ratings
    from persona_panel.files.rating_checks import check_groups
    from persona_panel.reports.gate.row_figures import row_figures
    from persona_panel.results.conclusions.correlate import correlate_conclusion
    from persona_panel.statistics import (
        AnalysisOptions,
        correlation_differences,
    )
    from persona_panel.statistics import correlate as correlation
    from persona_panel.statistics.humans.correlate import HUMANS

    ours, theirs = load_aligned_ratings(
        panel, human, mapping=mapping, human_mapping=human_mapping, **reading
    )
    say_reading(theirs.origin)
    say_rescaled(ours)
    check_groups(panel, ours, HUMANS)
    strata: Literal["dimension"] | Strata = "dimension"
    if by is not None:
        from persona_panel.analyses.breakdown.rating_strata import strata_of

        strata = strata_of(panel, ours, by, mapping)
    options = AnalysisOptions(intervals=intervals, n_permutations=resamples, epsilon=epsilon)
    with AnalysisProgress(1) as progress:
        rows = correlation(ours, theirs, options, progress.take, by=strata)
        if by is not None:
            rows += correlation_differences(ours, theirs, strata, options)
    of_items = ours.prompts is None and theirs.prompts is None

    def figures() -> list[Figure]:
        return row_figures(rows, ours.labels, of_items=of_items)

    gate.refuse_unknown(figures)
    with standard_output() as to:
        renderer.render_comparison(rows, ours, theirs, full, to)
    say_what_is_missing(panel, ours.coverage)
    gate.finish(
        figures,
        conclusion=lambda: correlate_conclusion(rows, ours, theirs),
    )
