"""How tables are laid out for people: names of lines, reasons, places of intervals."""

from __future__ import annotations

from dataclasses import replace

from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics import Estimate
from tests.helpers.results import MEANS


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
