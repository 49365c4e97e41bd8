"""Tables as they are laid out on a console of so many columns, by hand."""

from __future__ import annotations

import io
from collections.abc import Sequence
from math import nan

import pytest
from rich.text import Text

from persona_panel.results.console import (
    FigureText,
    ReportTable,
    TableRow,
    beginning,
    in_document,
    output,
    shortened,
    show_table,
)

ROWS = [TableRow("alder", [Text("6.00"), Text("12")]), TableRow("birch", [Text("5"), Text("3")])]


def printed(
    width: int,
    rows: Sequence[TableRow],
    columns: Sequence[str],
    heads: Sequence[str] = ("system",),
    **more: int,
) -> list[str]:
    """The lines of a table below its title, without what is right of their last sign."""
    to = io.StringIO()
    console = output(to)
    console.width = width
    show_table(console, "Means", heads, columns, rows, **more)
    lines = to.getvalue().split("\n")
    assert max(map(len, lines)) <= width
    title, *below = (line.rstrip() for line in lines)
    assert title == "Means"
    return below


def test_a_table_has_three_columns_between_its_columns() -> None:
    """Names stand at the left, figures at the right; the line is as wide as the table, whose edges
    are 2 and 1; it ends with an empty line."""
    assert printed(80, ROWS, ["mean", "n"]) == [
        "  system   mean    n",
        " " + "─" * 20,
        "  alder    6.00   12",
        "  birch       5    3",
        "",
        "",
    ]


def test_headings_stand_over_the_lines_that_have_them_in_common() -> None:
    """Once, indented by two, as the labels under them are; lines without a heading have none."""
    rows = [
        TableRow(label, [Text("1")], heading)
        for label, heading in (("a", "depth"), ("b", "depth"), ("a", "style"), ("c", ""))
    ]
    assert printed(80, rows, ["n"], ["dimension", "system"]) == [
        "  dimension   n",
        "    system",
        " " + "─" * 15,
        "  depth",
        "    a         1",
        "    b         1",
        "  style",
        "    a         1",
        "    c         1",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("width", "parts"),
    [
        (33, ["abc"]),
        (32, ["ab", "c"]),
        (25, ["ab", "c"]),
        (24, ["a", "b", "c"]),
        (17, ["a", "b", "c"]),
    ],
)
def test_a_table_is_parted_where_it_is_wider_than_the_console(width: int, parts: list[str]) -> None:
    """Names of 6 letters take 9 columns, three figures of 5 take 8 each; every part has the names,
    and an empty line between it and the one before it."""
    rows = [TableRow("aspens", [Text(f"{n}.000") for n in (1, 2, 3)])]
    lines = printed(width, rows, ["a", "b", "c"])
    heads = [line.split()[1:] for line in lines if "system" in line]
    assert heads == [list(part) for part in parts]
    assert lines.count("") == len(parts) + 1
    figures = [line.split()[1:] for line in lines if "aspens" in line]
    assert [each for part in figures for each in part] == ["1.000", "2.000", "3.000"]


@pytest.mark.parametrize(
    ("width", "narrowest", "folded"),
    [
        (46, 20, ["a name of several words in all"]),  # 33 columns, and 13 for the figure
        (45, 20, ["a name of several words in", "all"]),
        (36, 20, ["a name of several", "words in all"]),
        (33, 20, ["a name of several", "words in all"]),
        (25, 9, ["a name of", "several", "words in", "all"]),
    ],
)
def test_names_are_folded_no_further_than_they_must_be(
    width: int, narrowest: int, folded: list[str]
) -> None:
    """Between words, so that the table has no more parts than it would with the narrowest."""
    rows = [TableRow("a name of several words in all", [Text("1.00 [0, 2]"[:10])])]
    lines = printed(width, rows, ["m"], narrowest=narrowest)
    start = next(place for place, line in enumerate(lines) if "─" in line) + 1
    names = [line.replace("1.00 [0, 2", "").strip() for line in lines[start : start + len(folded)]]
    assert names == folded


def test_heads_are_folded_only_where_the_table_is_too_wide() -> None:
    """To 16 columns, and the line as wide as what is left; a cell that no line has room for is
    folded, too."""
    head = "proportion of pairs alike"
    rows = [TableRow("alder", [Text("0.5")])]
    assert printed(37, rows, [head])[0] == f"  system   {head}"
    assert printed(36, rows, [head])[:2] == ["  system   proportion of", " " * 13 + "pairs alike"]
    wide = [TableRow("alder", [Text("one two three four five")])]
    lines = [line.strip() for line in printed(24, wide, ["m"])[-4:-1]]
    assert lines == ["alder   one two three", "four five", ""]


def test_sentences_leave_names_whole() -> None:
    """A cell that is a reason takes what the longest name leaves, where that is half of the console
    at least, or the half."""
    reason = FigureText("no prompt has two ratings of it", reason="few")
    lines = printed(40, [TableRow("a-long-name-here", [reason])], ["m"])
    assert "a-long-name-here" in lines[2]
    assert [line.removeprefix("  a-long-name-here").strip() for line in lines[2:4]] == [
        "no prompt has two", "ratings of it",
    ]  # fmt: skip
    figure = FigureText("no prompt has two ratings of it", value=1.0)
    assert "a-long-name-here" not in printed(40, [TableRow("a-long-name-here", [figure])], ["m"])[2]


def test_a_cell_of_a_document_has_brackets_or_a_dash() -> None:
    """An interval alone, to three digits; a dash for a reason, which stands in a sentence with
    where it holds."""
    few = FigureText("too few", reason="too few")
    cells = (
        few,
        FigureText("0.1 to 0.2", low=0.1, high=0.2),
        FigureText("1.0 x", value=1.0, low=0.1),
    )
    assert [in_document(cell) for cell in (*cells, Text("plain"))] == [
        "–", "[0.10, 0.20]", "1.0 x", "plain",
    ]  # fmt: skip
    rows = [
        TableRow("a", [few, Text("")], "depth"), TableRow("b", [few, few]),
        TableRow("c", [FigureText("1", value=nan), Text("")]),
    ]  # fmt: skip
    assert ReportTable("T", ["x"], ["mean\nof it", "n"], rows).reasons() == [
        "Undefined: mean of it (depth; a), mean of it (b), n (b): too few."
    ]


def test_a_text_begins_with_what_has_room() -> None:
    """An ellipsis takes a column, and no space stands before it."""
    assert [beginning("abc", n) for n in (0, 2, 3, 4)] == ["", "ab", "abc", "abc"]
    assert beginning("漢b", 1) == ""
    assert [shortened("ab cd", n) for n in (3, 4, 5)] == ["ab…", "ab…", "ab cd"]


def test_nothing_that_is_printed_is_markup_or_speaks_to_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Brackets and colons stand as they are, numbers have no colour, and control characters are
    written out; a sentence is one line."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    to = io.StringIO()
    console = output(to)
    assert console.is_terminal and console.color_system
    console.print("[bold]:smile: 1.5 of\n\x1b[31m")
    assert to.getvalue() == "[bold]:smile: 1.5 of\\n\\x1b[31m\n"
