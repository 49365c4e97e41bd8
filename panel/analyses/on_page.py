"""A run beside people's ratings: what answers, and sections of a page, are made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Self

from persona_panel.results.result import Result

if TYPE_CHECKING:
    from persona_panel.analyses.group_contrasts import GroupContrasts
    from persona_panel.runs.run import Run
    from persona_panel.statistics.calibration import Calibration
    from persona_panel.statistics.core.table import Ratings, Row

EPSILON = 0.1
"""Of the alternative annotator test, where none is given: the strictest that its paper advises, for
people from a crowd."""


COMPARED = frozenset(
    f"{name}{where}"
    for name in ("pearson", "tau_b", "human_ceiling_tau_b", "human_difference_tau_b")
    for where in ("", "_within_prompts")
) | {
    "label_kappa", "human_label_kappa", "persona_gain_tau_b", "alt_test_winning_rate",
    "alt_test_advantage", "alt_test_items_needed",
}  # fmt: skip
"""The statistics of the panel beside people that answers and a page have."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RunWithPeople:
    """A run, and people's ratings of its responses.

    Attributes:
        own: the run's ratings, of all responses; `humans` are people's as they were read.
        panel, people: both, of the responses and dimensions that they share.
        names: of both, in faults.
        judges, dimensions: what people read in place of their ids.
        epsilon: of the alternative annotator test.
        inclusion: by item, with which probability people were asked for it; all the same if None.
        fidelity: the contrasts of groups of people; None where groups are not known.
        required: names of statistics that a requirement names.
    """

    run: Run
    own: Ratings
    humans: Ratings
    panel: Ratings
    people: Ratings
    names: tuple[str, str]
    judges: Mapping[str, str]
    dimensions: Mapping[str, str]
    epsilon: float = EPSILON
    inclusion: Mapping[str, float] | None = None
    fidelity: GroupContrasts | None = None
    required: Collection[str] = field(default_factory=tuple)

    @classmethod
    def of(
        cls,
        run: Run,
        humans: Ratings,
        *,
        judges: Mapping[str, str] | None = None,
        dimensions: Mapping[str, str] | None = None,
        epsilon: float = EPSILON,
        inclusion: Mapping[str, float] | None = None,
        fidelity: GroupContrasts | None = None,
        required: Collection[str] = (),
    ) -> Self:
        """Return both, with people's ratings matched to the run's responses.

        Raises:
            InputError: they share no response or no dimension.
        """
        # Only where people have rated.
        from persona_panel.files.aligned_ratings import align_ratings
        from persona_panel.runs.collected import ratings_of
        from persona_panel.statistics.core.display import COMPOSITE

        names = (
            "the run" if run.folder is None else str(run.folder),
            "human ratings" if humans.origin is None else humans.origin.file,
        )
        own = ratings_of(run)
        panel, people = align_ratings(own, humans, *names)
        # The page has its own name for the composite.
        labels = {name: label for name, label in panel.labels.items() if label != COMPOSITE}
        return cls(
            run=run, own=own, humans=humans, panel=panel, people=people, names=names,
            judges=judges or {}, dimensions={**(dimensions or {}), **labels}, epsilon=epsilon,
            inclusion=inclusion, fidelity=fidelity, required=required,
        )  # fmt: skip

    @cached_property
    def rows(self) -> list[Row]:
        """Return the statistics of the panel beside people."""
        from persona_panel.statistics.comparison import correlate
        from persona_panel.statistics.core.arrays import AnalysisOptions

        options = AnalysisOptions(epsilon=self.epsilon)
        return correlate(self.panel, self.people, options, only=COMPARED.union(self.required))

    @property
    def group(self) -> str:
        """Return the group of all judges, in `rows`."""
        *_, group = self.panel.raters_by_group()
        return group

    @cached_property
    def calibrated(self) -> Calibration | None:
        """Return the panel's means corrected by people's ratings; None where people gave ranks.

        Raises:
            InputError: people name systems or prompts that the run does not have.
        """
        if self.people.lower_is_better:
            return None
        from persona_panel.files.ratings import check_calibration
        from persona_panel.files.selections import inclusion_of
        from persona_panel.statistics.calibration import calibrate

        check_calibration(self.panel, self.people, *self.names)
        chances = None
        if self.inclusion is not None:
            chances = inclusion_of(self.inclusion, self.panel, self.people, self.names[1])
        return calibrate(self.panel, self.people, inclusion=chances)


BesidePeople = Callable[[RunWithPeople], Iterator[Result]]
"""Yields the results that a page has beside people's ratings; nothing where the analysis has
nothing to say of them."""


def beside_people(run: Run) -> RunWithPeople | None:
    """Return a run beside the people's ratings that it has; None where it has none."""
    if run.humans is None:
        return None
    if "people" not in run.computed or run.computed["people"].humans is not run.humans:
        run.computed["people"] = RunWithPeople.of(run, run.humans)
    people: RunWithPeople = run.computed["people"]
    return people
