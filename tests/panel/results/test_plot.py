"""Forest plots of results."""

from __future__ import annotations

import pytest

from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics import Estimate
from tests.helpers.figures import names, thick_lines
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
