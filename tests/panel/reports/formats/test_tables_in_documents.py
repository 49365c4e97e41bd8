"""Tables of results that do not describe themselves yet, as CSV, LaTeX and Markdown."""

from __future__ import annotations

import io

from rich.text import Text

from persona_panel.reports.formats.csv import write as write_csv
from persona_panel.results.cells import FigureText, interval_cell
from persona_panel.results.console import TableRecorder, TableRow, show_table
from persona_panel.results.formats.latex import write as write_latex
from persona_panel.results.formats.markdown import write as write_markdown
from tests.helpers.read_documents import csv_rows, latex_tables, markdown_tables

_WRITE = {"csv": write_csv, "latex": write_latex, "markdown": write_markdown}


def test_why_a_figure_is_undefined_stands_below_its_table() -> None:
    """A reason, which the terminal folds into the cell, is a sentence; in CSV it is the text."""
    recorder = TableRecorder()
    why = "too few raters for it"
    cells = [FigureText("too few\nraters", reason=why), interval_cell(-1.25, 2.0), Text("3")]
    columns = ["mean\nτ_b", "interval", "n"]
    show_table(recorder.console, "Title", ["group", "dimension"], columns, [
        TableRow("clarity", cells, "experts"), TableRow("[*] depth", cells, "experts")
    ])  # fmt: skip
    recorder.console.print(Text("And a remark."))
    _, reason, remark = recorder.parts
    assert reason == (
        "Undefined: mean τ_b (experts; clarity), mean τ_b (experts; [*] depth): " + why + "."
    )
    assert remark == "And a remark."
    shown: dict[str, str] = {}
    for name in _WRITE:
        to = io.StringIO()
        _WRITE[name](recorder.parts, to)
        shown[name] = to.getvalue()
    (rows,) = latex_tables(shown["latex"])
    assert rows == [
        ["dimension", "mean τ_b", "interval", "n"], ["experts"],
        ["clarity", "–", "[-1.25, 2.00]", "3"], ["[*] depth", "–", "[-1.25, 2.00]", "3"],
    ]  # fmt: skip
    assert "\\\\\n{}[*] depth" in shown["latex"], "LaTeX takes [ after \\\\ for an option"
    (rows,) = markdown_tables(shown["markdown"])
    assert "$-$1.25" in shown["latex"]
    assert rows[2] == ["clarity", "–", "[−1.25, 2.00]", "3"]
    undefined, over, _ = csv_rows(shown["csv"])[:3]
    assert (undefined["text"], undefined["value"]) == (why, "")
    assert (over["text"], over["ci_low"], over["ci_high"]) == ("−1.25 to 2.00", "-1.25", "2.0")
