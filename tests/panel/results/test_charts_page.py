"""Figures as a paper takes them: size, letters, names as they come."""

from __future__ import annotations

import re
from math import nan
from pathlib import Path

import matplotlib as mpl
import pytest

from persona_panel.results.charts import (
    ForestMarks,
    ForestPanel,
    ForestPoint,
    ForestSeries,
    PaperFigure,
    label,
)
from persona_panel.results.charts import forest as draw_forest
from tests.helpers.figures import names

PNG = b"\x89PNG"


def a_figure(*rows: str, columns: int = 1) -> PaperFigure:
    """A point for each row."""
    series = ForestSeries("mean", [ForestPoint(float(place)) for place in range(len(rows))])
    panels, marks = [ForestPanel("", [series])], ForestMarks("95 %")
    return draw_forest(rows, panels, "Mean (points)", marks, columns=columns)  # type: ignore[arg-type]


@pytest.mark.parametrize(("columns", "inches"), [(1, 3.3), (2, 6.9)])
def test_a_figure_is_as_wide_as_the_columns_of_a_page(columns: int, inches: float) -> None:
    """The width is that of one or two columns, whatever the names are; more rows make it higher."""
    few, many = a_figure("a", columns=columns), a_figure(*"abcdefghijkl", columns=columns)
    long = a_figure("a-very-long-name/of-a-model-" * 4, columns=columns)
    assert {one.get_figwidth() for one in (few, many, long)} == {inches}
    assert many.get_figheight() > few.get_figheight() + 10 * 0.2


def test_everything_that_is_drawn_is_inside_of_the_figure() -> None:
    """With long names, too, no text is cut off at the border."""
    for columns in (1, 2):
        figure = a_figure("meta-llama/Llama-3.1-70B-Instruct-turbo", "W" * 90, columns=columns)
        figure.canvas.draw()
        box = figure.get_tightbbox()
        assert box.x0 >= 0 and box.y0 >= 0
        assert box.x1 <= figure.get_figwidth() and box.y1 <= figure.get_figheight()


@pytest.mark.parametrize("kind", ["pdf", "eps"])
def test_letters_are_embedded_as_truetype_whatever_the_user_has_set(
    tmp_path: Path, kind: str
) -> None:
    """No letter is of Type 3, which publishers refuse, and the user's settings stay as they are."""
    path = tmp_path / f"figure.{kind}"
    with mpl.rc_context({"pdf.fonttype": 3, "ps.fonttype": 3}):
        a_figure("elm").savefig(path)
        assert mpl.rcParams["pdf.fonttype"] == 3
    content = path.read_bytes()
    assert (b"/FontFile2" if kind == "pdf" else b"/FontType 42") in content
    assert re.search(rb"Type ?3\b", content) is None


def test_names_are_drawn_as_text_whatever_signs_they_have(tmp_path: Path) -> None:
    """Dollars are no formula, and controls and signs that turn the writing are escaped."""
    figure = a_figure("$x^2$ & $\\frac{$", "a\x1b[31m\u202eb", "l1\nl2")
    assert names(figure.axes[0]) == ["$x^2$ & $\\frac{$", "a\\x1b[31m\\u202eb", "l1 l2"]
    figure.savefig(tmp_path / "figure.svg")
    assert "$x^2$ &amp; $\\frac{$" in (tmp_path / "figure.svg").read_text("utf-8")


def test_letters_that_no_font_has_are_named_once(tmp_path: Path) -> None:
    """Instead of a warning for every letter at every saving there is one, when it is drawn, that
    says what to install."""
    with pytest.warns(UserWarning, match="𒀀.*drawn as boxes; install") as told:
        figure = a_figure("𒀀𒀀", "elm")
    figure.savefig(tmp_path / "figure.png")
    assert len(told) == 1


def test_a_notebook_is_given_a_picture() -> None:
    """A figure that is the value of a cell is shown, without pyplot."""
    assert a_figure("elm")._repr_png_().startswith(PNG)


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("elm", "elm"),
        ("meta-llama/Llama-3.1", "meta-llama/\nLlama-3.1"),
        ("abcdefghijklmnop", "abcdefghijkl\nmnop"),
        ("漢字漢字漢字漢字", "漢字漢字漢字\n漢字"),
        ("one two three four five six seven eight", "one two\nthree four\nfive six…"),
    ],
)
def test_a_long_name_is_folded_between_its_words(name: str, drawn: str) -> None:
    """In a word only where that is too wide by itself; wide letters count twice; the fourth line
    is cut."""
    assert label(name, 12) == drawn


def test_what_has_no_value_is_said_in_its_row() -> None:
    """A row without a value keeps its place, and says so."""
    series = ForestSeries("mean", [ForestPoint(1.0), ForestPoint(nan)])
    figure = draw_forest(
        ["elm", "oak"], [ForestPanel("", [series])], "Mean", ForestMarks("95 %"), columns=1
    )
    axis = figure.axes[0]
    assert names(axis) == ["elm", "oak"]
    assert [text.get_text() for text in axis.texts] == ["no value"]


def test_a_figure_of_nothing_can_be_drawn() -> None:
    """No rows, or rows without any value, are an empty figure and no error."""
    assert a_figure()._repr_png_().startswith(PNG)
    empty = ForestSeries("mean", [ForestPoint(nan)])
    figure = draw_forest(["a"], [ForestPanel("", [empty])], "Mean", ForestMarks(), columns=2)
    assert figure._repr_png_().startswith(PNG)


def test_the_axis_has_its_label_below() -> None:
    """One for all panels, within the figure."""
    figure = a_figure("elm", "oak")
    assert "Mean (points)" in [text.get_text() for text in figure.findobj(mpl.text.Text)]
