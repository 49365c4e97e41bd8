"""Stop once a round changes no rating, or where all judges rate alike from the first."""

from __future__ import annotations

from collections.abc import Sequence

from persona_panel.graphs.deliberation import has_changed, latest_judgments, may_revise
from persona_panel.graphs.records import Judgment
from persona_panel.rubrics import Rubric


def should_stop(judgments: Sequence[Judgment], rubric: Rubric) -> bool:
    """Return whether the last round changed nothing, or all judges rate alike."""
    last = max(judgment.round for judgment in judgments)
    if last > 1:
        before = latest_judgments([judgment for judgment in judgments if judgment.round < last])
        return not any(
            has_changed(before[judgment.judge], judgment, rubric)
            for judgment in judgments
            if judgment.round == last
        )
    first, *others = [judgment for judgment in judgments if may_revise(judgment)]
    return not any(has_changed(first, other, rubric) for other in others)
