"""Results as HTML: charts, heat maps, tables that open."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html import unescape
from math import nan

import pytest
from markupsafe import escape

from persona_panel.results.definitions import DEFINITIONS
from persona_panel.results.formats.html import (
    first_screen,
    gauge,
    page,
    picture,
    section,
    shade,
)
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics import Difference, Estimate
from tests.helpers.results import MEANS, SAMPLE


def test_html_is_a_document_that_runs_nothing() -> None:
    """The same words, intervals beside values, a note where something lacks, a chart of the main
    estimates; names are escaped."""
    hostile = replace(MEANS, rows=[{**MEANS.rows[0], "system": "<script>alert(1)</script>"}])
    page = Result("sample", ("A & B.",), (MEANS, hostile)).text("html", full=True)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "A &amp; B." in page
    assert "default-src 'none'" in page
    assert page.count("<section") == page.count("</section>") == 1
    text = " ".join(unescape(re.sub("<[^>]*>", " ", page)).split())
    assert "6.00 [5.50, 6.25]" in text
    assert "one prompt alone" in text
    # From 1 to 9, as the limits have it: 6 lies at five eighths.
    assert 'cx="62.50%"' in page
    assert SAMPLE._repr_html_() == SAMPLE.text("html")


def test_a_heat_map_tints_what_is_beyond_chance() -> None:
    """A cell whose interval leaves out 0 is tinted by sign and size, one that is significant is
    underlined, one that was tested alone and is within chance is a dot, and one that lacks a test
    is a plain number; what its intervals are is in its title."""
    cells = {
        "far": Estimate(-2.0, -3.0, -1.0, p_adjusted=0.01),
        "near": Estimate(0.5, 0.1, 0.9, p_adjusted=0.2),
        "open": Estimate(0.4, -0.1, 0.9),
        "noise": Estimate(0.3, p=0.4),
        "untested": Estimate(1.0, reason="one prompt"),
        "plain": 2.0,
    }
    columns = tuple(
        Column(name, "number" if name == "plain" else "estimate", name) for name in cells
    )
    table = Table("heat", (Key("who", "who"),), columns, [{"who": "ann", **cells}], "H", heat=1.0)
    page = Result("sample", (), [table]).text("html")
    shown = dict(
        re.findall(r'<td class="([^"]*)" data-label="(\w+)"', page)[n][::-1] for n in range(6)
    )
    assert shown == {
        "far": "c n3 significant", "near": "c p1", "open": "c ", "noise": "c ", "untested": "c ",
        "plain": "c p3",
    }  # fmt: skip
    text = [re.sub("<[^>]*>", "", cell) for cell in re.findall("<td.*?</td>", page)]
    assert text == ["−2.00", "+0.50", "+0.40", "·", "+1.00", "+2.00"]
    assert 'title="95 % interval −3.00 to −1.00; adjusted p 0.01"' in page
    assert 'title="+0.30; p 0.4"' in page
    assert "<svg" not in page


def test_a_chart_has_wider_intervals_marks_and_hollow_means() -> None:
    """Behind a row's interval stands that of the column `wide`; values of its own are marks below;
    of a row without a value what stands for it is a hollow circle."""
    columns = (
        Column("mean", "estimate", "mean"),
        Column("both", "estimate", "both", ends_only=True),
        Column("instead", "number"),
    )
    rows = [
        {"system": "alder", "mean": Estimate(4.0, 3.0, 5.0, limits=(0, 8)),
         "both": Estimate(4.0, 2.0, 6.0), "marks": (3.0, 5.0)},
        {"system": "birch", "mean": Estimate(float("nan"), reason="not ranked"), "instead": 2.0},
    ]  # fmt: skip
    table = Table(
        "m", (Key("system", "system"),), columns, rows, "M", wide="both", hollow="instead"
    )
    page = Result("sample", (), [table]).text("html")
    assert '<line class="whisker" x1="25.00%" x2="75.00%"' in page
    assert page.count('class="tick"') == 2
    assert (
        '<circle class="dot" cx="50.00%"' in page and '<circle class="hollow" cx="25.00%"' in page
    )


def test_html_has_a_picture_and_closed_tables() -> None:
    """The main estimates of the first table that can be drawn are a picture, of at most 20 rows,
    without the intervals that it draws; every table opens, and says how its figures are computed;
    on a page that lists responses what is of one links to it there."""
    of = {"prompt_id": "a b", "id": "r/1", "response": "first"}
    table = Table(
        "r", (Key("response", "response"),), (Column("x", "whole", "x"),), [{**of, "x": 1}], "R"
    )
    rows = [{**MEANS.rows[0], "system": f"s{n}"} for n in range(25)]
    many = replace(MEANS, rows=rows, when="full", title="Many")
    result = Result("sample", ("A sentence.",), [table, many])
    page = result.text("html", full=True)
    assert page.index("A sentence.") < page.index("<table") < page.index("<details")
    picture, _, closed = page.partition("<details>")
    assert ">s19<" in picture and ">s20<" not in picture and "The first 20 of 25 rows." in picture
    assert "[5.50, 6.25]" not in picture and "[5.50, 6.25]" in closed
    assert "● mean, band: 95 % interval over prompts" in picture.replace("\u00a0", " ")
    assert re.findall("<summary>(.*?)</summary>", closed) == ["R", "Figures"]
    assert f"<i>mean</i>: {escape(DEFINITIONS['mean'])}." in closed.replace("\u00a0", " ")
    assert "<details open" not in page and "<svg" not in closed
    assert '<table class="forest"' not in result.text("html")
    assert 'href="#r/a%20b/r%2F1">first</a>' in section(result, "S", linked=True)
    assert "<a " not in section(result, "S")
    assert "<code>do it</code> has it" in section(result, "S", command="do it")


def test_a_scale_shades_means() -> None:
    """By the quarter of the scale that a mean lies in; the number is in the cell."""
    columns = tuple(Column(name, "number", name) for name in ("low", "high", "none"))
    row = {"system": "alder", "low": 1.2, "high": 9.0, "none": float("nan")}
    table = Table("m", (Key("system", "system"),), columns, [row], "M", scale=(1.0, 9.0))
    picture, _, closed = Result("sample", (), [table]).text("html").partition("<details>")
    assert re.findall(r'class="(c [^"]*)" data-label="\w+">([^<]*)', picture) == [
        ("c s1", "1.2"), ("c s8", "9.0"), ("c ", "–"),
    ]  # fmt: skip
    assert "<table" not in closed


@pytest.mark.parametrize(("n_rows", "n_columns"), [(25, 2), (2, 25)])
def test_a_large_heat_map_is_a_picture_of_a_part_of_it(n_rows: int, n_columns: int) -> None:
    """Of its first 20 rows and columns; the whole table opens."""
    columns = tuple(Column(f"c{n}", "number", f"c{n}") for n in range(n_columns))
    rows = [{"who": f"w{n}", **{c.name: 1.0 for c in columns}} for n in range(n_rows)]
    table = Table("h", (Key("who", "who"),), columns, rows, "H", heat=1.0)
    picture, _, closed = Result("sample", (), [table]).text("html").partition("<details>")
    for html, most in ((picture, 20), (closed, 25)):
        assert html.count("<tr>") == 1 + min(n_rows, most)
        assert html.count("<td") == min(n_rows, most) * min(n_columns, most)


def test_what_stands_beside_is_a_diamond() -> None:
    """Estimates beside a row's, such as people's, are drawn below it, with their interval."""
    columns = Column("mean", "estimate", "mean"), Column("theirs", "estimate", "people")
    mean = Estimate(4.0, 3.0, 5.0, limits=(0, 8))
    rows = [
        {"system": "a", "mean": mean, "theirs": Estimate(6.0, 2.0, 8.0)},
        {"system": "b", "mean": mean},
    ]
    table = Table("m", (Key("system", "system"),), columns, rows, "M", beside="theirs")
    picture = Result("sample", (), [table]).text("html").partition("<details>")[0]
    assert picture.count('<path class="theirs"') == 1
    assert '<line class="theirs" x1="25.00%" x2="100.00%"' in picture
    assert "◇ people" in picture


@pytest.mark.parametrize(
    ("estimate", "marks", "at"),
    [
        (Estimate(0.5, 0.4, 0.6), {}, ["50.00%"]),
        (Estimate(0.5), {"needed": 0.75}, ["50.00%"]),
        (Estimate(40.0, exact=True), {"now": 10.0}, ["100.00%"]),
        (Estimate(-0.5, -1.0, 0.0), {}, ["25.00%"]),
        (Difference(0.5, 0.0, 1.0, a="a", b="b"), {}, ["75.00%"]),
        (Estimate(0.5), {}, []),
        (Estimate(float("nan"), reason="few"), {"needed": 0.5}, []),
    ],
    ids=["share", "mark", "count", "negative", "difference", "alone", "undefined"],
)
def test_a_gauge_has_the_figure_beside_what_it_is_compared_with(
    estimate: Estimate, marks: dict[str, float], at: list[str]
) -> None:
    """From 0 to 1 or as far as values reach, or about 0; labels at the marks; nothing where there
    is nothing to draw."""
    drawn = gauge(estimate, marks)
    assert re.findall(r'class="dot" cx="([^"]*)"', drawn) == at
    assert [label in drawn for label in marks] == [bool(at)] * len(marks)


def test_the_key_says_what_bands_are_over() -> None:
    """As the first estimate with an interval does."""
    column = Column("mean", "estimate", "mean")
    for cells, text in (
        ([Estimate(1.0, over="items"), Estimate(2.0, 1.0, 3.0, 0.9, over="prompts")],
         "95 % interval over prompts"),
        ([Estimate(2.0, 1.0, 3.0, 0.9)], "90 % interval<"),
    ):  # fmt: skip
        rows = [{"system": f"s{n}", "mean": cell} for n, cell in enumerate(cells)]
        table = Table("m", (Key("system", "system"),), (column,), rows, "M")
        page = Result("r", (), [table]).text("html").replace("\u00a0", " ")
        assert f"● mean, band: {text}" in page


def test_a_curve_has_each_estimate_above_its_choices() -> None:
    """From the least at the left: three of three columns stand at 1/6, 3/6 and 5/6 of the width; a
    line is grey where 0 lies in it, the main one a diamond; choices are marked below theirs."""
    column = Column("difference", "estimate", "difference", signed=True)
    rows = [
        {"n": 1, "difference": Difference(2.0, 1.0, 3.0, over="prompts", a="a", b="b"),
         "choices": [("model", "gpt"), ("weights", "even")]},
        {"n": 2, "difference": Difference(nan, a="a", b="b"), "choices": [("model", "none")]},
        {"n": 3, "difference": Difference(1.0, -1.0, 3.0, a="a", b="b"), "main": True,
         "choices": [("model", "llama"), ("weights", "even")]},
        {"n": 4, "difference": Difference(-2.0, -3.0, -1.0, a="a", b="b"),
         "choices": [("model", "gpt"), ("weights", "by skill")]},
    ]  # fmt: skip
    table = Table("m", (Key("n", "n"),), (column,), rows, "M", curve="choices")
    drawn = Result("sample", (), [table]).text("html").partition("<details>")[0]
    kinds = re.findall(r'<line class="(whisker|mark)" x1="([^"]*)"', drawn)
    assert kinds == [("whisker", "16.67%"), ("mark", "50.00%"), ("whisker", "83.33%")]
    assert re.findall(r'<circle cx="([^"]*)"', drawn) == ["16.67%", "83.33%"]
    assert re.findall(r'<svg class="over" x="([^"]*)"', drawn) == ["50.00%"]
    chosen = {
        name: re.findall(r'class="tick" x1="([^"]*)"', marks)
        for name, marks in re.findall(r'class="name foreign">([^<]*)</th>(.*?)</tr>', drawn)
    }
    assert list(chosen.items()) == [
        ("gpt", ["16.67%", "83.33%"]), ("llama", ["50.00%"]),
        ("even", ["50.00%", "83.33%"]), ("by skill", ["16.67%"]),
    ]  # fmt: skip
    # A line between kinds, and estimates on an axis from -4 to 4, 0 in its middle.
    assert drawn.count('<tr class="first">') == 2
    assert re.findall(r'<line class="zero"[^>]*y1="([^"]*)"', drawn) == ["50.0%"]
    assert "line: 95 % interval over prompts; grey: 0 lies in it" in drawn.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("cell", "better", "css", "text"),
    [
        (Estimate(1.0, 0.5, 1.5), "higher", "p3", "+1.00"),
        (Estimate(1.0, 0.5, 1.5), "lower", "n3", "+1.00"),
        (Estimate(-0.5, -0.9, -0.1), "higher", "n2", "−0.50"),
        (Estimate(0.2, 0.1, 0.3), "higher", "p1", "+0.20"),
        (Estimate(0.5, -0.1, 1.1), "higher", "", "+0.50"),
        (Estimate(0.5, p=0.2), "higher", "", "·"),
        (Estimate(0.5, p=0.01, p_adjusted=0.2), "higher", "p2", "+0.50"),
        (Estimate(nan, reason="few"), "higher", "", "–"),
    ],
)
def test_tints_are_thirds_of_the_largest(cell: Estimate, better: str, css: str, text: str) -> None:
    """In thirds of the furthest that it reaches, by the side that is better; a dot stands for what
    a test alone does not find."""
    column = Column("x", "estimate", "x", better=better)  # type: ignore[arg-type]
    table = Table("h", (Key("who", "who"),), (column,), [{"who": "a", "x": cell}], "H", heat=1.0)
    drawn = Result("sample", (), [table]).text("html").partition("<details>")[0]
    [(found, shown)] = re.findall(r'<td class="c ?(\w*)[^>]*>(.*?)</td>', drawn)
    assert (found, re.sub("<[^>]*>", "", shown).strip()) == (css, text)


@pytest.mark.parametrize(
    ("signed", "cells", "at"),
    [
        (True, [Estimate(1.0, 0.5, 1.5)], "83.33%"),
        (False, [Estimate(1.0, 0.5, 2.0)], "33.33%"),
        (False, [Difference(1.0, 0.5, 1.5, a="a", b="b")], "83.33%"),
        (False, [Estimate(1.0, 0.5, 2.5), Difference(1.0, 0.5, 1.5, a="a", b="b")], "25.00%"),
    ],
)
def test_differences_and_signed_figures_lie_about_0(
    signed: bool, cells: list[Estimate], at: str
) -> None:
    """On an axis as long on either side; others from the least end to the largest."""
    column = Column("x", "estimate", "x", signed=signed)
    rows = [{"system": f"s{n}", "x": cell} for n, cell in enumerate(cells)]
    page = Result("r", (), [Table("t", (Key("system", "system"),), (column,), rows, "T")])
    assert re.findall(r'class="dot" cx="([^"]*)"', page.text("html")) == [at] * len(cells)


def test_a_picture_has_the_ends_of_ranks_alone() -> None:
    """Those of other figures are drawn."""
    columns = Column("m", "estimate", "m"), Column("r", "estimate", "rank", digits=0)
    row = {"system": "s", "m": Estimate(6.0, 5.5, 6.5), "r": Estimate(2, 1, 3)}
    table = Table("t", (Key("system", "system"),), columns, [row], "T")
    picture, _, closed = Result("r", (), [table]).text("html").partition("<details>")
    assert [end in picture for end in ("[1, 3]", "[5.50, 6.50]")] == [True, False]
    assert "[1, 3]" in closed and "[5.50, 6.50]" in closed


def test_words_are_set_to_the_left_and_figures_to_the_right() -> None:
    """By the kind of the column; words are of another language, perhaps."""
    columns = Column("n", "whole", "n"), Column("w", "text", "w"), Column("ws", "texts", "ws")
    row = {"system": "s", "n": 1, "w": "word", "ws": ("a", "b")}
    page = Result("r", (), [Table("t", (Key("system", "system"),), columns, [row], "T")])
    found = re.findall(r'<td class="([^"]*)" data-label="(\w+)"', page.text("html"))
    assert found == [("r", "n"), ("foreign t", "w"), ("foreign t", "ws")]


@pytest.mark.parametrize(
    ("chart", "drawn"), [("", "abc"), ("b", "abc"), ("c", "abc"), ("d", "d"), ("e", "e")]
)
def test_a_picture_has_three_estimates_or_the_one_that_is_charted(chart: str, drawn: str) -> None:
    """The first three beside a chart of one of them; a chart of a later one has that alone."""
    columns = tuple(Column(name, "estimate", f"head {name}") for name in "abcde")
    row = {"system": "s", **dict.fromkeys("abcde", Estimate(1.0, 0.5, 1.5))}
    table = Table("t", (Key("system", "system"),), columns, [row], "T", chart=chart)
    picture = Result("r", (), [table]).text("html").partition("<details>")[0]
    assert re.findall(r'data-label="head (\w)"', picture) == [*drawn]


@pytest.mark.parametrize(("dimensions", "is_named"), [("dd", False), ("de", True), ("d", True)])
def test_what_all_rows_of_a_picture_share_is_not_in_it(dimensions: str, is_named: bool) -> None:
    """It is in the sentence and in the table; a row that stands alone has its labels."""
    column = Column("mean", "estimate", "mean")
    rows = [
        {"system": f"s{n}", "dimension": f"dimension {name}", "mean": Estimate(1.0, 0.5, 1.5)}
        for n, name in enumerate(dimensions)
    ]
    keys = Key("dimension", "dimension"), Key("system", "system")
    page = Result("r", (), [Table("t", keys, (column,), rows, "T")]).text("html")
    picture = page.partition("<details>")[0]
    assert all(f"s{n}" in picture for n in range(len(dimensions))) or dimensions == "d"
    assert (">dimension d<" in picture) == is_named


def test_the_key_names_what_is_drawn_and_no_more() -> None:
    """Wider intervals, what stands beside, what stands for a value, marks of prompts."""
    columns = (
        Column("m", "estimate", "mean"), Column("both", "estimate", "both", ends_only=True),
        Column("theirs", "estimate", "people"), Column("instead", "number"),
    )  # fmt: skip
    plain = {"system": "a", "m": Estimate(4.0, 3.0, 5.0, limits=(0, 8))}
    more = {"both": Estimate(4.0, 2.0, 6.0), "theirs": Estimate(5.0), "marks": (3.0,)}
    hollow = {"system": "b", "m": Estimate(nan, reason="few"), "instead": 2.0}
    table = Table(
        "m", (Key("system", "system"),), columns, [plain], "M", wide="both", beside="theirs",
        hollow="instead",
    )  # fmt: skip
    for rows, key in (
        ([plain], ""),
        ([plain | more], "; line: both; ◇ people; marks: prompts"),
        ([plain, hollow], "; hollow: not ranked"),
    ):
        picture_of = picture(Result("r", (), [replace(table, rows=rows)]))
        found = re.findall(r'<p class="note">(.*?)</p>', picture_of)
        assert unescape(found[0]).replace("\u00a0", " ") == f"● mean, band: 95 % interval{key}."


def test_a_picture_is_of_the_first_table_that_can_be_drawn_or_of_one_by_its_name() -> None:
    """With how it is computed and by what command; of none there is none, nor of words."""
    words = Table("w", (Key("s", "s"),), (Column("x", "text", "x"),), [{"s": "a", "x": "y"}], "W")
    other = replace(MEANS, name="other", title="Others")
    result = Result("r", (), [words, MEANS, other])
    assert "<caption>Means over prompts" in picture(result, command="do it")
    assert "<code>do it</code>" in picture(result, command="do it")
    assert "<caption>Others" in picture(result, "other")
    assert picture(result, "w") == picture(result, "none") == picture(Result("r", (), [])) == ""


def test_a_page_runs_the_script_that_it_is_given_alone() -> None:
    """Which its policy allows by its digest; without one it runs nothing and has no data."""
    script = "go()"
    digest = b64encode(sha256(script.encode()).digest()).decode()
    whole = page("A <b>", "<p>x</p>", script=script, data='{"a": 1}')
    assert f"script-src 'sha256-{digest}'; " in whole and "<title>A &lt;b&gt;</title>" in whole
    assert '<script type="application/json" id="data">{"a": 1}</script>' in whole
    assert whole.count("<script") == 2 and '<div class="page"><p>x</p></div>' in whole
    assert "script" not in page("A", "x", data="{}")


def test_a_page_begins_with_what_was_read_and_the_answer() -> None:
    """The judgments that there are, the first sentence with its figures, the others beside."""
    text = " ".join(re.sub("<[^>]*>", " ", first_screen(SAMPLE, "T")).split())
    text = text.replace("\u00a0", " ")
    assert text.startswith("T 38 of 40 judgments (2 failed). people.csv: 3 items. Nothing is ")
    assert text.endswith("More prompts would. Score 20 more prompts.")
    assert "judgments" not in first_screen(replace(SAMPLE, coverage=None), "T")
    assert "<h1>T</h1>" in first_screen(Result("r", (), []), "T")
    assert "<title>persona-panel sample</title>" in SAMPLE.text("html")
    assert "<h1>Sample: runs/a</h1>" in SAMPLE.text("html")


def test_shades_are_eighths_of_a_scale() -> None:
    """From the first to the eighth, whatever lies beyond; of no scale there is none."""
    found = [shade(x, (0.0, 8.0)) for x in (-1.0, 0.0, 0.99, 1.0, 3.5, 7.99, 8.0, 9.0)]
    assert found == ["s1", "s1", "s1", "s2", "s4", "s8", "s8", "s8"]
    assert shade(1.0, (2.0, 2.0)) == shade(1.0, (3.0, 2.0)) == shade(nan, (0.0, 8.0)) == ""
