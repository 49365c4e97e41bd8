"""What is concluded from a deliberation, rule by rule."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.stats import t

from persona_panel.results.conclusions.deliberation import deliberation_conclusion
from persona_panel.statistics import Direction, Reason, TowardHumans
from persona_panel.statistics.revisions import Change
from tests.helpers.deliberations import AGREED, JUDGED, deliberation, humans


def change(value: float, reach: float) -> Change:
    """Over 12 prompts."""
    return Change(
        value, value - reach, value + reach, n=12, df=11, before=1.0, after=1.0 + value, n_items=48
    )


def led(direction: Direction, p: float = math.nan, reason: Reason | None = None) -> TowardHumans:
    same = change(0.0, 0.1)
    return TowardHumans(replace(same, p_adjusted=p), same, same, direction, 12, reason)


def concluded(**found: TowardHumans) -> list[str]:
    return deliberation_conclusion(48, 48, {}, found)


def test_a_panel_that_came_nearer_is_said_to() -> None:
    """A panel in the wrong order that takes on the humans': toward them, by its adjusted p."""
    found = deliberation(JUDGED, AGREED, human=humans())
    said = deliberation_conclusion(
        found.n_deliberated, found.n_responses, found.spread, found.humans
    )
    assert said == ["Deliberation moved the panel toward people on clarity (adjusted p 0.016)."]


def test_each_direction_has_its_sentence() -> None:
    """Dimensions that went the same way are named together."""
    said = concluded(
        a=led(Direction.AWAY, 0.01),
        b=led(Direction.AWAY, 0.03),
        c=led(Direction.NONE),
        d=led(Direction.ITSELF),
    )
    assert said == [
        "Deliberation moved the panel away from people on a and b (largest adjusted p 0.03).",
        "On d judges differ less after deliberation, and no change of their agreement with "
        "people is shown.",
        "On c no change by deliberation is shown, which does not show that there is none.",
    ]


def test_too_few_prompts_say_how_many_it_takes() -> None:
    """One test of signs takes six prompts: 2⁻⁵ = 0.031."""
    said = concluded(a=led(Direction.UNKNOWN, 1.0, Reason.FEW_TO_TELL))
    assert said == [
        "Whether deliberation moved the panel toward people on a is not known: too few "
        "prompts were deliberated.",
        "A test takes at least 6 deliberated prompts with ratings by people.",
    ]


def test_without_people_only_the_spread_is_concluded() -> None:
    """Judges differ less on the dimension whose interval, widened for both, leaves 0 out: that of
    −0.5 ± 0.4 is widened by 1.18 to 0.47; −0.5 ± 0.45 reaches beyond 0."""
    ratio = t.ppf(1 - 0.0125, 11) / t.ppf(0.975, 11)
    assert 0.4 * ratio < 0.5 < 0.45 * ratio
    said = deliberation_conclusion(48, 48, {"a": change(-0.5, 0.4), "b": change(-0.5, 0.45)}, None)
    assert said[0] == (
        "After deliberation judges differ less on a (intervals adjusted for 2 dimensions)."
    )
    assert said[1].endswith("is not known without ratings by people (--human).")
    same = deliberation_conclusion(48, 48, {"a": change(0.1, 0.4)}, None)
    assert same[0].startswith("Deliberation is not shown to have changed how far judges differ")


def test_nothing_deliberated_is_said() -> None:
    """Where no response was deliberated there is nothing else to say."""
    before = np.array([[[2.0], [8.0]], [[3.0], [5.0]]])
    found = deliberation(before, before, deliberated=[False, False])
    assert deliberation_conclusion(0, 2, found.spread, None) == [
        "None of 2 responses was deliberated."
    ]
