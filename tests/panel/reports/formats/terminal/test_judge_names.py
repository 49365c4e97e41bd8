"""Judges of a run in tables: by what they differ in."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from persona_panel.reports.formats.terminal.agreement import show_agreement
from persona_panel.reports.formats.terminal.judge_names import (
    in_short,
    short_names,
    what_is_left_out,
)
from persona_panel.results.console import output
from persona_panel.statistics import Ratings, Row

PERSONAS, MODELS = ("historian", "lawyer"), ("openai:small", "local:tiny")
JUDGES = tuple(f"{persona}|{model}|dimensions|1" for persona in PERSONAS for model in MODELS)
RATINGS = Ratings(
    np.arange(12.0).reshape(3, 4, 1),
    ("a", "b", "c"),
    JUDGES,
    ("clarity",),
    MODELS * 2,
    personas=tuple(judge.split("|")[0] for judge in JUDGES),
)


def test_judges_are_named_by_what_they_differ_in() -> None:
    """By persona and model where there are several of both, by persona alone of one model; what
    all have alike is said once."""
    assert list(short_names(RATINGS).values()) == [
        "historian|openai:small", "historian|local:tiny", "lawyer|openai:small",
        "lawyer|local:tiny",
    ]  # fmt: skip
    left_out = what_is_left_out(RATINGS)
    assert left_out.endswith("all have elicitation dimensions, replicate 1.")
    one_model = RATINGS.by(JUDGES[::2])
    assert list(short_names(one_model).values()) == ["historian", "lawyer"]
    assert "model openai:small, elicitation dimensions" in what_is_left_out(one_model)


def test_names_that_say_nothing_shorter_stay() -> None:
    """People's names, a single judge's id, ids of other parts, and names that a person has."""
    people = replace(RATINGS, personas=None)
    several_parts = replace(RATINGS, raters=tuple(f"x|{name}" for name in JUDGES))
    for ratings in (people, RATINGS.by(JUDGES[:1]), several_parts):
        assert short_names(ratings) == {}
        assert what_is_left_out(ratings) == ""
    assert short_names(RATINGS.by(JUDGES[::2]), taken=("lawyer",)) == {}


def test_tables_have_the_short_names() -> None:
    """In lines and columns, and nothing else is renamed."""
    rows = [
        Row("alpha_without", "all", "clarity", "judge left out", JUDGES[1], 0.5),
        Row("alpha_without", "all", "clarity", "judge left out", None, 0.4),
        Row("kappa_of_two", "all", "clarity", JUDGES[0], JUDGES[2], 0.3),
    ]
    names = short_names(RATINGS)
    found = [(row.by, row.by_value) for row in in_short(rows, names)]
    assert found == [
        ("judge left out", "historian|local:tiny"),
        ("judge left out", None),
        ("historian|openai:small", "lawyer|openai:small"),
    ]


def test_a_terminal_has_short_names_and_a_pipe_whole_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out is said below; ids that are printed whole can be searched for."""
    rows = [
        Row("alpha_without", "all", "clarity", "judge left out", JUDGES[1], 0.5),
        Row("alpha_without", "all", "clarity", "judge left out", None, 0.4),
    ]
    texts = []
    for columns in ("80", ""):
        monkeypatch.setenv("COLUMNS", columns)
        printed = io.StringIO()
        show_agreement(rows, RATINGS, "dimension", output(printed), full=True)
        texts.append(printed.getvalue())
    terminal, pipe = texts
    assert "  historian|local:tiny " in terminal
    assert "|dimensions|" not in terminal
    assert what_is_left_out(RATINGS) in " ".join(terminal.split())
    assert f"  {JUDGES[1]} " in pipe
    assert what_is_left_out(RATINGS) not in pipe
