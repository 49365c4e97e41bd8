"""Folders and files that commands read, made once a process, with one file of them changed."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from persona_panel import ModelConfig, Panel, Rubric, load_definition, load_responses
from persona_panel.cli.main import command
from persona_panel.experiments.injection import plan_injection
from persona_panel.experiments.injection_attacks import AttackSet, shipped_attacks
from persona_panel.testing import Answer, ok, serving
from tests.helpers.audits import audit_injection

RESPONSES = [
    {"id": f"r{i}", "prompt_id": f"q{i // 2}", "prompt": f"Question {i // 2}?", "place": i,
     "response": f"Text {i}.", "system": f"s{i % 2}", "label": "useful"}
    for i in range(4)
]  # fmt: skip
FILES = {
    "responses.jsonl": "".join(json.dumps(row) + "\n" for row in RESPONSES),
    "humans.csv": "item,rater,dimension,score\n" + "".join(
        f"{row['prompt_id']}/{row['id']},{rater},{dimension},{1 + (place + len(rater)) % 5}\n"
        for place, row in enumerate(RESPONSES)
        for rater in ("h1", "hh2")
        for dimension in ("clarity", "depth")
    ),
    "raters.csv": "rater,side\nh1,1\nhh2,-1\n",
    "groups.yaml": "groups:\n  left: {condition: side < 0, personas: [ann]}\n"
    "  right: {condition: side > 0, personas: [bob]}\ncontrasts: [left - right]\n",
    "personas.yaml": "id: own\nlabel: Own\npersonas:\n" + "".join(
        f"  - {{id: {name}, label: {name}, axis: own, description: You are {name}.}}\n"
        for name in ("ann", "bob")
    ),
    "rubric.yaml": "id: own\nlabel: Own\nquestion: How good?\ndimensions:\n" + "".join(
        f"  - {{id: {name}, label: {name}, definition: d, guiding_question: g,"
        " scale: {min: 1, max: 5, low: poor, high: good}}\n"
        for name in ("clarity", "depth")
    ),
}  # fmt: skip
_JUDGES = ["--personas", "personas.yaml", "--rubric", "rubric.yaml", "--model", "openai:stub"]
COMMANDS: dict[str, list[str]] = {
    "agree": ["agree", "run", "--full"],
    "agree-by": ["agree", "run", "--by", "place"],
    "votes": ["people", "votes", "run"],
    "correlate": ["people", "correlate", "run", "--human", "humans.csv"],
    "calibrate": ["people", "calibrate", "run", "--human", "humans.csv"],
    "align": ["people", "align", "run", "--human", "humans.csv"],
    "fidelity": ["people", "fidelity", "run", "--human", "humans.csv", "--raters", "raters.csv",
                 "--groups", "groups.yaml"],
    "contested": ["contested", "run"],
    "compare": ["compare", "run", "other"],
    "compare-to": ["compare", "other", "run", "--format", "html"],
    "select": ["select", "run", "--n", "2"],
    "plan": ["plan", "--from", "run"],
    "report": ["report", "run", "--human", "humans.csv", "--require", "composite[s0] >= 1"],
    "bias": ["audit", "bias", "run"],
    "batch": ["batch", "status", "run"],
    "keypoints": ["keypoints", "run", "--model", "openai:m", "--dry-run"],
    "study": ["people", "make", "responses.jsonl", "--rubric", "rubric.yaml", "--raters", "2",
              "--tasks", "rate", "--per-rater", "2", "--out", "study"],
    "score": ["score", "responses.jsonl", *_JUDGES, "--dry-run"],
    "resume": ["score", "responses.jsonl", *_JUDGES, "--elicitation", "justified", "--out", "run",
               "--dry-run"],
    "match": ["questions", "match", "responses.jsonl", "responses.jsonl", "--by", "model",
              "--model", "openai:m",
              "--dry-run"],
}  # fmt: skip
"""Commands by a name, in a folder that `originals` is like; none calls a model."""


def _answer(call: int, payload: Mapping[str, Any]) -> Answer:
    if "response_format" in payload:
        return ok()
    return ok('<scratchpad>It is, "but".</scratchpad>{"clarity": 4, "depth": 2}')


@cache
def originals() -> Path:
    """A folder with `FILES`, and the folders of a run, of another, and of an audit."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    for name, text in FILES.items():
        (folder / name).write_text(text)
    rest = ["--elicitation", "justified", "--no-report", "--out"]
    with serving(_answer) as server, chdir(folder):
        address = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-0123456789abcdef"}
        _done(["score", "responses.jsonl", *_JUDGES, *rest, "run", "--batch"], **address)
        _done(["score", "responses.jsonl", *_JUDGES, *rest, "other", "--limit", "2"], **address)
        _done(["keypoints", "run", "--model", "openai:m"], **address)
        _done(["audit", "bias", "run"])
        model = ModelConfig(model="openai:stub", base_url=server.base_url)
        rubric = load_definition(Path("rubric.yaml"), Rubric)
        panel = Panel("personas.yaml", model, rubric)
        attacks = load_definition(shipped_attacks(), AttackSet).chosen([], [])[:2]
        responses = list(load_responses("responses.jsonl"))[:2]
        audit_injection(panel.plan, plan_injection(panel.plan, responses, attacks), out="audit")
    return folder


def _done(arguments: list[str], **env: str) -> None:
    result = CliRunner().invoke(command, arguments, env=env)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output


def changeable() -> list[str]:
    """The files that are changed, as they are called in `originals`."""
    kept = [path for name in ("run", "audit") for path in (originals() / name).rglob("*")]
    names = [str(one.relative_to(originals())) for one in sorted(kept) if one.is_file()]
    return [*FILES, *(name for name in names if not name.endswith((".html", ".lock")))]


def invoke(name: str, file: str, content: bytes) -> None:
    """Run a command where a file has this content; raise whatever it raises."""
    with tempfile.TemporaryDirectory(prefix="fuzz") as made:
        folder = Path(made, "folder")
        shutil.copytree(originals(), folder)
        (folder / file).write_bytes(content)
        # Of an audit's file, the command reads the audit.
        of_audit = file.startswith("audit/")
        given = ["audit" if of_audit and one == "run" else one for one in COMMANDS[name]]
        with chdir(folder):
            done = CliRunner().invoke(command, given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
