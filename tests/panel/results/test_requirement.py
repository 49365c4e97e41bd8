"""How requirements are read."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from persona_panel.results.requirement import (
    Requirement,
    WrongRequirement,
    parse_requirement,
    same_name,
)

# A name ends at spaces around it, and é is one sign or two: both are the same name.
names = (
    st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
    .map(same_name)
    .filter(lambda name: name.strip() != "")
)
comparisons = st.sampled_from((">=", ">", "<=", "<"))
bounds = st.floats(-1e6, 1e6).map(lambda value: float(f"{value:.12g}"))


@given(names, st.lists(names, max_size=3), comparisons, bounds)
@example('a "b", [c] >= 5', ["it's", '"'], ">=", -0.2)
@example("'", ["'\"", " padded ", "x]", "日本"], "<", 1e-7)
def test_what_is_written_is_read(name: str, keys: list[str], comparison: str, bound: float) -> None:
    """Whatever a figure is called, with quotes, commas, brackets, spaces or signs of comparison in
    its names: its requirement, written, is read as the same."""
    requirement = Requirement(name, tuple(keys), comparison, bound)  # type: ignore[arg-type]
    assert parse_requirement(str(requirement)) == requirement


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text raises anything but the error that says what was found and what is expected; what is
    read is written back to the same requirement."""
    try:
        found = parse_requirement(text)
    except WrongRequirement as error:
        assert str(error) == f"found {error.actual}; expected {error.expected}"
        assert error.actual
        assert error.expected
    else:
        assert parse_requirement(str(found)) == found


@pytest.mark.parametrize(
    ("text", "name", "keys", "comparison", "bound"),
    [
        ("composite[my-model] >= 6", "composite", ("my-model",), ">=", 6.0),
        ("difference[new,old] > -0.2", "difference", ("new", "old"), ">", -0.2),
        ("tau_c>=.4", "tau_c", (), ">=", 0.4),
        ("  Clear argument [ GPT 4 (m) ]<=1e-3 ", "Clear argument", ("GPT 4 (m)",), "<=", 1e-3),
        ("'Depth, really'[\"a, [b]\", 'O''Brien'] < 5.", "Depth, really", ("a, [b]", "O'Brien"),
         "<", 5.0),
        ("composite[O'Brien] >= +6", "composite", ("O'Brien",), ">=", 6.0),
    ],
)  # fmt: skip
def test_expressions_are_read(
    text: str, name: str, keys: tuple[str, ...], comparison: str, bound: float
) -> None:
    """Names are plain or in quotes; spaces around them do not count; numbers as people write
    them."""
    expected = Requirement(name, keys, comparison, bound)  # type: ignore[arg-type]
    assert parse_requirement(text) == expected


@pytest.mark.parametrize(
    ("text", "found", "expected"),
    [
        ("", "nothing", "the name of a figure"),
        (">= 6", "'>= 6'", "the name of a figure"),
        ("composite", "nothing", "one of >=, >, <= and <"),
        ("composite == 6", "'== 6'", "one of >=, >, <= and <"),
        ("composite =< 6", "'=< 6'", "one of >=, >, <= and <"),
        ("composite[a] >= six", "'six'", "a number, such as 6, -0.2 or 1e-3"),
        ("composite[a] >= nan", "'nan'", "a number, such as 6, -0.2 or 1e-3"),
        ("composite[a] >= 1e999", "'1e999'", "a number, such as 6, -0.2 or 1e-3"),
        ("composite[a] >= \uff16", "'\uff16'", "a number, such as 6, -0.2 or 1e-3"),
        ("composite[a] >= 6 %", "'6 %'", "a number, such as 6, -0.2 or 1e-3"),
        ("composite[a >= 6", "'>= 6'", "a comma and another name, or ]"),
        ("composite[] >= 6", "'] >= 6'", "a name"),
        ("composite[a,] >= 6", "'] >= 6'", "a name"),
        ('composite["a] >= 6', "'\"a] >= 6'", 'another " that ends the name'),
        ("composite[a]b >= 6", "'b >= 6'", "one of >=, >, <= and <"),
        ("composite[a] >= 6 level=1", "level=1", "a level of confidence from 0.5 to below 1"),
        ("composite[a] >= 6 level=0.49", "level=0.49", "a level of confidence from 0.5 to below 1"),
        ("composite[a] >= 6 level=", "level=", "a level of confidence from 0.5 to below 1"),
        ("composite[a] >= level=0.9", "nothing", "a number, such as 6, -0.2 or 1e-3"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, found: str, expected: str) -> None:
    """Where a requirement cannot be read, what stands there and what is expected there."""
    with pytest.raises(WrongRequirement) as caught:
        parse_requirement(text)
    assert (caught.value.actual, caught.value.expected) == (found, expected)


def test_the_level_of_the_interval_follows_the_number() -> None:
    """Without it, 0.95, which is not written."""
    found = parse_requirement("composite[a] >= 6 level=0.9")
    assert (found.bound, found.level, str(found)) == (6, 0.9, "composite[a] >= 6 level=0.9")
    assert parse_requirement("x < -1  level= 0.5").level == 0.5
    assert parse_requirement("x < 1").level == 0.95
    assert str(parse_requirement("x < 1 level=0.95")) == "x < 1"


@pytest.mark.parametrize(
    ("comparison", "below", "at", "above"),
    [(">=", False, True, True), (">", False, False, True), ("<=", True, True, False),
     ("<", True, False, False)],
)  # fmt: skip
def test_sides_of_a_bound(comparison: str, below: bool, at: bool, above: bool) -> None:
    """Which values are on the right side; a difference in the last bit of a sum is none."""
    one = parse_requirement(f"x {comparison} 0.3")
    assert [one.holds_for(value) for value in (0.29, 0.1 + 0.2, 0.31)] == [below, at, above]
    assert not one.holds_for(float("nan"))
