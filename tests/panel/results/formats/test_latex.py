"""Results as LaTeX."""

from __future__ import annotations

import io

from rich.text import Text

from persona_panel.results.console import FigureText, ReportTable, TableRow
from persona_panel.results.formats.latex import write
from tests.helpers.results import SAMPLE


def test_a_table_has_a_caption_and_sentences_are_comments() -> None:
    """What all lines have in common stands in the caption."""
    latex = SAMPLE.text("latex")
    assert r"\caption{Means over prompts: composite}" in latex
    assert "% Nothing is significant." in latex


def test_a_table_is_written_line_by_line() -> None:
    """By hand: headings over all columns, an interval below its value, signs that are commands
    escaped, and no line that begins with what its end would take for an option."""
    rows = [
        TableRow("[a_1]", [Text("0.5\n[-1, 2]"), Text("50 %")], "x & y"),
        TableRow("b", [Text("−2"), FigureText("no rater", reason="no rater")], "x & y"),
        TableRow("*", [Text("τ_b"), Text("a--b")], "z"),
    ]
    to = io.StringIO()
    write(["One\nsentence.", ReportTable("T #1", ["above", "who"], ["m", "n"], rows)], to)
    assert to.getvalue().splitlines() == [
        r"% \usepackage{booktabs}",
        "% One sentence.",
        "",
        r"\begin{table}",
        r"\centering",
        r"\caption{T \#1}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"who & m & n \\",
        r"\midrule",
        r"\multicolumn{3}{l}{x \& y} \\",
        r"{}[a\_1] & 0.5 & 50 \% \\",
        r" & [$-$1, 2] &  \\",
        r"b & $-$2 & -- \\",
        r"\multicolumn{3}{l}{z} \\",
        r"{}* & $\tau_b$ & a-{}-b \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
