"""How often a run in which there is nothing to find is said to show something.

Four systems, or two, are equal, judges with a persona rate as those without one do, and people rate
other qualities than the panel does. Counted is by which of the five answers something is claimed
all the same, read from their sentences.

`noise`: no two judges have anything in common, and no two people. `agree`: judges agree about each
response, as do people, about something else. `few judges`: two personas through two models, with
and without.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.independent import Row
from persona_panel import Ratings
from persona_panel.analyses.analysis import RunWithPeople
from persona_panel.analyses.answers import answers_of
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.aggregate import aggregate
from persona_panel.results.result import RunAnswer
from persona_panel.rubrics import Dimension, Rubric, Scale
from persona_panel.runs.run import Run

Scores = NDArray[np.float64]
SYSTEMS = ("a", "b", "c", "d")
NAMES = ("clarity", "depth")
SCALE = Scale(min=1, max=10, low="poor", high="good")
RUBRIC = Rubric(
    id="simulated",
    label="Simulated",
    question="Is it?",
    dimensions=tuple(
        Dimension(
            id=name, label=name.title(), scale=SCALE, definition="How good it is.",
            guiding_question="Is it good?",
        )
        for name in NAMES
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """Standard deviations of what all judges, and all people, see in a response; and how many
    judges there are, with a persona and without, through each of the models, and systems."""

    judges: float
    people: float
    personas: int = 5
    models: int = 1
    systems: int = len(SYSTEMS)

    def drawn(self, rng: np.random.Generator, prompts: int) -> tuple[Scores, Scores]:
        """Ratings `(responses, judges, dimensions)` by judges, with personas first, and people."""
        n, judges = prompts * self.systems, 2 * self.personas * self.models
        ours = rng.normal(0, 1.5, (n, judges, 2)) + rng.normal(0, self.judges, (n, 1, 1))
        theirs = rng.normal(0, 1.5, (n, 3, 2)) + rng.normal(0, self.people, (n, 1, 1))
        ours += rng.normal(0, 0.5, (1, judges, 1))
        hardness = np.repeat(rng.normal(0, 0.5, prompts), self.systems)[:, None, None]
        ours, theirs = (np.clip(np.round(5.5 + each), 1, 10) for each in (ours + hardness, theirs))
        return ours, theirs


KINDS = {
    "noise": Kind(0, 0),
    "agree": Kind(1.5, 1.5),
    "few judges": Kind(1.0, 1.0, personas=2, models=2),
    "two systems": Kind(1.0, 1.0, systems=2),
}


def run_of(scores: Scores, kind: Kind) -> Run:
    """A run of these scores by judges with personas, then as many without one."""
    models = [f"model {m}" for m in range(kind.models)]
    judges = [Judge(f"persona {p}", m, "dimensions") for m in models for p in range(kind.personas)]
    judges += [Judge("none", m, "dimensions", p + 1) for m in models for p in range(kind.personas)]
    systems = SYSTEMS[: kind.systems]
    n = len(scores) // len(systems)
    items = [Item(f"p{p:03}", f"r-{name}", name) for p in range(n) for name in systems]
    run = Run(items, {}, judges, RUBRIC, prices=dict.fromkeys(models), seed=0)
    for item, ratings in zip(items, scores.tolist(), strict=True):
        judgments = [
            Judgment(*item, judge, "scored", scores=dict(zip(NAMES, own, strict=True)))
            for judge, own in zip(judges, ratings, strict=True)
        ]
        for judgment in judgments:
            run.add(judgment)
        panel = [each for each in judgments if each.judge.has_persona]
        run.conclude(aggregate(panel, RUBRIC))
    return run


def people_of(run: Run, scores: Scores) -> Ratings:
    """Three people's ratings of all responses."""
    names = tuple(f"{item.prompt_id}/{item.id}" for item in run.items)
    people = ("ann", "ben", "cyd")
    prompts = tuple(item.prompt_id for item in run.items)
    return Ratings(scores, names, people, NAMES, ("people",) * 3, prompts)


def claims(answers: tuple[RunAnswer, ...], kind: Kind) -> set[str]:
    """By which of the answers something is claimed that is not so."""
    said = {each.question: each.sentence for each in answers}
    none = "; 0 of " in said["trust"] or "significant" not in said["trust"]
    reliable = said["trust"].startswith(("Judges agree reliably", "Judges agree enough"))
    found = {
        "best": "ahead" in said["best"].replace("No system is significantly ahead", ""),
        "trust": reliable or not none,
        "personas": said["personas"].startswith(("Personas raise", "Personas lower")),
        "people": said["people"].startswith(("Yes", "The panel's scores more")),
    }
    # That a panel which people agree without goes with them less than they do is so.
    if not kind.people:
        found["people"] |= said["people"].startswith("The panel's scores less")
    return {name for name, claimed in found.items() if claimed}


def shares(kind: Kind, prompts: int, runs: int, *, people: bool) -> dict[str, float]:
    """The share of runs with a false claim, by answer, and by any."""
    rng = np.random.default_rng([prompts, kind.personas, int(people), int(10 * kind.judges)])
    found: Counter[str] = Counter()
    for _ in range(runs):
        ours, theirs = kind.drawn(rng, prompts)
        run = run_of(ours, kind)
        beside = RunWithPeople.of(run, people_of(run, theirs)) if people else None
        named = claims(answers_of(run, beside), kind)
        found.update(named | {"any"} if named else named)
    return {name: found[name] / runs for name in ("best", "trust", "personas", "people", "any")}


def rows(runs: int) -> Iterator[Row]:
    """Yield the share of runs in which any of the five answers makes a false claim."""
    for people in (False, True):
        cases = [(kind, n) for kind in KINDS.values() for n in (5, 12, 30)]
        found = tuple(shares(*case, runs, people=people)["any"] for case in cases)
        yield Row("five answers", "with people" if people else "panel alone", found, runs)
