"""How far personas are above or below the panel: in all, by system, by dimension.

Each cell is a mean over prompts with Student's interval and test; see
`persona_panel.statistics.core.sampled_mean`. Holm's correction is over all cells of a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

import numpy as np

from persona_panel.statistics.breakdown.cells import PersonaCells, departures, mean_there, means_by
from persona_panel.statistics.core.arrays import Array, IntArray, Labels, encode_labels
from persona_panel.statistics.core.holm import holm
from persona_panel.statistics.core.sampled_mean import sampled_mean
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.core.tested import Tested


@dataclass(frozen=True, slots=True)
class Departure(Tested):
    """How far a persona is from the panel on the same texts, in points.

    Attributes:
        on: the system or the dimension; empty where it is all of them.
        departure: the persona's mean minus the panel's, over prompts.
        beyond_severity: the same less the persona's departure over all systems (or dimensions) of
            the prompt; `departure` itself where it is of all of them.
        ci_low, ci_high: the 95 % interval of `beyond_severity` over prompts, with these judges as
            they are.
        p, p_adjusted: two-sided, of `beyond_severity` being 0; by Holm over the table's cells.
        reason: why there is no interval; it and the p-values are NaN then.
    """

    persona: str
    on: str
    departure: float
    beyond_severity: float
    ci_low: float
    ci_high: float
    p: float
    p_adjusted: float
    n_prompts: int
    reason: Reason | None


def severities(cells: PersonaCells, prompts: Labels) -> list[Departure]:
    """Return how lenient each persona is: its departure over all responses, on the mean of the
    terms.

    >>> cells = PersonaCells.of(np.array([[[6.0], [4.0]], [[7.0], [4.0]]]), ["a", "b"], ["m", "m"])
    >>> [(one.persona, one.departure) for one in severities(cells, ["p", "q"])]
    [('a', 1.25), ('b', -1.25)]
    """
    codes, n_prompts = _encoded(prompts, len(cells.values))
    of_prompt = means_by(_whole_departures(cells), codes, n_prompts)[:, :, None]
    return _tested(cells, ("",), of_prompt, of_prompt, None)


def departures_by_system(
    cells: PersonaCells, systems: Sequence[str], prompts: Labels
) -> list[Departure]:
    """Personas by systems, on the mean of the terms: how a persona sees a system otherwise than it
    sees the others. Systems are in order of appearance; of one system nothing is beyond severity.
    """
    n = len(cells.values)
    codes, n_prompts = _encoded(prompts, n)
    names, system = encode_labels(systems, n)
    found = means_by(_whole_departures(cells), codes * len(names) + system, n_prompts * len(names))
    # Of shape (prompts, personas, systems).
    table = found.reshape(n_prompts, len(names), found.shape[1]).transpose(0, 2, 1)
    reason = Reason.FEW_SYSTEMS if len(names) < 2 else None
    return _tested(cells, tuple(map(str, names)), table, _beyond(table), reason)


def departures_by_dimension(
    cells: PersonaCells, dimensions: Sequence[str], prompts: Labels, *, one_scale: bool = True
) -> list[Departure]:
    """Personas by dimensions, the terms of `cells`: how a persona rates a dimension otherwise than
    it rates the others. Dimensions on different scales have departures and no test."""
    codes, n_prompts = _encoded(prompts, len(cells.values))
    table = means_by(mean_there(departures(cells.values), 2), codes, n_prompts)
    reason = Reason.FEW_DIMENSIONS if len(dimensions) < 2 else None
    if reason is None and not one_scale:
        reason = Reason.OTHER_SCALE
    return _tested(cells, tuple(dimensions), table, _beyond(table), reason)


def _encoded(prompts: Labels, n: int) -> tuple[IntArray, int]:
    names, codes = encode_labels(prompts, n)
    return codes, len(names)


def _whole_departures(cells: PersonaCells) -> Array:
    """`(responses, personas)`, on the mean of the terms."""
    return mean_there(departures(cells.whole), 2)


def _beyond(table: Array) -> Array:
    """Return what of a table `(prompts, personas, columns)` is beyond the persona's mean over the
    columns that it has in the prompt, two at least."""
    counts = (~np.isnan(table)).sum(axis=2, keepdims=True)
    return np.where(counts > 1, table - mean_there(table, 2)[:, :, None], np.nan)


def _tested(
    cells: PersonaCells, on: Sequence[str], table: Array, beyond: Array, reason: Reason | None
) -> list[Departure]:
    """Every cell of `beyond` `(prompts, personas, columns)` against 0."""
    if len(cells.personas) < 2:
        reason = Reason.FEW_PERSONAS
    if reason is not None:
        beyond = np.full(table.shape, np.nan)
    means = mean_there(table, 0)
    places = [(p, c) for p in range(len(cells.personas)) for c in range(len(on))]
    found = [sampled_mean(beyond[:, p, c]) for p, c in places]
    adjusted = holm([one.p_value for one in found])
    return [
        Departure(
            cells.personas[p],
            on[c],
            float(means[p, c]),
            one.mean,
            *((nan, nan) if isnan(one.mean) else one.interval()),
            one.p_value,
            float(p_adjusted),
            one.n_prompts,
            reason or one.reason,
        )
        for (p, c), one, p_adjusted in zip(places, found, adjusted, strict=True)
    ]
