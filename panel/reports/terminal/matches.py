"""Critical questions matched with references, in the terminal."""

from __future__ import annotations

import math

from rich.console import Console
from rich.text import Text

from panel.questions.match_report import MatchReport
from panel.reports.terminal.tables import TableRow, show_table


def show_matches(report: MatchReport, console: Console) -> None:
    """A line for each system, then Cohen's kappa where the questions have labels of their own."""
    show_table(
        console,
        "Critical questions",
        ["system"],
        ["score", "useful", "unhelpful", "invalid", "not\nevaluable", "missing",
         "diversity,\nn-grams", "diversity,\ncompression"],
        [
            TableRow(
                one.system,
                [
                    Text(_number(one.score)),
                    *(Text(str(n)) for n in one.labels.values()),
                    Text(
                        f"{one.not_evaluable} ({_number(100 * one.not_evaluable_share, 0)} %)"
                    ),
                    Text(str(one.missing)),
                    Text(_number(report.ngram_diversity[one.system])),
                    Text(_number(report.compression_diversity[one.system])),
                ],
            )
            for one in report.systems
        ],
    )  # fmt: skip
    if (kappa := report.kappa) is not None:
        value = f"undefined ({kappa.reason})" if math.isnan(kappa.value) else f"{kappa.value:.2f}"
        console.print(
            Text(
                f"Cohen's kappa with the labels in the file: {value}, over {kappa.n_items:,} "
                "questions"
            )
        )


def _number(value: float, digits: int = 2) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"
