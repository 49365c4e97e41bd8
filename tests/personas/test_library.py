"""Personas: the sets that ship are valid, and what is not valid is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from persona_panel.personas import PersonaSet, shipped


def load(path: Path) -> PersonaSet:
    """The persona set in a file."""
    return PersonaSet.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def a_persona(**changes: Any) -> dict[str, Any]:
    """A valid persona but for the changes."""
    return {
        "id": "historian",
        "label": "Historian",
        "axis": "disciplinary",
        "description": "You ask when.",
    } | changes


def a_set(**changes: Any) -> dict[str, Any]:
    """A valid set but for the changes."""
    return {"id": "mine", "label": "Mine", "personas": [a_persona()]} | changes


@pytest.mark.parametrize(("name", "path"), shipped().items())
def test_shipped_sets_are_valid(name: str, path: Path) -> None:
    """Every set in the library is valid and is named as its file."""
    assert load(path).id == name == path.stem


@pytest.mark.parametrize("axis", ["disciplinary", "ideological"])
def test_five_on_each_axis(axis: str) -> None:
    """The set of an axis holds five personas, all of them of that axis."""
    personas = load(shipped()[axis]).personas
    assert len(personas) == 5
    assert {persona.axis for persona in personas} == {axis}


def test_the_ten_perspectives_are_the_two_axes() -> None:
    """The ten perspectives are the disciplines and then the outlooks, word for word."""
    library = shipped()
    ten = load(library["perspectives"]).personas
    both = load(library["disciplinary"]).personas + load(library["ideological"]).personas
    assert ten == both
    assert len(ten) == 10


def test_no_two_shipped_perspectives_read_alike() -> None:
    """Ten perspectives are ten labels and ten descriptions."""
    ten = load(shipped()["perspectives"]).personas
    assert len({persona.label for persona in ten}) == 10
    assert len({persona.description for persona in ten}) == 10


def test_order_is_kept() -> None:
    """Personas sit in the order in which they are listed."""
    listed = [a_persona(id=name) for name in ("c", "a", "b")]
    loaded = PersonaSet.model_validate(a_set(personas=listed))
    assert [persona.id for persona in loaded.personas] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"personas": []}, "personas"),
        ({"personas": [a_persona(), a_persona(label="Other")]}, "two personas have the id"),
        ({"personas": [a_persona(id="His torian")]}, "id"),
        # A bar separates the parts of a judge's id.
        ({"personas": [a_persona(id="a|b")]}, "id"),
        ({"personas": [a_persona(id="-a")]}, "id"),
        ({"personas": [a_persona(label="")]}, "label"),
        ({"personas": [a_persona(axis="")]}, "axis"),
        ({"personas": [a_persona(description="")]}, "description"),
        ({"personas": [a_persona(age=60)]}, "age"),
        ({"id": "Mine"}, "id"),
        ({"label": ""}, "label"),
        ({"size": 3}, "size"),
    ],
)
def test_bad_sets(changes: dict[str, Any], message: str) -> None:
    """Empty parts, ids that are taken or no ids, and unknown fields are refused by name."""
    with pytest.raises(ValidationError, match=message):
        PersonaSet.model_validate(a_set(**changes))
