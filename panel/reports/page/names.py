"""The page's names of judges, dimensions and prompts: by words where these are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from persona_panel.graphs import Judge
from persona_panel.rubrics import Rubric
from persona_panel.statistics.core.display import ALL, COMPOSITE


def judge_names(judges: Sequence[Judge], personas: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Each judge's name by its id: the persona's label and the model; the elicitation where judges
    differ in it, the replicate from the second on.

    Args:
        personas: label and axis of each, by its id.
    """
    several = len({judge.elicitation for judge in judges}) > 1
    return {
        judge.id: " · ".join(
            [
                personas[judge.persona][0],
                judge.model,
                *([judge.elicitation] if several else []),
                *([str(judge.replicate)] if judge.replicate > 1 else []),
            ]
        )
        for judge in judges
    }


def dimension_names(rubric: Rubric) -> dict[str, str]:
    """The label of each dimension by its id, and what the mean over them is called."""
    whole = dict.fromkeys((ALL, COMPOSITE), "Composite")
    return whole | {dimension.id: dimension.label for dimension in rubric.dimensions}
