"""Forest plots of results."""

from __future__ import annotations

from math import nan

import pytest

from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics import Difference, Estimate
from tests.helpers.figures import legend, names, points, thick_lines
from tests.helpers.results import SAMPLE


def test_the_main_estimates_are_drawn() -> None:
    """A row each, with what the intervals are over; of a result without estimates nothing is."""
    figure = SAMPLE.plot()
    assert (figure.get_figwidth(), SAMPLE.plot(columns=2).get_figwidth()) == (3.3, 6.9)
    labels = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert [" ".join(label.split()) for label in labels] == [
        "alder, composite", "=birch, composite", "alder, Depth of it",
    ]  # fmt: skip
    assert figure.caption == "Means over prompts: mean; lines: 95 % interval over prompts."
    with pytest.raises(ValueError, match="no table"):
        Result("empty", (), ()).plot()


def test_figures_of_a_name_are_drawn() -> None:
    """The first table with such figures is drawn; a wrong name is answered by the nearest."""
    figure = SAMPLE.plot("difference")
    zeros = [
        [list(line.get_xdata()) for line in plot.axes[0].lines].count([0, 0])
        for plot in (figure, SAMPLE.plot())
    ]
    assert zeros == [1, 0]
    assert figure.get_supxlabel() == "difference"
    assert SAMPLE.plot().get_supxlabel() == "mean (points, higher is better)"
    assert thick_lines(figure.axes[0]) == [(-0.5, 2.5)]
    assert figure.caption.startswith(f"{SAMPLE['differences'].title}: difference")
    assert len(figure.axes[0].get_yticklabels()) == len(SAMPLE["differences"].rows)
    with pytest.raises(ValueError, match=r"called 'diference' \(did you mean 'difference'\?\)"):
        SAMPLE.plot("diference")


@pytest.mark.parametrize(("head", "name"), [("Mean\nof it", "Mean of it"), ("", "m")])
def test_figures_are_called_by_their_head(head: str, name: str) -> None:
    """On the axis and in the caption; by the name of the column where it has none."""
    column = Column("m", "estimate", head, figure="m")
    rows = [{"who": "a", "m": Estimate(1.0, 0.5, 2.0, 0.9, over="items")}, {"who": "b", "m": None}]
    table = Table("t", (Key("who", "who"),), (column,), rows, "T")
    figure = Result("r", (), (table,)).plot("m")
    assert figure.get_supxlabel() == name
    assert figure.caption == f"T: {name}; lines: 90 % interval over items."
    assert names(figure.axes[0]) == ["a"]


def test_a_curve_goes_from_the_least_to_the_largest() -> None:
    """Rows that have a value, the last first, with their choices and the main one; the caption says
    how many there are and how many more."""
    cells = [Difference(x, x - 1, x + 1, over="prompts", a="a", b="b") for x in (2.0, 0.5, -3.0)]
    rows = [
        {"n": n, "d": cell, "choices": [("model", "gpt")], "main": n == 1}
        for n, cell in enumerate([*cells, Difference(nan, a="a", b="b")])
    ]
    column = Column("d", "estimate", "difference\nof it", figure="d")
    table = Table("t", (Key("n", "n"),), (column,), rows, "T", curve="choices")
    figure = Result("r", (), (table,)).plot()
    above, below = figure.axes
    assert [line.get_ydata()[0] for line in above.lines][:3] == [-3.0, 0.5, 2.0]
    assert [line.get_marker() for line in above.lines][:3] == ["o", "D", "o"]
    assert names(below) == ["gpt"] and above.get_ylabel() == "T"
    said = "T: difference of it of 3 analyses; lines: 95 % interval over prompts, pale where"
    assert figure.caption.startswith(said)
    assert figure.caption.endswith("its choices. 1 more have no value.")
    whole = Result("r", (), (Table("t", table.keys, (column,), rows[:3], "T", curve="choices"),))
    assert whole.plot().caption.endswith("its choices.")
    assert len(whole.plot("d").axes) == 1


def test_columns_of_one_name_are_drawn_side_by_side() -> None:
    """A series each, of the rows that have any; numbers without an interval are points."""
    columns = (
        Column("all", "estimate", "all", figure="m", unit="points"),
        Column("half", "number", "half", figure="m"),
    )
    rows = [
        {"who": "a", "all": Estimate(1.0, 0.5, 2.0, over="items"), "half": 1.5},
        {"who": "b", "all": Estimate(3.0), "half": None}, {"who": "c", "all": None, "half": None},
    ]  # fmt: skip
    table = Table("t", (Key("who", "who"),), columns, rows, "T")
    figure = Result("r", (), (table,)).plot("m")
    assert names(figure.axes[0]) == ["a", "b"]
    assert legend(figure) == ["all", "half", "95 % interval over items"]
    assert points(figure.axes[0], "s") == [(1.5, True)]
    assert figure.get_supxlabel() == "m (points)"
    assert figure.caption == "T: m; lines: 95 % interval over items."
    plain = Table("t", table.keys, columns, [{**rows[1], "half": 2.0}], "T")
    assert Result("r", (), (plain,)).plot("m").caption == "T: m."
