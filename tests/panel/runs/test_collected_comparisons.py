"""What a run's comparisons come to: which of them count, and that a folder gives them back."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from persona_panel import Panel, Response, load_run
from persona_panel.analyses.run_summary import run_summary
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge, Judgment
from persona_panel.rubrics import ModelResponse, Status
from persona_panel.runs.collected import CollectedComparisons
from persona_panel.statistics import Reason, Strengths, WinCounts, bradley_terry
from persona_panel.testing import ScriptedModel

SYSTEMS = ("a", "b", "c")
PROMPTS = [f"p{i}" for i in range(4)]
ITEMS = [Item(prompt, f"{prompt}-{system}", system) for prompt in PROMPTS for system in SYSTEMS]
JUDGES = [Judge("ann", "m", "pairwise"), Judge("bob", "m", "pairwise")]


def said(
    prompt: str,
    system: str,
    outcomes: Mapping[str, str],
    judge: Judge = JUDGES[0],
    status: Status = "scored",
) -> Judgment:
    """What a judge says of a system's response and those that stood after it."""
    return Judgment(
        prompt, f"{prompt}-{system}", system, judge, status,
        comparisons={f"{prompt}-{other}": outcome for other, outcome in outcomes.items()},
    )  # fmt: skip


def collected(*judgments: Judgment) -> CollectedComparisons:
    found = CollectedComparisons(ITEMS, JUDGES)
    for judgment in judgments:
        found.add(judgment, JUDGES.index(judgment.judge))
    return found


def strengths(found: CollectedComparisons) -> Strengths:
    result = found.strengths(PROMPTS, [0, 1], "prompts")
    assert result is not None
    return result


def same(one: object, other: object) -> bool:
    """Whether two results are equal, intervals that are not there (NaN) included."""
    return repr(one) == repr(other)


def both_orders(prompt: str, winners: str, judge: Judge = JUDGES[0]) -> list[Judgment]:
    """Every two in both orders; `winners` are of a-b, a-c and b-c: a letter, or = for a tie."""
    won = dict(zip(combinations(SYSTEMS, 2), winners, strict=True))
    judgments = []
    for first in SYSTEMS:
        outcomes = {}
        for second in SYSTEMS:
            if first != second:
                winner = won[min(first, second), max(first, second)]
                outcomes[second] = {first: "first", second: "second"}.get(winner, "tie")
        judgments.append(said(prompt, first, outcomes, judge))
    return judgments


ALL = [
    one
    for prompt, winners in zip(PROMPTS, ("a=b", "bac", "ac=", "=cc"), strict=True)
    for one in both_orders(prompt, winners)
]


def test_both_orders_are_counted_as_wins_and_ties() -> None:
    """The strengths are those of the counts that can be read off the comparisons: two for each
    pair and prompt."""
    wins, ties = np.zeros((2, 4, 3, 3))
    # By prompt the winner of a-b, a-c, b-c, as in ALL.
    for prompt, those in enumerate(((0, None, 1), (1, 0, 2), (0, 2, None), (None, 2, 2))):
        for (first, second), winner in zip(combinations(range(3), 2), those, strict=True):
            if winner is None:
                ties[prompt, first, second] = ties[prompt, second, first] = 2
            else:
                wins[prompt, winner, second if winner == first else first] = 2
    assert same(strengths(collected(*ALL)), bradley_terry(SYSTEMS, WinCounts(wins, ties)))


def test_a_pair_with_one_answer_of_two_does_not_count() -> None:
    """Where the other order was not answered, the place would count as if it were merit."""
    cut = [
        said("p0", "a", {"c": "second"}) if (one.prompt_id, one.system) == ("p0", "a") else one
        for one in ALL
    ]
    without = [
        said("p0", "b", {"c": "first"}) if (one.prompt_id, one.system) == ("p0", "b") else one
        for one in cut
    ]
    assert {one.system: one.n_comparisons for one in strengths(collected(*ALL)).systems} == {
        "a": 16, "b": 16, "c": 16,
    }  # fmt: skip
    assert {one.system: one.n_comparisons for one in strengths(collected(*cut)).systems} == {
        "a": 14, "b": 14, "c": 16,
    }  # fmt: skip
    assert same(strengths(collected(*cut)), strengths(collected(*without)))


def test_one_order_counts_where_there_is_only_one() -> None:
    """A ranking has each pair once, in the order in which they stood."""
    judgments = [
        one
        for prompt in PROMPTS
        for one in (
            said(prompt, "b", {"a": "first" if prompt < "p3" else "second", "c": "tie"}),
            said(prompt, "a", {"c": "first" if prompt > "p0" else "second"}),
            said(prompt, "c", {}),
        )
    ]
    wins, ties = np.zeros((2, 4, 3, 3))
    wins[:3, 1, 0] = wins[3, 0, 1] = wins[1:, 0, 2] = wins[0, 2, 0] = 1
    ties[:, 1, 2] = ties[:, 2, 1] = 1
    assert same(strengths(collected(*judgments)), bradley_terry(SYSTEMS, WinCounts(wins, ties)))


def test_a_judgment_that_comes_again_replaces_the_earlier_one() -> None:
    """Comparisons are counted once, and those of a judgment that was skipped not at all."""
    assert same(strengths(collected(*ALL, *ALL)), strengths(collected(*ALL)))
    skipped = [said("p0", one.system, {}, status="skipped") for one in ALL[:3]]
    assert same(strengths(collected(*ALL, *skipped)), strengths(collected(*ALL[3:])))


def test_only_the_given_prompts_and_judges_count() -> None:
    """Another judge's comparisons, and those of a prompt without a verdict, are left out."""
    more = [one for prompt in PROMPTS for one in both_orders(prompt, "ccc", JUDGES[1])]
    found = collected(*ALL, *more)
    assert same(found.strengths(PROMPTS, [0], "prompts"), strengths(collected(*ALL)))
    assert same(found.strengths(PROMPTS[:3], [0], "prompts"), strengths(collected(*ALL[:9])))


def test_without_comparisons_there_are_no_strengths() -> None:
    """Of judges that rate there is nothing to be said, which is not a table of undefined ones."""
    assert collected(said("p0", "a", {})).strengths(PROMPTS, [0], "prompts") is None


def test_very_many_systems_are_refused_with_the_reason() -> None:
    """Of 51 systems no table of every two is made."""
    items = [Item("p", f"r{i}", f"s{i}") for i in range(51)]
    found = CollectedComparisons(items, JUDGES)
    found.add(Judgment("p", "r0", "s0", JUDGES[0], "scored", comparisons={"r1": "tie"}), 0)
    result = found.strengths(["p"], [0], "prompts")
    assert result is not None
    assert {one.strength.reason for one in result.systems} == {Reason.MANY_SYSTEMS}


@pytest.mark.parametrize("random", ["prompts", "prompts-and-judges"])
def test_a_run_and_its_folder_give_the_same(tmp_path: Path, random: str) -> None:
    """A model that calls every two equal: every comparison is a tie, in the run, in summary.json
    and in the run read back; a run that rates has no such entry."""
    responses = [
        Response(id=f"{system}{i}", prompt=f"Why {i}?", text=f"{system} {i}", system=system)
        for i in range(3)
        for system in SYSTEMS
    ]
    model = ScriptedModel(ModelResponse('{"better": "tie"}'))
    panel = Panel("disciplinary", model, "debate-speech", elicitation="pairwise")
    run = panel.score(responses, out=tmp_path / "run", random=random)  # type: ignore[arg-type]
    found = run.strengths()
    assert found is not None
    assert {one.strength.reason for one in found.systems} == {Reason.ALL_TIES}
    assert {one.n_comparisons for one in found.systems} == {3 * 2 * 2 * len(panel.judges)}
    assert found.random == random
    again = load_run(tmp_path / "run")
    again.random = run.random
    assert run_summary(again)["strengths"] == run_summary(run)["strengths"]
    assert run_summary(run)["strengths"]["systems"][0]["reason"] == Reason.ALL_TIES
    rated = Panel("disciplinary", ScriptedModel(ModelResponse("4")), "debate-speech",
                  elicitation="holistic").score(responses)  # fmt: skip
    assert rated.strengths() is None
    assert "strengths" not in run_summary(rated)
