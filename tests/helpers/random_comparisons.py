"""Comparisons of runs of random shapes: other texts of one panel, or other panels on the same
texts; with people or without, with gaps, with an effect or without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson

from persona_panel import Run, compare
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.aggregate import aggregate
from persona_panel.results.result import Result
from persona_panel.rubrics import Dimension, Rubric, Scale
from persona_panel.rubrics.comparison import PREFERRED
from persona_panel.runs.collected import judgment_of_row
from persona_panel.statistics.core.table import Ratings

DIMENSIONS = ("clarity", "depth", "breadth", "care", "wit", "tone")
SYSTEMS = ("ash", "birch", "cedar", "elm", "fir")


def random_comparison(seed: int, folder: Path) -> tuple[Result, dict[str, Any]]:
    """The result of `compare`, and what else its sentences speak of."""
    rng = np.random.default_rng([35, seed])
    is_ranking = rng.random() < 0.1
    names = DIMENSIONS[: int(rng.choice([1, 2, 3, 6], p=[0.3, 0.3, 0.2, 0.2]))]
    rubric = _rubric(() if is_ranking else names)
    n_prompts, n_systems = int(rng.choice([1, 2, 4, 8, 16])), int(rng.choice([1, 2, 3, 5]))
    items = [Item(f"p{n}", name, name) for n in range(n_prompts) for name in SYSTEMS[:n_systems]]
    people = ("ann", "bob", "cid")[: int(rng.integers(1, 4))]
    models = ("m1", "m2")[: int(rng.integers(1, 3))]
    panel = [Judge(persona, model, "dimensions", 0) for model in models for persona in people]
    other_texts = rng.random() < 0.5
    quality = rng.normal(5, 1.5, (n_prompts * n_systems, 1, len(rubric.dimensions)))
    noise = float(rng.choice([0.0, 0.4, 1.5]))
    runs = []
    for place in range(int(rng.choice([2, 3], p=[0.8, 0.2]))):
        judges = list(panel)
        if place and rng.random() < (0.2 if other_texts else 0.8):
            model = str(rng.choice([models[0], "m3"]))
            judges = [*judges[int(rng.integers(0, 2)) :], Judge("dot", model, "dimensions", 0)]
        shape = len(items), len(judges), len(rubric.dimensions)
        gap = rng.choice([0.0, 0.4, 1.5, -1.5], size=shape[2]) * (place > 0)
        systems = np.array(
            [1.0 if item.system != "birch" else rng.choice([-1, 1]) for item in items]
        )
        shared = quality if rng.random() < 0.7 else rng.normal(5, 1.5, quality.shape)
        scores = shared + gap * systems[:, None, None] + noise * rng.normal(size=shape)
        scores = np.round(np.clip(scores, 1, 10))
        if is_ranking:
            scores = np.argsort(np.argsort(scores.reshape(n_prompts, n_systems, -1), 1), 1)
            scores = scores.reshape(shape) / max(n_systems - 1, 1)
        gaps = rng.random(shape[:2]) < rng.choice([0.0, 0.05, 0.4])
        gaps[0] = False
        if rng.random() < 0.03 and place:
            gaps[: len(gaps) // 2] = True
            gaps[len(gaps) // 2 :] = False
        texts = "another" if other_texts and place else "a"
        runs.append(_run(folder / f"run{place}", rubric, items, judges, scores, gaps, texts))
    n_people = int(rng.integers(1, 4))
    human = None
    if not other_texts and not is_ranking and rng.random() < 0.7:
        human = _people(rng, items, quality, names, n_people, noise)
    by = rng.choice(["", "persona", "model", "prompt", "dimension"], p=[0.5, 0.1, 0.1, 0.1, 0.2])
    random = "prompts-and-judges" if rng.random() < 0.3 else "prompts"
    result = compare(*runs, human=human, by=str(by) or None, random=random)  # type: ignore[arg-type]
    shown = [result.tables[-1].rows[0]["a"], *(row["b"] for row in result.tables[-1].rows)]
    return result, {
        "missing": {
            name: (sum(run.coverage.missing.values()), run.coverage.expected)
            for name, run in zip(shown, runs, strict=True)
        },
        "people_rated": n_people if human is not None else 0,
        "models": {judge.model for run in runs for judge in run.judges},
    }


def _rubric(names: tuple[str, ...]) -> Rubric:
    scale = Scale(min=1, max=10, low="poor", high="good")
    made = tuple(
        Dimension(id=name, label=name, definition="d", guiding_question="g?", scale=scale)
        for name in names
    )
    return Rubric(id="own", label="Own", question="How good?", dimensions=made or (PREFERRED,))


def _run(
    folder: Path, rubric: Rubric, items: list[Item], judges: list[Judge],
    scores: Any, gaps: Any, text: str,
) -> Run:  # fmt: skip
    """A run of these scores, with the files of its folder that a comparison reads."""
    titles = {item.prompt_id: f"Prompt {item.prompt_id}?" for item in items}
    models = list(dict.fromkeys(judge.model for judge in judges))
    run = Run(items, titles, judges, rubric, prices=dict.fromkeys(models), seed=0)
    for row, item in enumerate(items):
        for column, judge in enumerate(judges):
            if gaps[row, column]:
                run.add(Judgment(*item, judge, "failed", error="as scripted"))
                continue
            rated = zip(run.dimensions, scores[row, column].tolist(), strict=True)
            given = {name: score if name == "preferred" else int(score) for name, score in rated}
            run.add(Judgment(*item, judge, "scored", scores=given, abstained=False))
    for row, item in enumerate(items):
        said = [
            judgment_of_row(
                item, judge, run.ratings[row, column].tolist(), rubric,
                status=run.statuses[row][column],
            )
            for column, judge in enumerate(judges)
        ]  # fmt: skip
        run.conclude(aggregate(said, rubric))
    folder.mkdir(parents=True, exist_ok=True)
    run.folder = folder
    lines = [
        {"prompt_id": item.prompt_id, "id": item.id, "system": item.system,
         "prompt": titles[item.prompt_id], "response": f"{text} answer of {item.system}"}
        for item in items
    ]  # fmt: skip
    (folder / "responses.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    (folder / "summary.json").write_text("{}")
    document = {
        "rubric": rubric.model_dump(mode="json"),
        "personas": [
            {"id": name, "label": name, "axis": "own", "description": name}
            for name in dict.fromkeys(judge.persona for judge in judges)
        ],
        "models": [
            {"id": name, "model": name, "elicitation": "dimensions", "parameters": {}}
            for name in models
        ],
    }
    (folder / "run.json").write_bytes(orjson.dumps(document))
    return run


def _people(
    rng: np.random.Generator, items: list[Item], quality: Any, names: tuple[str, ...],
    n_people: int, noise: float,
) -> Ratings:  # fmt: skip
    """What people say of the texts: more or less what they are, or nothing that has to do with
    it."""
    shape = len(items), n_people, len(names)
    level = quality if rng.random() < 0.7 else rng.normal(5, 1.5, quality.shape)
    scores = np.round(np.clip(level + noise * rng.normal(size=shape), 1, 10))
    if rng.random() < 0.1:
        scores[:] = 5.0
    raters = tuple(f"h{n}" for n in range(n_people))
    places = tuple(f"{item.prompt_id}/{item.id}" for item in items)
    scales = dict.fromkeys(names, (1.0, 10.0))
    return Ratings(scores, places, raters, names, ("human",) * n_people, scales=scales)
