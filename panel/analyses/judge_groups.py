"""A run's ratings by response, persona and model; each persona beside the panel, one axis against
another, one model against another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np

from persona_panel.analyses.analysis import once_per_run
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import composite_terms, on_one_scale
from persona_panel.statistics.core.arrays import Array, Random
from persona_panel.statistics.core.display import COMPOSITE
from persona_panel.statistics.personas import (
    Departure,
    GroupDifference,
    PairedResponses,
    PersonaCells,
    ResponseDepartures,
    axis_pair,
    departures_by_dimension,
    departures_by_system,
    model_pair,
    pairwise_differences,
    response_departures,
    severities,
)


@dataclass(frozen=True, slots=True, eq=False)
class RunCells:
    """A run's ratings, judges without a persona left out where others have one.

    Attributes:
        composite: what the rubric's composite is the mean of, or what takes the place of dimensions
            (a product, or whether the category that counts was chosen, 0 or 1); None where it has
            none.
        dimensions, names: the ratings by number, and the d dimensions that they are on.
        one_scale: whether all of them are on one scale.
    """

    composite: PersonaCells | None
    dimensions: PersonaCells
    names: tuple[str, ...]
    one_scale: bool
    systems: tuple[str, ...]
    prompts: tuple[str, ...]

    @staticmethod
    @once_per_run
    def of(run: Run) -> RunCells:
        """Return the cells of a run."""
        columns, _ = run.ranking_columns()
        judges = [run.judges[column] for column in columns]
        personas = [judge.persona for judge in judges]
        models = [judge.model for judge in judges]
        ratings = run.ratings[:, columns]
        terms = composite_terms(ratings, run.rubric, run.dimensions, run.categories)
        composite = None if terms is None else PersonaCells.of(terms, personas, models)
        del terms
        numeric = run.rubric.numeric
        scores = ratings[:, :, [run.dimensions.index(dimension.id) for dimension in numeric]]
        return RunCells(
            composite,
            PersonaCells.of(scores, personas, models),
            tuple(dimension.id for dimension in numeric),
            on_one_scale(run.rubric),
            tuple(item.system for item in run.items),
            tuple(item.prompt_id for item in run.items),
        )

    def in_shares(self, run: Run) -> PersonaCells:
        """Return the dimensions with numbers, each over the width of its scale."""
        widths = [scale.max - scale.min for scale in run.rubric.numeric_scales.values()]
        scaled = self.dimensions.values / np.array(widths)
        return PersonaCells(scaled, self.dimensions.personas, self.dimensions.models)

    def layers(self) -> list[tuple[str, Array]]:
        """Return the composite and each dimension by name, `(responses, personas, columns)`."""
        whole = [] if self.composite is None else [(COMPOSITE, self.composite.whole)]
        values = self.dimensions.values
        return whole + [(name, values[..., place]) for place, name in enumerate(self.names)]


GroupKind = Literal["axis", "model"]


@dataclass(frozen=True, slots=True)
class GroupComparison:
    """The differences of every two axes of personas, or every two models, on the same texts.

    Attributes:
        kind, groups: what the groups are, and their names in the panel's order.
        differences: of every two, on the composite and each dimension, over all systems and on each
            of several, corrected by Holm over all of them.
        interactions: likewise, by system: how far the difference on it is from that on the others.
            One that is `shown` says that the two see systems differently.
        random: what intervals and p-values take as a sample.
    """

    kind: GroupKind
    groups: tuple[str, ...]
    differences: tuple[GroupDifference, ...]
    interactions: tuple[GroupDifference, ...]
    random: Random


@once_per_run
def axis_differences(run: Run, random: Random | None = None) -> GroupComparison:
    """Compare personas of one axis with those of another; without rows where there are fewer than
    two axes, or they are not known. `random`: what intervals take as a sample; None: as the run
    says."""
    known = axes_of(run)
    axes = [known.get(persona, "") for persona in RunCells.of(run).dimensions.personas]
    names = [axis for axis in dict.fromkeys(axes) if axis]
    return _differences(run, "axis", names, partial(axis_pair, axes=axes), random)


@once_per_run
def model_differences(run: Run, random: Random | None = None) -> GroupComparison:
    """Compare one model with another, persona by persona; without rows where there is one. Args as
    for `axis_differences`."""
    names = RunCells.of(run).dimensions.models
    return _differences(run, "model", names, partial(model_pair, models=names), random)


def _differences(
    run: Run,
    kind: GroupKind,
    names: Sequence[str],
    pair: Callable[[Array, str, str], PairedResponses],
    random: Random | None,
) -> GroupComparison:
    cells, random = RunCells.of(run), random or run.random
    pairs = [
        (layer, pair(values, a, b))
        for layer, values in cells.layers()
        for a, b in combinations(names, 2)
    ]
    differences, interactions = (
        pairwise_differences(
            pairs, cells.systems, cells.prompts, random=random, interaction=interaction
        )
        for interaction in (False, True)
    )
    return GroupComparison(kind, tuple(names), tuple(differences), tuple(interactions), random)


def axes_of(run: Run) -> dict[str, str]:
    """Return the axis of each persona of a run, by its id; empty where a run does not know them."""
    return {persona.id: persona.axis for persona in run.personas}


def labels_of_personas(run: Run) -> dict[str, str]:
    """Return what people read in place of a persona's id; the id itself where a run does not know
    more."""
    known = {persona.id: persona.label for persona in run.personas}
    return {judge.persona: known.get(judge.persona, judge.persona) for judge in run.judges}


@dataclass(frozen=True, slots=True, eq=False)
class PersonaDepartures:
    """The departures of each persona of a run, in the panel's order, from the panel, on the same
    texts and through the same models: `severities` on the whole, then with severity taken out by
    systems, by dimensions with numbers, and by responses, in the run's order, `(responses,
    personas)`."""

    personas: tuple[str, ...]
    severities: tuple[Departure, ...]
    by_system: tuple[Departure, ...]
    by_dimension: tuple[Departure, ...]
    by_response: ResponseDepartures


@once_per_run
def persona_departures(run: Run) -> PersonaDepartures:
    """Estimate how far each persona is above or below the panel, and what of that chance explains.

    On the rubric's composite; by dimension, and by response where the rubric has no composite, on
    the mean of the dimensions with numbers. Each table is corrected by itself (Holm, 5 %).
    """
    cells = RunCells.of(run)
    whole = cells.composite or cells.dimensions
    return PersonaDepartures(
        whole.personas,
        tuple(severities(whole, cells.prompts)),
        tuple(departures_by_system(whole, cells.systems, cells.prompts)),
        tuple(
            departures_by_dimension(
                cells.dimensions, cells.names, cells.prompts, one_scale=cells.one_scale
            )
        ),
        response_departures(replace(whole, values=whole.whole[..., None])),
    )
