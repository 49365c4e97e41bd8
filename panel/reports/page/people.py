"""The panel's ratings compared with people's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup

from persona_panel.analyses.analysis import ANALYSES
from persona_panel.analyses.correlate import correlate_result
from persona_panel.analyses.votes import votes_result
from persona_panel.files.aligned_ratings import align_ratings
from persona_panel.files.errors import InputError
from persona_panel.files.rating_checks import check_calibration
from persona_panel.files.ratings import load_ratings
from persona_panel.files.selections import inclusion_of
from persona_panel.reports.page.names import dimension_names
from persona_panel.results.conclusions.calibrate import best_first, calibrate_conclusion
from persona_panel.results.conclusions.fidelity import contrast_label, fidelity_conclusion
from persona_panel.results.conclusions.labels import labelled_calibration
from persona_panel.results.conclusions.leads import established_leads, leads_conclusion
from persona_panel.results.conclusions.readings import origin_sentences
from persona_panel.results.formats.html import section
from persona_panel.results.result import Result
from persona_panel.runs.run import Run, composite_name
from persona_panel.runs.votes import votes_of
from persona_panel.statistics.core.names import COMPOSITE
from persona_panel.statistics.core.options import AnalysisOptions
from persona_panel.statistics.core.origin import RatingsOrigin
from persona_panel.statistics.core.table import Ratings
from persona_panel.statistics.fidelity.contrast import FidelityContrast
from persona_panel.statistics.humans.calibration import Calibration, calibrate
from persona_panel.statistics.humans.correlate import correlate

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
class CorrectedMeans:
    """Systems' means corrected by people's ratings.

    Attributes:
        on_leads: which of the run's established differences people do not show.
    """

    found: Calibration
    conclusion: Sequence[str]
    on_leads: Sequence[str]


@dataclass(frozen=True, slots=True)
class GroupContrasts:
    """Contrasts of groups of people and of personas, with what they are called."""

    contrasts: Sequence[tuple[str, FidelityContrast]]
    conclusion: Sequence[str]


@dataclass(frozen=True, slots=True)
class PeopleSection:
    """What the page shows of people beside the panel.

    Attributes:
        comparison: of their ratings and the panel's; `compared` is its section.
        corrected: None where means say nothing.
        votes: None of a single judge.
        fidelity: None where no groups are given.
        dimensions: what dimensions are called, by their ids.
        origin: how people's ratings were read, and how many of their items the run has.
    """

    comparison: Result
    compared: Markup
    corrected: CorrectedMeans | None
    votes: Markup | None
    fidelity: GroupContrasts | None
    dimensions: Mapping[str, str]
    origin: RatingsOrigin | None = None

    @property
    def reading(self) -> Sequence[str]:
        """How people's ratings were read, what of them matches nothing and what may be wrong."""
        return [] if self.origin is None else origin_sentences(self.origin)

    @property
    def on_leads(self) -> Sequence[str]:
        """Which of the run's established differences people do not show."""
        return () if self.corrected is None else self.corrected.on_leads


def people_section(
    run: Run,
    folder: Path,
    humans: Ratings,
    judges: Mapping[str, str],
    *,
    epsilon: float,
    inclusion: Mapping[str, float] | None,
    fidelity: Sequence[FidelityContrast],
    required: Sequence[str],
) -> PeopleSection:
    """People beside the panel of the run in a folder.

    Args:
        judges: their names, by their ids.
        epsilon: of the alternative annotator test.
        inclusion: by item, with which probability people were asked for it; all the same if None.
        fidelity: the contrasts of `persona_panel.analyses.fidelity`, where groups of people are
            known.
        required: statistics of `correlate` that the comparison is to have beside those of the page;
            other names are passed over.

    Raises:
        InputError: they share no response or no dimension with the run, or an item that people
            rated has no inclusion probability.
    """
    names = str(folder), "human ratings" if humans.origin is None else humans.origin.file
    own = load_ratings(str(folder))
    panel, people = align_ratings(own, humans, *names)
    rows = correlate(panel, people, AnalysisOptions(epsilon=epsilon), only=_SHOWN.union(required))
    comparison = correlate_result(rows, panel, people, judges=judges)
    dimensions = dimension_names(run.rubric)
    corrected = None
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
        on_leads = leads_conclusion(labelled_calibration(found))
        ordered = replace(found, systems=tuple(best_first(found.systems)))
        corrected = CorrectedMeans(ordered, calibrate_conclusion(found), on_leads)
    return PeopleSection(
        comparison=comparison,
        compared=section(comparison, ANALYSES["correlate"].title, level=3),
        corrected=corrected,
        votes=_votes(run, own, humans, names, dimensions),
        fidelity=_contrasts(fidelity, dimensions),
        dimensions=dimensions,
        origin=people.origin,
    )


def _votes(
    run: Run,
    own: Ratings,
    humans: Ratings,
    names: tuple[str, str],
    dimensions: Mapping[str, str],
) -> Markup | None:
    try:
        found = votes_of(run, own, humans, names)
    except InputError:
        # A single judge, or categories alone: there are no votes to count.
        return None
    return section(votes_result(found, labels=dimensions), ANALYSES["votes"].title, level=3)


def _contrasts(
    contrasts: Sequence[FidelityContrast], dimensions: Mapping[str, str]
) -> GroupContrasts | None:
    if not contrasts:
        return None
    found = [
        replace(one, dimension=dimensions.get(one.dimension, one.dimension)) for one in contrasts
    ]
    several = len({one.dimension for one in found}) > 1
    called = [(contrast_label(one, several), one) for one in found]
    return GroupContrasts(called, fidelity_conclusion(found))
