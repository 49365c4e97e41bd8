"""Scales and composites: what is valid, what a category's name may look like, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from persona_panel.rubrics import CategoryScale, Composite, Dimension, RealScale, Rubric, Scale
from persona_panel.rubrics.rubric import folded

VERDICT = CategoryScale(values={"useful": "it helps", "Not Critical": "no", "ungültig": "nein"})


def a_dimension(name: str, scale: dict[str, Any]) -> dict[str, Any]:
    """A dimension as a file has it."""
    return {"id": name, "label": name, "definition": "d", "guiding_question": "g?", "scale": scale}


WHOLE = {"min": 1, "max": 5, "low": "poor", "high": "good"}
REAL = {"kind": "real", "min": 0, "max": 1, "low": "none", "high": "all"}
NAMED = {"kind": "category", "values": {"useful": "it helps", "invalid": "it cannot"}}


def a_rubric(**changes: Any) -> dict[str, Any]:
    """A rubric that mixes all three kinds of scale."""
    dimensions = [a_dimension("w", WHOLE), a_dimension("r", REAL), a_dimension("c", NAMED)]
    return {"id": "x", "label": "X", "question": "Q?", "dimensions": dimensions} | changes


def test_a_scale_is_what_its_kind_says() -> None:
    """Without a kind a scale has whole numbers; the others are named, and all come back."""
    rubric = Rubric.model_validate(a_rubric())
    assert [type(d.scale) for d in rubric.dimensions] == [Scale, RealScale, CategoryScale]
    assert [d.id for d in rubric.numeric] == ["w", "r"]
    assert rubric.categories == {"c": ("useful", "invalid")}
    assert Rubric.model_validate(rubric.model_dump(mode="json")) == rubric


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (REAL | {"max": 0}, "max is 0, not above min"),
        (REAL | {"max": float("inf")}, "finite"),
        (REAL | {"values": {}}, "values"),
        (NAMED | {"values": {"useful": "only one"}}, "at least 2"),
        (NAMED | {"values": {"useful": "a", " Useful ": "b"}}, "without quotes around it"),
        (NAMED | {"values": {"not useful": "a", "Not_Useful": "b"}}, "reads like 'not useful'"),
        (NAMED | {"values": {"useful": "a", "2": "b"}}, "begins with a letter"),
        (NAMED | {"values": {"useful": "a", "": "b"}}, "begins with a letter"),
        (NAMED | {"values": {"useful": "a", "x": ""}}, "at least 1"),
        (NAMED | {"values": {"useful": "a", "a\nb": "b"}}, "begins with a letter"),
        # What YAML makes of yes.
        (NAMED | {"values": {True: "a", "maybe": "b"}}, "the category True; a name, in quotes"),
        (NAMED | {"min": 1}, "min"),
        (WHOLE | {"kind": "stars"}, "'stars'|stars"),
    ],
)
def test_bad_scales(scale: dict[str, Any], message: str) -> None:
    """Ranges without extent, categories that cannot be distinguished or read, and unknown kinds."""
    with pytest.raises(ValidationError, match=message):
        Dimension.model_validate(a_dimension("d", scale))


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("useful", "useful"),
        (' "USEFUL." ', "useful"),
        ("**Useful**", "useful"),
        ("‘useful’", "useful"),
        ("not_critical", "Not Critical"),
        ("NOT-CRITICAL", "Not Critical"),
        ("UNGÜLTIG", "ungültig"),
        # Written with a combining mark, which looks and means the same.
        ("ungu\u0308ltig", "ungültig"),
        ("ｕｓｅｆｕｌ", "useful"),
    ],
)
def test_a_category_is_found_in_any_dress(said: str, name: str) -> None:
    """Case, quotes, hyphens, spaces and ways to write a letter make no difference."""
    assert VERDICT.find(said) == name


@pytest.mark.parametrize("said", ["", "use", "useful, mostly", "not useful", "useful/invalid", "1"])
def test_what_is_no_category_is_not_guessed(said: str) -> None:
    """A part of a name, a name with a further word, two names: none of them is a category."""
    assert VERDICT.find(said) is None


_NAMES = st.builds(str.__add__, st.characters(categories=("L",)), st.text(max_size=12)).filter(
    lambda name: name.isprintable() and folded(name)[:1].isalpha()
)


@given(_NAMES, st.sampled_from([str.upper, str.lower, str.title, str.swapcase]))
def test_no_text_is_two_categories(name: str, dressed: Callable[[str], str]) -> None:
    """Whatever may be a name is found in quotes and in another case, and only as itself."""
    try:
        scale = CategoryScale(values={name: "meant", "zzz other zzz": "not meant"})
    except ValidationError:
        # What a reader would take off: it ends in a quote, a space or a full stop.
        assert name != name.strip(" .'\"`*“”‘’«»")
        return
    assert scale.find(f'  "{name}"  ') == name
    # A few letters (the Turkish dotless i) have a capital that is another letter's.
    if folded(dressed(name)) == folded(name):
        assert scale.find(dressed(name)) == name
    assert scale.find(f"{name} zzz") is None


@pytest.mark.parametrize(
    ("composite", "message"),
    [
        ({}, "no rule; exactly one"),
        ({"mean_of": ["w"], "product_of": ["w", "r"]}, "mean_of and product_of; exactly one"),
        ({"mean_of": []}, "at least 1"),
        ({"product_of": ["w"]}, "at least 2"),
        ({"mean_of": ["c"]}, "a composite of 'c'; a dimension that is rated by numbers .w, r."),
        ({"mean_of": ["nobody"]}, "a composite of 'nobody'"),
        ({"share_of": {"dimension": "c", "value": "Useful"}}, "'c': 'Useful'; .*c: useful"),
        ({"share_of": {"dimension": "w", "value": "useful"}}, "'w': 'useful'"),
        (
            {"mean_of": ["w"], "reliable_where": {"dimension": "c", "at_least": 1}},
            "a composite of 'c'",
        ),
        ({"median_of": ["w"]}, "median_of"),
    ],
)
def test_bad_composites(composite: dict[str, Any], message: str) -> None:
    """A composite has one rule, of dimensions that there are and that it can be made of."""
    with pytest.raises(ValidationError, match=message):
        Rubric.model_validate(a_rubric(composite=composite))


def test_a_composite_of_each_kind_is_accepted() -> None:
    """Means, products and shares, with or without a condition of reliability."""
    where = {"dimension": "r", "at_least": 0.5}
    for rule in (
        {"mean_of": ["w", "r"]},
        {"product_of": ["w", "r"], "reliable_where": where},
        {"share_of": {"dimension": "c", "value": "invalid"}},
    ):
        rubric = Rubric.model_validate(a_rubric(composite=rule))
        assert rubric.composite == Composite.model_validate(rule)


@pytest.mark.parametrize("scale", [(1, 5), 7, [1, 5], "1-5", None])
def test_what_is_no_scale_is_refused_with_what_is(scale: Any) -> None:
    """A pair, a number or a text in place of a scale is refused with the classes and the keys."""
    with pytest.raises(ValidationError, match=r"not a scale; a Scale, RealScale or .*min") as error:
        Dimension.model_validate(a_dimension("w", scale))
    # pydantic's own pages say nothing of scales.
    assert "http" not in str(error.value)


def test_lists_are_kept_as_tuples() -> None:
    """A rubric made with a list of dimensions has a tuple, and can be hashed as before."""
    dimension = Dimension.model_validate(a_dimension("w", WHOLE))
    made = Rubric(id="x", label="X", question="Q?", dimensions=[dimension])
    assert made.dimensions == (dimension,)
