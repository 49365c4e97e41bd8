"""Templates filled with slots."""

from __future__ import annotations

from collections import Counter

import pytest

from persona_panel.experiments.prompt_sets.candidates import fillings, number_of_fillings
from persona_panel.experiments.prompt_sets.spec import (
    PromptTemplate,
    filled,
    places_in,
    stray_brace,
)

SLOTS = {"concept": ("loyalty", "merit", "privacy"), "place": ("a court", "a school")}


def test_all_fillings_are_made_and_slots_of_one_list_differ() -> None:
    """Of three concepts, two at a time in order, and two places there are 3 · 2 · 2 fillings."""
    template = PromptTemplate(id="t", text="{concept} or {concept.other} in {place}?")
    found = fillings(template, SLOTS, seed=1)
    assert len(found) == number_of_fillings(places_in(template.text), SLOTS) == 12
    assert len({item.text for item in found}) == 12
    assert all(item.values["concept"] != item.values["concept.other"] for item in found)
    assert {item.stratum for item in found} == {"t"}


@pytest.mark.parametrize("seed", range(5))
def test_a_draw_uses_each_value_about_as_often(seed: int) -> None:
    """Of 12 fillings 6 are drawn without repetition: each place 3 times, each concept twice."""
    template = PromptTemplate(
        id="t", text="{concept} or {concept.other} in {place}?", draw=6, stratum="{place}"
    )
    found = fillings(template, SLOTS, seed)
    assert len({item.id for item in found}) == 6
    assert set(Counter(item.values["place"] for item in found).values()) == {3}
    assert max(Counter(item.values["concept"] for item in found).values()) <= 3
    assert {item.stratum for item in found} == set(SLOTS["place"])
    assert fillings(template, SLOTS, seed) == found


def test_a_draw_may_come_to_nearly_all() -> None:
    """Eleven of twelve can be drawn; as many as there are, are all, in their order."""
    eleven = PromptTemplate(id="t", text="{concept} or {concept.other} in {place}?", draw=11)
    assert len({item.text for item in fillings(eleven, SLOTS, 3)}) == 11
    twelve = eleven.model_copy(update={"draw": 12})
    assert fillings(twelve, SLOTS, 3) == fillings(twelve, SLOTS, 4)


def test_braces_are_places_or_written_twice() -> None:
    """A value that looks like a place is a value."""
    assert filled("{a}, {{b}}", {"a": "{b}"}) == "{b}, {b}"
    assert places_in("{{b}} {a}") == ("a",)
    assert (stray_brace("{a} {{b}}"), stray_brace("{a"), stray_brace("a}")) == (None, "{", "}")
