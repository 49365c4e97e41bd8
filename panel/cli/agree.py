"""`persona-panel agree`: how far raters agree, and what they are worth as a panel."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Literal

import click

from panel.cli.failures import refusals

if TYPE_CHECKING:
    from rich.console import Console

    from panel.statistics import By, Ratings, Row

ALL = "all"
JUDGES_SHOWN = 12
NAMES_SHOWN = 6


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
    from panel.cli.printing import output
    from panel.errors import Fault, InputError
    from panel.files.ratings import load_ratings
    from panel.statistics import Settings, appraise
    from panel.statistics import agree as agreement

    found = load_ratings(ratings, min_raters=2)
    if getattr(found, f"{by}s") is None:
        raise InputError([Fault(ratings, f"no {by}s", f"a column {by!r}, to go by it")])
    settings = Settings(level=level)
    with Console(stderr=True).status("Resampling …"):
        rows = agreement(found, settings, by)
        worth = appraise(found, settings) if by == "dimension" else []
    if as_json:
        print_json([*rows, *worth])
    else:
        _show(found, by, rows, worth, output())


def _show(
    ratings: Ratings, by: By, rows: Sequence[Row], worth: Sequence[Row], console: Console
) -> None:
    """The main figures of every group; all others, and the worth, of all raters together.

    Of each prompt or source there are the main figures only: the others would fill screens.
    """
    from panel.cli.figures import by_place, remark, show

    whole = [*ratings.raters_by_group()][-1]
    cells = by_place(rows)
    show(
        console,
        "Agreement",
        cells,
        {
            "Krippendorff\nα": "krippendorff_alpha",
            "Kendall\nW": "kendall_w",
            "mean\nτ_b": "mean_tau_b",
            "ICC(2,1)": "icc2",
            "ICC(2,k),\nof the mean": "icc2k",
            "independent\njudges": "effective_judges",
        },
    )
    columns = {
        "Fleiss\nκ": "fleiss_kappa",
        "Cohen κ,\nquadratic": "cohen_kappa_quadratic",
        "Cohen κ,\nlinear": "cohen_kappa_linear",
        "Cohen κ": "cohen_kappa_none",
        "W, ties\ncorrected": "kendall_w_ties",
        "τ_b within\nprompts": "mean_tau_b_within_prompts",
        "mean\nSpearman ρ": "mean_spearman",
        "ICC(1)": "icc1",
        "all\nagree": "perfect_agreement",
        "same\nranking": "full_ranking_agreement",
        "same\nfirst": "top_ranking_agreement",
    }
    theirs = [row for row in rows if row.group.partition(" / ")[0] == whole]
    parted = by in ("source", "prompt")
    if not parted:
        show(console, "Further figures", by_place(theirs), columns)
    if worth:
        ours = [row for row in worth if row.group.partition(" / ")[0] == whole]
        alphas = [row for row in theirs if row.statistic == "krippendorff_alpha"]
        _show_worth(ours, alphas, console)
    resampled = "prompts" if ratings.prompts else "items"
    told = f"{len(ratings.items):,} items, {len(ratings.raters):,} raters."
    if not parted and whole != ratings.groups[0]:
        told += f" Below the first table, {whole} raters together."
    remark(
        console,
        f"{told} p by permutations, "
        "with Holm's correction over dimensions; in brackets 95 % intervals, by a BCa bootstrap "
        f"over {resampled}. --json has every figure of every group.",
    )


def _show_worth(worth: Sequence[Row], alphas: Sequence[Row], console: Console) -> None:
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
    without = [row for row in worth if row.statistic == "alpha_without"]
    if without:
        _show_judges(without, alphas, console)
    for row in worth:
        if row.statistic == "smallest_subset":
            of = "" if row.dimension == ALL else f" ({row.dimension})"
            remark(console, f"Fewest judges who rank as all do{of}: {_subset(row)}.")


def _subset(row: Row) -> str:
    if isnan(row.value):
        return row.note.removeprefix("undefined: ")
    # Who they are is worth reading only where they are few.
    note = row.note if row.value <= NAMES_SHOWN else row.note.partition(": ")[0]
    return f"{row.value:.0f} of {row.n_raters}, {note}"


def _show_judges(without: Sequence[Row], alphas: Sequence[Row], console: Console) -> None:
    """Alpha without each judge, those first whose absence raises it most."""
    from panel.cli.figures import remark, show

    judges: dict[str, list[Row]] = {}
    for row in without:
        judges.setdefault(row.group.partition(" / without ")[2], []).append(row)
    order = sorted(judges, key=lambda judge: -_mean(judges[judge]))
    lines = {"nobody": alphas} | {judge: judges[judge] for judge in order[:JUDGES_SHOWN]}
    cells = {(row.dimension, (name, ALL)): row for name, rows in lines.items() for row in rows}
    columns = {row.dimension: row.dimension for row in alphas}
    show(console, "Krippendorff α without a judge", cells, columns, heads=("left out", ""))
    if len(order) > JUDGES_SHOWN:
        remark(console, f"{len(order) - JUDGES_SHOWN} more judges are in --json.")


def _mean(rows: Sequence[Row]) -> float:
    values = [row.value for row in rows if not isnan(row.value)]
    return sum(values) / len(values) if values else 0.0
