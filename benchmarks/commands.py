"""CPU seconds of every command that reads a run, start included.

    python -m benchmarks.commands [NAME …]

A panel of ten personas through three scripted models judges 240 responses of four systems to 60
prompts on five dimensions; six people rate half of the prompts. Each command runs in a process of
its own; those named, or all. Exit status 1 where one takes more than LIMIT.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import environment, measure
from persona_panel import Panel, Response
from persona_panel.rubrics import ModelRequest
from persona_panel.testing import ScriptedModel

START = "from persona_panel.cli.main import main; main()"
LIMIT = 10.0
"""CPU seconds that a command may take."""
N_PROMPTS, SYSTEMS, PEOPLE = 60, ("ash", "birch", "cedar", "dogwood"), 6
COMMANDS = (
    "report RUN",
    "agree RUN --full",
    "agree PEOPLE --full",
    "contested RUN",
    "robustness RUN --human PEOPLE",
    "rasch RUN --model ordinal",
    "plan --from RUN",
    "select RUN --n 40 --out DRAWN",
    "compare RUN OTHER --human PEOPLE --full",
    "audit bias RUN",
    "people correlate RUN --human PEOPLE --full --epsilon 0.1",
    "people calibrate RUN --human PEOPLE",
    "people align RUN --human PEOPLE",
    "people votes RUN --human PEOPLE",
    "people fidelity RUN --human PEOPLE --raters RATERS --groups GROUPS"
    " --dimension conceptual_clarity",
)
"""The commands; words in capitals are files that are made here."""
GROUPS = """
groups:
  left: {condition: side = left, personas: sociologist}
  right: {condition: side = right, personas: historian}
contrasts:
  - left - right
"""


def made(folder: Path) -> dict[str, str]:
    """Write two runs and people's ratings into a folder; return where each is."""
    rng = np.random.default_rng(1)
    responses = [
        Response(id=f"{prompt}-{system}", prompt=f"Question {prompt}?", system=system,
                 text=f"Answer {prompt} by {system}.")
        for prompt in range(N_PROMPTS) for system in SYSTEMS
    ]  # fmt: skip
    quality = {
        response.text: 5.5 + 0.5 * SYSTEMS.index(str(response.system)) + rng.normal(0, 1.2)
        for response in responses
    }

    def answer(request: ModelRequest) -> str:
        asked = "".join(request.blocks)
        [mean] = [level for text, level in quality.items() if text in asked]
        scores = np.clip(np.rint(rng.normal(mean, 1.5, len(dimensions))), 1, 10)
        return json.dumps(
            dict(zip(dimensions, map(int, scores), strict=True)) | {"abstained": False}
        )

    models = [ScriptedModel(answer, model=f"model-{number}") for number in range(3)]
    panel = Panel(models=models, personas="perspectives", rubric="scrub")
    dimensions = [dimension.id for dimension in panel.plan.rubric.dimensions]
    for name in ("RUN", "OTHER"):
        panel.score(responses, out=folder / name)
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "rater", "score", "dimension"])
        for response in responses[: len(responses) // 2]:
            for person in range(PEOPLE):
                for dimension in dimensions:
                    score = np.clip(np.rint(rng.normal(quality[response.text], 2)), 1, 10)
                    rows.writerow([response.id, f"person-{person}", int(score), dimension])
    sides = [f"person-{person},{('left', 'right')[person % 2]}" for person in range(PEOPLE)]
    (folder / "raters.csv").write_text("\n".join(["rater,side", *sides]) + "\n", "utf-8")
    (folder / "groups.yaml").write_text(GROUPS, "utf-8")
    names = ("RUN", "OTHER", "people.csv", "raters.csv", "groups.yaml", "drawn.csv")
    return {name.partition(".")[0].upper(): str(folder / name) for name in names}


def cpu_of(command: str, files: dict[str, str]) -> float | None:
    """Return the CPU seconds of a command, user and system; None where it fails, which is said."""
    words = [files.get(word, word) for word in command.split()]
    try:
        return measure([sys.executable, "-c", START, *words], environment()).cpu_s
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return None


def main(names: list[str]) -> int:
    """Print the CPU seconds of each command that begins with one of the names, or of all."""
    failed = False
    with tempfile.TemporaryDirectory() as name:
        os.environ["PERSONA_PANEL_CACHE"] = str(Path(name) / "cache")
        files = made(Path(name))
        for command in COMMANDS:
            if not names or command.startswith(tuple(names)):
                seconds = cpu_of(command, files)
                failed |= seconds is None or seconds > LIMIT
                shown = "    –" if seconds is None else f"{seconds:5.1f}"
                print(f"{shown}  {command}", flush=True)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
