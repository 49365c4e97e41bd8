"""Critical questions matched with references, in the terminal."""

from __future__ import annotations

import math

from rich.console import Console
from rich.text import Text

from persona_panel.experiments.questions.match_report import MatchReport
from persona_panel.results.console import TableRow, show_table
from persona_panel.statistics.core.display import number

_MATCHES_SHOWN = 12


def show_matches(report: MatchReport, console: Console) -> None:
    """A line for each system, how diverse its questions are, which question matched which
    reference, then Cohen's kappa where the questions have labels of their own."""
    show_table(
        console,
        "Critical questions",
        ["system"],
        ["score", "useful", "unhelpful", "invalid", "not\nevaluable", "missing"],
        [
            TableRow(
                one.system,
                [
                    Text(number(one.score)),
                    *(Text(str(n)) for n in one.labels.values()),
                    Text(
                        f"{one.not_evaluable} ({number(100 * one.not_evaluable_share, 0)} %)"
                    ),
                    Text(str(one.missing)),
                ],
            )
            for one in report.systems
        ],
    )  # fmt: skip
    show_table(
        console,
        "Diversity of the questions, and of the useful ones alone",
        ["system"],
        ["n-grams", "compression", "useful", "n-grams,\nuseful", "compression,\nuseful"],
        [
            TableRow(
                one.system,
                [
                    Text(number(every.ngram)),
                    Text(number(every.compression)),
                    Text(str(useful.n)),
                    Text(number(useful.ngram)),
                    Text(number(useful.compression)),
                ],
            )
            for one in report.systems
            for every, useful in (
                (report.diversity[one.system], report.useful_diversity[one.system]),
            )
        ],
    )
    if report.runs:
        show_table(
            console,
            "Score over runs",
            ["system"],
            ["mean", "sd", "runs"],
            [
                TableRow(name, [Text(number(of.mean)), Text(number(of.sd)),
                                Text(str(len(of.scores)))])
                for name, of in report.runs.items()
            ],
        )  # fmt: skip
    _show_which(report, console)
    if (kappa := report.kappa) is not None:
        value = f"undefined ({kappa.reason})" if math.isnan(kappa.value) else number(kappa.value)
        console.print(
            Text(
                f"Cohen's kappa with the labels in the file: {value}, over {kappa.n_items:,} "
                "questions"
            )
        )


def _show_which(report: MatchReport, console: Console) -> None:
    """Which question matched which reference, of the first ones."""
    for match, text in [*zip(report.matches, report.texts, strict=True)][:_MATCHES_SHOWN]:
        console.print(Text(f"{match.prompt_id}/{match.id}: {text}"))
        if match.reference is None:
            why = match.error or "not evaluable: no reference is near enough"
            console.print(Text(f"  {why}", "dim"))
            continue
        near = "" if math.isnan(match.similarity) else f", similarity {number(match.similarity)}"
        found = f"{match.reference.label} ({match.reference.id}{near}): {match.reference.text}"
        console.print(Text(f"  {found}", "dim"))
    if (left := len(report.matches) - _MATCHES_SHOWN) > 0:
        console.print(Text(f"{left:,} more matches are in --json."))
    console.print()
