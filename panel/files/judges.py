"""The judges of a panel, from the names of what they are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from persona_panel.graphs.records import Judge
from persona_panel.personas import NO_PERSONA


def judges_of(
    personas: Sequence[str],
    models: Sequence[tuple[str, str]],
    replicates: int,
    *,
    plain_judge: bool,
) -> tuple[Judge, ...]:
    """The judges of a plan, by the ids of its personas and of its models with their elicitations;
    see `PanelPlan.judges`."""
    of_plain = replicates * (len(personas) - 1) if plain_judge else replicates
    return tuple(
        Judge(persona, model, elicitation, replicate)
        for model, elicitation in models
        for persona in personas
        for replicate in range(1, (of_plain if persona == NO_PERSONA.id else replicates) + 1)
    )


def judges_in(document: Mapping[str, Any]) -> tuple[Judge, ...]:
    """The judges of a run, by its run.json, in the panel's order.

    Raises:
        LookupError, TypeError: it is none that a run writes.
    """
    return judges_of(
        [persona["id"] for persona in document["personas"]],
        [(model["id"], model["elicitation"]) for model in document["models"]],
        document["replicates"],
        plain_judge=document["plain_judge"],
    )
