"""What an analysis makes its section of a run's page from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from persona_panel.results.result import Result

if TYPE_CHECKING:
    from persona_panel.analyses.group_contrasts import GroupContrasts
    from persona_panel.runs.run import Run
    from persona_panel.statistics.core.table import Ratings

EPSILON = 0.1
"""Of the alternative annotator test, where none is given: the strictest that its paper advises, for
people from a crowd."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunWithPeople:
    """A run that was written, and people's ratings of its responses.

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


BesidePeople = Callable[[RunWithPeople], Iterator[Result | str]]
"""Yields the results that a page has beside people's ratings, and sentences that stand below the
run's own conclusion; nothing where the analysis has nothing to say of them."""
