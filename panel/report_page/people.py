"""The panel's ratings compared with people's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from panel.conclusions.correlate import correlate_conclusion
from panel.io.aligned_ratings import align_ratings
from panel.io.ratings import load_ratings
from panel.report_page.axis import Axis
from panel.statistics.core.options import AnalysisOptions
from panel.statistics.core.table import ALL, Ratings, Row
from panel.statistics.humans.correlate import correlate

_SHOWN = {
    "tau_b_within_prompts": "τ_b with the mean of people, within prompts",
    "tau_b": "τ_b with the mean of people, over all items",
    "human_ceiling_tau_b_within_prompts": "τ_b with the mean of the others, within prompts",
    "human_ceiling_tau_b": "τ_b with the mean of the others, over all items",
    "human_difference_tau_b": "τ_b of the panel less that of one person, with the same others",
    "label_kappa": "κ of the majorities of labels",
    "human_label_kappa": "κ of one person and the majority of the others",
}
"""What the figures that the page has are called; the other comparisons are those of `correlate`."""
_NEEDED = {*_SHOWN, "persona_gain_tau_b"}


@dataclass(frozen=True, slots=True)
class PeopleSection:
    """What the page shows of people beside the panel.

    Attributes:
        rows: for each figure its name and the row of the whole panel, over all dimensions or one.
    """

    conclusion: Sequence[str]
    rows: Sequence[tuple[str, Row]]
    axis: Axis
    n_people: int
    n_items: int


def people_section(folder: Path, humans: Ratings) -> PeopleSection:
    """People beside the panel of the run in a folder.

    Raises:
        InputError: they share no response or no dimension with the run.
    """
    panel, people = align_ratings(load_ratings(str(folder)), humans, str(folder), "human ratings")
    rows = correlate(panel, people, AnalysisOptions(), only=_NEEDED)
    kept = [row for row in rows if row.statistic in _SHOWN and row.by is None]
    values = [value for row in kept for value in (row.value, row.ci_low, row.ci_high)]
    return PeopleSection(
        correlate_conclusion(rows, panel, people),
        [(_name(row), row) for row in sorted(kept, key=_place)],
        Axis.of((-1.0, 1.0), values),
        len(people.raters),
        len(people.items),
    )


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
    elif row.group == ALL:
        who = "Panel"
    on = "" if row.dimension == ALL else f", on {row.dimension.replace('_', ' ')}"
    return f"{who}: {_SHOWN[row.statistic]}{on}"
