"""The panel's ratings compared with people's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from persona_panel.analyses.calibrate import calibrate_result, established_leads, leads_conclusion
from persona_panel.analyses.fidelity import fidelity_result
from persona_panel.analyses.group_contrasts import GroupContrasts
from persona_panel.analyses.votes import votes_result
from persona_panel.files.aligned_ratings import align_ratings
from persona_panel.files.errors import InputError
from persona_panel.files.rating_checks import check_calibration
from persona_panel.files.ratings import load_ratings
from persona_panel.files.selections import inclusion_of
from persona_panel.reports.page.names import dimension_names
from persona_panel.results.axis import Axis
from persona_panel.results.conclusions.correlate import correlate_conclusion, n_claimed
from persona_panel.results.conclusions.labels import called_by
from persona_panel.results.conclusions.readings import origin_sentences
from persona_panel.results.result import Result
from persona_panel.runs.run import Run, composite_name
from persona_panel.runs.votes import votes_of
from persona_panel.statistics.core.names import ALL, COMPOSITE
from persona_panel.statistics.core.options import AnalysisOptions
from persona_panel.statistics.core.origin import RatingsOrigin
from persona_panel.statistics.core.table import Ratings, Row
from persona_panel.statistics.humans.calibration import calibrate
from persona_panel.statistics.humans.ceiling import NOT_COMPARABLE
from persona_panel.statistics.humans.correlate import correlate
from persona_panel.statistics.humans.left_out import without_names

_SHOWN = {
    "tau_b_within_prompts": "τ_b with the mean of people, within prompts",
    "tau_b": "τ_b with the mean of people, over all items",
    "human_ceiling_tau_b_within_prompts": "τ_b with the mean of the others, within prompts",
    "human_ceiling_tau_b": "τ_b with the mean of the others, over all items",
    "human_difference_tau_b_within_prompts": "τ_b with the mean of the same others, within prompts",
    "human_difference_tau_b": "τ_b with the mean of the same others, over all items",
    "label_kappa": "κ of the majorities of labels",
    "human_label_kappa": "κ of one person and the majority of the others",
}
"""What the figures that the page has are called; the other comparisons are those of `correlate`."""
_RATE, _ADVANTAGE, _ITEMS = "alt_test_winning_rate", "alt_test_advantage", "alt_test_items_needed"
_NEEDED = {*_SHOWN, "persona_gain_tau_b", _RATE, _ADVANTAGE, _ITEMS}


@dataclass(frozen=True, slots=True)
class TestedJudge:
    """The alternative annotator test of the panel, or of one of its judges, on one dimension.

    Attributes:
        judge: its name; empty of the panel's mean, or majority.
        rate, advantage: the rows of ω and ρ.
    """

    judge: str
    dimension: str
    rate: Row
    advantage: Row


@dataclass(frozen=True, slots=True)
class FiguresBeside:
    """The panel's figures beside people's.

    Attributes:
        figures: each with its name.
        caution: which of them are not to be compared; empty where there are none.
        n_claimed: for how many dimensions the intervals of differences are widened; 0 of none.
    """

    conclusion: Sequence[str]
    figures: Sequence[tuple[str, Row]]
    caution: str
    n_claimed: int
    axis: Axis
    n_people: int
    n_items: int


@dataclass(frozen=True, slots=True)
class AnnotatorTests:
    """The alternative annotator tests.

    Attributes:
        panel, judges: the panel on each dimension, and each judge likewise.
        several: whether there are several dimensions.
    """

    epsilon: float
    panel: Sequence[TestedJudge]
    judges: Sequence[TestedJudge]
    axis: Axis
    several: bool


@dataclass(frozen=True, slots=True)
class PeopleSection:
    """What the page shows of people beside the panel.

    Attributes:
        rows: all of the comparison.
        results: of analyses of the same ratings, each with a part of its own: corrected means,
            where means say something, votes, where there are several judges, and the contrasts of
            groups, where these are given.
        dimensions: what dimensions are called, by their ids.
        origin: how people's ratings were read, and how many of their items the run has.
        on_leads: which of the run's established differences people do not show.
    """

    beside: FiguresBeside
    rows: Sequence[Row]
    tests: AnnotatorTests
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
        required: statistics of `correlate` that `rows` are to have beside those that are shown;
            other names are passed over.

    Raises:
        InputError: they share no response or no dimension with the run, or an item that people
            rated has no inclusion probability.
    """
    names = str(folder), "human ratings" if humans.origin is None else humans.origin.file
    own = load_ratings(str(folder))
    panel, people = align_ratings(own, humans, *names)
    rows = correlate(panel, people, AnalysisOptions(epsilon=epsilon), only=_NEEDED.union(required))
    dimensions = dimension_names(run.rubric)
    *_, whole = panel.raters_by_group()
    tested = _tested([row for row in rows if row.group == whole], judges)
    results: list[Result] = []
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
        beside=_beside(rows, panel, people, whole, dimensions, judges),
        rows=rows,
        tests=AnnotatorTests(
            epsilon=epsilon,
            panel=[one for one in tested if not one.judge],
            judges=[one for one in tested if one.judge],
            axis=Axis(0.0, 1.0),
            several=len({one.dimension for one in tested}) > 1,
        ),
        results=results,
        dimensions=dimensions,
        origin=people.origin,
        on_leads=on_leads,
    )


def _beside(
    rows: Sequence[Row],
    panel: Ratings,
    people: Ratings,
    whole: str,
    dimensions: Mapping[str, str],
    judges: Mapping[str, str],
) -> FiguresBeside:
    shown = [
        row
        for row in rows
        if row.statistic in _SHOWN
        and (
            (row.group, row.by_value) == (whole, "panel − human")
            if row.statistic.startswith("human_difference")
            else row.by is None
        )
    ]
    values = [value for row in shown for value in (row.value, row.ci_low, row.ci_high)]
    has_ceiling = any(row.statistic.startswith("human_ceiling") for row in shown)
    return FiguresBeside(
        conclusion=correlate_conclusion(rows, panel, people, judges),
        figures=[(_name(row, dimensions), row) for row in sorted(shown, key=_place)],
        caution=NOT_COMPARABLE if has_ceiling else "",
        n_claimed=n_claimed(rows, whole),
        axis=Axis.of((-1.0, 1.0), values),
        n_people=len(people.raters),
        n_items=len(people.items),
    )


def _tested(rows: Sequence[Row], judges: Mapping[str, str]) -> list[TestedJudge]:
    """The panel on each dimension, over all of them first; then each judge likewise.

    Args:
        rows: of the whole panel; its parts have rows of the same judges again.
        judges: their names, by their ids.
    """
    advantages = {(row.dimension, row.by_value): row for row in rows if row.statistic == _ADVANTAGE}
    found = [
        TestedJudge(
            judges.get(row.by_value or "", row.by_value or ""),
            row.dimension,
            replace(row, note=without_names(row.note)),
            advantages[row.dimension, row.by_value],
        )
        for row in rows
        if row.statistic == _RATE
    ]
    return sorted(found, key=lambda one: (one.judge != "", one.dimension != ALL))


def _place(row: Row) -> tuple[bool, int]:
    """The whole panel and people first, then parts of the panel, in the order of the figures."""
    return not _whole(row), [*_SHOWN].index(row.statistic)


def _whole(row: Row) -> bool:
    return row.group == ALL or row.statistic.startswith("human_")


def _name(row: Row, dimensions: Mapping[str, str]) -> str:
    """Whose figure it is, which, and on which dimension, where that is not all."""
    who = row.group
    if row.statistic.startswith("human_ceiling"):
        who = "One person"
    elif row.statistic.startswith("human_difference"):
        who = "Panel − one person"
    elif row.group == ALL:
        who = "Panel"
    on = "" if row.dimension == ALL else f", on {dimensions.get(row.dimension, row.dimension)}"
    return f"{who}: {_SHOWN[row.statistic]}{on}"
