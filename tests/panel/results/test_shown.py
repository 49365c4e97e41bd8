"""How tables are laid out for people: names of lines, reasons, places of intervals."""

from __future__ import annotations

from dataclasses import replace
from math import nan

from persona_panel.results.console import ReportTable
from persona_panel.results.result import Result
from persona_panel.results.shown import (
    SmallPrint,
    figure_parts,
    first_table,
    parts_of,
    short_names,
    shown_table,
)
from persona_panel.results.table import Column, Key, Table, When
from persona_panel.statistics import Estimate
from tests.helpers.results import MEANS, SAMPLE


def test_lines_without_a_difference_have_a_name() -> None:
    """Where every key is the same in all rows, the first names the line."""
    one = replace(MEANS, rows=MEANS.rows[:1])
    lines = Result("one", (), (one,)).text().splitlines()
    assert lines[0] == "Means over prompts: composite"
    assert any(line.strip().startswith("alder") for line in lines)


def test_what_lacks_everywhere_is_said_once() -> None:
    """A reason that holds in every row names the column alone; of several columns, each."""
    cells = {name: Estimate(1.0, reason="one prompt") for name in ("low_one", "other")}
    rows = [{"system": name, **cells} for name in "ab"]
    columns = (Column("low_one", "estimate", "first\none"), Column("other", "estimate", "other"))
    table = Table("t", (Key("system", "system"),), columns, rows, "A title")
    assert "No interval: first one; other: one prompt." in Result("r", (), (table,)).text()
    rows[0] = {**rows[0], "other": Estimate(2.0, 1.0, 3.0)}
    said = Result("r", (), (table,)).text()
    assert "No interval: first one; other (b): one prompt." in said


def test_many_intervals_stand_below_their_values() -> None:
    """Beside them up to three columns of estimates; of four, on a line of their own."""
    for n, beside in ((3, True), (4, False)):
        names = [f"c{place}" for place in range(n)]
        row = {"system": "a", **dict.fromkeys(names, Estimate(1.0, 0.5, 1.5))}
        columns = tuple(Column(name, "estimate", name) for name in names)
        table = Table("t", (Key("system", "system"),), columns, [row], "A title")
        assert ("1.00 [0.50, 1.50]" in Result("r", (), (table,)).text()) is beside


def shown(column: Column, *cells: object, full: bool = True, **more: object) -> ReportTable:
    """A table of one column, a line for each cell."""
    rows = [{"system": f"s{n}", column.name: cell} | more for n, cell in enumerate(cells)]
    return shown_table(Table("t", (Key("system", "system"),), (column,), rows, "T"), full)


def texts(table: ReportTable) -> list[list[str]]:
    return [[str(cell) for cell in line.cells] for line in table.lines]


def test_cells_are_written_by_their_kind() -> None:
    """Signs, small numbers, parts of a whole, flags, lists; nothing for None."""
    for column, cell, text in (
        (Column("x", "number", "x"), 1.239, "1.24"),
        (Column("x", "number", "x", signed=True), 0.5, "+0.50"),
        (Column("x", "number", "x"), 0.004, "0.00"),
        (Column("x", "number", "x", small=True), 0.0041, "0.0041"),
        (Column("x", "number", "x", digits=0), 3.0, "3"),
        (Column("x", "p", "x"), 0.0004, "< 0.001"),
        (Column("x", "whole", "x"), 1234, "1,234"),
        (Column("x", "whole", "x", of="n"), 16, "16/4,000"),
        (Column("x", "flag", "x"), True, "yes"),
        (Column("x", "flag", "x"), False, "no"),
        (Column("x", "texts", "x"), ("a", "b"), "a; b"),
        (Column("x", "texts", "x"), (), "–"),
        (Column("x", "text", "x"), "word", "word"),
    ):
        assert texts(shown(column, cell, None, n=4000)) == [[text], [""]]


def test_estimates_have_brackets_and_p_values() -> None:
    """A rank that is sure has none; of ends alone there is no value; a p-value is in the cell or in
    a column of its own."""
    whole = Column("x", "estimate", "x", digits=0)
    assert texts(shown(whole, Estimate(1, 1, 1), Estimate(2, 1, 3))) == [["1"], ["2 [1, 3]"]]
    value = Estimate(0.5, 0.25, 0.75, p=0.02)
    assert texts(shown(Column("x", "estimate", "x", digits=3), value)) == [["0.500 [0.25, 0.75]"]]
    assert texts(shown(Column("x", "estimate", "x", ends_only=True), value)) == [["[0.25, 0.75]"]]
    in_cell = shown(Column("x", "estimate", "x", p="cell", signed=True), value, Estimate(0.1), None)
    assert texts(in_cell) == [["+0.50 p 0.02 [0.25, 0.75]"], ["+0.10"], [""]]
    beside = shown(Column("x", "estimate", "x", "points", p="column"), value, None)
    assert beside.columns == ["x,\npoints", "p"]
    assert texts(beside) == [["0.50 [0.25, 0.75]", "0.02"], ["", "–"]]
    adjusted = shown(
        Column("x", "estimate", "x", p="column"), replace(value, p_adjusted=0.04), None
    )
    assert adjusted.columns == ["x", "p,\nadjusted"]
    assert texts(adjusted)[0][1] == "0.04"


def test_columns_without_a_value_are_left_out() -> None:
    """All of them stay where none has one; of ends alone it is the interval that counts."""
    columns = (
        Column("a", "estimate", "a"), Column("b", "estimate", "b"),
        Column("c", "estimate", "c", ends_only=True),
    )  # fmt: skip
    none = Estimate(nan, reason="few")
    rows = [{"system": n, "a": none, "b": Estimate(1.0), "c": Estimate(1.0)} for n in "xy"]
    table = Table("t", (Key("system", "system"),), columns, rows, "T")
    assert shown_table(table, True).columns == ["b"]
    empty = replace(table, rows=[{"system": n, "a": none} for n in "xy"])
    assert shown_table(empty, True).columns == ["a"]


def test_what_changes_least_heads_the_lines() -> None:
    """What all lines have in common stands behind the title, `all` excepted."""
    keys = Key("judge", "judge"), Key("system", "system"), Key("of", "of"), Key("group", "group")
    rows = [
        {"judge": judge, "system": system, "of": "depth", "group": "all", "x": 1}
        for system in "ab" for judge in "mn"
    ]  # fmt: skip
    table = shown_table(Table("t", keys, (Column("x", "whole", "x"),), rows, "T"), True)
    assert (table.title, list(table.heads)) == ("T: depth", ["system", "judge"])
    assert [(line.heading, line.label) for line in table.lines] == [
        ("a", "m"), ("a", "n"), ("b", "m"), ("b", "n"),
    ]  # fmt: skip


def test_what_brackets_hold_is_said_for_all_tables_together() -> None:
    """Each level and each sample once, of what is shown alone; nothing without an interval."""
    column = Column("x", "estimate", "x")
    cells = (
        Estimate(1.0, 0.0, 2.0, over="prompts"), Estimate(1.0, over="items"),
        Estimate(1.0, 0.0, 2.0, 0.9, over="prompts and judges"), None,
    )  # fmt: skip

    def said(*of: Estimate | None, when: When = "always") -> list[str]:
        rows = [{"system": n, "x": cell} for n, cell in enumerate(of)]
        table = Table("t", (Key("system", "system"),), (column,), rows, "T", when)
        parts = figure_parts(Result("r", (), (table,)), False)
        return [str(part) for part in parts if isinstance(part, SmallPrint)]

    both = "In brackets: 95 % or 90 % intervals over prompts or prompts and judges."
    assert said(*cells) == [both]
    assert said(*cells, when="full") == []
    assert said(Estimate(1.0, 0.0, 2.0)) == ["In brackets: 95 % intervals."]
    assert said(Estimate(1.0), None) == []


def test_parts_are_in_order() -> None:
    """The conclusion, tables with their remarks, the remarks on all, the next step."""
    kinds = [part if isinstance(part, str) else part.title for part in parts_of(SAMPLE, True)]
    assert kinds == [
        "Nothing is significant.", "More prompts would.", "Means over prompts",
        "No interval: =birch, composite: one prompt alone.",
        "Undefined: alder, Depth of it: nobody rated it.", "weight: of the panel.",
        "Differences: composite",
        "In brackets: 95 % intervals over prompts.", "mean: of all judges.", "p: adjusted.",
        "Score 20 more prompts.",
    ]  # fmt: skip
    assert "p: adjusted." not in list(parts_of(SAMPLE, False))
    first = first_table(SAMPLE)
    assert first is not None and first.title == "Means over prompts: composite"
    assert first_table(Result("r", (), (replace(MEANS, when="full"),))) is None


def test_long_names_are_cut_in_their_middle() -> None:
    """To the width, where an ellipsis stands for what is between the ends; no two are alike, a wide
    letter takes two columns, and one that would not be shorter stays."""
    assert short_names(["abcdefghij", "abcdefg"], 7) == {"abcdefghij": "ab…ij"}
    assert short_names(["abcdefghijk"], 8) == {"abcdefghijk": "abc…ijk"}
    both = short_names(["abcdefghij", "ab____ghij", "ab…ij"], 7)
    assert both == {"abcdefghij": "abc…hij", "ab____ghij": "ab_…hij"}
    assert short_names(["ab" * 5, "ab__ab__ab"], 4) == {"ab" * 5: "a…b", "ab__ab__ab": "ab…ab"}
    assert short_names(["漢字漢字漢字"], 10) == {"漢字漢字漢字": "漢字…漢字"}
    assert short_names(["a1b", "a2b"], 2) == {"a1b": "…"}
