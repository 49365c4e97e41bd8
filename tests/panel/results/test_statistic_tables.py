"""Rows of statistics as the tables that people read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from persona_panel.results.statistic_tables import StatisticTables
from persona_panel.results.table import Table
from persona_panel.statistics import Reason, Row
from persona_panel.statistics.core.registry import Block, Registry, Statistic, StatisticTable
from persona_panel.statistics.strata import LESS_OTHERS

TABLES = StatisticTables()
ROW = Row("alpha", "all", "depth", value=0.5)


def registry(**of: tuple[str, StatisticTable, str]) -> Registry[Block]:
    """Statistics that compute nothing: by name the heading, the table and the summary."""
    made: Registry[Block] = Registry(
        "persona_panel.statistics.registered", StatisticTable("Statistics")
    )

    def nothing(block: Block) -> Iterator[Statistic]:
        yield from ()

    for order, (name, (heading, table, summary)) in enumerate(of.items()):
        made.register(name, heading, table=table, summary=summary, order=order)(nothing)
    return made


def laid_out(
    rows: Sequence[Row], table: StatisticTable, main_only: bool = False
) -> tuple[list[Table], list[str]]:
    return TABLES.of_registry(rows, registry(alpha=("α", table, "")), "all", main_only=main_only)


def cells(table: Table) -> list[dict[str, object]]:
    """Each row, with the value of each estimate."""
    return [
        {name: getattr(cell, "value", cell) for name, cell in row.items()} for row in table.rows
    ]


def test_a_column_for_each_statistic() -> None:
    """Lines are of a group, what it is broken down by, and a dimension."""
    rows = [ROW, replace(ROW, by="source", by_value="a", value=0.25), replace(ROW, group="m")]
    [table], sentences = laid_out(rows, StatisticTable("T of a judge", remark="So says a judge."))
    assert sentences == []
    assert [key.head for key in table.keys] == ["group", "source", "dimension"]
    assert cells(table) == [
        {"of0": "all", "of1": "all", "of2": "depth", "α": 0.5},
        {"of0": "all", "of1": "a", "of2": "depth", "α": 0.25},
        {"of0": "m", "of1": "all", "of2": "depth", "α": 0.5},
    ]
    assert (table.title, table.when, table.programs) == ("T of a judge", "full", False)
    assert list(table.remarks) == ["So says a judge."]
    named = StatisticTables(word="rater").of_registry(
        rows, registry(alpha=("α", StatisticTable("T of a judge"), "")), "all", main_only=False
    )
    assert named[0][0].title == "T of a rater"
    [column] = table.columns
    assert (column.digits, column.figure, column.p) == (3, "alpha", "cell")


def test_tables_of_all_raters_leave_groups_out() -> None:
    """And are left out themselves where they are not wanted."""
    of = StatisticTable("T", all_raters_only=True)
    rows = [ROW, replace(ROW, group="m")]
    [table], _ = laid_out(rows, of)
    assert [row["of0"] for row in table.rows] == ["all"]
    assert laid_out(rows, of, main_only=True) == ([], [])
    assert laid_out(rows[1:], of) == ([], [])
    assert laid_out([replace(ROW, by=f"source{LESS_OTHERS}")], StatisticTable("T")) == ([], [])


@pytest.mark.parametrize(
    ("n", "numbers"),
    [(12, list(range(1, 13))), (13, [1, 2, 3, 4, 5, 10]), (31, [1, 2, 3, 4, 5, 10, 20, 30])],
)
def test_a_column_for_each_value(n: int, numbers: list[int]) -> None:
    """Of more than twelve the first five and every tenth."""
    rows = [replace(ROW, by="judges", by_value=str(k), value=k) for k in range(1, n + 1)]
    [table], _ = laid_out(rows, StatisticTable("T", columns="by_value"))
    assert [column.head for column in table.columns] == list(map(str, numbers))
    assert len(table.rows) == 1


def test_a_column_for_the_first_and_the_last_group() -> None:
    """People, and all judges."""
    rows = [replace(ROW, group=group, value=n) for n, group in enumerate(("humans", "m", "all"))]
    [table], _ = laid_out(rows, StatisticTable("T", columns="group"))
    assert [column.head for column in table.columns] == ["α,\nhumans", "α,\nall"]
    assert cells(table) == [{"of0": "all", "of1": "depth", "α,\nhumans": 0, "α,\nall": 2}]


def test_a_column_for_each_dimension() -> None:
    """The whole first, then the highest mean over dimensions; twelve lines, and how many more."""
    rows = [
        replace(ROW, dimension=dimension, by="judge", by_value=f"j{n}", value=float(n % 13 + more))
        for n in range(14)
        for dimension, more in (("depth", 0), ("style", 1))
    ]
    rows.append(replace(ROW, by="judge", value=-1.0))
    [table], _ = laid_out(rows, StatisticTable("T", columns="dimension"))
    assert [column.head for column in table.columns] == ["depth", "style"]
    # The thirteenth and the first have the same mean as none: 13 % 13 is 0.
    assert [row["of0"] for row in table.rows] == ["none", *(f"j{n}" for n in range(12, 0, -1))]
    assert list(table.remarks) == ["2 more are in --json."]
    few, _ = laid_out(rows[:24], StatisticTable("T", columns="dimension"))
    assert (len(few[0].rows), list(few[0].remarks)) == (12, [])


def test_a_crossed_table_for_each_dimension() -> None:
    """A line for each `by`; of more than twelve columns a sentence; long names are numbers."""
    rows = [
        replace(ROW, by=line, by_value=column, value=value)
        for line, column, value in (("a", "b", 1.0), ("a", "c", 2.0), ("b", "c", 3.0))
    ]
    of = StatisticTable("T", columns="crossed")
    [table], sentences = laid_out([*rows], of)
    assert sentences == [] and table.title == "T (depth)"
    assert [(column.head, column.digits) for column in table.columns] == [("b", 0), ("c", 0)]
    assert list(table.rows) == [
        {"of": "a", "to b": 1.0, "to c": 2.0}, {"of": "b", "to c": 3.0},
    ]  # fmt: skip
    [table], _ = laid_out([replace(rows[0], value=0.5)], of)
    assert table.columns[0].digits == 2
    long = [replace(row, by_value=(row.by_value or "") * 25) for row in rows]
    [table], _ = laid_out(long, of)
    assert [column.head for column in table.columns] == ["3", "4"]
    assert table.label({"of": "c" * 25}) == f"4. {'c' * 25}"
    assert len(table.rows) == 4
    edge = [replace(row, by_value=(row.by_value or "") * 24) for row in rows]
    assert laid_out(edge, of)[0][0].columns[0].head == "b" * 24
    wide = [replace(ROW, dimension="all", by="a", by_value=str(n)) for n in range(13)]
    assert laid_out(wide, of) == ([], ["T: 13 columns, which --json has."])
    assert len(laid_out(wide[:12], of)[0]) == 1


def test_sentences_where_nothing_has_a_column() -> None:
    """The value, its parts as far as they are few, the note; or why it is undefined."""
    of = StatisticTable("T", columns="none", remark="So.")
    whole = replace(ROW, value=2.0, n_raters=7, note="noted")
    part = [replace(whole, by="judge", by_value=name) for name in "abcdefg"]
    other = replace(part[0], dimension="style")
    text = "T (depth): 2 of 7 α (a, b, c, d, e, f); noted."
    assert laid_out([whole, *part[:6], other], of) == ([], [text, "So."])
    assert laid_out([whole, *part], of)[1][0] == "T (depth): 2 of 7 α; noted."
    none = replace(ROW, dimension="all", reason=Reason.FEW_RATERS)
    assert laid_out([none], of)[1][0] == f"T: undefined ({Reason.FEW_RATERS})."


def test_the_short_table() -> None:
    """The main statistics by dimension, by group, or by stratum, of the composite where it is."""
    main = registry(
        alpha=("α", StatisticTable("T"), "α of judges"), w=("W", StatisticTable("T"), "")
    )
    rows = [
        ROW, replace(ROW, statistic="w"), replace(ROW, dimension="composite", value=0.75),
        replace(ROW, value=0.1), replace(ROW, by="source", by_value="a", value=0.2),
        replace(ROW, by="source", by_value="a", dimension="composite", value=0.3),
    ]  # fmt: skip
    table = TABLES.summary("S", rows[:4], main, "dimension")
    assert cells(table) == [
        {"of0": "depth", "α of judges": 0.5}, {"of0": "composite", "α of judges": 0.75},
    ]  # fmt: skip
    assert (table.when, table.columns[0].digits) == ("short", 2)
    by_group = TABLES.summary("S", [ROW, replace(ROW, group="m", value=0.1)], main, "group")
    assert [row["of0"] for row in by_group.rows] == ["all", "m"]
    whole = TABLES.summary("S", rows, main, "source")
    assert whole.title == "S: composite"
    assert cells(whole) == [{"of0": "a", "α of judges": 0.3}]
    each = TABLES.summary("S", rows[:5], main, "source")
    assert (each.title, [key.head for key in each.keys]) == ("S", ["source", "dimension"])
    assert cells(each) == [{"of0": "a", "of1": "depth", "α of judges": 0.2}]


def test_strata_above_the_others() -> None:
    """A table of the statistics of the first table alone; none where that was not tested."""
    two = registry(alpha=("α", StatisticTable("T"), ""), w=("W", StatisticTable("U"), ""))
    by = f"source{LESS_OTHERS}"
    rows = [replace(ROW, by=by, by_value="a"), replace(ROW, statistic="w", by=by, by_value="a")]
    [table] = TABLES.stratum_differences(rows, two, "source")
    assert table.title == "By source: above the mean of the others"
    assert cells(table) == [{"of0": "a", "of1": "depth", "α": 0.5}]
    assert TABLES.stratum_differences([ROW], two, "source") == []


def test_the_group_of_all_raters_need_not_be_named() -> None:
    """`all` where it is, else the only one besides people and judges without a persona."""
    for groups, main in (
        (("all", "m"), {"all"}), (("m", "humans"), {"m"}), (("m", "n"), set()),
        (("m", "m, no persona"), {"m"}),
    ):  # fmt: skip
        table = TABLES.for_programs([replace(ROW, group=group) for group in groups], {})
        assert set(table.keys[2].optional) == main
    table = TABLES.for_programs([replace(ROW, by="source"), ROW], {"depth": "Depth"})
    assert set(table.keys[3].optional) == {"source"}
    assert table.keys[1].label({"dimension": "depth"}) == "Depth"
    assert cells(table)[1]["estimate"] == 0.5


def test_counts_have_no_decimals_and_notes_are_given_once() -> None:
    """A number needed is whole; a note of several groups names them."""
    needed = replace(ROW, statistic="alpha_needed")
    assert TABLES.table("T", [("n", ("a",), needed)], ("x",)).columns[0].digits == 0
    assert TABLES.table("T", [("n", ("a",), ROW)], ("x",)).columns[0].digits == 3
    order = [("n", ("a",), ROW), ("m", ("b",), ROW)]
    table = TABLES.table("T", order, ("x",), ["m", "other", "n"])
    assert [column.head for column in table.columns] == ["m", "n"]
    made = registry()
    made.register("alpha", "α\nof", table=StatisticTable("T"), show_note=True)(lambda block: ())
    rows = [
        replace(ROW, group="m", note="odd"), replace(ROW, group="n", note="odd"),
        replace(ROW, dimension="all", note="even"),
        replace(ROW, note="undefined", reason=Reason.FEW_RATERS, by="x", by_value="y"),
    ]  # fmt: skip
    [table], _ = TABLES.of_registry(rows, made, "all", main_only=False)
    assert list(table.remarks) == ["α of (m, n; depth): odd.", "α of: even."]


def test_lines_are_ordered_by_what_is_defined() -> None:
    """An undefined value counts for nothing; without any a line is as 0."""
    nan = float("nan")
    values = {"a": (1.0, nan), "b": (2.0, 0.5), "c": (nan, nan), "d": (-1.0, -3.0)}
    rows = [
        replace(ROW, by="judge", by_value=name, dimension=dimension, value=value)
        for name, of in values.items()
        for dimension, value in zip(("depth", "style"), of, strict=True)
    ]
    [table], _ = laid_out(rows, StatisticTable("T", columns="dimension"))
    assert [row["of0"] for row in table.rows] == ["b", "a", "c", "d"]
