"""What a panel corrected by people's ratings is said to show."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import Any

import pytest

from persona_panel.analyses.calibrate import best_first, calibrate_conclusion
from persona_panel.results.conclusions.wording import ONE_PERSON
from persona_panel.statistics import (
    Calibration,
    CorrectedMean,
    Difference,
    Estimate,
    Reason,
)

PEOPLE = Estimate(5.0, 4.0, 6.0, over="prompts", n=15)
CORRECTED = Estimate(5.2, 4.7, 5.7, over="prompts", n=15, p=0.0)
MEAN = CorrectedMean(
    panel=7.0, human_only=PEOPLE, corrected=CORRECTED, tuning=0.6, n_items=60, n_human=15,
    to_halve=50, width_ratio=0.5,
)  # fmt: skip


def pair(a: str, b: str, difference: float, p: float) -> CorrectedMean:
    low, high = difference - 0.5, difference + 0.5
    found = Difference(difference, low, high, p=p, p_adjusted=p, a=a, b=b)
    return replace(MEAN, corrected=found)


def system(name: str, dimension: str = "all", **fields: Any) -> CorrectedMean:
    return replace(MEAN, system=name, dimension=dimension, **fields)


def systems_of(**means: float) -> tuple[CorrectedMean, ...]:
    """Systems with these corrected means on their one dimension."""
    return tuple(
        system(name, corrected=replace(CORRECTED, value=mean)) for name, mean in means.items()
    )


def test_only_p_values_below_5_percent_make_a_system_best() -> None:
    """A difference below 0 is an advantage of the second system; one whose p is 0.05 is none."""
    systems = systems_of(a=4.3, b=5.2)
    first, *_ = calibrate_conclusion(Calibration(systems, (pair("a", "b", -0.9, 0.049),)))
    assert first == (
        "Which system is best? Corrected by 0 people's ratings of 30 responses: b is significantly "
        "ahead: 0.90 points above a (95 % interval 0.40 to 1.40, p 0.049)."
    )
    first, *_ = calibrate_conclusion(Calibration(systems, (pair("a", "b", -0.9, 0.05),)))
    assert "No system is significantly ahead: b 5.20, a 4.30, difference 0.90 points" in first


def test_a_mean_that_is_higher_over_other_prompts_makes_no_system_best() -> None:
    """Where the system with the higher mean is significantly below on the prompts of both, the
    other is said to be ahead there, of two systems and of three."""
    found = Calibration(systems_of(a=5.2, b=5.1), (pair("a", "b", -0.9, 0.01),))
    first, *_ = calibrate_conclusion(found)
    ahead = (
        "a has the highest mean, 5.20, but on the prompts of both b (5.10) is significantly ahead "
        "of it, by 0.90 points (95 % interval 0.40 to 1.40, "
    )
    assert first.endswith(f"{ahead}p 0.01).")
    pairs = (pair("a", "b", -0.9, 0.01), pair("a", "c", 1, 0.01), pair("b", "c", 2, 0.01))
    first, *_ = calibrate_conclusion(Calibration(systems_of(a=5.2, b=5.1, c=4.0), pairs))
    assert first.endswith(f"{ahead}adjusted p 0.01).")


def test_first_place_may_be_open() -> None:
    """Of three systems of which the last is behind the first alone, the first two are tied; with no
    difference shown all are, and with one ahead of both others, nothing is open."""
    systems = systems_of(a=7.0, b=6.0, c=5.0)

    def first(*p_values: float) -> str:
        names = (("a", "b"), ("a", "c"), ("b", "c"))
        pairs = (pair(*two, 1.0, p) for two, p in zip(names, p_values, strict=True))
        return calibrate_conclusion(Calibration(systems, tuple(pairs)))[0]

    assert first(0.2, 0.01, 0.3).endswith(" Tied with a: b; significantly behind: c.")
    apart = (
        "The corrected means of a and c are 2.00 points apart: each figure is corrected by itself."
    )
    assert first(0.2, 0.3, 0.3).endswith(f" Tied with a: b and c. {apart}")
    ahead = "a is significantly ahead: 1.00 points above b, the next"
    assert ahead in first(0.01, 0.01, 0.3)


def test_one_person_is_not_people() -> None:
    """Who is ahead by one person's ratings ends with that caution, as in `people correlate`; two
    are people."""
    systems = tuple(system(name) for name in "ab")
    found = Calibration(systems, (pair("a", "b", 0.9, 0.01),), n_people=1)
    assert calibrate_conclusion(found)[-1] == ONE_PERSON
    assert ONE_PERSON not in calibrate_conclusion(replace(found, n_people=2))


def test_many_differences_on_several_dimensions_are_counted() -> None:
    """Without a composite the significant differences of all dimensions are listed; of more than
    four the others are counted, one as one."""
    systems = tuple(system(name, on) for on in ("depth", "style") for name in "ab")
    pairs = tuple(
        replace(pair("a", other, 1.0, 0.01), dimension=on)
        for on in ("depth", "style")
        for other in "bcd"
    )
    said = calibrate_conclusion(Calibration(systems, pairs))
    assert said[0].startswith("a is significantly ahead of b on depth: 1.00 (95 % interval 0.50")
    assert said[4] == "2 more differences of 6 are significant."
    said = calibrate_conclusion(Calibration(systems, pairs[:5]))
    assert said[4] == "1 more difference of 5 is significant."


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (0.5, "The corrected interval is 0.50 times as wide as with people's ratings alone."),
        (1.0, "with people's ratings alone: the panel adds nothing here that is shown."),
    ],
)
def test_what_the_correction_gains(ratio: float, expected: str) -> None:
    """The width of the corrected interval is given in people's own; where it is no narrower, that
    is said."""
    found = replace(MEAN, width_ratio=ratio)
    said = calibrate_conclusion(Calibration((replace(found, system="all"),), ()))
    assert said[0].endswith(expected)


def test_what_halves_the_widest_interval() -> None:
    """The number is that of the system with the widest interval; where rating more of what the
    panel scored is not enough, that it takes more prompts."""
    wide = replace(MEAN, corrected=Estimate(5.2, 4.0, 6.4), to_halve=58)
    systems = (system("a", "depth"), replace(wide, system="b", dimension="depth"))
    assert calibrate_conclusion(Calibration(systems, ()))[-1] == (
        "About 58 items rated by people (now 15) would halve the widest interval, of b on depth, "
        "if the panel correlates with people as here."
    )
    whole = system("a", "composite")
    assert calibrate_conclusion(Calibration((whole, *systems), ()))[-1].startswith(
        "About 50 items rated by people (now 15) would halve the interval"
    )
    none = (system("a", to_halve=None),)
    assert calibrate_conclusion(Calibration(none, ()))[-1] == (
        "To halve the interval more ratings by people of what the panel scored (60 items, 15 "
        "rated) are not enough: it takes more prompts."
    )


def test_a_reason_without_a_correction() -> None:
    """Systems without a correction are named with the reason, and nothing else is concluded."""
    few = replace(MEAN, corrected=Estimate(nan, reason=Reason.NO_SPREAD))
    systems = tuple(replace(few, system=name) for name in "ab")
    assert calibrate_conclusion(Calibration(systems, ())) == [
        f"No correction of a and b: {Reason.NO_SPREAD}."
    ]


def test_people_who_rated_everything_leave_nothing_to_correct() -> None:
    """The means are people's own, and no widths are compared: there is one kind of interval."""
    every = replace(MEAN, tuning=0.0, n_human=60, to_halve=None)
    systems = tuple(replace(every, system=name) for name in "ab")
    found = Calibration(systems, (pair("a", "b", 0.9, 0.01),), n_people=3)
    assert calibrate_conclusion(found) == [
        "Which system is best? By the ratings of 3 people: a is significantly ahead: 0.90 points "
        "above b (95 % interval 0.40 to 1.40, p 0.01).",
        "People rated everything that the panel scored: these are people's means; the panel adds "
        "nothing to them.",
        "To halve the widest interval, of a, more ratings by people of what the panel scored (60 "
        "items, 60 rated) are not enough: it takes more prompts.",
    ]


def test_notes_are_said_once_of_all_that_have_them() -> None:
    """Of one of two systems with its name, of both without; of differences, too."""
    noted = replace(MEAN, notes=(Reason.FEW_EXCEPTIONS,))
    one, other = replace(noted, system="a"), system("b")
    pairs = (pair("a", "b", 1.0, 0.01),)
    *_, said = calibrate_conclusion(Calibration((one, other), pairs))
    assert said == (f"Note of a: {Reason.FEW_EXCEPTIONS}. So they are for differences from these.")
    *_, said = calibrate_conclusion(Calibration((one, replace(noted, system="b")), ()))
    assert said == f"Note: {Reason.FEW_EXCEPTIONS}."


def test_systems_stand_best_first() -> None:
    """By their corrected means on each dimension, those without one last; where there is a
    composite, by that one on all dimensions."""

    def of(dimension: str, **means: float) -> list[CorrectedMean]:
        return [system(name, dimension, corrected=Estimate(mean)) for name, mean in means.items()]

    def order(systems: list[CorrectedMean]) -> str:
        return " ".join(f"{one.dimension}:{one.system}" for one in best_first(systems))

    two = [*of("x", a=1, b=3, c=float("nan")), *of("y", a=5, b=4, c=6)]
    assert order(two) == "x:b x:a x:c y:c y:a y:b"
    assert order([*of("composite", a=3, b=1, c=2), *two]) == (
        "composite:a composite:c composite:b x:a x:c x:b y:a y:c y:b"
    )
