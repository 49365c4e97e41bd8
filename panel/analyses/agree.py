"""Measure inter-rater agreement and panel quality."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import click

from persona_panel.analyses import parameters
from persona_panel.analyses.analysis import analysis
from persona_panel.analyses.parameters import Option
from persona_panel.results.result import Result

if TYPE_CHECKING:
    from persona_panel.analyses.inputs import RatingsSource
    from persona_panel.files.ratings import GivenScale
    from persona_panel.files.records import ColumnMapping
    from persona_panel.results.statistic_tables import StatisticTables
    from persona_panel.results.table import Table
    from persona_panel.statistics import Breakdown, Random, Ratings, Row, Strata

_PERSONAS_ADD = (
    "Disagreement that personas add, beyond what the model varies by itself: this cannot show that "
    "they change ratings for the better; only ratings by people can (correlate --human)."
)


@analysis(
    "Agreement of raters",
    parameters.ratings("ratings"),
    parameters.by(
        "Within each persona, axis (of personas), model, prompt, dimension or source, or each "
        "value of another column of RATINGS (of a run: of its responses), and whether these "
        "differ; group: all dimensions together."
    ),
    Option(
        "--raters",
        metavar="NAME,…",
        help="The raters whose agreement is measured, by their names. Default: all.",
    ),
    parameters.min_shared("2"),
    Option(
        "--level",
        type=click.Choice(["ordinal", "interval", "nominal"]),
        default="ordinal",
        show_default=True,
        help="Level of measurement of the scores: Krippendorff's alpha is computed at it, and "
        "statistics that need ordered scores are left out at nominal.",
    ),
    parameters.random("What intervals take as a sample"),
    parameters.effort(),
    parameters.scale("--scale", "RATINGS"),
    group="Panel",
    example="runs/first",
    requirements=("krippendorff_alpha >= 0.667", "icc2k[clarity] >= 0.8"),
    n_parts=2,
)
def agree(
    ratings: RatingsSource,
    *,
    mapping: ColumnMapping | None = None,
    scale: GivenScale | None = None,
    by: str | None = None,
    raters: str | None = None,
    min_shared: int | None = None,
    level: Literal["ordinal", "interval", "nominal"] = "ordinal",
    random: Random = "prompts",
    resamples: int = 1999,
    intervals: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Result:
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
    Strata are compared with each other by Student's t over prompts, raters fixed.

    Where ratings have several dimensions on one scale there is their mean, too, the composite, as a
    family of its own: it is tested at 5 %, the dimensions together at another 5 %. Printed are the
    conclusion and the main statistics of all raters together, one line a dimension, or with --by
    one a stratum; with --full all tables. --json always has all.

    Args:
        ratings: a run's folder, a file of ratings, a run that has a folder, or ratings.
        mapping, scale: how the file is read; see `load_ratings`.
        by: what the statistics are broken down by; dimensions if None.
        raters: the names of those whose agreement is measured, joined by commas; all if None.
        min_shared: pairs of raters who share fewer items are left out of means over pairs.
        level: of measurement.
        random: what intervals take as a sample.
        resamples: shuffles of a permutation test; with 0 there are no such p-values.
        intervals: whether there are confidence intervals.
        progress: called with the share of either of two parts that is done, up to 1.

    Raises:
        InputError: anything is wrong with the ratings, or there is no such column to go by.
    """
    from persona_panel.analyses.inputs import input_name, opened_ratings
    from persona_panel.analyses.rating_strata import strata_of
    from persona_panel.files.ratings import check_groups
    from persona_panel.statistics import AnalysisOptions, agreement_differences, panel_quality
    from persona_panel.statistics import agree as agreement

    result = opened_ratings(ratings, mapping, scale=scale, scale_option="--scale", min_raters=2)
    name = ratings if isinstance(ratings, str) else input_name(ratings, "the ratings")
    if raters is not None:
        result = _ratings_by(result, name, raters.split(","))
    check_groups(name, result)
    strata: Breakdown | Strata = "group"
    if by != "group":
        strata = strata_of(name, result, by or "dimension", mapping)
    options = AnalysisOptions(
        level=level, random=random, intervals=intervals, n_permutations=resamples,
        min_shared=min_shared,
    )  # fmt: skip
    rows = agreement(result, options, strata, progress)
    if by is not None and strata != "group":
        rows += agreement_differences(result, strata, options)
    if strata == "dimension":
        rows += panel_quality(result, options, progress)
    return agree_result(rows, result, by or "dimension", source=name)


def _ratings_by(ratings: Ratings, name: str, raters: Sequence[str]) -> Ratings:
    """Return these raters' ratings, of the items that they rated; refuse those who gave none."""
    from numpy import isnan

    from persona_panel.files.errors import Fault, InputError
    from persona_panel.files.wording import did_you_mean

    known = ratings.raters
    faults = [
        Fault(name, repr(rater), f"the name of a rater{did_you_mean(rater, known)}", field="rater")
        for rater in dict.fromkeys(raters)
        if rater not in known
    ]
    if faults:
        raise InputError(faults)
    own = ratings.by(raters)
    return own.of_items([n for n, scores in enumerate(own.scores) if not isnan(scores).all()])


def agree_result(
    rows: Sequence[Row], ratings: Ratings, by: str = "dimension", *, source: str = ""
) -> Result:
    """Return the result of rows of `persona_panel.statistics.agree` of these ratings; `by` is
    `dimension`, `group`, or what strata are, `source` what the ratings are called."""
    from persona_panel.analyses.agree_conclusion import agree_conclusion
    from persona_panel.analyses.inputs import reading_of
    from persona_panel.results.conclusions.rows import rater_word
    from persona_panel.results.conclusions.wording import rescaling_of
    from persona_panel.results.statistic_tables import StatisticTables
    from persona_panel.statistics.core.display import COMPOSITE

    word = rater_word(ratings)
    made = StatisticTables(word, "prompts" if ratings.prompts else "items")
    broken_down = by not in ("dimension", "group")
    has_composite = any(row.dimension == COMPOSITE for row in rows)
    in_full = [
        "p: permutation tests, adjusted by Holm's method over dimensions"
        f"{' and strata' if broken_down else ''}"
        f"{'; of the composite it is not adjusted' if has_composite else ''}."
    ]
    *_, all_raters = ratings.raters_by_group()
    if not broken_down and all_raters != ratings.groups[0]:
        in_full.insert(
            0, f"The first table has each group of {word}s, the others all {word}s together."
        )
    tables, sentences = _for_people(made, rows, ratings, by)
    return Result(
        "agree",
        agree_conclusion(rows, ratings, by),
        (made.for_programs(rows, ratings.labels), *tables),
        [f"{len(ratings.items):,} items, {ratings.counted_raters(word)}."],
        [*sentences, *in_full],
        reading=[*reading_of(ratings), *rescaling_of(ratings)],
        source=source,
        coverage=ratings.coverage,
    )


def _for_people(
    made: StatisticTables, rows: Sequence[Row], ratings: Ratings, by: str
) -> tuple[list[Table], list[str]]:
    """Return the short table, those of the full report (of strata the main ones), and sentences."""
    from dataclasses import replace

    from persona_panel.results.conclusions.rows import (
        in_short,
        labelled_rows,
        short_names,
        what_all_have,
    )
    from persona_panel.results.conclusions.score import on_coverage
    from persona_panel.results.conclusions.wording import WITHOUT_PEOPLE
    from persona_panel.statistics import agreement_statistics, panel_quality_statistics
    from persona_panel.statistics.core.display import ALL

    rows, (ratings,) = labelled_rows(rows, ratings)
    names = short_names(ratings)
    broken_down = by not in ("dimension", "group")
    *_, all_raters = ratings.raters_by_group()
    rows = in_short(rows, names)
    of_all = [row for row in rows if row.group in (all_raters, ALL)]
    in_summary = rows if by == "group" else of_all
    summary = made.summary("Agreement", in_summary, agreement_statistics, by)
    part = "group" if by == "group" else "dimension"
    cautioned = {
        ", ".join(filter(None, (row.by_value, getattr(row, part)))): row.estimate()
        for row in in_summary
        if row.caution
    }
    remarks = [*on_coverage(cautioned)]
    if any(row.statistic == "disagreement_added" and not row.reason for row in of_all):
        remarks.append(_PERSONAS_ADD)
    if remarks:
        summary = replace(summary, remarks=remarks)
    shown = of_all if broken_down else rows
    tables, sentences = made.of_registry(
        shown, agreement_statistics, all_raters, main_only=broken_down
    )
    tables += made.stratum_differences(shown, agreement_statistics, by)
    if not broken_down:
        if any(row.statistic == "effective_judges" and not row.reason for row in rows):
            sentences.append(
                f"Effective number of {made.word}s: {WITHOUT_PEOPLE.format(made.word)} `people "
                f"correlate --human` has the number of what {made.word}s say beyond people's mean."
            )
        quality, more = made.of_registry(
            rows, panel_quality_statistics, all_raters, main_only=False
        )
        tables, sentences = [*tables, *quality], [*sentences, *more, *what_all_have(ratings)]
    return [summary, *tables], sentences
