"""What deliberation did, as tables of a run's result, and what is concluded from it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from persona_panel.analyses.deliberation import deliberation_conclusion, deliberation_tables
from persona_panel.graphs import Judge
from persona_panel.results.result import Result
from persona_panel.runs.deliberation import DeliberationReport
from persona_panel.statistics import Reason
from persona_panel.statistics.core.table import Ratings
from persona_panel.statistics.revisions import Change, Direction, TowardHumans
from tests.helpers.deliberations import AGREED, JUDGED, deliberation, humans


@pytest.fixture(autouse=True)
def unlimited_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is folded."""
    monkeypatch.delenv("COLUMNS", raising=False)


def shown(found: DeliberationReport) -> list[str]:
    """The lines, with single spaces between words."""
    tables = list(deliberation_tables(found, {"clarity": "Clarity [of all]"}))
    text = Result("score", (), tables).text(full=True)
    return [" ".join(line.split()) for line in text.splitlines()]


def followed() -> DeliberationReport:
    """One at 2 with a reason, nine at 8 who come to 2 without any."""
    stated = np.array([[True] + [False] * 9])
    before = np.array([[[2.0]] + [[8.0]] * 9])
    return deliberation(before, np.full((1, 10, 1), 2.0), stated=stated)


def test_a_persuader_and_nine_who_follow() -> None:
    """The terminal says how many moved, that none of it was with a reason, and in whose column
    the movers went."""
    lines = shown(followed())
    moved = "1 of 1 responses were deliberated; 9 of 10 ratings changed by half a step or more."
    assert moved in lines
    assert "Clarity [of all] 7.40 2.00 9/10 1.90 0.00 −1.90" in lines
    assert "with a stated reason 0 0 0 0 –" in lines
    assert "without one 9 9 0 0 1.00" in lines
    assert "2 persona1 +1.00 – – – – – – – – –" in lines
    assert "all +1.00 – – – – – – – – –" in lines
    assert "persona1 8.00 2.00 1/1" in lines
    told = "Judges are named by what they differ in; all have model local:m, elicitation dimensions"
    assert told in " ".join(lines)
    assert "No system changed its rank." in lines


def test_the_matrix_fits_a_terminal_of_eighty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten personas stand side by side without a number cut off."""
    monkeypatch.setenv("COLUMNS", "80")
    assert "all +1.00 – – – – – – – – –" in shown(followed())


def test_many_personas_are_listed_by_how_far_they_drew() -> None:
    """Thirteen personas are no matrix but a list. All come to the last one's 2 from 6 to 10, and
    to nobody else (from b to 2 is nearer to v only if b > 2 v − 2): it leads, the twelve follow."""
    judges = [Judge(f"persona{i}", "m", "dimensions") for i in range(13)]
    before = np.array([6, 6, 6, 7, 7, 7, 8, 8, 9, 9, 10, 10, 2], dtype=float)[None, :, None]
    found = deliberation(before, np.full((1, 13, 1), 2.0), judges=judges)
    lines = shown(found)
    assert lines[lines.index("on all") + 2] == "persona12 +1.00 12"


def test_settled_and_untouched_runs_are_short() -> None:
    """Without moves there is nothing on who followed whom; without deliberation one line."""
    same = np.array([[[2.0], [8.0]], [[3.0], [5.0]]])
    settled = "\n".join(shown(deliberation(same, same)))
    assert "0 of 4 ratings changed" in settled
    assert "Changed ratings" not in settled
    assert not shown(deliberation(same, same, deliberated=[False, False]))


def test_swaps_and_ranks() -> None:
    """A pair that changed its order, and both systems with their ranks and composites."""
    lines = shown(deliberation([[[1]], [[4]]], [[[5]], [[4]]]))
    text = " ".join(lines)
    assert "1 of 1 pairs of responses to one prompt changed their order" in text
    assert "B 1 2 4.00 4.00" in lines
    assert "A 2 1 1.00 5.00" in lines


def humans_said(human: Ratings) -> list[str]:
    return shown(deliberation(JUDGED, AGREED, human=human))


def test_humans_beside_the_panel_itself() -> None:
    """Changes against humans stand beside the change of spread, and the direction in words."""
    lines = humans_said(humans())
    changes = "+0.13 p 0.016 1.00 0.00 −1.00 p 0.016 0.00 0.00 0.00 p 1"
    assert f"Clarity [of all] 0.87 1.00 {changes} 8 toward people" in lines


def test_why_no_direction_is_told() -> None:
    """With two prompts rated by humans the words say why they say nothing."""
    theirs = humans()
    few = Ratings(theirs.scores[:4], theirs.items[:4], ("h1", "h2"), ("clarity",), ("x", "x"))
    assert (
        humans_said(few)[-1] == "Clarity [of all]: inconclusive (too few prompts were deliberated)."
    )


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
