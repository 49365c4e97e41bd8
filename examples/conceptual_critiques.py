"""Which judges rate critiques as a person does, and where do the best of them disagree?

    python examples/conceptual_critiques.py [FOLDER] [--critiques FILE] [--human FILE] [--model …]

Each --model rates every critique on seven dimensions from 0 to 1. They are ranked by the losses of
the conceptual-critiques paper against each person: the custom loss (Table 7), of a judge's ratings
against a rater's, averaged over critiques, and the weighted pairwise ranking error (Table 5). Then
come the critiques on which the two judges that are best on the other positions disagree most about
the overall rating: those are worth a person's time, and no sample of all. --human has a line a
rating: item (prompt_id/id of the critique), rater, dimension, score. Without --model judges are
scripted, without --human the person is: that shows the path, and no finding. Runs are kept in
FOLDER (critiques-example if left out).
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from shared import beside, models_or_scripted, plain_faults

from persona_panel import Panel, load_aligned_ratings, load_responses
from persona_panel.statistics import (
    CUSTOM_DIMENSIONS,
    custom_loss,
    disagreement_by_item,
    pairwise_error,
)
from persona_panel.testing import Answer, ok

CRITIQUES = Path(__file__).with_name("critiques.jsonl")
SCRIPTED = ("openai:scripted-near", "openai:scripted-off", "openai:scripted-far")
BEST, CHOSEN = 2, 3


def drawn(text: str, of: str, noise: float) -> dict[str, float]:
    """Ratings of a text, the same each time, which differ by `noise` from rater to rater."""
    quality, own = (
        np.frombuffer(sha256(said.encode()).digest()[:7], np.uint8) / 255
        for said in (text, text + of)
    )
    ratings = np.round((1 - noise) * quality + noise * own, 2)
    return dict(zip(CUSTOM_DIMENSIONS, map(float, ratings), strict=True))


def script(_: int, payload: Mapping[str, Any]) -> Answer:
    """A judge that rates as the scripted person does, nearly, hardly or not at all."""
    said, model = str(payload["messages"]), payload["model"]
    [text] = [
        each.text for each in critiques if json.dumps(each.text)[1:-1][:60] in json.dumps(said)
    ]
    noise = {"scripted-near": 0.2, "scripted-off": 0.5}.get(model, 1.0)
    return ok(json.dumps(drawn(text, model, noise) | {"abstained": False}))


parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
parser.add_argument("folder", nargs="?", type=Path, default=Path("critiques-example"))
parser.add_argument("--critiques", type=Path, default=CRITIQUES, help="responses with a context")
parser.add_argument("--human", type=Path, help="people's ratings of them")
parser.add_argument("--model", action="append", metavar="SPEC", help="a judge; repeatable")
options = parser.parse_args()
options.folder.mkdir(parents=True, exist_ok=True)
with plain_faults():
    critiques = load_responses(options.critiques)
people = options.human or options.folder / "person.csv"
if options.human is None:
    with people.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "rater", "dimension", "score"])
        for each in critiques:
            for dimension, score in drawn(each.text, "person", 0.1).items():
                writer.writerow([f"{each.prompt_id}/{each.id}", "scripted", dimension, score])
scripted = models_or_scripted(options.model, SCRIPTED, script, options.folder)
with plain_faults(), scripted as models:
    Panel("none", models, "conceptual-critique").score(critiques, out=options.folder / "run")
    panel, humans = load_aligned_ratings(options.folder / "run", people)
if lacking := [name for name in CUSTOM_DIMENSIONS if name not in humans.dimensions]:
    raise SystemExit(f"{people}: no ratings of {', '.join(lacking)}, which the custom loss needs")

# (critiques, 7, raters) of both sides, on the critiques that people rated.
shared = [item for item in panel.items if item in humans.items]
judges, persons = (
    side.scores[[side.items.index(item) for item in shared]][
        :, :, [side.dimensions.index(name) for name in CUSTOM_DIMENSIONS]
    ].transpose(0, 2, 1)
    for side in (panel, humans)
)
prompts = dict(zip(panel.items, panel.prompts or (), strict=True))
positions = np.array([prompts[item] for item in shared])


def losses(judge: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
    """The custom loss and the weighted pairwise ranking error of a judge, over people."""
    overall = [
        pairwise_error(
            person, judge[rows, 0], positions[rows], weighted=True
        ).by_position.mean.value
        for person in persons[rows, 0].T
    ]
    return custom_loss(persons[rows], judge[rows]).pooled, float(np.mean(overall))


everything = np.ones(len(shared), bool)
of_judge = [judges[:, :, n] for n in range(len(panel.raters))]
by_loss = sorted(
    zip(map(losses, of_judge, [everything] * len(of_judge)), panel.groups, strict=True)
)
chance = custom_loss(persons, persons).baseline
table = Table("judge", "custom loss", "weighted pairwise\nranking error", box=SIMPLE_HEAD,
              title=f"Judges by their loss on {len(shared)} critiques")  # fmt: skip
for (custom, ranking), name in by_loss:
    table.add_row(name, f"{custom:.3f}", f"{ranking:.3f}")
table.add_row("ratings at random", f"{chance:.3f}", "")
Console(width=100).print(table)

# Judges are chosen on the other positions: on the same ones they would be chosen for these errors.
apart = np.full(len(shared), np.nan)
for position in dict.fromkeys(positions):
    others, own = positions != position, positions == position
    best = np.argsort([losses(judge, others)[0] for judge in of_judge])[:BEST]
    apart[own] = disagreement_by_item(judges[own][:, 0, best])
print(f"Critiques on which the {BEST} best judges, chosen on other positions, disagree most:")
for place in np.argsort(-apart, kind="stable")[:CHOSEN]:
    print(f"  {shared[place]}: standard deviation of the overall rating {apart[place] ** 0.5:.2f}")
beside("conceptual-critiques")
