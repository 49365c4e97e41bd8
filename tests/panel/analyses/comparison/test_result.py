"""What is concluded from a comparison of runs, rule by rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from persona_panel.analyses.comparison.result import ComparedRuns, PanelsAlike, compare_conclusion
from persona_panel.results.conclusions.wording import ONE_PERSON, would_show
from persona_panel.statistics.core.display import number, signed
from persona_panel.statistics.core.sampled_mean import prompts_assured
from persona_panel.statistics.core.significance import holm_adjusted
from persona_panel.statistics.paired import (
    NearerToPeople,
    PairedDifference,
    best_of_prompts,
    by_same_judges,
    nearer_to_people,
    order_alike,
    paired_difference,
    scores_alike,
)

LARGE = [1.0, 1.2, 0.8, 1.1, 0.9]
NONE = [1.0, -0.8, 0.3, -0.6, 0.4]
OPEN = [1.0, -0.1, 0.6, -0.2, 0.9]


def difference(values: list[float], judges: int = 1) -> PairedDifference:
    """Of one pair to a prompt, by as many judges as are said, who differ."""
    b = np.array(values)[:, None, None] + np.linspace(-1, 1, judges)[None, :, None] * (judges > 1)
    factors = {"persona": list(range(judges))} if judges > 1 else None
    paired = by_same_judges(np.zeros_like(b), b)
    return holm_adjusted([paired_difference(paired, range(len(values)), factors)])[0]


def said(values: dict[str, list[float]], compared: str = "texts", **more: Any) -> list[str]:
    """The conclusion from these differences by dimension, adjusted together."""
    found = holm_adjusted([difference(of) for of in values.values()])
    two = ComparedRuns("old", "new", compared, dict(zip(values, found, strict=True)), **more)  # type: ignore[arg-type]
    return compare_conclusion([two], "prompts")


def adjusted(found: NearerToPeople) -> NearerToPeople:
    """The same with the p-values of its figures adjusted together."""
    figures = holm_adjusted(list(found.figures.values()))
    return replace(found, figures=dict(zip(found.figures, figures, strict=True)))


def test_what_is_ahead_is_named_with_its_lead() -> None:
    """One point on each of five prompts, about: new is ahead, with interval, p and prompts; the
    other way round, old is, and the interval is seen from it."""
    assert said({"composite": LARGE}) == [
        "new is significantly ahead of old, by 1.00 points (95 % interval 0.80 to 1.20, adjusted "
        "p < 0.001, 5 prompts)."
    ]
    turned = said({"composite": [-value for value in LARGE]})
    assert turned[0].startswith("old is significantly ahead of new, by 1.00 points")
    assert "interval 0.80 to 1.20" in turned[0]


def test_systems_that_differ_are_named() -> None:
    """Where the whole may be chance, birch alone is a point higher, or lower; alder's difference
    may be chance and is not named."""
    systems = dict(
        zip(("alder", "birch"), holm_adjusted([difference(NONE), difference(LARGE)]), strict=True)
    )
    told = "birch, by 1.00 (95 % interval 0.80 to 1.20, adjusted p < 0.001, 5 prompts)."
    assert said({"composite": NONE}, systems=systems)[1] == f"By system, new is higher for {told}"
    lower = {"birch": difference([-value for value in LARGE])}
    assert said({"composite": NONE}, systems=lower)[1].startswith(
        "By system, new is lower for birch"
    )


def test_a_difference_that_may_be_chance_is_no_lead() -> None:
    """A mean of 0.06 on five prompts: the difference is not significant, and the prompts that
    would show it are those of the test at the level of one."""
    first, last = said({"composite": NONE})
    assert first.startswith("No significant difference between old and new: new − old is ")
    assert "is +0.06 points (95 % interval −0.87 to 0.99, adj" in first
    assert first.endswith("adjusted p 0.87, 5 prompts).")
    found = prompts_assured(difference(NONE).sampled, 0.05)
    assert found.limit < 0.8
    assert last == would_show(found, "show the difference")
    assert last.startswith("New prompts would show the difference with a probability of at most")


def test_prompts_are_counted_for_the_composites_level() -> None:
    """A composite has 5 %, also where it is a dimension;
    without a composite a dimension shares 5 % with the other."""
    for names, level, repeated in (
        (("composite", "a", "b"), 0.05, ()),
        (("composite", "a"), 0.05, ("a",)),
        (("a", "b"), 0.025, ()),
        (("a", "b", "c", "d"), 0.0125, ()),
    ):
        needed = prompts_assured(difference(OPEN).sampled, level)
        assert needed.needed is not None
        *_, last = said(dict.fromkeys(names, OPEN), repeated=repeated)
        assert last == would_show(needed, "show the difference")


def test_a_tie_and_what_cannot_be_tested_are_said() -> None:
    """Equal scores on every prompt, a single prompt, and no score at all: no claim, each with its
    reason, and no number of prompts."""
    (tie,) = said({"composite": [0.0, 0.0, 0.0]})
    assert tie.startswith("The difference cannot be tested (no spread over prompts")
    assert tie.endswith("): their mean scores are equal.")
    (one,) = said({"composite": [2.0]})
    assert one.startswith("The difference cannot be tested (an interval needs")
    assert one.endswith("): new − old is +2.00 points.")
    (nothing,) = said({"composite": [np.nan]})
    assert nothing == "old and new cannot be compared: no response has a score in both."
    (even, *rest) = said({"composite": [1.0, -1.0, 0.5, -0.5]})
    assert "their mean scores are equal (95" in even
    assert rest == []


def test_dimensions_that_differ_are_named() -> None:
    """Of four dimensions two rise and one falls; those that may be chance are not named."""
    lower = [-value for value in LARGE]
    values = {"composite": LARGE, "a": LARGE, "b": LARGE, "c": lower, "d": NONE}
    assert said(values)[1] == (
        "By dimension (adjusted p < 0.05), new is higher on a and b and lower on c."
    )


def test_without_a_composite_the_first_dimension_is_named() -> None:
    """A rubric of categories has shares alone: the first one is said to be it."""
    (first, *_) = said({"kind:joke": LARGE, "kind:claim": NONE})
    assert first.startswith("new is significantly ahead of old on kind:joke, by")


def test_panels_that_differ_make_a_difference_of_texts_ambiguous() -> None:
    """Other texts by another panel: the score is higher, nobody is ahead, and what the panels
    differ in is named."""
    first, last = said({"composite": LARGE}, panel=["model (x; y)"])
    assert first.startswith("new scores significantly higher than old, by")
    assert last == (
        "The runs differ in more than their texts (model (x; y)): the difference may come from "
        "any of these."
    )


def test_judges_as_a_sample_may_be_what_is_lacking() -> None:
    """With five judges who differ by more than the difference, no number of prompts would do.
    9.075 is halfway, and rounded away from zero."""
    two = ComparedRuns("old", "new", "texts", {"composite": difference([0.3, 0.2, 0.25, 0.3], 5)})
    found = compare_conclusion([two], "prompts-and-judges")
    assert (
        "No number of prompts would show it with these judges: more judges are needed" in found[1]
    )
    shown = ComparedRuns("old", "new", "texts", {"composite": difference([9.0, 9.1, 9.2, 9.0], 5)})
    (first,) = compare_conclusion([shown], "prompts-and-judges")
    assert "by 9.08 points" in first and "over prompts and judges" in first


def test_gaps_and_a_single_model_limit_the_answer() -> None:
    """Five of a hundred judgments missing are said, four are not; so is a single model."""
    found = said({"composite": LARGE}, missing=((4, 100), (5, 100)), one_model=True)
    assert found[1:] == [
        "5 of 100 judgments of new are missing: its scores are means of those that are there.",
        "All judges are of one model: no interval includes the error that they share.",
    ]


# Two panels on the same texts

RNG = np.random.default_rng(0)
PROMPTS = np.arange(6).repeat(4)
PEOPLE = RNG.permuted(np.tile(np.arange(4.0), (6, 1)), axis=1).ravel()
NOISE = RNG.permuted(np.tile(np.arange(4.0), (6, 1)), axis=1).ravel()


def test_panels_rate_higher_or_lower() -> None:
    """Of panels nobody is ahead: one rates the same texts significantly higher, or does not."""
    assert said({"composite": LARGE}, "panels")[0].startswith(
        "new rates the same texts significantly higher than old, by 1.00 points"
    )
    assert said({"composite": NONE}, "panels") == [
        "No significant difference between old and new: new − old is +0.06 points (95 % interval "
        "−0.87 to 0.99, adjusted p 0.87, 5 prompts)."
    ]


def test_order_and_best_responses_of_two_panels_are_said() -> None:
    """τ_b within prompts with its interval and the prompts whose highest-rated response differs;
    with one response a prompt, τ_b over all of them, and no best."""
    alike, single = (
        PanelsAlike(
            "composite",
            *order_alike(PEOPLE, NOISE, prompts),
            scores_alike(PEOPLE, NOISE, prompts),
            best_of_prompts(PEOPLE, NOISE, prompts),
        )
        for prompts in (PROMPTS, range(24))
    )
    found = said({"composite": LARGE}, "panels", alike=[alike])
    assert found[1] == (
        f"The two order responses in prompts with a mean τ_b of {number(alike.tau_within.value)} "
        f"(95 % interval {number(alike.tau_within.low)} to {number(alike.tau_within.high)}); the "
        f"highest-rated response differs in {alike.best.flipped} of 6 prompts."
    )
    (_, last) = said({"composite": LARGE}, "panels", alike=[single])
    assert last.startswith("The two order all responses with a τ_b of ")
    assert "highest-rated" not in last


def test_the_panel_nearer_to_people_is_named() -> None:
    """New rates as people do and old at random: new has a higher rank correlation with people and
    gives scores closer to theirs; with sides changed, old does."""
    for sides, better in (((NOISE, PEOPLE), "new"), ((PEOPLE, NOISE), "old")):
        found = nearer_to_people(*sides, PEOPLE, PROMPTS)
        people = {"composite": adjusted(found)}
        of_tau, of_distance = found.figures["tau_b"], found.figures["distance"]
        *_, tau, distance = said({"composite": LARGE}, "panels", people=people)
        worse = "old" if better == "new" else "new"
        assert tau.startswith(
            f"{better} has a higher rank correlation with people than {worse} on the composite ("
            f"{abs(of_tau.value):.2f} higher in τ_b, 95 % interval "
        )
        assert distance.startswith(
            f"{better} gives scores closer to people's than {worse} on the composite ("
            f"{abs(of_distance.value):.2f} points closer, 95 % interval "
        )


def test_that_no_panel_is_shown_to_be_nearer_is_said() -> None:
    """Two panels alike: both τ_b, their difference and its p; where it is undefined, why."""
    found = nearer_to_people(NOISE, NOISE[::-1], RNG.normal(size=24), PROMPTS)
    people, tau = {"composite": adjusted(found)}, found.figures["tau_b"]
    *_, last = said({"composite": LARGE}, "panels", people=people)
    assert last.startswith(
        f"Neither old nor new is significantly closer to people: on the composite, the τ_b "
        f"of old with people is {number(tau.a_value)}, that of new {number(tau.b_value)} "
        f"(new − old: {signed(tau.value)}, 95 % interval "
    )
    none = nearer_to_people(NOISE, NOISE, np.full(24, np.nan), PROMPTS)
    *_, last = said({"composite": LARGE}, "panels", people={"composite": none})
    assert last.endswith("τ_b with people is undefined (no shared items).")


@pytest.mark.parametrize(
    ("n_judges", "n_shared", "expected"),
    [
        (
            (10, 5), 0,
            "old has 10 judges and new 5: the mean of more judges tends to be closer to people for "
            "their number alone.",
        ),
        (
            (10, 5), 5,
            "old has 10 judges and new 5, 5 of them in both: the mean of more judges tends to be "
            "closer to people for their number alone; judges in both make the two more alike.",
        ),
        (
            (5, 5), 2,
            "old has 5 judges and new 5, 2 of them in both: judges in both make the two more alike."
        ),
        ((5, 5), 0, None),
        ((5, 5), 5, None),
    ],
)  # fmt: skip
def test_what_the_numbers_of_judges_bring_about_is_no_merit(
    n_judges: tuple[int, int], n_shared: int, expected: str | None
) -> None:
    """Of two panels it is said where one has more judges, or they share some; that one rater is not
    people is said last."""
    draw = np.random.default_rng(0)
    scores, prompts = draw.normal(size=(3, 40)), np.arange(10).repeat(4)
    people = nearer_to_people(scores[0], scores[1], scores[2], prompts, same_scale=True)
    found = said(
        {"composite": NONE},
        "panels",
        people={"composite": replace(people, n_people=1)},
        n_judges=n_judges,
        n_shared=n_shared,
    )
    assert found[-1] == ONE_PERSON
    about = [one for one in found if one.startswith("old has")]
    assert about == ([] if expected is None else [expected])


@pytest.mark.parametrize(("better", "is_said"), [("old", True), ("new", False)])
@pytest.mark.parametrize("unshown", ["tau_b", "distance", "neither"])
def test_more_judges_are_no_reason_where_fewer_are_nearer(
    better: str, is_said: bool, unshown: str
) -> None:
    """Old has more judges: that this brings it closer to people is said where it is shown to be
    nearer, by either figure, not where new, with fewer, is."""
    sides = (PEOPLE, NOISE) if better == "old" else (NOISE, PEOPLE)
    figures = dict(adjusted(nearer_to_people(*sides, PEOPLE, PROMPTS)).figures)
    if unshown in figures:
        figures[unshown] = replace(figures[unshown], p_adjusted=1.0)
    people = {"composite": NearerToPeople(True, figures)}
    told = " ".join(said({"composite": NONE}, "panels", people=people, n_judges=(10, 5)))
    assert f" {better} has a higher rank" in told or f" {better} gives" in told
    assert ("the mean of more judges tends to be closer" in told) == is_said


def test_a_ranking_has_no_level() -> None:
    """Of two rankings of the same responses, whose means are equal by construction, it is not said
    that who rates higher is open; of ratings it is."""
    [told] = said({"composite": [0.0, 0.0, 0.0]}, "panels", is_ranking=True)
    assert told == (
        "Neither old nor new rates higher: a ranking has no level, as the mean over the responses "
        "to a prompt is the same in each."
    )
    assert "cannot be tested" in said({"composite": [0.0, 0.0, 0.0]}, "panels")[0]


def test_shares_are_no_points() -> None:
    """A difference of composites that are shares of preferences has no unit, nor has how much
    closer to people's a panel's are; beside them a dimension is in points."""
    units = {"composite": ""}
    [ahead, *_] = said({"composite": LARGE}, units=units)
    assert "by 1.00 (95 %" in ahead
    assert "points" not in " ".join(said({"composite": NONE}, units=units))
    found = nearer_to_people(NOISE, PEOPLE, PEOPLE, PROMPTS)
    nearer = adjusted(found)
    for name, expected in (("composite", ""), ("clarity", " points")):
        *_, distance = said({"composite": LARGE}, "panels", people={name: nearer}, units=units)
        points = f"{abs(found.figures['distance'].value):.2f}"
        assert f"({points}{expected} closer, 95 % interval " in distance


def test_each_of_several_runs_has_its_sentences() -> None:
    """Two runs compared with the first: a sentence each, without numbers of prompts and limits."""
    first = holm_adjusted([difference(LARGE), difference(NONE)])
    runs = [
        ComparedRuns("old", name, "texts", {"composite": one}, one_model=True)
        for name, one in zip(("new", "newer"), first, strict=True)
    ]
    found = compare_conclusion(runs, "prompts")
    assert [sentence.split()[0] for sentence in found] == ["new", "No"]
    assert "difference between old and newer" in found[1]


@pytest.mark.parametrize(("p", "shown"), [(0.0499, True), (0.05, False)])
def test_a_claim_needs_an_adjusted_p_below_the_level(p: float, shown: bool) -> None:
    """At 0.05 nothing is claimed."""
    one = replace(difference(LARGE), p_adjusted=p)
    (first, *_) = compare_conclusion(
        [ComparedRuns("a", "b", "texts", {"composite": one})], "prompts"
    )
    assert first.startswith("b is significantly ahead of a") is shown
