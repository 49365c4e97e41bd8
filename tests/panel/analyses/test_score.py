"""A run as a result: the conclusion, the leaderboard, who differs, what is contested, what is
missing, on little room."""

from __future__ import annotations

import pytest

from persona_panel import Panel, Response
from persona_panel.analyses.score import (
    score_result,
)
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.aggregate import aggregate
from persona_panel.rubrics import ModelResponse, Status, Usage
from persona_panel.runs.run import Run
from persona_panel.runs.run_remarks import lacking_tables
from persona_panel.testing import ScriptedModel
from tests.helpers.gate_runs import run_of
from tests.helpers.judgments import PLAIN, a_dimension
from tests.helpers.noise import a_run


def shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a terminal of 80 columns shows."""
    monkeypatch.setenv("COLUMNS", "80")
    return score_result(run).text()


def test_a_large_run_is_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 prompts, six systems and 30 judges take at most 24 lines of 80 columns, ranking and
    answers; the full report has who differs in a sentence each, the contested response by name, and
    no ranking by prompt."""
    run = a_run(200, 6, "abc")
    text = shown(run, monkeypatch)
    assert len(text.splitlines()) <= 24
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("Systems\n")
    assert " ".join(text.split()).count("?") >= 5
    full = score_result(run).text(full=True)
    assert "Responses by prompt" not in full
    for part in ("Means by dimension", "Personas and systems", "Axes: ", "Models: "):
        assert part in full
    said = " ".join(full.split())
    assert "1 of 1,200 responses is contested" in said
    assert "system-0, p0/r0 (" in said
    assert "36,000 of 36,000 judgments scored" in said


def test_calls_that_failed_are_counted_apart() -> None:
    """Calls made less those that failed, and what the cache answered, are the judgments; where no
    call failed nothing is said of it, nor of batches, whose requests without an answer are no
    calls."""
    run = a_run(2, 2, "a")
    n = run.coverage.expected
    run.calls.made, run.calls.cached = n, 5
    assert f"{n} calls made, 5 answered" in " ".join(score_result(run).text(full=True).split())
    run.calls.faults.update({"timeout": 2, "HTTP 500": 3})
    told = f"{n} calls made, retries included (5 of them failed), 5 answered from the cache."
    assert told in " ".join(score_result(run).text(full=True).split())
    run.calls.spent["a (batch)"] = Usage(1)
    assert "failed)" not in score_result(run).text(full=True)


def test_a_small_run_has_the_rank_of_each_response() -> None:
    """Two prompts with two responses each are ranked; with one model it is said why nothing is
    known of what is contested."""
    text = score_result(a_run(2, 2, "a", "disciplinary")).text(full=True)
    assert "Responses by prompt" in text
    assert "Models: " not in text
    assert "Axes: " not in text
    assert " ".join(text.split()).count("personas cannot be separated from noise") == 2


def test_one_persona_and_one_model_have_nobody_beside_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a judge without a persona alone there is no such part."""
    assert "Personas and" not in shown(a_run(2, 2, "a", "none"), monkeypatch)


def test_cached_tokens_are_told_by_where_they_were_kept() -> None:
    """Those of a provider's prompt cache, and those of a model inside this process."""
    reply = ModelResponse("4", usage=Usage(input=10, cached=6))
    panel = Panel("disciplinary", ScriptedModel(reply), "debate-speech", elicitation="holistic")
    run = panel.score([Response(id="1", prompt="Why?", text="Because.", system="a")])
    run.calls.spent["local:some"] = Usage(input=9, cached=7)
    said = " ".join(score_result(run).text(full=True).split())
    assert "30 of 50 input tokens were read from the providers' prompt caches." in said
    assert "7 of 9 input tokens were kept from the last request by a model in this process." in said


def rated(off_scale: float) -> str:
    """Of a run of one judgment, with so much probability on no value of the scale."""
    judge = Judge("ann", "openai:m", "expected")
    run = Run([Item("q", "r", "ash")], {"q": "Why?"}, [judge], PLAIN, prices={}, seed=0)
    name = PLAIN.dimensions[0].id
    shares = {name: off_scale}
    said = Judgment("q", "r", "ash", judge, "scored", scores={name: 5.0}, off_scale=shares)
    run.add(said)
    run.conclude(aggregate([said], PLAIN))
    return score_result(run).text()


def test_that_scores_rest_on_little_is_said() -> None:
    """Where most of a model's probability lies on no value of the scale, the answer whether the
    panel can be trusted says so, also of a single judge; where little does, nothing is said."""
    told = " ".join(rated(0.98).split())
    trust = told.partition("Can the panel be trusted? ")[2].partition("Do personas add")[0]
    assert "openai:m: 98 % of the probability of its answers lay on no value of the scale" in trust
    assert told.count("lay on no value") == 1
    assert "lay on no value" not in rated(0.4)


def test_what_is_missing_is_counted_by_judge_and_by_model_and_dimension() -> None:
    """Of two responses m1 refuses one and leaves out the depth of the other; m2 has one answer that
    could not be parsed, and rates all of the other: it has refused nothing. m3 lacks nothing."""
    rubric = PLAIN.model_copy(update={"dimensions": (a_dimension("clarity"), a_dimension("depth"))})
    judges = [Judge("none", model, "dimensions") for model in ("m1", "m2", "m3")]
    items = [Item("p", name, name) for name in ("a", "b")]
    run = Run(items, {}, judges, rubric, prices=dict.fromkeys(("m1", "m2", "m3")), seed=0)
    whole = {"clarity": 5.0, "depth": 5.0}
    given: list[list[tuple[Status, dict[str, float]]]] = [
        [("refused", {}), ("unparsed", {}), ("scored", whole)],
        [("scored", {"clarity": 5.0}), ("scored", whole), ("scored", whole)],
    ]
    for item, row in zip(items, given, strict=True):
        judgments = [
            Judgment(*item, judge, status, scores=scores)
            for judge, (status, scores) in zip(judges, row, strict=True)
        ]
        for judgment in judgments:
            run.add(judgment)
        run.conclude(aggregate(judgments, rubric))
    by_judge, by_model = lacking_tables(run)
    assert [
        (row["judge"], row["refused"], row["unparsed"], row["failed"], row["of"])
        for row in by_judge.rows
    ] == [(judges[0].id, 1, 0, 0, 2), (judges[1].id, 0, 1, 0, 2)]
    assert [tuple(row.values()) for row in by_model.rows] == [
        ("m1", "clarity", 1, 0, 2), ("m1", "depth", 1, 1, 2),
    ]  # fmt: skip
    names = [table.name for table in score_result(run).tables]
    assert {"missing_by_judge", "refused_ratings"} <= set(names)


def test_a_run_that_lacks_nothing_has_no_table_of_what_is_missing() -> None:
    assert not [*lacking_tables(run_of([[[5, 6], [3, 4]]], ("elm", "oak")))]
