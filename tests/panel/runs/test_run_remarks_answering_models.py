"""What a run says of the names by which its models answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from persona_panel import Panel, Response, load_run
from persona_panel.analyses.answers import can_be_trusted
from persona_panel.analyses.score import score_result
from persona_panel.runs.run_remarks import run_remarks
from persona_panel.testing import Answer, raw, serving
from persona_panel.testing.scripted_model import default_text

TEXTS = [
    Response(id=f"r{n}", prompt=f"p{n // 2}", text=f"text {n}", system="ab"[n % 2])
    for n in range(4)
]


def answering_as(name: object) -> Callable[[int, Mapping[str, Any]], Answer]:
    """A server whose answers say that this model made them."""

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        message = {"role": "assistant", "content": default_text(payload)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return raw({"id": f"c{number}", "model": name, "choices": [choice]})

    return script


@pytest.mark.parametrize(
    ("name", "is_recorded", "is_remarked"),
    [
        ("other-13b", True, True),
        ("gpt-4o-2024-08-06", True, False),
        ("/models/gpt-4o.Q4_K_M.gguf", True, False),
        ("gpt-4o-mini", True, True),
        ("gpt-4o", False, False),
        (None, False, False),
        (7, False, False),
    ],
)
def test_the_name_of_the_model_that_answered_is_recorded(
    name: object,
    is_recorded: bool,
    is_remarked: bool,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where it is not the one that was asked for, in summary.json; it is said once where it is more
    than another release or file of the same model, of the run, of the run read back, and of one
    whose answers are all from the cache; and once in all that score says, as a sign that the panel
    cannot be trusted."""
    monkeypatch.setenv("PERSONA_PANEL_CACHE", str(tmp_path / "cache"))
    expected = [
        f"openai:gpt-4o was asked for gpt-4o, and its server named {name} as what answered: if "
        "that is another model, the ratings are that model's."
    ] * is_remarked
    sign = f"Another model may have answered for openai:gpt-4o (its server named {name})."
    with serving(answering_as(name)) as server:
        panel = Panel("disciplinary", f"openai:gpt-4o@{server.base_url}", "scrub")
        for folder in ("first", "again"):
            caplog.clear()
            run = panel.score(TEXTS, out=tmp_path / folder)
            assert run.coverage.scored == 20
            warned = [each.message for each in caplog.records if "as what" in each.message]
            assert warned == expected
            for each in (run, load_run(tmp_path / folder)):
                assert [remark for remark in run_remarks(each) if "as what" in remark] == expected
                trust = can_be_trusted(each)
                for sentence in (trust.sentence, trust.shorter):
                    assert (sign in sentence) == is_remarked
                assert not any("as what" in remark for remark in score_result(each).remarks)
            calls = json.loads((tmp_path / folder / "summary.json").read_text())["calls"]
            recorded = {"openai:gpt-4o": {name: "gpt-4o"}} if is_recorded else {}
            assert calls["answered_by"] == recorded
        assert len(server.calls) == 20
