"""Rubrics: what ships is valid, and what is not valid is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from persona_panel.rubrics import (
    Abstention,
    CategoryScale,
    Composite,
    Dimension,
    RealScale,
    Rubric,
    Scale,
    shipped,
)
from persona_panel.rubrics.rubric import Reliable, Share, once_a_rubric


def a_scale(**changes: Any) -> dict[str, Any]:
    """A valid scale but for the changes."""
    return {"min": 1, "max": 10, "low": "poor", "high": "good"} | changes


def a_dimension(**changes: Any) -> dict[str, Any]:
    """A valid dimension but for the changes."""
    return {
        "id": "clarity",
        "label": "Clarity",
        "definition": "Defined.",
        "guiding_question": "Is it clear?",
        "scale": a_scale(),
    } | changes


def a_rubric(**changes: Any) -> dict[str, Any]:
    """A valid rubric but for the changes."""
    return {
        "id": "mine",
        "label": "Mine",
        "question": "How good?",
        "dimensions": [a_dimension()],
    } | changes


def test_something_ships() -> None:
    """The library holds the main rubric."""
    assert "scrub" in shipped()


@pytest.mark.parametrize(("name", "path"), shipped().items())
def test_shipped_rubrics_are_valid(name: str, path: Path) -> None:
    """Every rubric in the library is valid and is named as its file."""
    rubric = Rubric.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert rubric.id == name == path.stem


def test_scrub() -> None:
    """The main rubric has its five dimensions on 1 to 10, and asks about abstention."""
    rubric = Rubric.model_validate(yaml.safe_load(shipped()["scrub"].read_text(encoding="utf-8")))
    # scrub.txt, sections 3.1 and 13
    assert [dimension.id for dimension in rubric.dimensions] == [
        "conceptual_clarity",
        "evidential_grounding",
        "contextual_relevance",
        "pluralistic_engagement",
        "argumentative_soundness",
    ]
    assert all(list(d.scale.values) == list(range(1, 11)) for d in rubric.dimensions)
    assert rubric.abstention is not None
    assert not rubric.not_assessable


def test_defaults() -> None:
    """A rubric that does not speak of them asks for every rating and not about abstention."""
    rubric = Rubric.model_validate(a_rubric())
    assert rubric.abstention is None
    assert rubric.not_assessable is False


def test_values_of_a_scale() -> None:
    """A scale's values are whole numbers with both ends included."""
    assert list(Scale(min=0, max=3, low="none", high="all").values) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"min": 5, "max": 5}, "max is 5, not above min"),
        ({"min": 5, "max": 1}, "max is 1, not above min"),
        ({"min": -1}, "min is -1; 0 or above"),
        # 0 to 100 has 101 values, 0 to 101 one too many.
        ({"min": 0, "max": 101}, "0 to 101 has too many values"),
        ({"min": 1.5}, "min"),
        ({"max": "high"}, "max"),
        ({"low": ""}, "low"),
        ({"step": 2}, "step"),
    ],
)
def test_bad_scales(changes: dict[str, Any], message: str) -> None:
    """A scale that is empty, backwards, negative, endless or half-described is refused."""
    with pytest.raises(ValidationError, match=message):
        Scale.model_validate(a_scale(**changes))


@pytest.mark.parametrize(
    ("scale", "ends", "message"),
    [
        (RealScale, {"min": -1e308, "max": 1e308}, r"min is -1e\+308; from -1e\+12 to 1e\+12"),
        (RealScale, {"min": 0, "max": 2e12}, r"max is 2000000000000.0; from -1e\+12 to"),
        (Scale, {"min": 10**13, "max": 10**13 + 1}, "min is 10000000000000; from"),
    ],
)
def test_scales_whose_sums_of_squares_are_not_precise(
    scale: type[Scale | RealScale], ends: dict[str, float], message: str
) -> None:
    """The ends of a scale have the limit that ratings in files have."""
    with pytest.raises(ValidationError, match=message):
        scale(**ends, low="none", high="all")
    RealScale(min=-1e12, max=1e12, low="none", high="all")


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 100), (1, 101)])
def test_widest_and_narrowest_scales(low: int, high: int) -> None:
    """Two values and 101 values are both a scale."""
    scale = Scale.model_validate(a_scale(min=low, max=high))
    assert len(scale.values) == high - low + 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dimensions": []}, "dimensions"),
        ({"dimensions": [a_dimension(), a_dimension()]}, "'clarity' is taken"),
        ({"dimensions": [a_dimension(id="abstained")]}, "'abstained' is taken"),
        ({"dimensions": [a_dimension(id="Clarity")]}, "id"),
        ({"dimensions": [a_dimension(id="a b")]}, "id"),
        ({"dimensions": [a_dimension(id="1st")]}, "id"),
        ({"dimensions": [a_dimension(id="a" * 65)]}, "id"),
        ({"dimensions": [a_dimension(definition="")]}, "definition"),
        ({"dimensions": [a_dimension(weight=2)]}, "weight"),
        ({"dimensions": [a_dimension(label="a" * 101)]}, "label"),
        ({"dimensions": [a_dimension(family="a" * 101)]}, "family"),
        ({"id": "Mine"}, "id"),
        ({"id": "../mine"}, "id"),
        ({"question": ""}, "question"),
        ({"abstention": {"definition": "Declining."}}, "guiding_question"),
        ({"abstain": True}, "abstain"),
    ],
)
def test_bad_rubrics(changes: dict[str, Any], message: str) -> None:
    """Empty parts, ids that are taken or no ids, and unknown fields are refused by name."""
    with pytest.raises(ValidationError, match=message):
        Rubric.model_validate(a_rubric(**changes))


@pytest.mark.parametrize(
    "record",
    [
        Dimension.model_validate(a_dimension()),
        Abstention(definition="Declining.", guiding_question="Does it decline?"),
        Rubric.model_validate(a_rubric()),
        Scale.model_validate(a_scale()),
        RealScale.model_validate(a_scale()),
        CategoryScale(values={"a": "A", "b": "B"}),
        Share(dimension="kind", value="a"),
        Reliable(dimension="clarity", at_least=2),
        Composite(mean_of=("clarity",)),
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_rubric_does_not_change(record: BaseModel) -> None:
    """A rubric is frozen in all its parts, as judges of one run share it, and none has a field that
    it does not know."""
    field = next(iter(type(record).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(record, field, getattr(record, field))
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        type(record).model_validate({**record.model_dump(), "colour": "red"})


def test_what_follows_from_a_rubric_is_worked_out_when_it_changes() -> None:
    """Asked about one rubric twice, then another and the first again, the function is called three
    times, and each answer is that of the rubric asked about."""
    mine, other = (Rubric.model_validate(a_rubric(label=label)) for label in ("Mine", "Other"))
    called: list[str] = []

    @once_a_rubric
    def loud(rubric: Rubric) -> str:
        called.append(rubric.label)
        return rubric.label.upper()

    assert [loud(one) for one in (mine, mine, other, mine)] == ["MINE", "MINE", "OTHER", "MINE"]
    assert called == ["Mine", "Other", "Mine"]
