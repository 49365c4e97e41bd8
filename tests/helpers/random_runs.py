"""Runs of random shapes: few or many prompts, systems and judges, missing ratings, abstentions,
ties, constant ratings, plain judges, dimensions of one scale or of several."""

from __future__ import annotations

import numpy as np

from persona_panel import Run
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.aggregate import aggregate
from persona_panel.personas import NO_PERSONA
from persona_panel.rubrics import Abstention, Dimension, Rubric, Scale
from persona_panel.runs.collected import judgment_of_row

SYSTEMS = ("ash", "birch", "cedar", "elm", "fir", "oak")


def random_run(seed: int) -> Run:
    """One run, the same for a seed."""
    rng = np.random.default_rng([30, seed])
    n_systems, n_prompts = int(rng.integers(1, 7)), int(rng.choice([1, 2, 3, 5, 8, 20]))
    ten, one = (Scale(min=a, max=b, low="poor", high="good") for a, b in ((1, 10), (0, 1)))
    scales = [ten, one if rng.random() < 0.3 else ten]
    rubric = Rubric(
        id="random",
        label="Random",
        question="How good is it?",
        dimensions=tuple(
            Dimension(
                id=name,
                label=name.title(),
                definition="Defined.",
                guiding_question="Is it?",
                scale=scale,
            )
            for name, scale in zip(("clarity", "depth"), scales, strict=True)
        )[: int(rng.integers(1, 3))],
        abstention=Abstention(definition="Declining.", guiding_question="Does it decline?"),
    )  # fmt: skip
    personas = ["ann", "bob", "cid", "dot"][: int(rng.integers(1, 5))]
    models, replicates = ["m1", "m2", "m3"][: int(rng.integers(1, 4))], int(rng.integers(1, 3))
    if rng.random() < 0.3:
        personas.append(NO_PERSONA.id)
    judges = [
        Judge(persona, model, "dimensions", replicate)
        for model in models
        for persona in personas
        for replicate in range(replicates)
    ]
    systems = SYSTEMS[:n_systems]
    items = [Item(f"p{n}", name, name) for n in range(n_prompts) for name in systems]
    run = Run(
        items,
        {f"p{n}": f"Prompt {n}?" for n in range(n_prompts)},
        judges,
        rubric,
        prices=dict.fromkeys(models),
        seed=seed,
    )
    run.random = "prompts-and-judges" if rng.random() < 0.3 else "prompts"
    gap = float(rng.choice([0.0, 0.3, 1.0, 3.0]))
    quality = {name: gap * k for k, name in enumerate(systems)}
    if rng.random() < 0.2 and n_systems > 1:
        quality[systems[1]] = quality[systems[0]]
    noise = float(rng.choice([0.0, 0.5, 2.0]))
    missing, abstaining = float(rng.choice([0, 0.02, 0.3, 1.0], p=[0.5, 0.2, 0.25, 0.05])), {
        name: float(rng.choice([0.0, 0.1, 0.9], p=[0.7, 0.15, 0.15])) for name in systems
    }  # fmt: skip
    leaning = {judge: rng.normal(0, 0.7) * noise for judge in judges}
    prompts = {f"p{n}": rng.normal(0, 0.5) * noise for n in range(n_prompts)}
    ties = rng.random() < 0.15
    for item in items:
        for judge in judges:
            if rng.random() < missing:
                status = str(rng.choice(["failed", "unparsed", "refused"]))
                run.add(Judgment(*item, judge, status, error="as scripted"))
                continue
            if rng.random() < abstaining[item.system]:
                run.add(Judgment(*item, judge, "abstained", abstained=True))
                continue
            own = 3 + quality[item.system] + leaning[judge] + prompts[item.prompt_id]
            scores = {}
            for dimension, scale in rubric.numeric_scales.items():
                score = round(own + noise * rng.normal()) if not ties else 5
                score = min(max(score, 1), 10)
                scores[dimension] = score if scale.max == 10 else round((score - 1) / 9)
            run.add(Judgment(*item, judge, "scored", scores=scores, abstained=False))
    for row, item in enumerate(run.items):
        said = [
            judgment_of_row(
                item, judge, run.ratings[row, column].tolist(), rubric,
                status=run.statuses[row][column],
            )
            for column, judge in enumerate(run.judges)
        ]  # fmt: skip
        run.conclude(aggregate(said, rubric))
    return run
