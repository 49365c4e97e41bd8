"""Judges of a run in tables: by what they differ in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from persona_panel.analyses.agree import agree_result
from persona_panel.results.conclusions.rows import (
    in_short,
    short_names,
    what_all_have,
)
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
    (left_out,) = what_all_have(RATINGS)
    assert left_out.endswith("all have elicitation dimensions, replicate 1.")
    one_model = RATINGS.by(JUDGES[::2])
    assert list(short_names(one_model).values()) == ["historian", "lawyer"]
    assert "model openai:small, elicitation dimensions" in what_all_have(one_model)[0]


def test_names_that_say_nothing_shorter_stay() -> None:
    """People's names, a single judge's id, ids of other parts, and names that a person has."""
    people = replace(RATINGS, personas=None)
    several_parts = replace(RATINGS, raters=tuple(f"x|{name}" for name in JUDGES))
    for ratings in (people, RATINGS.by(JUDGES[:1]), several_parts):
        assert short_names(ratings) == {}
        assert what_all_have(ratings) == []
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


def test_people_read_short_names_and_programs_ids() -> None:
    """What is left out of the names is said below the tables; CSV has ids, to search for."""
    rows = [
        Row("alpha_without", "all", "clarity", "judge left out", JUDGES[1], 0.5),
        Row("alpha_without", "all", "clarity", "judge left out", None, 0.4),
    ]
    result = agree_result(rows, RATINGS)
    shown = result.text(full=True)
    assert "  historian|local:tiny " in shown
    assert "|dimensions|" not in shown
    assert what_all_have(RATINGS)[0] in " ".join(shown.split())
    assert f",{JUDGES[1]}," in result.text("csv")
