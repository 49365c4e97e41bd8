"""What deliberation did, as tables of a run's result."""

from __future__ import annotations

import numpy as np
import pytest

from persona_panel.analyses.deliberation import deliberation_tables
from persona_panel.graphs import Judge
from persona_panel.results.result import Result
from persona_panel.runs.deliberation import DeliberationReport
from persona_panel.statistics.core.table import Ratings
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
