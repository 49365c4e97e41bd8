"""What run.json holds: all that makes a run what it is. No keys, no headers."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from graphs import Judge, Response
from graphs.deliberation import Deliberation
from panel.calls.cache import key_of
from panel.seating import Seat
from personas import Persona
from rubrics import Layout, Rubric, compares


def manifest_of(
    personas: Sequence[Persona],
    judges: Sequence[Judge],
    rubric: Rubric,
    rated: Rubric,
    seats: Sequence[Seat],
    *,
    layout: Layout,
    replicates: int,
    deliberation: Deliberation | None,
    seed: int,
) -> dict[str, Any]:
    """A panel, as JSON has it."""
    return {
        "personas": [persona.model_dump() for persona in personas],
        "rubric": rubric.model_dump(mode="json"),
        # Null where ratings come as the rubric says.
        "rated": None if rated == rubric else rated.model_dump(mode="json", include={"dimensions"}),
        "models": [
            {"id": seat.id, "elicitation": seat.elicitation}
            | {"parameters": dict(seat.speaker.parameters)}
            for seat in seats
        ],
        "layout": layout,
        "replicates": replicates,
        "deliberation": deliberation and deliberation.model_dump(),
        "seed": seed,
        "prompts": {seat.id: _words_of(seat, rubric, personas[0], judges, seed) for seat in seats},
        "version": version("persona-panel"),
    }


def _words_of(
    seat: Seat, rubric: Rubric, persona: Persona, judges: Sequence[Judge], seed: int
) -> str:
    """A digest of the words in which a model is asked, whatever the response."""
    sample = Response(id="id", prompt="prompt", text="text", system="system")
    if compares(seat.elicitation):
        two = [sample, sample.model_copy(update={"id": "other"})]
        judge = next(judge for judge in judges if judge.model == seat.id)
        ask = seat.ask_about(next(seat.sheets(rubric, persona, judge, two, seed)))
    else:
        ask = seat.first_ask(rubric, persona, sample)
    return key_of(ask, 1).hex()[:16]
