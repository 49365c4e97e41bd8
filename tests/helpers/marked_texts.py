"""Runs whose ratings stand in the texts: `[7,3]` is rated 7 and 3 by every persona, `[7,3]
bob[8,4]` 8 and 4 by Bob; `bob[x]` Bob does not answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from persona_panel import Dimension, Panel, Persona, Response, Rubric, Run, Scale
from persona_panel.rubrics import ModelRequest
from persona_panel.testing import ScriptedModel

TEN = Scale(min=1, max=10, low="not", high="very")


def own_rubric(*names: str, scale: Any = TEN, **more: Any) -> Rubric:
    """A rubric of these dimensions."""
    return Rubric(
        id="own",
        label="Own",
        question="How good?",
        dimensions=tuple(
            Dimension(
                id=name, label=name.title(), definition="d", guiding_question="g?", scale=scale
            )
            for name in names
        ),
        **more,
    )


CLARITY_DEPTH = own_rubric("clarity", "depth")


def personas(*names: str) -> list[Persona]:
    """Personas of these ids."""
    return [
        Persona(id=name, label=name.title(), axis="own", description=f"You are {name}.")
        for name in names
    ]


def marked_model(
    names: Sequence[str] = ("clarity", "depth"), name: str = "marked"
) -> ScriptedModel:
    """Answers with the ratings in a text. One instance makes the same panel in several runs."""

    def answer(request: ModelRequest) -> str:
        asked = "\n".join(request.blocks)
        who = re.search(r"You are (\w+)\.", asked)
        marks = dict(re.findall(r"(\w*)\[([\d,x]+)\]", asked))
        found = marks.get(who[1] if who else "", marks[""])
        if found == "x":
            return "I would rather not."
        scores = zip(names, found.split(","), strict=True)
        return "{" + ", ".join(f'"{name}": {score}' for name, score in scores) + "}"

    return ScriptedModel(answer, model=name)


def marked_run(
    folder: Path,
    texts: Mapping[str, str | Mapping[str, str]],
    model: ScriptedModel,
    *names: str,
    system: str = "elm",
    rubric: Rubric = CLARITY_DEPTH,
    metadata: Mapping[str, Mapping[str, str]] | None = None,
    **options: Any,
) -> Run:
    """A run into `folder`: by prompt a text of `system`, or texts by their systems, whose ids may
    stand behind them (`elm/2`)."""
    batch = []
    for prompt, given in texts.items():
        by_id = {system: given} if isinstance(given, str) else given
        batch += [
            Response(
                id=f"{prompt}-{name.replace('/', '-')}",
                prompt=f"About {prompt}?",
                prompt_id=prompt,
                text=text,
                system=name.partition("/")[0],
                metadata=(metadata or {}).get(f"{prompt}-{name}", {}),
            )
            for name, text in by_id.items()
        ]
    panel = Panel(personas(*(names or ("ann", "bob"))), [model], rubric, **options)
    return panel.score(batch, out=folder)
