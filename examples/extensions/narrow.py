"""Stop once no dimension's ratings lie more than a point apart."""

from collections.abc import Sequence

from persona_panel.graphs import Judgment
from persona_panel.graphs.deliberation import latest_judgments
from persona_panel.rubrics import Rubric


def should_stop(judgments: Sequence[Judgment], rubric: Rubric) -> bool:
    latest = latest_judgments(judgments).values()
    for dimension in rubric.numeric:
        scores = [found.scores[dimension.id] for found in latest if dimension.id in found.scores]
        if scores and max(scores) - min(scores) > 1:
            return False
    return True
