"""Every output format takes any result; what it writes of one with a cell of each kind."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from html import unescape

import pytest
from markupsafe import escape

from persona_panel.results.definitions import DEFINITIONS
from persona_panel.results.formats.html import gauge, section
from persona_panel.results.result import Result, format_names, load_format
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics import Difference, Estimate
from tests.helpers.results import MEANS, SAMPLE

OURS = ("csv", "html", "json", "latex", "markdown", "terminal")


def words(name: str, *, full: bool = False, result: Result = SAMPLE) -> str:
    return " ".join(result.text(name, full=full).split())


def test_our_formats_are_offered_by_name() -> None:
    """One a file, each with a function that writes."""
    assert set(OURS) <= set(format_names())
    with pytest.raises(KeyError):
        load_format("papyrus")


@pytest.mark.parametrize("name", OURS)
def test_a_format_writes_and_leaves_the_stream_open(name: str) -> None:
    """In short and in full, also of a result with nothing in it, which has no sentence of its own
    but what the format is."""
    for result in (SAMPLE, Result("empty", (), ())):
        for full in (False, True):
            to = io.StringIO()
            load_format(name).render(result, to, full=full)
            assert not to.closed
            assert "Traceback" not in to.getvalue()
    assert words(name)


def test_the_terminal_in_short() -> None:
    """The rows and columns of the short report, the one dimension behind the title; why
    an interval lacks; where the rest is; the conclusion and what would settle it, last."""
    text = SAMPLE.text()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    assert lines[0] == "Means over prompts: composite"
    assert "weight" not in " ".join(lines[1:5])
    [alder] = [line for line in lines if line.startswith("alder")]
    assert re.split(r"\s{2,}", alder) == ["alder", "6.00 [5.50, 6.25]", "16/40", "better"]
    assert "No interval: =birch: one prompt alone." in lines
    assert "depth" not in text
    assert "Differences" not in text
    assert "In brackets: 95 % intervals over prompts." in lines
    assert lines[-4:] == [
        "--full has the rest, --json every figure.",
        "Nothing is significant.", "More prompts would.", "Score 20 more prompts.",
    ]  # fmt: skip
    assert "--json every figure.\n\nNothing" in text
    assert lines.index("weight: of the panel.") < lines.index("mean: of all judges.")
    assert "p: adjusted." not in text


def test_the_terminal_in_full() -> None:
    """All rows under the labels of their dimensions, all columns and tables; sides of a difference
    as one name, its p-value beside it; nothing is said of more."""
    text = SAMPLE.text(full=True)
    lines = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if line.strip()]
    names = [line[0] for line in lines]
    assert names.index("composite") < names.index("alder") < names.index("Depth of it")
    assert ["alder", "6.00 [5.50, 6.25]", "0.50", "16/40", "better"] in lines
    assert ["alder − =birch", "+1.00 [−0.50, 2.50]", "0.2"] in lines
    assert "Undefined: alder, Depth of it: nobody rated it." in text
    assert "p: adjusted." in text
    assert "--full" not in text


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


def test_csv_has_a_line_for_each_cell() -> None:
    """All rows, whether in short or full, with the keys of all tables; numbers unrounded, what is
    undefined empty with its reason; no cell is a formula."""
    assert SAMPLE.text("csv") == SAMPLE.text("csv", full=True)
    lines = list(csv.DictReader(SAMPLE.text("csv").splitlines()))
    assert list(lines[0]) == [
        "table", "system", "dimension", "a", "b", "column", "text", "value", "low", "high", "p",
        "p_adjusted", "n",
    ]  # fmt: skip
    of = {(one["system"], one["dimension"], one["column"]): one for one in lines}
    mean = of["alder", "composite", "mean"]
    assert (mean["value"], mean["low"], mean["high"]) == ("6.0", "5.5", "6.25")
    assert (mean["p"], mean["p_adjusted"], mean["n"]) == ("0.01", "0.02", "12")
    lacking = of["alder", "depth", "mean"]
    assert (lacking["text"], lacking["value"]) == ("nobody rated it", "")
    assert of["'=birch", "composite", "weight"]["value"] == ""
    assert of["alder", "composite", "rated"]["value"] == "16"
    assert of["alder", "composite", "verdict"]["text"] == "better"
    assert of["alder", "composite", "notes"]["text"] == "few; odd"
    assert of["alder", "composite", "control"]["text"] == "false"
    [difference] = [one for one in lines if one["table"] == "differences"]
    assert (difference["a"], difference["b"], difference["value"]) == ("alder", "'=birch", "1.0")


def test_documents_have_sentences_and_tables() -> None:
    """Markdown and LaTeX have what the terminal has, with signs that are no markup."""
    markdown = SAMPLE.text("markdown", full=True)
    assert "**Means over prompts**" in markdown
    assert r"| alder | 6.00 \[5.50, 6.25\] | 0.50 | 16/40 | better |" in markdown
    latex = SAMPLE.text("latex")
    assert r"\caption{Means over prompts: composite}" in latex
    assert "% Nothing is significant." in latex


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


def test_tables_as_data_frames() -> None:
    """The first table unless named; an estimate as value, ends, and what else any cell has."""
    frame = SAMPLE.to_frame("polars")
    assert frame.columns == [
        "system", "dimension", "mean", "mean_low", "mean_high", "mean_p", "mean_p_adjusted",
        "mean_n", "mean_reason", "weight", "rated", "n", "verdict", "notes", "control", "raw_p",
    ]  # fmt: skip
    assert frame["mean"].to_list() == [6.0, 5.0, None]
    assert frame["mean_low"].to_list() == [5.5, None, None]
    assert frame["mean_reason"].to_list() == [None, "one prompt alone", "nobody rated it"]
    assert frame["notes"].to_list() == ["few; odd", "", ""]
    assert SAMPLE.to_frame("pandas", table="differences")["difference_high"].tolist() == [2.5]
    assert SAMPLE["means"].to_frame("pyarrow").num_rows == 3
    with pytest.raises(KeyError, match="there are means, differences"):
        SAMPLE["nothing"]


def test_the_main_estimates_are_drawn() -> None:
    """A row each, with what the intervals are over; of a result without estimates nothing is."""
    figure = SAMPLE.plot()
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
    assert figure.caption.startswith(f"{SAMPLE['differences'].title}: difference")
    assert len(figure.axes[0].get_yticklabels()) == len(SAMPLE["differences"].rows)
    with pytest.raises(ValueError, match=r"called 'diference' \(did you mean 'difference'\?\)"):
        SAMPLE.plot("diference")
