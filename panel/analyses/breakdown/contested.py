"""The responses of a run on which its personas disagree, and who stands on which side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from persona_panel.analyses.breakdown.cells import RunCells
from persona_panel.analyses.breakdown.groups import axes_of, labels_of_personas
from persona_panel.analyses.breakdown.once import once_per_run
from persona_panel.results.conclusions.contested import contested_conclusion
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import on_one_scale
from persona_panel.runs.units import SHARES_OF_WIDTH, FigureUnit, unit_of_ratings
from persona_panel.statistics.breakdown.contested import (
    ContestedResponse,
    contested_responses,
    response_departures,
)
from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.display import signed
from persona_panel.statistics.core.statistic import Reason

_NAMED = 3
"""How many personas are named on each side."""
_APART = 0.005
"""Below it a departure is shown as 0.00."""


@dataclass(frozen=True, slots=True)
class Contested:
    """A response, and how far personas disagree about it; see
    `persona_panel.statistics.breakdown.contested` for the measure.

    Attributes:
        prompt_id, id, system: which response it is.
        title: the beginning of the prompt; the prompt's id where no text is known.
        spread: the standard deviation between personas beyond noise, in points, or in what
            `unit_of_departures` says; NaN with `reason`.
        by_dimension: the same by dimension id.
        share: of the variance between judges, their severity taken out, what lies between
            personas, 0 to 1.
        p_adjusted: that they differ by noise alone, by Holm over all responses.
        established: whether they differ by more than noise.
        departures: each persona's mean above (+) or below (−) the panel's, severity taken out, on
            the mean of the dimensions.
        named: the personas whose departure alone is more than noise, corrected over all
            personas and responses.
        why: sentences: on which dimension, who stands on which side, how far, and how axes
            stand to each other; empty with `reason`.
    """

    prompt_id: str
    id: str
    system: str
    title: str
    spread: float
    by_dimension: Mapping[str, float]
    share: float
    p: float
    p_adjusted: float
    established: bool
    departures: Mapping[str, float]
    named: tuple[str, ...]
    why: tuple[str, ...]
    reason: Reason | None


def contested(run: Run, top: int | None = None) -> list[Contested]:
    """The responses, the most contested first: those on which personas differ by more than noise,
    widest spread first; then the others.

    Over the rubric's dimensions with numbers; where they are on different scales, each is divided
    by the width of its scale, and points are shares of it.

    Args:
        top: how many to return; None: all.
    """
    return list(_ranked(run)[:top])


def unit_of_departures(run: Run) -> FigureUnit:
    """What the spread and the departures of contested responses are in."""
    return unit_of_ratings(run.rubric) if on_one_scale(run.rubric) else SHARES_OF_WIDTH


@once_per_run
def _ranked(run: Run) -> tuple[Contested, ...]:
    cells = RunCells.of(run)
    used = cells.dimensions if cells.one_scale else cells.in_shares(run)
    found = contested_responses(used)
    seen = response_departures(used)
    labels = {one.id: one.label for one in run.rubric.dimensions}
    names = labels_of_personas(run)
    axes = axes_of(run)
    unit = unit_of_departures(run).after_number
    personas = used.personas
    result = []
    for one in found:
        item = run.items[one.response]
        departures = seen.departures[one.response]
        shown = seen.shown[one.response]
        why: tuple[str, ...] = ()
        if one.reason is None:
            told = [names[persona] for persona in personas]
            on = [labels[name] for name in cells.names]
            sides = [axes.get(persona, "") for persona in personas]
            of_each = seen.by_dimension[one.response]
            why = reasons(one, on, told, sides, of_each, unit)
        result.append(
            Contested(
                *item,
                title=run.titles.get(item.prompt_id, item.prompt_id),
                spread=one.spread,
                by_dimension=dict(zip(cells.names, one.by_dimension, strict=True)),
                share=one.share,
                p=one.p,
                p_adjusted=one.p_adjusted,
                established=one.shown,
                departures=dict(zip(personas, departures.tolist(), strict=True)),
                named=tuple(p for p, is_shown in zip(personas, shown, strict=True) if is_shown),
                why=why,
                reason=one.reason,
            )
        )
    return tuple(result)


def conclusion_on(found: Sequence[Contested]) -> list[str]:
    """How many of all responses of a run are contested, in a sentence; none of no response."""
    if not found:
        return []
    tested = [one for one in found if one.reason is None]
    reasons = tuple(dict.fromkeys(str(one.reason) for one in found if one.reason is not None))
    return [contested_conclusion(sum(one.established for one in tested), len(tested), reasons)]


def reasons(
    one: ContestedResponse,
    dimensions: Sequence[str],
    personas: Sequence[str],
    axes: Sequence[str],
    by_dimension: Array,
    unit: str = " points",
) -> tuple[str, ...]:
    """Where personas differ, in sentences.

    Args:
        dimensions, personas: their labels.
        axes: of each persona, empty where it is not known.
        by_dimension: departures `(personas, dimensions)`, severity taken out.
        unit: what follows a difference; nothing where ratings are shares of preferences.
    """
    if not one.spread > 0:
        return ("Personas differ by no more than models do for one persona.",)
    place = int(np.nanargmax(one.by_dimension))
    said = []
    if not one.shown:
        said.append(f"Noise alone may explain it (adjusted p {one.p_adjusted:.2g}).")
    if len(dimensions) > 1:
        widest = f"standard deviation {one.by_dimension[place]:.2f}{unit}"
        said.append(f"Personas differ most on {dimensions[place]} ({widest}).")
    on = by_dimension[:, place]
    far = max(_APART, one.by_dimension[place] / 2)
    sides = []
    for word, sign in (("above", 1), ("below", -1)):
        order = [p for p in np.argsort(-sign * on, kind="stable") if sign * on[p] > far]
        if order:
            those = ", ".join(f"{personas[p]} ({signed(on[p])})" for p in order[:_NAMED])
            more = f" and {len(order) - _NAMED} more" if len(order) > _NAMED else ""
            sides.append(f"{word} the panel {'are' if len(order) > 1 else 'is'} {those}{more}")
    if sides:
        told = "; ".join(sides)
        said.append(f"On it, {told}." if len(dimensions) > 1 else f"{told[0].upper()}{told[1:]}.")
    return (*said, *_of_axes(axes, on, unit))


def _of_axes(axes: Sequence[str], on: Array, unit: str) -> list[str]:
    """How axes stand to each other on a dimension, where there are several of two personas."""
    sides = {axis: on[[one == axis for one in axes]] for axis in dict.fromkeys(axes) if axis}
    means = {
        axis: float(np.nanmean(those))
        for axis, those in sides.items()
        if np.sum(~np.isnan(those)) > 1
    }
    if len(means) < 2:
        return []
    high, low = max(means, key=lambda axis: means[axis]), min(means, key=lambda axis: means[axis])
    apart = means[high] - means[low]
    n_high, n_low = (int(np.sum(~np.isnan(sides[axis]))) for axis in (high, low))
    above, below = int(np.sum(sides[high] > _APART)), int(np.sum(sides[low] < -_APART))
    return [
        f"On average {high} personas are {apart:.2f}{unit} above {low} ones on it: {above} of the "
        f"{n_high} {high} personas {'is' if above == 1 else 'are'} above the panel, {below} of the "
        f"{n_low} {low} personas below it."
    ]
