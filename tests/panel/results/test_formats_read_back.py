"""A run's tables as CSV, LaTeX and Markdown, read back by parsers that are not ours."""

from __future__ import annotations

import re
from typing import Any

import pytest

from persona_panel import Dimension, Rubric, Run, Scale
from persona_panel.analyses.score import score_result
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.aggregate import aggregate
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics.core.estimate import Difference
from tests.helpers.read_documents import csv_rows, latex_tables, markdown_tables

CLARITY = Dimension(
    id="clarity",
    label="Clarity",
    definition="d",
    guiding_question="g?",
    scale=Scale(min=1, max=10, low="not", high="very"),
)
RUBRIC = Rubric(id="own", label="Own", question="How good?", dimensions=(CLARITY,))
JUDGES = [Judge(name, "m:one", "dimensions") for name in ("ann", "bob")]
HOSTILE = (
    "=cmd|' /C calc'!A0",
    r"50% & $x_1$ \input{/etc/passwd} #1 {~^}",
    "[z] <b>| -- *bold* `code` ![i](http://e.vil)",
    '-1+1 "quoted", @SUM(A1)',
)


def a_run(systems: tuple[str, ...] = HOSTILE) -> Run:
    """Four systems on three prompts; each prompt adds a little."""
    items = [Item(f"p{p}", f"{p}-{s}", name) for p in range(3) for s, name in enumerate(systems)]
    titles = {f"p{p}": f"Prompt {p}" for p in range(3)}
    run = Run(items, titles, JUDGES, RUBRIC, prices={"m:one": None}, seed=0)
    for number, item in enumerate(items):
        judgments = [
            Judgment(
                *item, judge=judge, status="scored",
                scores={"clarity": 8.0 - systems.index(item.system) + number % 5 / 4 + place},
            )
            for place, judge in enumerate(JUDGES)
        ]  # fmt: skip
        for judgment in judgments:
            run.add(judgment)
        run.conclude(aggregate(judgments, RUBRIC))
    return run


@pytest.fixture(scope="module")
def run() -> Run:
    return a_run()


def written(name: str, run: Run) -> str:
    """The run in this format."""
    return score_result(run).text(name)


def test_csv_has_the_figures_of_every_table_unrounded(run: Run) -> None:
    """A line for each cell, with the same columns; a value, an interval and a p-value are numbers
    in columns of their own."""
    rows = csv_rows(written("csv", run))
    assert next(iter(rows[0])) == "table"
    assert list(rows[0])[-8:] == [
        "column", "text", "value", "low", "high", "p", "p_adjusted", "n"
    ]  # fmt: skip
    board = run.leaderboard()
    best, difference = board.systems[0], board.differences[0]
    of = {(row["table"], row["system"], row["a"], row["b"], row["column"]): row for row in rows}
    composite = of["systems", "'" + best.system, "", "", "composite"]
    assert float(composite["value"]) == best.composite.value
    assert (float(composite["low"]), float(composite["high"])) == best.composite.ends
    a, b = (HOSTILE.index(one) for one in (difference.a, difference.b))
    names = [name if not name.startswith(("=", "-")) else f"'{name}" for name in HOSTILE]
    tested = of["differences", "", names[a], names[b], "difference"]
    assert float(tested["p_adjusted"]) == difference.p_adjusted
    assert of["systems", "'" + best.system, "", "", "n_prompts"]["value"] == "3"


def test_no_cell_of_a_csv_file_is_a_formula(run: Run) -> None:
    """A name that a spreadsheet would calculate has an apostrophe before it; figures have none."""
    rows = csv_rows(written("csv", run))
    for row in rows:
        for name, cell in row.items():
            if name in ("value", "low", "high", "p", "p_adjusted", "n"):
                assert cell == "" or float(cell) is not None
            else:
                assert not cell.startswith(("=", "+", "-", "@"))
    assert {"'" + HOSTILE[0], HOSTILE[1], HOSTILE[2], "'" + HOSTILE[3]} <= {
        row["system"] for row in rows
    }
    assert not [row for row in rows if row["value"] and row["text"].startswith("'")]


@pytest.mark.parametrize(("name", "read"), [("latex", latex_tables), ("markdown", markdown_tables)])
def test_tables_hold_names_and_intervals_as_they_are(run: Run, name: str, read: Any) -> None:
    """Every name comes back as it was, every line has as many cells as there are columns, and
    intervals are in brackets."""
    tables = read(written(name, run))
    assert len(tables) == 4
    systems = tables[0]
    assert {len(line) for line in systems} == {4}
    board = run.leaderboard().systems
    for line, entry in zip(systems[1:], board, strict=True):
        # LaTeX typesets a straight quotation mark as a curved one, and the accent alone.
        assert line[0].replace("”", '"').replace("ˆ", "^") == entry.system
        assert f"[{entry.composite.low:.2f}, {entry.composite.high:.2f}]" in line[2].replace(
            "−", "-"
        )
    assert tables[3][1][0] == "p0: Prompt 0"


def test_sentences_stand_around_the_tables(run: Run) -> None:
    """The conclusion and remarks are paragraphs in Markdown and comments in LaTeX; CSV has none."""
    first = score_result(run).conclusion[0]
    assert first.split(":")[0] in written("markdown", run).splitlines()[0]
    latex = written("latex", run).splitlines()
    assert latex[0] == "% \\usepackage{booktabs}"
    assert latex[1] == f"% {first}"
    assert first.split(":")[0] not in written("csv", run)


def test_people_read_a_minus_sign() -> None:
    """In no sentence and no table stands a hyphen before a number; some numbers are below 0."""
    read = [score_result(a_run(("elm", "oak", "yew"))).text("markdown", full=True)]
    below = [Difference(-n, -n - 1, -0.5, a="new", b="old", p=0.01) for n in (1, 2)]
    columns = (Column("difference", "estimate", "difference"),)
    rows = [{"prompt": f"p{n}", "difference": each} for n, each in enumerate(below)]
    table = Table("rows", (Key("prompt", "prompt"),), columns, rows, "Differences")
    read.append(Result("sample", (), [table]).text("markdown", full=True))
    text = "\n".join(read)
    assert re.findall(r"(?<![\w.)\]-])-\d[^\n]{0,30}", text) == []
    assert len(re.findall(r"−\d", text)) > 6
