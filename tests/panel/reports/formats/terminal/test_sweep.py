"""What a terminal says of a sweep whose claims rest on few prompts."""

from __future__ import annotations

import io
import json
import re

import pytest
from rich.console import Console

from persona_panel import Panel
from persona_panel.graphs.framing import BASELINE, FramedResponse
from persona_panel.reports.formats.terminal.sweep import show_sweep
from persona_panel.rubrics import ModelRequest
from persona_panel.testing import ScriptedModel


def rated(request: ModelRequest) -> str:
    """What stands in the response."""
    said = re.findall(r"level (\d)", str(request))
    return json.dumps({"good_opening": int(said[-1])})


def shown(framed: list[int], systems: str = "s") -> str:
    """A sweep in which each prompt's baseline is rated 4, and its framed answers as given."""
    panel = Panel("disciplinary", ScriptedModel(rated), "debate-speech")
    responses = [
        FramedResponse(
            prompt_id=f"p{n}", prompt=f"Q{n}?", condition=condition, system=system,
            text=f"{n} {condition}: level {level}",
        )
        for system in systems
        for n, after in enumerate(framed)
        for condition, level in ((BASELINE, 4), ("i_believe", after))
    ]  # fmt: skip
    to = io.StringIO()
    show_sweep(panel.sweep(responses=responses), Console(file=to, width=80, no_color=True))
    return " ".join(to.getvalue().split())


@pytest.mark.parametrize(
    ("systems", "told"), [("s", "1 cell on fewer than 29 prompts is"), ("st", "2 cells on fewer")]
)
def test_a_claim_on_few_prompts_is_of_more_prompts_than_not(systems: str, told: str) -> None:
    """Eleven of twelve prompts fall by one point and one rises: sentences and the other mark say
    that more fall than rise, labels in place of ids, and why the mean is not claimed."""
    said = shown([3] * 11 + [5], systems)
    cell = "Good opening speech under i_believe"
    assert f"s degrades in {cell}, in 11 of 12 prompts" in said
    assert "+0.83(*)" in said
    assert "(*): significant is that more prompts change in this direction" in said
    assert f"worse in {cell}: Δ +0.83" in said
    assert "11 of 12 prompts fall, 1 rise" in said
    assert told in said


def test_without_a_claim_there_is_no_mark() -> None:
    """Where as many prompts rise as fall, neither mark nor its meaning is there."""
    said = shown([3, 5] * 6)
    assert "no change is established in any of 1 cell" in said
    assert "(*)" not in said
