"""Tables as CSV, LaTeX and Markdown, read back by parsers that are not ours."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from markdown_it import MarkdownIt
from pylatexenc.latex2text import LatexNodes2Text
from pylatexenc.latexwalker import LatexWalker
from rich.text import Text

from persona_panel import Dimension, Rubric, Run, Scale
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.aggregate import aggregate
from persona_panel.reports.formats import Renderer, load_renderer
from persona_panel.reports.formats.csv import write as write_csv
from persona_panel.reports.formats.terminal.recording import tables_written_by
from persona_panel.results.cells import FigureText, interval_cell
from persona_panel.results.console import TableRecorder, TableRow, show_table
from persona_panel.results.formats.latex import write as write_latex
from persona_panel.results.formats.markdown import write as write_markdown
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics.core.estimate import Difference
from persona_panel.testing import check_renderer

_WRITE = {"csv": write_csv, "latex": write_latex, "markdown": write_markdown}
FORMATS = tuple(_WRITE)
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
    to = io.StringIO()
    load_renderer(name).render_run(run, {"clarity": "Clarity"}, to)
    return to.getvalue()


def csv_rows(text: str) -> list[dict[str, str]]:
    """The lines of the table, by the standard library's reader."""
    return list(csv.DictReader(io.StringIO(text), strict=True))


def latex_tables(text: str) -> list[list[list[str]]]:
    """The cells of each tabular as they are typeset, by pylatexenc; what is not LaTeX raises."""
    nodes, _, _ = LatexWalker(text, tolerant_parsing=False).get_latex_nodes()
    found = []
    for table in nodes:
        if getattr(table, "environmentname", None) != "table":
            continue
        for node in table.nodelist:
            if getattr(node, "environmentname", None) == "tabular":
                body = "".join(one.latex_verbatim() for one in node.nodelist[1:])
                body = re.sub(r"\\(top|mid|bottom)rule|\\multicolumn\{\d+\}\{l\}", "", body)
                lines = [line for line in body.split("\\\\\n") if line.strip()]
                found.append([re.split(r"(?<!\\)&", line) for line in lines])
    plain = LatexNodes2Text(keep_comments=False, strict_latex_spaces=True).latex_to_text
    return [[[plain(cell).strip() for cell in line] for line in table] for table in found]


def markdown_tables(text: str) -> list[list[list[str]]]:
    """The cells of each table as text, by markdown-it, which HTML, links or emphasis in a cell
    would give other tokens than text."""
    tables: list[list[list[str]]] = []
    in_table = False
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        in_table = token.type == "table_open" or (in_table and token.type != "table_close")
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and in_table:
            kinds = {child.type for child in token.children or []}
            assert kinds <= {"text", "text_special", "strong_open", "strong_close", "html_inline"}
            shown = [child for child in token.children or [] if child.content != "<br>"]
            assert "html_inline" not in {child.type for child in shown}
            tables[-1][-1].append("".join(child.content for child in shown))
    return tables


def test_csv_has_the_figures_of_every_table_unrounded(run: Run) -> None:
    """A line for each cell, with the same columns; a value, an interval and a p-value are numbers
    in columns of their own."""
    rows = csv_rows(written("csv", run))
    assert list(rows[0]) == [
        "table", "heading", "row", "column", "text", "value", "ci_low", "ci_high", "p_value"
    ]  # fmt: skip
    assert list(dict.fromkeys(row["table"] for row in rows)) == [
        "Systems", "Differences between systems", "Means by dimension", "Responses by prompt"
    ]  # fmt: skip
    board = run.leaderboard()
    best, difference = board.systems[0], board.differences[0]
    of = {(row["table"], row["row"], row["column"]): row for row in rows}
    first = "'" + best.system
    assert float(of["Systems", first, "composite"]["value"]) == best.composite
    over = of["Systems", first, "95 % interval, over prompts"]
    assert (float(over["ci_low"]), float(over["ci_high"])) == (best.ci_low, best.ci_high)
    assert over["value"] == ""
    tested = of["Differences between systems", f"'{difference.a} − {difference.b}", "p, adjusted"]
    assert float(tested["p_value"]) == difference.p_adjusted
    assert of["Systems", first, "prompts"]["value"] == "3"
    prompts = {row["heading"] for row in rows if row["table"] == "Responses by prompt"}
    assert prompts == {"p0: Prompt 0", "p1: Prompt 1", "p2: Prompt 2"}


def test_no_cell_of_a_csv_file_is_a_formula(run: Run) -> None:
    """A name that a spreadsheet would calculate has an apostrophe before it; figures have none."""
    rows = csv_rows(written("csv", run))
    for row in rows:
        for name, cell in row.items():
            if name in ("value", "ci_low", "ci_high", "p_value"):
                assert cell == "" or float(cell) is not None
            else:
                assert not cell.startswith(("=", "+", "-", "@"))
    assert {"'" + HOSTILE[0], HOSTILE[1], HOSTILE[2], "'" + HOSTILE[3]} <= {
        row["row"] for row in rows
    }
    assert not [row["text"] for row in rows if row["text"].startswith("'")]


@pytest.mark.parametrize(("name", "read"), [("latex", latex_tables), ("markdown", markdown_tables)])
def test_tables_hold_names_and_intervals_as_they_are(run: Run, name: str, read: Any) -> None:
    """Every name comes back as it was, every line has as many cells as there are columns, and
    intervals are in brackets."""
    tables = read(written(name, run))
    assert len(tables) == 4
    systems = tables[0]
    assert {len(line) for line in systems} == {6}
    board = run.leaderboard().systems
    for line, entry in zip(systems[1:], board, strict=True):
        # LaTeX typesets a straight quotation mark as a curved one, and the accent alone.
        assert line[0].replace("”", '"').replace("ˆ", "^") == entry.system
        assert line[3].replace("−", "-") == f"[{entry.ci_low:.2f}, {entry.ci_high:.2f}]"
    assert tables[3][1][0] == "p0: Prompt 0"


def test_sentences_stand_around_the_tables(run: Run) -> None:
    """The conclusion and remarks are paragraphs in Markdown and comments in LaTeX; CSV has none."""
    first = run.conclusion()[0]
    assert first.split(":")[0] in written("markdown", run).splitlines()[0]
    latex = written("latex", run).splitlines()
    assert latex[0] == "% \\usepackage{booktabs}"
    assert latex[1] == f"% {first}"
    assert first.split(":")[0] not in written("csv", run)


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
    for name in FORMATS:
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


def test_people_read_a_minus_sign() -> None:
    """In no sentence and no table of any result stands a hyphen before a number; some numbers are
    below 0. That the formats are output formats as any other is shown with the others."""
    markdown, read = load_renderer("markdown"), []

    def reading(name: str) -> Callable[..., None]:
        def render(*given: Any) -> None:
            getattr(markdown, name)(*given)
            read.append(given[-1].getvalue())

        return render

    kinds = [name for name in vars(Renderer) if name.startswith("render_")]
    check_renderer(SimpleNamespace(**{name: reading(name) for name in kinds}))
    below = [Difference(-n, -n - 1, -0.5, a="new", b="old", p=0.01) for n in (1, 2)]
    columns = (Column("difference", "estimate", "difference"),)
    rows = [{"prompt": f"p{n}", "difference": each} for n, each in enumerate(below)]
    table = Table("rows", (Key("prompt", "prompt"),), columns, rows, "Differences")
    read.append(Result("sample", (), [table]).text("markdown", full=True))
    text = "\n".join(read)
    assert re.findall(r"(?<![\w.)\]-])-\d[^\n]{0,30}", text) == []
    assert len(re.findall(r"−\d", text)) > 9


@pytest.mark.parametrize("name", FORMATS)
def test_what_the_terminal_has_no_function_for_it_has_not_either(name: str) -> None:
    """An attribute that is no kind of result is none."""
    with pytest.raises(AttributeError):
        load_renderer(name).render_nothing  # type: ignore[attr-defined]  # noqa: B018


def test_what_writes_tables_gets_what_the_terminal_shows() -> None:
    """Tables, with the sentences between them, in their order and whole."""
    parts: list[Any] = []
    render = tables_written_by(lambda found, to: parts.extend(found))("render_run")
    render(a_run(("elm", "oak")), {"clarity": "Clarity"}, io.StringIO())
    shown = [part if isinstance(part, str) else f"table {part.title}" for part in parts]
    assert shown[0].startswith("Who is ahead cannot be said")
    places = [
        next(place for place, part in enumerate(shown) if part.startswith(start))
        for start in ("table Systems", "Differences and ranges", "table Means", "12 of 12 judgm")
    ]
    assert places == sorted(places)
