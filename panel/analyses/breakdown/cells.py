"""A run's ratings by response, persona and model, as the statistics of breakdowns take them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from persona_panel.analyses.once import once_per_run
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import composite_terms, on_one_scale
from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.display import COMPOSITE
from persona_panel.statistics.personas import PersonaCells


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
        widths = [
            numeric_scale.max - numeric_scale.min
            for numeric_scale in run.rubric.numeric_scales.values()
        ]
        scaled = self.dimensions.values / np.array(widths)
        return PersonaCells(scaled, self.dimensions.personas, self.dimensions.models)

    def layers(self) -> list[tuple[str, Array]]:
        """Return the composite and each dimension by name, `(responses, personas, columns)`."""
        whole = [] if self.composite is None else [(COMPOSITE, self.composite.whole)]
        values = self.dimensions.values
        return whole + [(name, values[..., place]) for place, name in enumerate(self.names)]
