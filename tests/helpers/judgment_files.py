"""Judgments as a run's folder holds them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from persona_panel.graphs import Judge, Judgment
from persona_panel.runs.judgment_lines import line_of

RUN = {"rubric": {"dimensions": [{"id": "clarity"}, {"id": "depth"}]}}


def judgment(id_: str, persona: str = "x", model: str = "m", **changed: Any) -> Judgment:
    known: dict[str, Any] = {"status": "scored", "scores": {"clarity": 1, "depth": 2}}
    judge = Judge(persona, model, "dimensions")
    return Judgment("p", id_, f"by {id_}", judge, **(known | changed))


def folder_of(path: Path, *lines: Judgment | dict[str, Any]) -> Path:
    path.mkdir(exist_ok=True)
    (path / "run.json").write_text(json.dumps(RUN))
    written = [line_of(line) if isinstance(line, Judgment) else line for line in lines]
    (path / "judgments.jsonl").write_text("".join(json.dumps(line) + "\n" for line in written))
    return path
