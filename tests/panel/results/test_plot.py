"""Forest plots of results."""

from __future__ import annotations

import pytest

from persona_panel.results.result import Result
from tests.helpers.figures import thick_lines
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
