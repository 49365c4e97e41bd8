"""`persona-panel correlate`: a panel against humans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import nan
from typing import TYPE_CHECKING

import click

from panel.cli.failures import refusals

if TYPE_CHECKING:
    from rich.console import Console

    from panel.statistics import Ratings, Row

ALL = "all"
PANEL = "panel"
ADDED_SHOWN = (1, 2, 3, 4, 5, 10, 20, 30)
VALUES_SHOWN = 12


@click.command()
@click.argument("panel")
@click.option("--human", required=True, metavar="RATINGS", help="What humans say.")
@click.option("--json", "as_json", is_flag=True, help="Print every statistic as JSON, no tables.")
@refusals
def correlate(panel: str, human: str, as_json: bool) -> None:
    """Hold PANEL, a run's folder or ratings, against the ratings of humans.

    Ratings are a .csv, .tsv, .jsonl or .parquet file with a line for each rating: item, rater,
    score (or rank, 1 the best) and optionally dimension, group, prompt and source. Items are
    matched by their names: those of a run are prompt_id/id, or id alone where ids come once.
    Ratings without a dimension are of the whole: they are compared with the mean of the other
    side's dimensions.

    The panel's score is the mean of its judges, the humans' that of theirs, or their mean
    rank. Beside each figure stands what one human achieves against the others. Every figure
    has a 95 % interval, by a BCa bootstrap over prompts (over items, where there are none), or
    the reason why it is undefined. p-values are of permutations inside prompts, corrected by
    Holm over dimensions.

    Exit status: 0, or 2 for bad input, each fault named with its line.
    """
    from rich.console import Console

    from panel.cli.figures import print_json
    from panel.cli.printing import output
    from panel.files.beside import load_beside
    from panel.statistics import correlate as correlation

    ours, theirs = load_beside(panel, human)
    with Console(stderr=True).status("Resampling …"):
        rows = correlation(ours, theirs)
    if as_json:
        print_json(rows)
    else:
        _show(ours, theirs, rows, output())


def _show(ours: Ratings, theirs: Ratings, rows: Sequence[Row], console: Console) -> None:
    from panel.cli.figures import by_part, by_place, remark, show

    if set(ours.groups) == {ALL}:
        rows = [_of_panel(row) for row in rows]
    cells = by_place(rows)
    kinds = {"τ_b": "tau_b", "τ_c": "tau_c", "Spearman ρ": "spearman", "Pearson r": "pearson"}
    for where, suffix in (("over all items", ""), ("within prompts", "_within_prompts")):
        columns: dict[str, str | tuple[str, ...]] = {
            heading: (f"{kind}{suffix}", f"human_ceiling_{kind}{suffix}")
            for heading, kind in kinds.items()
        }
        show(
            console,
            f"Against the mean human, {where}; humans: one against the others",
            cells,
            columns,
        )
    show(
        console,
        "Weighted κ with humans, one of a pair replaced by the panel; humans: both themselves",
        cells,
        {
            "constant raters\ncounted as 0": ("substituted_kappa", "human_kappa"),
            "left out": ("substituted_kappa_without_constant", "human_kappa_without_constant"),
        },
    )
    _remark_on(("substituted_kappa", "human_kappa"), rows, console)
    losses = {
        "pairs in the\nwrong order": "pairwise_error",
        "weighted": "weighted_pairwise_error",
        "custom loss": "custom_loss",
    }
    show(console, "Losses, by position: smaller is better", cells, losses)
    _remark_on(tuple(losses.values()), rows, console)
    title = "Independent judges, of what they say beyond the humans' mean"
    show(console, title, cells, {"judges": "effective_judges"})
    _show_sources(rows, console)
    _show_scores(ours, theirs, console)
    added = by_part(rows, "alpha_added")
    sizes = {part.split()[0]: part for part, _ in added}
    show(
        console,
        "Change of the humans' α as so many judges join them",
        added,
        {size: part for size, part in sizes.items() if int(size) in ADDED_SHOWN},
    )
    n_shared = len(set(ours.items) & set(theirs.items))
    remark(
        console,
        f"{n_shared:,} items of {len(ours.items):,} of the panel's and {len(theirs.items):,} of "
        f"the humans'; judges: {len(ours.raters):,}, humans: {len(theirs.raters):,}. Below a value "
        "its 95 % interval and its p-value. --json has every statistic.",
    )


def _of_panel(row: Row) -> Row:
    """The row under a name that says more than `all`, where there is one group of judges."""
    group, *part = row.group.partition(" / ")
    return replace(row, group="".join((PANEL, *part))) if group == ALL else row


def _remark_on(statistics: tuple[str, ...], rows: Sequence[Row], console: Console) -> None:
    """The notes of these statistics, those of several groups once."""
    from panel.cli.figures import remark

    said = dict.fromkeys(
        (row.statistic, row.dimension, row.note)
        for row in rows
        if row.statistic in statistics and row.note
    )
    for statistic, dimension, note in said:
        of = "" if dimension == ALL else f" ({dimension})"
        remark(console, f"{statistic}{of}: {note}")


def _show_sources(rows: Sequence[Row], console: Console) -> None:
    """Means, win rates and first places of each source, the humans' beside the panel's."""
    from panel.cli.figures import show

    cells: dict[tuple[str, tuple[str, str]], Row] = {}
    sides: dict[str, None] = {}
    for row in rows:
        if row.statistic in ("source_mean", "win_rate", "first_place"):
            side, _, source = row.group.partition(" / ")
            sides[side] = None
            cells[f"{row.statistic} {side}", (source, row.dimension)] = row
        elif row.statistic == "source_pearson":
            cells[f"source_mean {row.group}", ("r over sources", row.dimension)] = row
    if not sides:
        return
    humans, *panels = sides
    columns = {
        f"{what},\n{side}": f"{statistic} {side}"
        for what, statistic in (
            ("mean", "source_mean"),
            ("wins", "win_rate"),
            ("first", "first_place"),
        )
        for side in (humans, panels[-1])
    }
    show(console, "By source", cells, columns, heads=("source", "dimension"))


def _show_scores(ours: Ratings, theirs: Ratings, console: Console) -> None:
    """How often each side gives each score to the items that both have, to the whole number
    where there are many scores."""
    import numpy as np

    from panel.cli.figures import remark, show
    from panel.statistics import Row, score_distributions

    shared = set(ours.items) & set(theirs.items)
    cells: dict[tuple[str, tuple[str, str]], Row] = {}
    sides = {"humans": theirs, PANEL: ours}
    for dimension in theirs.dimensions:
        if dimension not in ours.dimensions or ours.lower_is_better != theirs.lower_is_better:
            continue
        scores = [
            side.scores[[name in shared for name in side.items]][
                :, :, side.dimensions.index(dimension)
            ]
            for side in sides.values()
        ]
        found = score_distributions(*scores)
        if len(found.values) > VALUES_SHOWN:
            found = score_distributions(*map(np.round, scores))
        if len(found.values) > VALUES_SHOWN:
            remark(console, f"{dimension}: too many different scores to show how often each is.")
            continue
        for row, side in enumerate(sides):
            figures = {
                f"{v:g}": share for v, share in zip(found.values, found.shares[row], strict=True)
            }
            for name, value in {"mean": found.means[row], **figures}.items():
                cells[name, (side, dimension)] = Row(
                    name, side, dimension, float(value), nan, nan, nan, 0, 0, ""
                )
    values = sorted({name for name, _ in cells} - {"mean"}, key=float)
    show(
        console,
        "Scores: mean, and the share of each score (rounded)",
        cells,
        {name: name for name in ("mean", *values)},
        heads=("side", "dimension"),
    )
