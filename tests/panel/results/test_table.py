"""Tables of results: what people see of them, what their rows are called."""

from __future__ import annotations

from dataclasses import replace

import pytest

from persona_panel.results.table import (
    Column,
    Key,
    Table,
    When,
    choices_by_kind,
    document_of,
    for_programs,
    one_line,
    row_of,
    table_columns,
)
from persona_panel.statistics import Difference, Estimate
from tests.helpers.results import DIFFERENCES, MEANS


@pytest.mark.parametrize(
    ("when", "in_short", "in_full"),
    [("always", True, True), ("short", True, False), ("full", False, True)],
)
def test_a_table_is_shown_in_its_reports(when: When, in_short: bool, in_full: bool) -> None:
    """Where it has a title and a row."""
    table = replace(MEANS, when=when)
    assert (table.is_shown(False), table.is_shown(True)) == (in_short, in_full)
    assert not replace(table, title="").is_shown(in_full)
    assert not replace(table, rows=[]).is_shown(in_full)
    if in_short:
        assert not replace(table, short={"dimension": {"style"}}).is_shown(False)


def test_rows_and_columns_that_people_see() -> None:
    """In short the rows of `short`; columns with a head and a cell."""
    assert [row["system"] for row in MEANS.shown_rows(False)] == ["alder", "=birch"]
    assert len(MEANS.shown_rows(True)) == 3
    assert [column.name for column in MEANS.shown_columns(False)] == ["mean", "rated", "verdict"]
    names = ["mean", "weight", "rated", "verdict"]
    assert [column.name for column in MEANS.shown_columns(True)] == names
    bare = replace(MEANS, rows=[{**row, "rated": None} for row in MEANS.rows])
    assert [column.name for column in bare.shown_columns(True)] == ["mean", "weight", "verdict"]


def test_the_charted_column() -> None:
    """The one named, else the first of estimates; a heat map or a scale has none."""
    columns = (Column("n", "whole", "n"), Column("a", "estimate"), Column("b", "estimate"))
    table = Table("t", (), columns, [])
    for chart, name in (("", "a"), ("b", "b"), ("other", "a")):
        charted = replace(table, chart=chart).charted()
        assert charted is not None and charted.name == name
    assert replace(table, columns=columns[:1]).charted() is None
    assert replace(table, heat=1.0).charted() is None
    assert replace(table, scale=(1.0, 5.0)).charted() is None


def test_rows_have_names() -> None:
    """The keys that people read, sides as a difference; `all` is not said beside others."""
    row = MEANS.rows[2]
    assert MEANS.label(row) == "alder, Depth of it"
    assert MEANS.label(row, ["dimension"]) == "Depth of it"
    assert MEANS.label({**row, "dimension": "all"}) == "alder"
    assert MEANS.label({"dimension": "all"}, ["dimension"]) == "all"
    assert MEANS.label({"dimension": "depth"}) == "Depth of it"
    [difference] = DIFFERENCES.rows
    assert DIFFERENCES.label(difference) == "alder − =birch, composite"
    assert DIFFERENCES.label(difference, ["dimension"]) == "composite"
    assert DIFFERENCES.label(difference, ["a", "b"]) == "alder − =birch"


def test_a_frame_has_the_parts_of_estimates() -> None:
    """Value and ends always, the others where any cell has them."""
    column = Column("x", "estimate")
    cells = [Estimate(1.0, 0.5, 1.5), None]

    def parts(*of: Estimate | None) -> dict[str, list[object]]:
        table = Table("t", (Key("k"),), (column,), [{"k": "a", "x": cell} for cell in of])
        return {each.name: list(each.values) for each in table_columns(table)}

    assert parts(*cells) == {"k": ["a", "a"], "x": [1.0, None], "x_low": [0.5, None],
                             "x_high": [1.5, None]}  # fmt: skip
    assert parts(Estimate(1.0, n=3, p=0.02, reason="few"))["x_n"] == [3]
    assert parts(Estimate(1.0, p=0.02))["x_p"] == [0.02]
    texts = Table("t", (), (Column("x", "texts"),), [{"x": ("a", "b")}, {}])
    assert list(table_columns(texts)[0].values) == ["a; b", ""]


def test_rows_for_programs() -> None:
    """Each key and column; estimates as objects, lists as lists."""
    columns = (*for_programs("texts", "x", "y"), Column("z", "estimate"))
    assert [(column.name, column.kind, column.head) for column in columns[:2]] == [
        ("x", "texts", ""), ("y", "texts", ""),
    ]  # fmt: skip
    table = Table("t", (Key("k"),), columns, [{"k": "a", "x": (1, 2), "z": Estimate(1.0)}])
    [line] = document_of(table)
    assert line == {"k": "a", "x": ["1", "2"], "y": None, "z": Estimate(1.0).document()}
    of = row_of(Difference(1.0, a="m", b="n"), (Key("a"), Key("b"), Column("value", "number")), b=2)
    assert of == {"b": 2, "a": "m", "value": 1.0}


def test_choices_are_by_kind_and_the_commonest_first() -> None:
    """Kinds as they appear."""
    rows = [[("level", "x"), ("who", "a")], [("level", "y"), ("who", "a")], [("level", "y")]]
    assert choices_by_kind(rows) == [("level", "y"), ("level", "x"), ("who", "a")]
    assert one_line("a\nb  c") == "a b c"


def test_a_table_is_for_programs_unless_it_says_otherwise() -> None:
    """And of numbers to two digits without signs, in both reports, neither a heat map nor of
    sides."""
    table = Table("t", (Key("who"),), (Column("x", "number"),), [])
    assert table.programs and table.when == "always"
    assert (table.heat, table.scale, table.sides, table.charted()) == (None,) * 4
    [column] = table.columns
    assert column.digits == 2 and not (column.small or column.signed or column.ends_only)
    assert not column.full and not table.keys[0].optional
