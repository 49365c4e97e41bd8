"""Variants of a rubric: other guidelines for the same dimensions, and how an item is put."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from persona_panel.rubrics import (
    ItemForm,
    Question,
    Rubric,
    elicitation_names,
    is_comparative,
    load_comparing,
    load_elicitation,
    shipped,
)
from tests.helpers.comparisons import a_comparison

SCALE = {"min": 1, "max": 3, "low": "low", "high": "high"}
DOCUMENT: dict[str, Any] = {
    "id": "two",
    "label": "Two",
    "question": "How good is it?",
    "dimensions": [
        {"id": name, "label": name, "definition": f"Own {name}.", "guiding_question": "Own?",
         "scale": SCALE}
        for name in ("clarity", "depth")
    ],
    "variants": {
        "plain": {
            "label": "in plain words",
            "question": "Is it good?",
            "dimensions": {"depth": {"definition": "Plain depth."}},
            "item": {"prompt": "claim", "response": "reasons", "prompt_from": "short"},
        }
    },
}  # fmt: skip


def test_a_variant_says_what_it_says_and_the_rest_is_the_rubrics() -> None:
    """A variant's words take the place of the rubric's, dimension by dimension; scales and what it
    leaves out stay, and the rubric names it."""
    rubric = Rubric.model_validate(DOCUMENT)
    plain = rubric.in_variant("plain")
    assert (plain.question, plain.variant) == ("Is it good?", "plain")
    assert [one.definition for one in plain.dimensions] == ["Own clarity.", "Plain depth."]
    assert [one.guiding_question for one in plain.dimensions] == ["Own?", "Own?"]
    assert [one.scale for one in plain.dimensions] == [one.scale for one in rubric.dimensions]
    assert plain.item.response == "reasons"
    own = rubric.in_variant(None)
    assert own.variants == plain.variants == {}
    assert own.dimensions == rubric.dimensions
    with pytest.raises(KeyError):
        rubric.in_variant("other")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimensions": {"width": {}}}, "'plain' has the dimension 'width'; one of clarity, depth"),
        ({"item": {"prompt": "response"}}, "two parts of an item have one name"),
        ({"item": {"prompt": "a>b"}}, "prompt"),
        ({"scale": SCALE}, "scale"),
        ({"label": ""}, "label"),
    ],
)
def test_bad_variants(change: dict[str, Any], message: str) -> None:
    """A variant of other dimensions, with parts of one name, or with another scale is refused."""
    variant = DOCUMENT["variants"]["plain"] | change
    with pytest.raises(ValidationError, match=message):
        Rubric.model_validate(DOCUMENT | {"variants": {"plain": variant}})


@pytest.mark.parametrize("name", [n for n in elicitation_names() if n != "verbatim"])
def test_an_item_is_put_under_its_names(name: str) -> None:
    """In every elicitation the marks around prompt and response carry the names of the rubric's
    item."""
    rubric = Rubric.model_validate(DOCUMENT).in_variant("plain")
    rubric = rubric.model_copy(update={"dimensions": rubric.dimensions[:1]})
    if is_comparative(name):
        comparison = a_comparison("One.", "Two.")
        comparison = type(comparison)(
            rubric=rubric, persona_label="H", persona_description="You ask.",
            prompt="Why?", texts=("One.", "Two."), contexts=("C.", "C."),
        )  # fmt: skip
        request = next(load_comparing(name).dialogue(comparison))
        marks = ("<claim ", "<reasons A ", "<context ")
    else:
        question = Question(rubric, "H", "You ask.", "Why?", "So.", context="C.")
        request = next(load_elicitation(name).dialogue(question))
        marks = ("<claim ", "<reasons ", "<context ")
    text = "".join(request.blocks)
    assert all(mark in text for mark in marks)
    assert "<prompt " not in text
    assert "<response" not in text


def test_the_shipped_guidelines_say_every_dimension_anew() -> None:
    """Experts' and novices' guidelines of the argument-quality rubric have words of their own for
    each of its fifteen dimensions; novices meet a conclusion and reasons, and no technical term."""
    rubric = Rubric.model_validate(yaml.safe_load(shipped()["argument-quality"].read_text("utf-8")))
    sets = [rubric, rubric.in_variant("expert"), rubric.in_variant("novice")]
    for field in ("definition", "guiding_question"):
        said = {getattr(one, field) for each in sets for one in each.dimensions}
        assert len(said) == 45
    novice = sets[2]
    assert novice.item == ItemForm(
        prompt="conclusion", response="reasons", prompt_from="conclusion"
    )
    words = " ".join(f"{d.definition} {d.guiding_question}" for d in novice.dimensions).lower()
    assert not any(term in words for term in ("premise", "argument", "rebut", "stance"))
