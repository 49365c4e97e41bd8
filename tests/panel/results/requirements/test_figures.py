"""Which figure a requirement names."""

from __future__ import annotations

import pytest

from persona_panel.results.requirements.figures import Figure, FigureKey, find
from persona_panel.results.requirements.requirement import WrongRequirement, parse_requirement

ALL = FigureKey("all", may_be_left_out=True)
FIGURES = [
    *(Figure("composite", (FigureKey(name),)) for name in ("my-model", "old, [v1]", "José")),
    *(Figure("clarity", (FigureKey(name),), "Clear argument") for name in ("my-model", "José")),
    Figure("difference", (FigureKey("my-model"), FigureKey("José"))),
    Figure("difference", (FigureKey("José"), FigureKey("my-model"))),
    Figure("missing"),
    Figure("missing", (FigureKey("failed"),)),
    Figure("alpha", (FigureKey("clarity", "Clear argument"), ALL)),
    Figure("alpha", (FigureKey("clarity", "Clear argument"), FigureKey("gpt"))),
    Figure("alpha", (FigureKey("depth"), FigureKey("gpt"))),
    Figure("composite", (FigureKey("of a dimension of that id"),), "Composite of Dreyfus"),
]


def found(expression: str) -> Figure:
    return find(parse_requirement(f"{expression} > 0"), FIGURES)


@pytest.mark.parametrize(
    ("expression", "place"),
    [
        ("composite[my-model]", 0),
        ('composite["old, [v1]"]', 1),
        ("composite[Jose\u0301]", 2),
        ("Clear argument[José]", 4),
        ("'Clear argument'[my-model]", 3),
        ("difference[my-model, José]", 5),
        ("difference[José, my-model]", 6),
        ("missing", 7),
        ("missing[failed]", 8),
        ("alpha[clarity]", 9),
        ("alpha[Clear argument]", 9),
        ("alpha[clarity, gpt]", 10),
        ("alpha[depth]", 11),
        ("alpha[all]", 9),
    ],
)
def test_names_and_labels(expression: str, place: int) -> None:
    """A figure is found by its name or label, with its keys in their order; those of all raters are
    meant where nobody else is named; an accent may be a sign of its own."""
    assert found(expression) is FIGURES[place]


@pytest.mark.parametrize(
    ("expression", "was_found", "expected"),
    [
        ("compsite[my-model]", "the figure 'compsite'", "one of composite; clarity; "),
        ("composite[my_model]", "composite[my_model]", "one of composite[my-model]; "),
        ("omega", "the figure 'omega'",
         "--epsilon, with which `people correlate` has the alternative annotator test (`report` "
         "has it with --human), or one of "),
        ("missing[refused]", "missing[refused]", "one of missing[failed]; missing"),
        ("difference[my-model]", "difference[my-model], which is the name of 2 figures",
         "one of difference["),
        ("alpha[gpt]", "alpha[gpt], which is the name of 2 figures", "one of alpha["),
        ("alpha[gpt, clarity]", "alpha[gpt, clarity]", "alpha[clarity, gpt]"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_answered_by_the_nearest(
    expression: str, was_found: str, expected: str
) -> None:
    """What is not there, and what means several: with those that are there, the nearest first."""
    with pytest.raises(WrongRequirement) as caught:
        found(expression)
    assert caught.value.actual == was_found
    assert caught.value.expected.startswith(expected)


def test_keys_that_may_be_left_out_are_named_to_who_asks_for_a_key() -> None:
    """Of a figure whose keys may all be left out, a wrong key is answered by the keys there are."""
    dimensions = [FigureKey(name, may_be_left_out=True) for name in ("clear", "sound")]
    figures = [Figure("consensus", (one,)) for one in dimensions]
    for there in (figures[:1], figures):
        with pytest.raises(WrongRequirement) as caught:
            find(parse_requirement("consensus[foo] > 0"), there)
        assert "consensus[clear]" in caught.value.expected


def test_of_many_names_the_nearest_are_shown() -> None:
    """Of 100 systems six are named, and how many there are; quotes stand where they are needed."""
    figures = [Figure("composite", (FigureKey(f"system, {n}"),)) for n in range(100)]
    with pytest.raises(WrongRequirement) as caught:
        find(parse_requirement("composite['system, 999'] > 0"), figures)
    assert caught.value.expected.startswith('one of composite["system, 99"]; ')
    assert caught.value.expected.endswith("; … (100 in all)")
    assert caught.value.expected.count("composite[") == 6


def test_who_asks_by_a_label_is_answered_by_it() -> None:
    """The names that are offered begin with the label that was written, and find their figures."""
    with pytest.raises(WrongRequirement) as caught:
        found("Clear argument")
    names = caught.value.expected.removeprefix("one of ").split("; ")
    assert sorted(names) == ["Clear argument[José]", "Clear argument[my-model]"]
    assert {found(name).keys[0].name for name in names} == {"José", "my-model"}
