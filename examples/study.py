"""A study from question to figures: prompts, texts, panel, blinded raters, and how far they agree.

    python examples/study.py [FOLDER]

Every step is a command that you could type; it is printed before it runs. Texts and judgments come
from the embedded model, and the raters are simulated: they open their packets as a program, and
prefer texts with more different words. So it shows how the path goes, and no finding. Files go into
FOLDER (study-example if left out); started again, it goes on where it stopped.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

from shared import command

from persona_panel import load_responses
from persona_panel.study.collection import answers_by
from persona_panel.study.exports import packet_in
from persona_panel.study.packet import Packet

MODEL, RATERS = "local:smollm2-135m", 4
SPEC = """\
id: example
label: Two slots in a template
seed: 1
slots:
  concept: [fairness, trust]
  institution: [a school, a hospital, a court]
templates:
  - id: owes
    text: "What does {institution} owe people in the name of {concept}?"
draw: {prompts: 3}
"""
PERSONAS = """\
id: two
label: Two readers
personas:
  - {id: sociologist, label: Sociologist, axis: disciplinary, description: You study institutions.}
  - {id: historian, label: Historian, axis: disciplinary, description: You study how ideas change.}
"""

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "study-example")
folder.mkdir(parents=True, exist_ok=True)
os.chdir(folder)
Path("spec.yaml").write_text(SPEC, "utf-8")
Path("personas.yaml").write_text(PERSONAS, "utf-8")


def texts(words: int) -> list[dict[str, str]]:
    """Responses of about so many words; how many were asked for makes the two systems here."""
    name = f"about-{words}-words.jsonl"
    command("generate", "prompts.jsonl", "--target", MODEL, "--words", str(words), "--out", name)
    found = load_responses(name)
    return [
        {
            "prompt_id": str(one.prompt_id),
            "prompt": one.prompt,
            "response": one.text,
            "system": f"asked-for-{words}-words",
        }
        for one in found
    ]


def answers(packet: Packet, draw: random.Random) -> dict[str, Any]:
    """What a simulated rater answers: more different words are better, give or take chance."""
    texts = [text for one in packet.sets for text in one.texts]
    quality = {
        text.id: len(set(text.text.lower().split())) / 5 + draw.gauss(0, 0.7) for text in texts
    }
    scores = {name: max(1, min(5, round(value))) for name, value in quality.items()}
    said = ("It hardly argues.", "It argues a little.", "It argues well and at length.")
    return answers_by(
        packet,
        score=lambda text, dimension: scores[text.id],
        merit=lambda text: scores[text.id],
        reason=lambda text: said[(scores[text.id] - 1) // 2],
    )


# 1. Prompts, and texts that answer them.
command("prompts", "build", "spec.yaml", "--out", "prompts.jsonl")
lines = [json.dumps(one) for words in (20, 60) for one in texts(words)]
Path("responses.jsonl").write_text("\n".join(lines) + "\n", "utf-8")

# 2. A panel scores them.
panel = ("--personas", "personas.yaml", "--model", MODEL)
command("score", "responses.jsonl", "--rubric", "debate-speech", *panel, "--out", "run")

# 3. People rate them, blind to who wrote them. A study is never written over another.
if not Path("study").exists():
    command("people", "make", "responses.jsonl", "--raters", str(RATERS), "--per-rater", "4",
            "--calibration", "1", "--repeats", "1", "--seed", "1", "--rubric", "debate-speech",
            "--out", "study")  # fmt: skip
Path("answers").mkdir(exist_ok=True)
for number, page in enumerate(sorted(Path("study/packets").glob("*.html"))):
    document = answers(packet_in(page), random.Random(number))
    Path("answers", f"{page.stem}.json").write_text(json.dumps(document), "utf-8")
files = sorted(Path("answers").glob("*.json"))
command("people", "collect", "study", *files, "--out", "ratings.csv")

# 4. How far the panel and the people agree.
command("people", "correlate", "run", "--human", "ratings.csv", "--no-intervals")

# 5. What another panel infers from the raters' reasons, compared with their own scores.
reasons = Path("ratings-justifications")
command("score", reasons / "responses.jsonl", "--rubric", reasons / "rubric.yaml",
        "--personas", "none", "--model", MODEL, "--limit", "4", "--out", "inferred")  # fmt: skip
command("people", "correlate", "inferred", "--human", reasons / "ratings.csv", "--no-intervals",
        "--allow-unmatched")  # fmt: skip

# 6. A page to look at.
command("report", "run", "--human", "ratings.csv")
print(f"\nAll files are in {folder}.")
