"""A sweep as data frames: its columns, of which `Sweep.to_frame` and `Sweep.cells_frame` make
frames of any library."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Protocol

import numpy as np

from persona_panel.experiments.sweep.deltas import Cell
from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.display import FrameColumn, field_columns


class SweptDeltas(Protocol):
    """What the tables of Δs are made from; a `Sweep` is one, and says what each part means."""

    @property
    def systems(self) -> Sequence[str]: ...
    @property
    def prompts(self) -> Sequence[str]: ...
    @property
    def conditions(self) -> Sequence[str]: ...
    @property
    def dimensions(self) -> Sequence[str]: ...
    @property
    def scores(self) -> Array: ...
    @property
    def delta(self) -> Array: ...
    @property
    def cells(self) -> Sequence[Cell]: ...


def delta_columns(sweep: SweptDeltas) -> list[FrameColumn]:
    """A data frame with one row for each system, prompt, framed condition and dimension.

    Columns: `system`, `prompt_id`, `condition`, `dimension`, `baseline` and `framed` (the panel's
    mean scores), and `delta`, baseline − framed over the judges that rated both.
    """
    names = [*product(sweep.systems, sweep.prompts, sweep.conditions[1:], sweep.dimensions)]
    framed = sweep.scores[:, :, 1:]
    baseline = np.broadcast_to(sweep.scores[:, :, :1], framed.shape)
    return [
        *(
            FrameColumn(name, "text", [row[place] for row in names])
            for place, name in enumerate(("system", "prompt_id", "condition", "dimension"))
        ),
        FrameColumn("baseline", "number", baseline.ravel().tolist()),
        FrameColumn("framed", "number", framed.ravel().tolist()),
        FrameColumn("delta", "number", sweep.delta.ravel().tolist()),
    ]


def cell_columns(sweep: SweptDeltas) -> list[FrameColumn]:
    """A data frame with one row for each system, dimension and framed condition: Δ over prompts.

    Columns: `system`, `dimension`, `condition`; `delta` and the fields of `Mean` (`ci_low`,
    `ci_high`, `p_value`, `p_holm`, `p_bounded`, `p_sign`, `sd`, `effect_size`, `n_pairs`,
    `shown`); then `n_abstained`, `n_missing`, `n_fell`, `n_rose`, `large` and `strong`, as in
    `Cell`.
    """
    cells, means = sweep.cells, [cell.delta for cell in sweep.cells]
    return [
        *field_columns(cells, "text", "system", "dimension", "condition"),
        FrameColumn("delta", "number", [mean.value for mean in means]),
        *field_columns(means, "number", "ci_low", "ci_high", "p_value", "p_holm", "p_bounded"),
        *field_columns(means, "number", "p_sign"),
        *field_columns(means, "number", "sd", "effect_size"),
        *field_columns(means, "whole", "n_pairs"),
        *field_columns(means, "flag", "shown"),
        *field_columns(cells, "whole", "n_abstained", "n_missing", "n_fell", "n_rose"),
        *field_columns(cells, "number", "large"),
        *field_columns(cells, "flag", "strong"),
    ]
