"""Conditions on attributes: read by a small grammar, never evaluated as code."""

from __future__ import annotations

import pytest

from persona_panel.files.attributes import NotANumber, WrongCondition, parse_condition

ANN = {"age": "61", "gender": "Woman", "race": "Black or African American", "city": None}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("age >= 50", True),
        ("age > 61", False),
        ("age <= 61 and age < 62", True),
        ("age = 61.0", True),
        ("age == 61", True),
        ("age != 61", False),
        ("age > -1e3", True),
        ("gender = woman", True),
        ("gender != 'woman'", False),
        ("gender in (man, woman)", True),
        ("gender in (man)", False),
        ('race = "black or  african american"', True),
        ("age < 30 or gender = woman", True),
        ("age < 30 and gender = woman or age > 60", True),
        ("age < 30 and (gender = woman or age > 60)", False),
        ("not age < 30", True),
        ("NOT (age < 30 OR gender = man)", True),
        ("city = Rome", None),
        ("city != Rome", None),
        ("not city = Rome", None),
        ("city = Rome or age > 50", True),
        ("city = Rome and age > 50", None),
        ("city = Rome and age > 90", False),
        ("height > 3", None),
    ],
)
def test_a_condition_holds_or_not_or_cannot_be_known(text: str, holds: bool | None) -> None:
    """Numbers compare as numbers, texts whatever their case; `and` binds closer than `or`; what is
    missing leaves open what nothing else decides."""
    assert parse_condition(text).test(ANN) is holds


def test_attributes_are_named_once_in_their_order() -> None:
    """What a condition is on can be looked up before it is tested."""
    found = parse_condition("  b = 1 and\n a c > 2 or b = 3 ")
    assert found.attributes == ("b", "a c")
    assert found.text == "b = 1 and a c > 2 or b = 3"


@pytest.mark.parametrize(
    ("text", "found", "expected"),
    [
        ("", "the end of the condition", "the name of an attribute"),
        ("age", "the end of the condition", "behind 'age'"),
        ("age >=", "the end of the condition", "a value behind >="),
        ("age >= fifty", "'fifty'", "a number behind >="),
        ("age >= nan", "'nan'", "a number behind >="),
        ("race = Black or African American", "the end of the condition", "behind 'African"),
        ("age = 1 = 2", "'='", "and, or, or the end"),
        ("(age = 1", "the end of the condition", ") that closes"),
        ("age in 1, 2", "'1'", "( and values"),
        ("age in (1 2", "the end of the condition", "a comma and another value, or )"),
        ("age = 'x", '"\'"', "a quote that is closed"),
        ("__import__('os').system('x')", "'('", "behind '__import__'"),
        ("not " * 60 + "age = 1", "more than 40 levels", "fewer"),
        ("(" * 5000 + "age = 1", "more than 40 levels", "fewer"),
    ],
)
def test_what_is_no_condition_is_refused(text: str, found: str, expected: str) -> None:
    """The error says what stands where, and what would do."""
    with pytest.raises(WrongCondition) as caught:
        parse_condition(text)
    assert found in caught.value.problem
    assert expected in caught.value.expected


def test_a_text_is_not_compared_as_a_number() -> None:
    """`<` on a value that is none names the attribute, the value and the comparison."""
    with pytest.raises(NotANumber) as caught:
        parse_condition("age < 50").test({"age": "18-24"})
    assert (caught.value.attribute, caught.value.value) == ("age", "18-24")
