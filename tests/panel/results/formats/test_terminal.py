"""Results on a terminal: what the short and the full report have."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest

from persona_panel.results.formats.terminal import render
from persona_panel.results.result import QUESTIONS, AnswerText, Result
from tests.helpers.results import MEANS, SAMPLE


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


@pytest.mark.parametrize("n_rows", [3, 12, 30, 200])
def test_the_short_report_fits_on_a_screen(n_rows: int) -> None:
    """Of a long table as many rows as fit into 24 lines, and how many more there are."""
    rows = [{**MEANS.rows[0], "system": f"s{n}"} for n in range(n_rows)]
    text = Result("long", ("Done.",), [replace(MEANS, rows=rows)]).text()
    n_shown = len(re.findall(r"^ *s\d+ ", text, re.MULTILINE))
    if n_rows > 12:
        assert len(text.splitlines()) == 24
        assert f"{n_rows - n_shown} more rows." in text
    else:
        assert n_shown == n_rows and "more row" not in text


def test_long_names_are_cut_in_the_middle_where_the_report_would_be_too_long() -> None:
    """To 20 columns at most, and no two to the same; in the sentences, too."""
    names = [f"a-very-long-name-of-a-system-{n}-that-goes-on" for n in (1, 2)]
    rows = [{**MEANS.rows[0], "system": names[n % 2] + f"{n:03}"} for n in range(60)]
    sentences = [f"{names[0]}000 leads." + " And so on, at some length." * 80]
    text = Result("long", sentences, [replace(MEANS, rows=rows)]).text()
    assert "a-very-lo…oes-on000 leads" in text
    assert names[0] not in text


@pytest.mark.parametrize("n_rows", [1, 2, 5, 6, 40])
def test_beside_long_answers_a_table_keeps_five_rows(n_rows: int) -> None:
    """Up to five all rows are shown; of more at least five, and how many more there are, in the
    line that says where they are."""
    rows = [{**MEANS.rows[0], "system": f"s{n}"} for n in range(n_rows)]
    answers = [AnswerText(f"{question} {'A sentence. ' * 12}") for question in QUESTIONS.values()]
    for question, answer in zip(QUESTIONS.values(), answers, strict=True):
        answer.shorter = f"{question} A sentence."
    text = Result("long", ["Done.", *answers], [replace(MEANS, rows=rows, remarks=())]).text()
    assert len(text.splitlines()) <= 24
    n_shown = len(re.findall(r"^ *s\d+ ", text, re.MULTILINE))
    assert min(n_rows, 5) <= n_shown <= n_rows
    more = n_rows - n_shown
    assert ("more row" in text) == (more > 0)
    if more:
        assert f"{more} more row{'s' * (more > 1)}. --full has the rest" in text


def test_what_two_tables_lack_is_said_once() -> None:
    """And what stands behind it is not left out for that."""
    title = replace(MEANS, title="Means again", remarks=("another remark.",))
    text = Result("twice", ("Done.",), [replace(MEANS, rows=MEANS.rows[:2]), title]).text()
    assert text.count("No interval: =birch: one prompt alone.") == 1
    assert "another remark." in text and "Means again" in text


@pytest.mark.parametrize("width", [50, 200])
def test_lines_count_on_the_terminal_that_there_is(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A narrow one holds 24 of its own lines; a pipe has what a screen of 80 columns has."""
    rows = [{**MEANS.rows[0], "system": f"s{n}"} for n in range(30)]
    result = Result("long", ("A long sentence " * 20 + ".",), [replace(MEANS, rows=rows)])
    in_pipe = result.text()
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("LINES", "30")
    to = io.StringIO()
    render(result, to, full=False)
    assert to.getvalue().count("\n") <= 24
    shown = [len(re.findall(r"^ *s\d+ ", text, re.MULTILINE)) for text in (in_pipe, to.getvalue())]
    assert shown[1] < shown[0] if width == 50 else shown[1] == shown[0]


def test_a_short_report_in_a_pipe_has_tables_of_eighty_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where nothing has a width; sentences, and tables in full, are as wide as they are."""
    monkeypatch.delenv("COLUMNS", raising=False)
    rows = [{**MEANS.rows[0], "system": "a name of a system " * 6 + str(n)} for n in range(2)]
    result = Result("long", ("A sentence is here. " * 9,), [replace(MEANS, rows=rows)])
    tables, sentence = result.text().split("--full", 1)
    assert max(map(len, tables.splitlines())) <= 80
    assert max(map(len, sentence.splitlines())) > 120
    assert max(map(len, result.text(full=True).splitlines())) > 120


def test_what_stands_behind_a_sentence_without_room_is_left_out_too() -> None:
    """So that no sentence stands without the one before it; the first is always there."""
    long = "A sentence is here. " * 90
    text = Result("long", ("Done.", long, "Short."), [MEANS]).text()
    assert "Done." in text and "A sentence" not in text and "Short." not in text
    text = Result("long", ("Done.", "Short.", long), [MEANS]).text()
    assert "Short." in text and "A sentence" not in text
