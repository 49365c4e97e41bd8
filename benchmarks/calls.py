"""Writes the prompts that every contender sends, as persona-panel words them.

python -m benchmarks.calls FILE JUDGES. A process of its own, so that the one that
measures imports nothing of the project.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.contenders.batch import MARK
from persona_panel.files.definitions import load_definition
from persona_panel.personas import PersonaSet
from persona_panel.personas import shipped as persona_sets
from persona_panel.rubrics import Question, Rubric, load_elicitation
from persona_panel.rubrics import shipped as rubric_library


def write_calls(file: Path, judges: int) -> None:
    """A prompt for each judge, with a mark where the response belongs, and what else is sent."""
    rubric = load_definition(rubric_library()["scrub"], Rubric)
    personas = load_definition(persona_sets()["perspectives"], PersonaSet).personas
    dialogue = load_elicitation("dimensions").dialogue
    asks = [
        next(dialogue(Question(rubric, persona.label, persona.description, "Prompt 0", MARK)))
        for persona in (personas[n % len(personas)] for n in range(judges))
    ]
    calls = {
        "system": asks[0].system,
        "templates": ["".join(ask.blocks) for ask in asks],
        "schema": asks[0].schema,
        "max_tokens": asks[0].max_tokens,
    }
    file.write_text(json.dumps(calls))


if __name__ == "__main__":
    write_calls(Path(sys.argv[1]), int(sys.argv[2]))
