"""What may be concluded from a run: its figures handed to the rules of
`persona_panel.results.conclusions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from persona_panel.graphs.records import controls_among
from persona_panel.results.conclusions.score import Judged, score_conclusion
from persona_panel.runs.collected import CollectedRatings
from persona_panel.runs.units import unit_of
from persona_panel.statistics.core.ranking import Leaderboard

if TYPE_CHECKING:
    from persona_panel.runs.deliberation import DeliberationReport


def conclusion_of(
    run: CollectedRatings,
    board: Leaderboard,
    controls: Leaderboard | None,
    report: DeliberationReport | None,
) -> list[str]:
    """Sentences on who is ahead and, where judges deliberated, on what that did."""
    judged = judged_in(run)
    said = score_conclusion(board, judged, controls)
    if report is not None and judged.scored:
        # Its statistics are of deliberation alone, and few panels deliberate.
        from persona_panel.results.conclusions.deliberation import deliberation_conclusion

        said += deliberation_conclusion(
            report.n_deliberated, report.n_responses, report.spread, report.humans
        )
    return said


def judged_in(run: CollectedRatings) -> Judged:
    """What conclusions have to know of a run's judges, and of its gaps."""
    coverage = run.coverage
    controls = controls_among(run.judges)
    judges = [judge for judge in run.judges if judge not in controls]
    reasons = {status: run.commonest_reason(status) for status in coverage.missing}
    return Judged(
        n_judges=len(judges),
        n_personas=len({judge.persona for judge in judges}),
        n_models=len({judge.model for judge in judges}),
        expected=coverage.expected,
        scored=coverage.scored,
        abstained=coverage.abstained,
        missing=coverage.missing,
        reasons={status: why for status, why in reasons.items() if why is not None},
        unit=unit_of(run.rubric).after_number,
    )
