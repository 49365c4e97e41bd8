"""A run in a terminal: the conclusion, the leaderboard, who differs, what is contested, what is
missing, on little room."""

from __future__ import annotations

import io

import numpy as np
import pytest

from persona_panel.files.responses import Item
from persona_panel.graphs.aggregate import aggregate
from persona_panel.panel import Panel
from persona_panel.reports.formats.terminal import render_run
from persona_panel.rubrics import Usage
from persona_panel.runs.collected import judgment_of_row
from persona_panel.runs.run import Run
from persona_panel.testing import ScriptedModel


def a_run(n_prompts: int, n_systems: int, models: str, personas: str = "perspectives") -> Run:
    """Judgments of noise by this panel; on the first response, where there are two models, the
    second persona is 4 points above the others."""
    plan = Panel(personas, [ScriptedModel(model=name) for name in models]).plan
    items = [
        Item(f"p{i}", f"r{s}", f"system-{s}") for i in range(n_prompts) for s in range(n_systems)
    ]
    rubric = plan.output_rubric
    run = Run(items, {item.prompt_id: "Why?" for item in items}, [*plan.judges], rubric,
              prices={}, seed=0)  # fmt: skip
    run.personas = tuple(plan.personas)
    scores = np.random.default_rng(0).integers(4, 8, run.ratings.shape).astype(float)
    second = [judge.persona == plan.personas[-1].id for judge in plan.judges]
    scores[0, second] = 10
    for item, row in zip(items, scores, strict=True):
        judgments = [
            judgment_of_row(item, judge, one.tolist(), rubric)
            for judge, one in zip(plan.judges, row, strict=True)
        ]
        for judgment in judgments:
            run.add(judgment)
        run.conclude(aggregate(judgments, rubric))
    return run


def shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a terminal of 80 columns shows."""
    monkeypatch.setenv("COLUMNS", "80")
    to = io.StringIO()
    render_run(run, {one.id: one.label for one in run.rubric.dimensions}, to)
    return to.getvalue()


def test_a_large_run_is_a_screen_and_a_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 prompts, six systems and 30 judges take at most 75 lines of 80 columns: no ranking by
    prompt, who differs in a sentence each, the contested response by name."""
    run = a_run(200, 6, "abc")
    text = shown(run, monkeypatch)
    assert len(text.splitlines()) <= 75
    assert max(map(len, text.splitlines())) <= 80
    assert "Responses by prompt" not in text
    for part in ("Systems", "Means by dimension", "Who sees it otherwise", "Axes: ", "Models: "):
        assert part in text
    assert "1 of 1,200 responses is contested" in text
    assert "system-0, p0/r0 (" in text
    assert "36,000 of 36,000 judgments scored" in text


def test_calls_that_failed_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls made less those that failed, and what the cache answered, are the judgments; where no
    call failed nothing is said of it, nor of batches, whose requests without an answer are no
    calls."""
    run = a_run(2, 2, "a")
    n = run.coverage.expected
    run.calls.made, run.calls.cached = n, 5
    assert f"{n} calls made, 5 answered" in " ".join(shown(run, monkeypatch).split())
    run.calls.faults.update({"timeout": 2, "HTTP 500": 3})
    told = f"{n} calls made (5 of them failed), 5 answered from the cache."
    assert told in " ".join(shown(run, monkeypatch).split())
    run.calls.spent["a (batch)"] = Usage(1)
    assert "failed)" not in shown(run, monkeypatch)


def test_a_small_run_has_the_rank_of_each_response(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two prompts with two responses each are ranked; with one model it is said why nothing is
    known of what is contested."""
    text = shown(a_run(2, 2, "a", "disciplinary"), monkeypatch)
    assert "Responses by prompt" in text
    assert "Models: " not in text
    assert "Axes: " not in text
    assert " ".join(text.split()).count("one model with one replicate shows no noise") == 2


def test_one_persona_and_one_model_have_nobody_beside_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a judge without a persona alone there is no such part."""
    assert "Who sees it otherwise" not in shown(a_run(2, 2, "a", "none"), monkeypatch)
