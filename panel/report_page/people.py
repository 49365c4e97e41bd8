"""The panel's ratings compared with people's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from panel.conclusions.calibrate import calibrate_conclusion
from panel.conclusions.correlate import correlate_conclusion
from panel.conclusions.fidelity import contrast_label, fidelity_conclusion
from panel.conclusions.leads import established_leads, leads_conclusion
from panel.errors import InputError
from panel.io.aligned_ratings import align_ratings
from panel.io.calibration_checks import check_calibration
from panel.io.ratings import load_ratings
from panel.io.selections import inclusion_of
from panel.report_page.axis import Axis
from panel.runs.run import Run
from panel.runs.votes import VotesReport, votes_of
from panel.runs.votes_conclusion import votes_conclusion
from panel.statistics.core.options import AnalysisOptions
from panel.statistics.core.table import ALL, Ratings, Row
from panel.statistics.fidelity.contrast import FidelityContrast
from panel.statistics.humans.calibration import Calibration, calibrate
from panel.statistics.humans.ceiling import NOT_COMPARABLE
from panel.statistics.humans.correlate import correlate

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
        judge: its id; empty of the panel's mean, or majority.
        rate, advantage: the rows of ω and ρ.
    """

    judge: str
    dimension: str
    rate: Row
    advantage: Row


@dataclass(frozen=True, slots=True)
class PeopleSection:
    """What the page shows of people beside the panel.

    Attributes:
        shown: the figures beside people, each with its name.
        caution: which of them are not to be compared; empty where there are none.
        rows: all of the comparison.
        tested: the panel on each dimension, then each judge.
        several: whether there are several dimensions.
        calibration: systems' means corrected by people's ratings; None where means say nothing.
        calibrated: what may be concluded from it.
        on_leads: which of the run's established differences people do not show, from the same.
        votes: the effective votes, and what may be concluded; None of a single judge.
        fidelity: contrasts of groups with what they are called; none where no groups are given.
    """

    conclusion: Sequence[str]
    shown: Sequence[tuple[str, Row]]
    caution: str
    rows: Sequence[Row]
    axis: Axis
    n_people: int
    n_items: int
    epsilon: float
    tested: Sequence[TestedJudge]
    shares: Axis
    several: bool
    calibration: Calibration | None
    calibrated: Sequence[str]
    on_leads: Sequence[str]
    votes: VotesReport | None
    voted: Sequence[str]
    fidelity: Sequence[tuple[str, FidelityContrast]]
    faithful: Sequence[str]


def people_section(
    run: Run,
    folder: Path,
    humans: Ratings,
    *,
    epsilon: float,
    inclusion: Mapping[str, float] | None,
    fidelity: Sequence[FidelityContrast],
    required: Sequence[str],
) -> PeopleSection:
    """People beside the panel of the run in a folder.

    Args:
        epsilon: of the alternative annotator test.
        inclusion: by item, with which probability people were asked for it; all the same if None.
        fidelity: the contrasts of `panel.fidelity`, where groups of people are known.
        required: statistics of `correlate` that `rows` are to have beside those that are shown;
            other names are passed over.

    Raises:
        InputError: they share no response or no dimension with the run, or an item that people
            rated has no inclusion probability.
    """
    names = str(folder), "human ratings"
    own = load_ratings(str(folder))
    panel, people = align_ratings(own, humans, *names)
    rows = correlate(panel, people, AnalysisOptions(epsilon=epsilon), only=_NEEDED.union(required))
    *_, whole = panel.raters_by_group()
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
    corrected = None
    if not people.lower_is_better:
        check_calibration(panel, people, *names)
        chances = None if inclusion is None else inclusion_of(inclusion, panel, people, names[1])
        leads = established_leads(run.leaderboard())
        corrected = replace(calibrate(panel, people, inclusion=chances), leads=leads)
    try:
        votes = votes_of(run, own, humans, names)
    except InputError:
        # A single judge, or categories alone: there are no votes to count.
        votes = None
    several_contrasts = len({one.dimension for one in fidelity}) > 1
    tested = _tested([row for row in rows if row.group == whole])
    return PeopleSection(
        correlate_conclusion(rows, panel, people),
        [(_name(row), row) for row in sorted(shown, key=_place)],
        NOT_COMPARABLE if any(row.statistic.startswith("human_ceiling") for row in shown) else "",
        rows,
        Axis.of((-1.0, 1.0), values),
        len(people.raters),
        len(people.items),
        epsilon,
        tested,
        Axis(0.0, 1.0),
        len({one.dimension for one in tested}) > 1,
        corrected,
        [] if corrected is None else calibrate_conclusion(corrected),
        [] if corrected is None else leads_conclusion(corrected),
        votes,
        [] if votes is None else votes_conclusion(votes),
        [(contrast_label(one, several_contrasts), one) for one in fidelity],
        fidelity_conclusion(fidelity) if fidelity else [],
    )


def _tested(rows: Sequence[Row]) -> list[TestedJudge]:
    """The panel on each dimension, over all of them first; then each judge likewise.

    Args:
        rows: of the whole panel; its parts have rows of the same judges again.
    """
    advantages = {(row.dimension, row.by_value): row for row in rows if row.statistic == _ADVANTAGE}
    found = [
        TestedJudge(row.by_value or "", row.dimension, row, advantages[row.dimension, row.by_value])
        for row in rows
        if row.statistic == _RATE
    ]
    return sorted(found, key=lambda one: (one.judge != "", one.dimension != ALL))


def _place(row: Row) -> tuple[bool, int]:
    """The whole panel and people first, then parts of the panel, in the order of the figures."""
    return not _whole(row), [*_SHOWN].index(row.statistic)


def _whole(row: Row) -> bool:
    return row.group == ALL or row.statistic.startswith("human_")


def _name(row: Row) -> str:
    """Whose figure it is, which, and on which dimension, where that is not all."""
    who = row.group
    if row.statistic.startswith("human_ceiling"):
        who = "One person"
    elif row.statistic.startswith("human_difference"):
        who = "Panel less one person"
    elif row.group == ALL:
        who = "Panel"
    on = "" if row.dimension == ALL else f", on {row.dimension.replace('_', ' ')}"
    return f"{who}: {_SHOWN[row.statistic]}{on}"
