"""What deliberation did to the ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from persona_panel.results.axis import Axis
from persona_panel.results.conclusions.deliberation import deliberation_conclusion
from persona_panel.runs.deliberation import DeliberationReport
from persona_panel.runs.run import Run
from persona_panel.statistics.core.arrays import Statistic
from persona_panel.statistics.deliberation import Reordering
from persona_panel.statistics.revisions import BeforeAfter, Change, Conformity


@dataclass(frozen=True, slots=True)
class DeliberatedSection:
    """What the page shows of a deliberation.

    Attributes:
        dimensions: for each its label, its means and the spread over judges, before and after.
        judges: each persona and model with its means.
        moves: whether moves went toward the peers: of all, with and without a stated reason.
        pull: by persona, how far others came nearer to it on balance.
    """

    conclusion: Sequence[str]
    n_responses: int
    n_deliberated: int
    dimensions: Sequence[tuple[str, BeforeAfter, Change]]
    spread_axis: Axis
    judges: Sequence[tuple[str, str, BeforeAfter]]
    moves: Sequence[tuple[str, Conformity]]
    pull: Sequence[tuple[str, Statistic]]
    rankings: Reordering


def deliberated_section(run: Run) -> DeliberatedSection | None:
    """The deliberation of a run; None where judges did not deliberate."""
    report = run.deliberation()
    if report is None:
        return None
    labels = {one.id: one.label for one in run.rubric.dimensions}
    return DeliberatedSection(
        deliberation_conclusion(
            report.n_deliberated, report.n_responses, report.spread, report.humans
        ),
        report.n_responses,
        report.n_deliberated,
        [(labels[name], means, report.spread[name]) for name, means in report.dimensions.items()],
        Axis.about_zero(_ends(report)),
        [(judge.persona, judge.model, means) for judge, means in report.judges.items()],
        [
            ("all", report.conformity.all),
            ("with a stated reason", report.conformity.stated),
            ("without one", report.conformity.unstated),
        ],
        [
            (name, report.influence.pull(place))
            for place, name in enumerate(report.influence.personas)
        ],
        report.rankings,
    )


def _ends(report: DeliberationReport) -> list[float]:
    found = []
    for change in report.spread.values():
        found.append(change.change)
        if change.interval is not None:
            found += [change.interval.low, change.interval.high]
    return found
