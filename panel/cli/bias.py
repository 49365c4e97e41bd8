"""What `audit bias` prints: one table a bias, from rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan

from rich.console import Console

from panel.cli.figures import by_place, remark, show
from panel.statistics.table import ALL, Ratings, Row

_JUDGES_SHOWN = 40


def show_biases(rows: Sequence[Row], ratings: Ratings, console: Console) -> None:
    """Biases of the panel by dimension, of judges, models and families on all dimensions."""
    whole = [row for row in rows if row.group == ALL]
    # A run on one dimension has no rows on all of them.
    main = ALL if len({row.dimension for row in rows} - {ALL}) > 1 else rows[-1].dimension
    ours = [replace(row, dimension=ALL) for row in rows if row.dimension == main]
    show(
        console,
        "The panel's scores",
        by_place(whole),
        {
            "with length,\nwithin systems": "length_correlation",
            "entropy,\nbits": "score_entropy",
            "at the\nmode": "mode_share",
            "self-preference": "self_preference",
        },
        heads=("", "dimension"),
    )
    judges = _by_leniency(ours, ratings)[:_JUDGES_SHOWN]
    show(
        console,
        "Judges",
        by_place(row for judge in judges for row in ours if row.group == judge),
        {
            "leniency,\npoints": "leniency",
            "with length,\nwithin systems": "length_correlation",
            "entropy,\nbits": "score_entropy",
            "at the\nmode": "mode_share",
        },
        heads=("judge", "dimension"),
    )
    if len(ratings.raters) > len(judges):
        remark(console, f"{len(ratings.raters) - len(judges)} more judges are in --json.")
    show(
        console,
        "What personas carry of a model's variance",
        by_place(ours),
        {"between\npersonas": "persona_share", "which for which,\nand error": "residual_share"},
        heads=("model", "dimension"),
    )
    families = [row for row in ours if row.group != ALL]
    show(
        console,
        "Self-preference",
        by_place(families),
        {"own less others',\npoints": "self_preference"},
        heads=("family", "dimension"),
    )
    places = [row for row in rows if row.statistic == "position_bias"]
    shown = sorted(places, key=_panel_first_then_furthest)[: 1 + _JUDGES_SHOWN]
    show(
        console,
        "Position",
        by_place(shown),
        {"first less second": "position_bias"},
        heads=("judge", "dimension"),
    )
    for row in ours:
        if row.statistic == "self_preference" and row.group == ALL and "not known" in row.note:
            remark(console, f"{row.note.split('; ')[0].capitalize()}.")
    remark(
        console,
        f"{len(ratings.items):,} responses, {len(ratings.raters):,} judges; in brackets 95 % "
        "intervals, by a percentile bootstrap over prompts. p takes responses as independent. "
        "--json has every figure on every dimension.",
    )


def _panel_first_then_furthest(row: Row) -> tuple[bool, float]:
    return row.group != ALL, 0.0 if isnan(row.value) else -abs(row.value)


def _by_leniency(rows: Sequence[Row], ratings: Ratings) -> list[str]:
    """The judges, those furthest from the panel first."""
    far = {
        row.group: 0.0 if isnan(row.value) else abs(row.value)
        for row in rows
        if row.statistic == "leniency"
    }
    return sorted(ratings.raters, key=lambda judge: -far.get(judge, 0.0))
