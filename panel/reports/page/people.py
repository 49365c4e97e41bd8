"""The panel's ratings compared with people's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from persona_panel.analyses.calibrate import calibrate_result, established_leads, leads_conclusion
from persona_panel.analyses.correlate import correlate_result
from persona_panel.analyses.fidelity import fidelity_result
from persona_panel.analyses.group_contrasts import GroupContrasts
from persona_panel.analyses.votes import votes_result
from persona_panel.files.aligned_ratings import align_ratings
from persona_panel.files.errors import InputError
from persona_panel.files.ratings import check_calibration, load_ratings
from persona_panel.files.selections import inclusion_of
from persona_panel.reports.page.names import dimension_names
from persona_panel.results.conclusions.labels import called_by
from persona_panel.results.conclusions.readings import origin_sentences
from persona_panel.results.result import Result
from persona_panel.runs.run import Run, composite_name
from persona_panel.runs.votes import votes_of
from persona_panel.statistics.calibration import calibrate
from persona_panel.statistics.comparison import correlate
from persona_panel.statistics.core.arrays import AnalysisOptions
from persona_panel.statistics.core.display import COMPOSITE
from persona_panel.statistics.core.table import Ratings, RatingsOrigin

_SHOWN = frozenset(
    f"{name}{where}"
    for name in ("tau_b", "human_ceiling_tau_b", "human_difference_tau_b")
    for where in ("", "_within_prompts")
) | {
    "label_kappa", "human_label_kappa", "persona_gain_tau_b", "alt_test_winning_rate",
    "alt_test_advantage", "alt_test_items_needed",
}  # fmt: skip
"""The statistics of the comparison that the page has; the other ones are those of `correlate`."""


@dataclass(frozen=True, slots=True)
class PeopleSection:
    """What the page shows of people beside the panel.

    Attributes:
        results: of analyses of the same ratings, each with a part of its own: the comparison of
            the panel's and people's, corrected means,
            where means say something, votes, where there are several judges, and the contrasts of
            groups, where these are given.
        dimensions: what dimensions are called, by their ids.
        origin: how people's ratings were read, and how many of their items the run has.
        on_leads: which of the run's established differences people do not show.
    """

    results: Sequence[Result]
    dimensions: Mapping[str, str]
    origin: RatingsOrigin | None = None
    on_leads: Sequence[str] = ()

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
    required: Sequence[str],
) -> PeopleSection:
    """People beside the panel of the run in a folder.

    Args:
        judges: their names, by their ids.
        epsilon: of the alternative annotator test.
        inclusion: by item, with which probability people were asked for it; all the same if None.
        fidelity: the contrasts of groups of people; None where groups are not known.
        required: statistics of `correlate` that are computed beside those that are shown;
            other names are passed over.

    Raises:
        InputError: they share no response or no dimension with the run, or an item that people
            rated has no inclusion probability.
    """
    names = str(folder), "human ratings" if humans.origin is None else humans.origin.file
    own = load_ratings(str(folder))
    panel, people = align_ratings(own, humans, *names)
    rows = correlate(panel, people, AnalysisOptions(epsilon=epsilon), only=_SHOWN.union(required))
    dimensions = dimension_names(run.rubric)
    results = [correlate_result(rows, panel, people, judges=judges)]
    on_leads: list[str] = []
    if not people.lower_is_better:
        check_calibration(panel, people, *names)
        chances = None if inclusion is None else inclusion_of(inclusion, panel, people, names[1])
        found = replace(
            calibrate(panel, people, inclusion=chances),
            leads=established_leads(run.leaderboard()),
            leads_on=composite_name(run.rubric),
        )
        # The page has its own name for the composite.
        dimensions |= {id_: label for id_, label in found.labels.items() if label != COMPOSITE}
        on_leads = leads_conclusion(found.labelled(called_by(found.labels)))
        results.append(calibrate_result(found, labels=dimensions))
    # Of a single judge, or of categories alone, there are no votes to count.
    with suppress(InputError):
        results.append(votes_result(votes_of(run, own, humans, names), labels=dimensions))
    if fidelity is not None:
        results.append(fidelity_result(fidelity, labels=dimensions))
    return PeopleSection(
        results=results,
        dimensions=dimensions,
        origin=people.origin,
        on_leads=on_leads,
    )
