"""What judges wrote of a response is found by its ids, whatever these are."""

from __future__ import annotations

import json
from pathlib import Path

from persona_panel.analyses.contested import most_contested
from persona_panel.analyses.who_differs import who_differs
from persona_panel.reports.page.embedded import embedded
from persona_panel.runs.collected import judgment_of_row
from tests.helpers.marked_texts import marked_model, marked_run


def test_ids_that_json_escapes_have_their_judgments(tmp_path: Path) -> None:
    """A quotation mark, a backslash and another script in a prompt's id: every response has both
    judges' replies."""
    ids = ('say "x"', "a\\b", "вопрос", "plain")
    run = marked_run(tmp_path / "run", {name: f"[4,5] {name}" for name in ids}, marked_model())
    personas = {judge.persona: (judge.persona, "own") for judge in run.judges}
    found = json.loads(embedded(run, personas, [], titles={}).json)
    assert [one["prompt"] for one in found["responses"]] == list(ids)
    for one in found["responses"]:
        assert [said[0] for said in one["said"]] == [0, 1]


def test_what_was_computed_is_forgotten_with_a_judgment(tmp_path: Path) -> None:
    """Who differs is computed once for terminal, summary and page, and anew once a rating changed:
    Bob, with two replicates, comes to rate one response far above Ann."""
    texts = {name: f"[4,5] {name}" for name in "abcde"}
    run = marked_run(tmp_path / "run", texts, marked_model(), replicates=2)
    before, ranked = who_differs(run), most_contested(run)
    assert who_differs(run) == before
    assert most_contested(run) == ranked
    assert most_contested(run, top=1) == ranked[:1]
    for judge in run.judges:
        if judge.persona == "bob":
            run.add(judgment_of_row(run.items[0], judge, [9.0, 10.0 - judge.replicate], run.rubric))
    assert most_contested(run) != ranked
