"""What `audit bias` prints: what may be concluded, then a table for each bias, from rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan

from rich.console import Console

from persona_panel.experiments.audit.bias import REAL_BINS, unknown_families
from persona_panel.reports.formats.terminal.rows import cells_of, remark, show, show_conclusion
from persona_panel.results.conclusions.bias import are_of_comparisons, bias_conclusion
from persona_panel.results.conclusions.judge_names import in_short, short_names, what_all_have
from persona_panel.results.conclusions.labels import labelled_rows
from persona_panel.results.console import has_ids, legible
from persona_panel.runs.units import POINTS, SHARES_OF_RESPONSES
from persona_panel.statistics.core.names import ALL
from persona_panel.statistics.core.table import Ratings, Row

_JUDGES_SHOWN = 40
_OF_SCORES = {
    "length_correlation": "correlation with length\n(within systems)",
    "score_entropy": "entropy,\nbits",
    "mode_share": "share of\nthe mode",
}


def show_biases(rows: Sequence[Row], ratings: Ratings, console: Console) -> None:
    """What may be concluded; biases of the panel by dimension, of judges, models and families on
    all dimensions."""
    show_conclusion(bias_conclusion(rows), console)
    if not has_ids(console):
        rows, (ratings,) = labelled_rows(rows, ratings)
    names = short_names(ratings)
    rows = in_short(rows, names)
    compared = are_of_comparisons((row.statistic, row.reason) for row in rows)
    bonus = f"own-family bonus,\n{(SHARES_OF_RESPONSES if compared else POINTS).several}"
    # A run on one dimension has no rows on all of them.
    main = ALL if len({row.dimension for row in rows} - {ALL}) > 1 else rows[-1].dimension
    ours = [replace(row, dimension=ALL) for row in rows if row.dimension == main]

    def table(
        title: str, of: Iterable[Row], headings: Mapping[str, str], heads: tuple[str, str]
    ) -> None:
        show(console, title, cells_of(of, headings), headings.values(), heads)

    table(
        "Panel",
        [_of_several(row, main) for row in rows if row.group == ALL],
        {**_OF_SCORES, "self_preference": bonus},
        ("", "dimension"),
    )
    judges = _by_leniency(ours, [names.get(one, one) for one in ratings.raters])[:_JUDGES_SHOWN]
    table(
        "Judges",
        [row for judge in judges for row in ours if row.group == judge],
        {"leniency": "leniency" if compared else "leniency,\npoints", **_OF_SCORES},
        ("judge", "dimension"),
    )
    if len(ratings.raters) > len(judges):
        remark(console, f"{len(ratings.raters) - len(judges)} more judges are in --json.")
    table(
        "Variance components within a model, as shares of the variance of its scores",
        ours,
        {
            "persona_share": "persona",
            "residual_share": "persona × response\ninteraction, and error",
        },
        ("model", "dimension"),
    )
    table(
        "Self-preference by family",
        [row for row in ours if row.group != ALL],
        {"self_preference": bonus},
        ("family", "dimension"),
    )
    places = [row for row in rows if row.statistic == "position_bias"]
    table(
        "Position bias: wins of the response shown first less wins of the second, as a share",
        sorted(places, key=_panel_first_then_furthest)[: 1 + _JUDGES_SHOWN],
        {"position_bias": "position bias"},
        ("judge", "dimension"),
    )
    if unknown := unknown_families(ratings):
        told = ", ".join(map(legible, unknown))
        remark(console, f"Left out of self-preference, as their family is not known: {told}.")
    if names:
        remark(console, " ".join(what_all_have(ratings)))
    remark(
        console,
        f"{len(ratings.items):,} responses, {len(ratings.raters):,} judges. In brackets: 95 % "
        "confidence intervals over prompts, each at 95 %, not widened for the number of biases or "
        "judges: an interval may leave out 0 where nothing is concluded. p: t-test of the partial "
        "correlation, responses taken as independent. Entropy and share of the mode are of scores "
        "rounded to the scale's whole numbers, on a scale of real numbers to one of "
        f"{REAL_BINS} equal parts of it. --json has every statistic on every "
        "dimension.",
    )


def _of_several(row: Row, main: str) -> Row:
    """A row of all dimensions, where there are several, with a name that says so."""
    return replace(row, dimension="all dimensions") if row.dimension == main == ALL else row


def _panel_first_then_furthest(row: Row) -> tuple[bool, float]:
    return row.group != ALL, 0.0 if isnan(row.value) else -abs(row.value)


def _by_leniency(rows: Sequence[Row], judges: Sequence[str]) -> list[str]:
    """The judges, those furthest from the panel first."""
    far = {
        row.group: 0.0 if isnan(row.value) else abs(row.value)
        for row in rows
        if row.statistic == "leniency"
    }
    return sorted(judges, key=lambda judge: -far.get(judge, 0.0))
