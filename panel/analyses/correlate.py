"""Compare panel scores with human ratings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, Literal

from persona_panel.analyses import parameters
from persona_panel.analyses.analysis import analysis
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table

if TYPE_CHECKING:
    from persona_panel.analyses.analysis import RunWithPeople
    from persona_panel.analyses.inputs import RatingsSource
    from persona_panel.files.ratings import GivenScale
    from persona_panel.files.records import ColumnMapping
    from persona_panel.results.statistic_tables import StatisticTables
    from persona_panel.statistics import Ratings, Row, Strata
    from persona_panel.statistics.core.arrays import Array

_PANEL, _PEOPLE = "panel", "people"
_VALUES_SHOWN = 12
_APART_SHOWN = 10
_PERSONAS_ADD = (
    "Personas add: τ_b with personas less that of replicates without. An interval that contains 0 "
    "shows neither that personas add nor that they take away."
)
_ONE_HUMAN = (
    "Panel − one person: each person is left out in turn, and that person and the panel are "
    "correlated (τ_b) with the mean of the others. Above 0, the panel agrees with them more."
)
_WIDENED = (
    " A difference is claimed where its interval, widened for {n} dimensions (over all items with "
    "half of the degrees of freedom), leaves 0 out."
)
_NOT_WIDENED = " A difference is claimed where its interval leaves 0 out."


def _on_page(of: RunWithPeople) -> Iterator[Result]:
    yield correlate_result(of.rows, of.panel, of.people, judges=of.judges)


@analysis(
    "The panel's scores compared with people's",
    parameters.ratings("panel"),
    parameters.people("The human ratings.", parameters.COLUMNS_OF_RATINGS, required=True),
    parameters.epsilon("Add the alternative annotator test,"),
    parameters.by(
        "Within each persona, axis (of personas), model, prompt, dimension or source, or each "
        "value of another column of PANEL (of a run: of its responses), and whether these differ."
    ),
    parameters.min_shared("50, as in the debate-speeches paper"),
    parameters.effort(),
    group="People",
    example="runs/first --human ratings.csv",
    requirements=("tau_b >= 0.4", "tau_b_within_prompts[clarity] >= 0.3", "omega >= 0.5"),
    n_parts=1,
    on_page=_on_page,
)
def correlate(
    panel: RatingsSource,
    human: RatingsSource,
    *,
    mapping: ColumnMapping | None = None,
    human_mapping: ColumnMapping | None = None,
    human_scale: GivenScale | None = None,
    allow_unmatched: bool = False,
    epsilon: float | None = None,
    by: str | None = None,
    min_shared: int | None = None,
    resamples: int = 1999,
    intervals: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Result:
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
    items, where there are none), or the reason why there is none. p-values are those of permutation
    tests, within prompts where there are any, adjusted by Holm's method over dimensions, and over
    strata with --by; the interval of a correlation within prompts is that of its test.
    Strata are compared with each other by Student's t over prompts.

    Where there are several dimensions on one scale there is their mean, too, the composite, as a
    family of its own: it is tested at 5 %, the dimensions together at another 5 %. Printed are the
    conclusion and the main statistics of all judges together, one line a dimension, or with --by
    one a stratum; with --full all tables. --json always has all.

    With --epsilon, whether the panel and each of its judges may take the place of a person, by the
    alternative annotator test: the winning rate (`omega` in --require), and how often each is at
    least as near to the other people as a person is (`rho`). People with fewer than 30 shared items
    are left out. With several dimensions on one scale their mean, the composite, comes first, with
    its correlations. In --json the rows of a single judge have its name in `by_value`.

    Args:
        panel: a run's folder, a file of ratings, a run that has a folder, or ratings.
        human: people's ratings, likewise.
        mapping, human_mapping, human_scale, allow_unmatched: see `load_aligned_ratings`.
        epsilon: of the alternative annotator test; None: without it.
        by: what the statistics are broken down by; dimensions if None.
        min_shared: pairs of people who share fewer items are left out of κ by substitution.
        resamples: shuffles of a permutation test; with 0 there are no such p-values.
        intervals: whether there are confidence intervals.
        progress: called with the share that is done, up to 1.

    Raises:
        InputError: anything is wrong with either, or there is no such column to go by.
    """
    from persona_panel.analyses.inputs import HumanInput, input_name, opened_sides
    from persona_panel.analyses.rating_strata import strata_of
    from persona_panel.files.ratings import check_groups
    from persona_panel.statistics import AnalysisOptions, correlation_differences
    from persona_panel.statistics import correlate as correlation
    from persona_panel.statistics.core.table import HUMANS

    people = HumanInput(human, human_mapping, human_scale, allow_unmatched)
    ours, theirs = opened_sides(panel, people, mapping)
    name = panel if isinstance(panel, str) else input_name(panel, "the panel's ratings")
    check_groups(name, ours, HUMANS)
    strata: Literal["dimension"] | Strata = "dimension"
    if by is not None:
        strata = strata_of(name, ours, by, mapping)
    options = AnalysisOptions(
        intervals=intervals, n_permutations=resamples, epsilon=epsilon, min_shared=min_shared
    )
    rows = correlation(ours, theirs, options, progress, by=strata)
    if by is not None:
        rows += correlation_differences(ours, theirs, strata, options)
    return correlate_result(rows, ours, theirs, source=name)


def correlate_result(
    rows: Sequence[Row],
    panel: Ratings,
    humans: Ratings,
    *,
    source: str = "",
    judges: Mapping[str, str] | None = None,
) -> Result:
    """Return the result of rows of `persona_panel.statistics.correlate`.

    Args:
        panel, humans: what was compared, under the same names; `source` is what the panel is
            called.
        judges: what people read in place of judges' names; else those of a run by what they differ
            in.
    """
    from persona_panel.analyses.correlate_conclusion import correlate_conclusion
    from persona_panel.analyses.inputs import reading_of
    from persona_panel.results.conclusions.wording import rescaling_of
    from persona_panel.results.statistic_tables import StatisticTables
    from persona_panel.statistics.core.display import COMPOSITE
    from persona_panel.statistics.strata import broken_down_by

    by = broken_down_by(rows) or "dimension"
    made = StatisticTables(sampled="prompts" if humans.prompts or panel.prompts else "items")
    tables, sentences = _for_people(made, rows, panel, humans, by, judges)
    n_shared = len(set(panel.items) & set(humans.items))
    strata = " and strata" if by != "dimension" else ""
    has_composite = any(row.dimension == COMPOSITE for row in rows)
    composite = "; of the composite it is not adjusted" if has_composite else ""
    return Result(
        "correlate",
        correlate_conclusion(rows, panel, humans, judges),
        (made.for_programs(rows, panel.labels), *tables),
        [
            f"{n_shared:,} items of {len(panel.items):,} of the panel's and "
            f"{len(humans.items):,} of people's; {panel.counted_raters('judge')}; people: "
            f"{len(humans.raters):,}."
        ],
        [
            *sentences,
            f"p: permutation tests, adjusted by Holm's method over dimensions{strata}{composite}.",
        ],
        reading=[*reading_of(humans), *rescaling_of(panel)],
        source=source,
        coverage=panel.coverage,
    )


def _for_people(
    made: StatisticTables,
    rows: Sequence[Row],
    panel: Ratings,
    humans: Ratings,
    by: str,
    judges: Mapping[str, str] | None,
) -> tuple[list[Table], list[str]]:
    """Return the short table, those of the full report, and what judges' names leave out."""
    from persona_panel.analyses.correlate_conclusion import n_claimed
    from persona_panel.results.conclusions.rows import (
        in_short,
        labelled_rows,
        short_names,
        what_all_have,
        whole_label,
    )
    from persona_panel.results.conclusions.score import on_coverage
    from persona_panel.statistics import comparison_statistics
    from persona_panel.statistics.core.display import ALL
    from persona_panel.statistics.core.table import HUMANS

    *_, all_judges = panel.raters_by_group()
    whole, n = whole_label(panel, humans), n_claimed(rows, all_judges)
    rows, (ours, theirs) = labelled_rows(rows, panel, humans)
    names = short_names(ours, taken=theirs.raters) if judges is None else judges
    rows = in_short(rows, names)
    of_all = [row for row in rows if row.group in (all_judges, ALL, HUMANS)]
    summary = made.summary(
        "Panel and people",
        [replace(row, dimension=whole) if row.dimension == ALL else row for row in of_all],
        comparison_statistics,
        by,
    )
    there = {row.statistic for row in of_all if row.reason is None}
    remarks = []
    if any(name.startswith("human_difference") for name in there):
        remarks.append(_ONE_HUMAN + (_WIDENED.format(n=n) if n > 1 else _NOT_WIDENED))
    if "persona_gain_tau_b" in there:
        remarks.append(_PERSONAS_ADD)
    inside = {
        whole if row.dimension == ALL else row.dimension: row.estimate()
        for row in of_all
        if row.statistic == "pearson_within_prompts" and row.by_value is None
    }
    # A screen may have no room for what stands behind it.
    remarks = [*on_coverage(inside, within_prompts=True), *remarks]
    if set(ours.groups) == {ALL}:
        # The group's name says more than `all` where there is no other group of judges.
        rows = [replace(row, group=_PANEL) if row.group == ALL else row for row in rows]
        all_judges = _PANEL
    main_only = by != "dimension"
    if main_only:
        rows = [row for row in rows if row.group in (all_judges, ALL, HUMANS)]
    if _PEOPLE not in ours.groups:
        rows = [_as_people(row) for row in rows]
    tables, sentences = made.of_registry(
        rows, comparison_statistics, all_judges, main_only=main_only
    )
    tables += made.stratum_differences(rows, comparison_statistics, by)
    if not main_only:
        tables += [*_scores(panel, humans), *_farthest_apart(panel, humans)]
    if judges is None and any(row.by_value in names.values() for row in rows):
        sentences += what_all_have(panel)
    return [replace(summary, remarks=remarks), *tables], sentences


def _as_people(row: Row) -> Row:
    """Return a row with people called so, where its names call them humans."""
    from persona_panel.statistics.core.table import HUMANS

    group = _PEOPLE if row.group == HUMANS else row.group
    by = row.by and row.by.replace(f"{HUMANS}: ", f"{_PEOPLE}: ", 1)
    return replace(row, group=group, by=by)


def _compared(panel: Ratings, humans: Ratings) -> Iterator[tuple[str, Array, Array]]:
    """Yield each dimension that both rated by numbers, and the scores of shared items by each."""
    if panel.lower_is_better != humans.lower_is_better:
        return
    places = {name: place for place, name in enumerate(panel.items)}
    shared = [place for place, name in enumerate(humans.items) if name in places]
    ours = [places[humans.items[place]] for place in shared]
    for dimension in humans.dimensions:
        if dimension not in humans.categories and dimension in panel.dimensions:
            judges, people = (
                side.scores[items, :, side.dimensions.index(dimension)]
                for side, items in ((panel, ours), (humans, shared))
            )
            yield dimension, judges, people


def _scores(panel: Ratings, humans: Ratings) -> Iterator[Table]:
    """Yield how often each side gives each score (to the whole number where there are many)."""
    import numpy as np

    from persona_panel.statistics import score_distributions
    from persona_panel.statistics.core.arrays import defined_mean
    from persona_panel.statistics.core.display import general

    rows, values, remarks = list[dict[str, object]](), set[float](), list[str]()
    for dimension, judges, people in _compared(panel, humans):
        of_value, of_sides = score_distributions(people, judges)
        if len(of_value) > _VALUES_SHOWN:
            of_value, of_sides = score_distributions(np.round(people), np.round(judges))
        if len(of_value) > _VALUES_SHOWN:
            remarks.append(f"{dimension}: too many distinct scores for a distribution.")
            continue
        values |= set(of_value.tolist())
        sides = (_PEOPLE, people), (_PANEL, judges)
        for (side, ratings), shares in zip(sides, of_sides, strict=True):
            by_value = dict(zip(map(general, of_value), shares.tolist(), strict=True))
            mean = defined_mean(ratings)
            rows.append({"raters": side, "dimension": dimension, "mean": mean} | by_value)
    if rows:
        heads = ["mean", *map(general, sorted(values))]
        yield Table(
            "score_distributions",
            (Key("raters", "raters"), Key("dimension", "dimension", labels=panel.labels)),
            tuple(Column(head, "number", head, digits=3) for head in heads),
            rows,
            "Score distributions: mean, and the share of each score (rounded)",
            when="full",
            remarks=remarks,
        )


def _farthest_apart(panel: Ratings, humans: Ratings) -> Iterator[Table]:
    """Yield the items on which the two sides' means are farthest apart, of each dimension."""
    from persona_panel.statistics.core.arrays import row_means

    known = set(panel.items)
    items = [name for name in humans.items if name in known]
    rows = list[dict[str, object]]()
    for dimension, *sides in _compared(panel, humans):
        means = zip(items, *(row_means(side).tolist() for side in sides), strict=True)
        apart = [
            {"dimension": dimension, "item": item, "panel": j, "people": p, "difference": j - p}
            for item, j, p in means
            if not isnan(j - p)
        ]
        rows += sorted(apart, key=lambda of: -abs(of["difference"]))[:_APART_SHOWN]
    if rows:
        yield Table(
            "farthest_apart",
            (Key("dimension", "dimension", labels=panel.labels), Key("item", "item")),
            (Column("panel", "number", "panel's\nmean"),
             Column("people", "number", "people's\nmean"),
             Column("difference", "number", "panel −\npeople", signed=True)),
            rows,
            "Items on which panel and people are farthest apart",
            when="full",
        )  # fmt: skip
