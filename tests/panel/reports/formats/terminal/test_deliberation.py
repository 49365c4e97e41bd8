"""What deliberation did, as it is read in a terminal."""

from __future__ import annotations

from io import StringIO

import numpy as np
from rich.console import Console

from persona_panel.graphs import Judge
from persona_panel.reports.formats.terminal.deliberation import show_deliberation
from persona_panel.runs.deliberation import DeliberationReport
from persona_panel.statistics.core.table import Ratings
from tests.helpers.deliberations import AGREED, JUDGED, deliberation, humans


def shown(found: DeliberationReport, width: int = 100) -> list[str]:
    """The lines, with single spaces between words."""
    text = StringIO()
    show_deliberation(found, Console(file=text, width=width), {"clarity": "Clarity [of all]"})
    return [" ".join(line.split()) for line in text.getvalue().splitlines()]


def followed() -> DeliberationReport:
    """One at 2 with a reason, nine at 8 who come to 2 without any."""
    stated = np.array([[True] + [False] * 9])
    before = np.array([[[2.0]] + [[8.0]] * 9])
    return deliberation(before, np.full((1, 10, 1), 2.0), stated=stated)


def test_a_persuader_and_nine_who_follow() -> None:
    """The terminal says how many moved, that none of it was with a reason, and in whose column
    the movers went."""
    lines = shown(followed())
    assert lines[0] == (
        "1 of 1 responses were deliberated; 9 of 10 ratings changed by half a step or more."
    )
    assert "Clarity [of all] 7.40 → 2.00 9 of 10 1.90 → 0.00 −1.90" in lines
    assert "with a stated reason 0 0 0 0 –" in lines
    assert "without one 9 9 0 0 100 %" in lines
    assert "2 persona1 +1.00 – – – – – – – – –" in lines
    assert "all +1.00 – – – – – – – – –" in lines
    assert "persona1 8.00 → 2.00 1 of 1" in lines
    told = "Judges are named by what they differ in; all have model local:m, elicitation dimensions"
    assert told in " ".join(lines)
    assert "persona1|local:m|dimensions|1 8.00 → 2.00 1 of 1" in shown(followed(), 100_000)
    assert "No system changed its rank." in lines


def test_the_matrix_fits_a_terminal_of_eighty() -> None:
    """Ten personas stand side by side without a number cut off."""
    assert "all +1.00 – – – – – – – – –" in shown(followed(), width=80)


def test_many_personas_are_listed_by_how_far_they_drew() -> None:
    """Thirteen personas are no matrix but a list. All come to the last one's 2 from 6 to 10, and
    to nobody else (from b to 2 is nearer to v only if b > 2 v − 2): it leads, the twelve follow."""
    judges = [Judge(f"persona{i}", "m", "dimensions") for i in range(13)]
    before = np.array([6, 6, 6, 7, 7, 7, 8, 8, 9, 9, 10, 10, 2], dtype=float)[None, :, None]
    found = deliberation(before, np.full((1, 13, 1), 2.0), judges=judges)
    lines = shown(found)
    assert lines[lines.index("persona influence on all changes") + 2] == "persona12 +1.00 12"


def test_settled_and_untouched_runs_are_short() -> None:
    """Without moves there is nothing on who followed whom; without deliberation one line."""
    same = np.array([[[2.0], [8.0]], [[3.0], [5.0]]])
    settled = "\n".join(shown(deliberation(same, same)))
    assert "0 of 4 ratings changed" in settled
    assert "Changed ratings" not in settled
    untouched = shown(deliberation(same, same, deliberated=[False, False]))
    assert untouched == [
        "0 of 2 responses were deliberated; 0 of 0 ratings changed by half a step or more."
    ]


def test_swaps_and_ranks() -> None:
    """A pair that changed its order, and both systems with their ranks and composites."""
    lines = shown(deliberation([[[1]], [[4]]], [[[5]], [[4]]]))
    text = " ".join(lines)
    assert "1 of 1 pairs of responses to one prompt changed their order" in text
    assert "B 1 → 2 4.00 → 4.00" in lines
    assert "A 2 → 1 1.00 → 5.00" in lines


def humans_said(human: Ratings) -> list[str]:
    return shown(deliberation(JUDGED, AGREED, human=human))


def test_humans_beside_the_panel_itself() -> None:
    """Changes against humans stand beside the change of spread, and the direction in words."""
    lines = humans_said(humans())
    assert any(line.endswith("1.00 → 0.00 0.00 → 0.00 8") for line in lines)
    assert "p 0.016 p 0.016 p 1" in lines
    assert lines[-1] == "Clarity [of all]: toward people."


def test_why_no_direction_is_told() -> None:
    """With two prompts rated by humans the words say why they say nothing."""
    theirs = humans()
    few = Ratings(theirs.scores[:4], theirs.items[:4], ("h1", "h2"), ("clarity",), ("x", "x"))
    assert (
        humans_said(few)[-1] == "Clarity [of all]: inconclusive (too few prompts were deliberated)."
    )
