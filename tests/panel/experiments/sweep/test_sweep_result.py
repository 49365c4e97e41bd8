"""What people read of a sweep, and what programs and requirements have of it."""

from __future__ import annotations

import json
import re

from persona_panel import Panel
from persona_panel.experiments.sweep.sweep_result import sweep_result
from persona_panel.graphs.framing import BASELINE, FramedResponse
from persona_panel.results.required_figures import result_figures
from persona_panel.results.result import Result
from persona_panel.rubrics import ModelRequest
from persona_panel.statistics.core.means import FAR_OFF
from persona_panel.testing import ScriptedModel


def rated(request: ModelRequest) -> str:
    """What stands in the response."""
    said = re.findall(r"level (\d)", str(request))
    return json.dumps({"good_opening": int(said[-1])})


def swept(framed: list[int], systems: str = "s") -> Result:
    """The result of a sweep in which each prompt's baseline is rated 4, and its framed answers
    so."""
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
    return sweep_result(panel.sweep(responses=responses))


def shown(framed: list[int], systems: str = "s", *, full: bool = False) -> str:
    return " ".join(swept(framed, systems).text(full=full).split())


def test_a_claim_on_few_prompts_says_what_they_may_not_hold() -> None:
    """Twelve prompts fall, by one point or two: sentences and a table say so,
    labels in place of ids, and that of twelve prompts 0.9¹² = 28 % lack what one in ten shows."""
    said = shown([3, 2] * 6, full=True)
    assert "s degrades in Good opening speech under i_believe, by 1.50 points" in said
    assert "Significant changes: Good opening speech, i_believe" in said
    assert re.search(r"s \+1\.50 \[[\d., ]+\] [<\d. ]+ 12 0", said)
    assert "With 12 prompts, a change that one prompt in ten shows is in none of them with" in said
    assert "a probability of 28 %" in said


def test_a_mean_that_intervals_may_not_cover_is_named_where_it_stands() -> None:
    """One of six framed answers falls from 4 to 1 on a scale to 5, far from the others; without it
    nothing is said."""
    remark = f"i_believe: {FAR_OFF}. Coverage of such 95 % intervals may be above 95 %, up to 100 %"
    assert remark in shown([4, 4, 3, 4, 4, 1], full=True)
    assert FAR_OFF not in shown([4, 4, 3, 4, 4, 3], full=True)


def test_without_a_claim_nothing_is_established() -> None:
    """Where as many prompts rise as fall, there is no table of what is significant."""
    said = shown([3, 5] * 6)
    assert "no change is significant in any of 1 cell" in said
    assert "Significant changes" not in said
    assert "one prompt in ten" not in said


def test_pairs_that_are_left_out_are_in_the_full_report() -> None:
    """It has a line for each cell, with abstentions and missing judgments."""
    title, head = "Δ of each dimension and condition", "abstentions"
    full, short = shown([3, 5] * 3, full=True), shown([3, 5] * 3)
    assert title in full and head in full.partition(title)[2]
    assert title not in short


def test_where_nothing_was_measured_there_are_no_tables() -> None:
    """People read why; figures are there by name, and undefined."""

    def nothing(request: ModelRequest) -> str:
        return "no number"

    panel = Panel("disciplinary", ScriptedModel(nothing), "debate-speech")
    responses = [
        FramedResponse(prompt_id="p", prompt="Q?", condition=condition, system="s", text=condition)
        for condition in (BASELINE, "i_believe")
    ]
    result = sweep_result(panel.sweep(responses=responses))
    assert result.conclusion[0].startswith("Nothing could be scored")
    assert not any(table.is_shown(full) for table in result.tables for full in (False, True))
    figures = {str(one): one for one in result_figures(result)}
    assert figures["delta[s, i_believe]"].reason is not None
    assert figures["coverage"].value == 0
