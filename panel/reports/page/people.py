"""The panel's ratings compared with people's: the results of the analyses that have a section."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from persona_panel.analyses.analysis import analyses_on_page
from persona_panel.analyses.group_contrasts import GroupContrasts
from persona_panel.analyses.on_page import RunWithPeople
from persona_panel.reports.page.names import dimension_names
from persona_panel.results.conclusions.readings import origin_sentences
from persona_panel.results.result import Result
from persona_panel.runs.run import Run
from persona_panel.statistics.core.table import Ratings, RatingsOrigin


@dataclass(frozen=True, slots=True)
class PeopleSection:
    """What the page shows of people beside the panel.

    Attributes:
        of: the run beside people.
        results: each with a part of its own.
        origin: how people's ratings were read, and how many of their items the run has.
        on_leads: which of the run's established differences people do not show.
    """

    of: RunWithPeople
    results: list[Result] = field(default_factory=list)
    origin: RatingsOrigin | None = None
    on_leads: list[str] = field(default_factory=list)

    @property
    def reading(self) -> Sequence[str]:
        """How people's ratings were read, what of them matches nothing and what may be wrong."""
        return [] if self.origin is None else origin_sentences(self.origin)


def people_section(
    run: Run,
    folder: Path,
    humans: Ratings,
    judges: Mapping[str, str],
    *,
    epsilon: float,
    inclusion: Mapping[str, float] | None,
    fidelity: GroupContrasts | None,
    required: Collection[str],
) -> PeopleSection:
    """People beside the panel of the run in a folder; see `RunWithPeople`.

    Raises:
        InputError: they share no response or no dimension with the run, or an item that people
            rated has no inclusion probability.
    """
    of = RunWithPeople.of(
        run, humans, judges=judges, dimensions=dimension_names(run.rubric), epsilon=epsilon,
        inclusion=inclusion, fidelity=fidelity, required=required,
    )  # fmt: skip
    measured = PeopleSection(of, origin=of.people.origin)
    for analysis in analyses_on_page():
        for each in analysis.on_page(of) if analysis.on_page is not None else ():
            if isinstance(each, Result):
                measured.results.append(each)
            else:
                measured.on_leads.append(each)
    return measured
