"""`persona-panel agree`: how far raters agree, and what they are worth as a panel."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Literal

import click

from panel.cli.failures import refusals

if TYPE_CHECKING:
    from rich.console import Console

    from panel.cli.figures import Place
    from panel.statistics import By, Ratings, Row

ALL = "all"
JUDGES_SHOWN = 12


@click.command()
@click.argument("ratings")
@click.option(
    "--by",
    type=click.Choice(["dimension", "group", "source", "prompt"]),
    default="dimension",
    show_default=True,
    help="What has figures of its own, besides each group of raters: each dimension; nothing "
    "else (group); or each dimension of each source or prompt.",
)
@click.option(
    "--level",
    type=click.Choice(["ordinal", "interval", "nominal"]),
    default="ordinal",
    show_default=True,
    help="The level of measurement that Krippendorff's alpha takes scores to have.",
)
@click.option("--json", "as_json", is_flag=True, help="Print every statistic as JSON, no tables.")
@refusals
def agree(
    ratings: str, by: By, level: Literal["ordinal", "interval", "nominal"], as_json: bool
) -> None:
    """Say how far the raters in RATINGS agree, and what they are worth as a panel.

    RATINGS is a run's folder, or a .csv, .tsv, .jsonl or .parquet file with a line for each
    rating: item, rater, score (or rank, 1 the best) and optionally dimension, group (of the
    rater: human, expert, a model), prompt and source (of the item). Empty cells, ? and NA are
    gaps, and stay gaps. Of a run, judges are raters, and their models groups.

    Every figure has a 95 % interval, by a BCa bootstrap over prompts (over items, where there
    are none), or the reason why it is undefined. p-values are of permutations inside prompts,
    corrected by Holm over dimensions.

    Exit status: 0, or 2 for bad input, each fault named with its line.
    """
    from rich.console import Console

    from panel.cli.figures import print_json
    from panel.errors import Fault, InputError
    from panel.files.ratings import load_ratings
    from panel.statistics import Settings, appraise
    from panel.statistics import agree as agreement

    found = load_ratings(ratings, min_raters=2)
    if getattr(found, f"{by}s") is None:
        raise InputError([Fault(ratings, f"no {by}s", f"a column {by!r}, to go by it")])
    settings = Settings(level=level)
    rows = agreement(found, settings, by)
    worth = appraise(found, settings) if by == "dimension" else []
    if as_json:
        print_json([*rows, *worth])
    else:
        _show(found, rows, worth, Console())


def _show(ratings: Ratings, rows: Sequence[Row], worth: Sequence[Row], console: Console) -> None:
    from panel.cli.figures import by_place, remark, show

    cells = by_place(rows)
    show(
        console,
        "Agreement beyond chance",
        cells,
        {
            "Krippendorff\nα": "krippendorff_alpha",
            "Fleiss\nκ": "fleiss_kappa",
            "Cohen κ,\nquadratic": "cohen_kappa_quadratic",
            "Cohen κ,\nlinear": "cohen_kappa_linear",
            "Cohen κ,\nunweighted": "cohen_kappa_none",
            "all\nagree": "perfect_agreement",
        },
    )
    show(
        console,
        "Agreement of rankings",
        cells,
        {
            "Kendall\nW": "kendall_w",
            "W, ties\ncorrected": "kendall_w_ties",
            "mean\nτ_b": "mean_tau_b",
            "τ_b within\nprompts": "mean_tau_b_within_prompts",
            "mean\nSpearman ρ": "mean_spearman",
            "same\nranking": "full_ranking_agreement",
            "same\nfirst": "top_ranking_agreement",
        },
    )
    show(
        console,
        "Reliability",
        cells,
        {
            "ICC(1)": "icc1",
            "ICC(2,1)": "icc2",
            "ICC(2,k),\nof the mean": "icc2k",
            "independent\njudges": "effective_judges",
        },
    )
    if worth:
        _show_worth(rows, worth, console)
    resampled = "prompts" if ratings.prompts else "items"
    remark(
        console,
        f"{len(ratings.items):,} items, {len(ratings.raters):,} raters. Below a value its 95 % "
        f"interval (BCa bootstrap over {resampled}) and its p-value (permutations; Holm over "
        "dimensions). --json has every statistic with its numbers of items and raters.",
    )


def _show_worth(rows: Sequence[Row], worth: Sequence[Row], console: Console) -> None:
    """The reliability of more and fewer judges, where variance comes from, who is needed."""
    from panel.cli.figures import by_part, remark, show

    reliability = by_part(worth, "reliability")
    sizes = sorted({part for part, _ in reliability}, key=lambda part: int(part.split()[0]))
    show(
        console,
        "Reliability of the mean of so many judges (Spearman-Brown)",
        reliability,
        {size.split()[0]: size for size in sizes},
    )
    variance = by_part(worth, "variance_share")
    parts = dict.fromkeys(part for part, _ in variance)
    show(console, "Shares of the variance of scores", variance, {part: part for part in parts})
    _show_judges(rows, worth, console)
    for row in worth:
        if row.statistic == "smallest_subset":
            of = ", ".join(name for name in (row.group, row.dimension) if name != ALL)
            start = f"Fewest judges who rank as all do{f' ({of})' if of else ''}: "
            remark(console, start + _subset(row))


def _subset(row: Row) -> str:
    if isnan(row.value):
        return f"{row.note.removeprefix('undefined: ')}."
    return f"{row.value:.0f} of {row.n_raters}; {row.note}."


def _show_judges(rows: Sequence[Row], worth: Sequence[Row], console: Console) -> None:
    """Alpha without each judge, of all judges together, those first whose absence raises it."""
    from panel.cli.figures import remark, show

    without = [row for row in worth if row.statistic == "alpha_without"]
    if not without:
        return
    group = without[-1].group.partition(" / ")[0]
    cells: dict[tuple[str, Place], Row] = {
        (row.dimension, ("nobody", ALL)): row
        for row in rows
        if row.statistic == "krippendorff_alpha" and row.group == group
    }
    dimensions = [dimension for dimension, _ in cells]
    judges: dict[str, list[Row]] = {}
    for row in without:
        of, _, part = row.group.partition(" / ")
        if of == group:
            judges.setdefault(part.removeprefix("without "), []).append(row)
    order = sorted(judges, key=lambda judge: -_mean(judges[judge]))
    for judge in order[:JUDGES_SHOWN]:
        cells |= {(row.dimension, (judge, ALL)): row for row in judges[judge]}
    show(
        console,
        "Krippendorff α without a judge",
        cells,
        {dimension: dimension for dimension in dimensions},
        heads=("left out", ""),
    )
    if len(order) > JUDGES_SHOWN:
        remark(console, f"{len(order) - JUDGES_SHOWN} more judges are in --json.")


def _mean(rows: Sequence[Row]) -> float:
    values = [row.value for row in rows if not isnan(row.value)]
    return sum(values) / len(values) if values else 0.0
