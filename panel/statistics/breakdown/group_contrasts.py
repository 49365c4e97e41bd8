"""Two groups of judges on the same responses: personas of one axis against those of another, one
model against another; and whether they see systems differently.

A difference is taken inside what both share (axes inside a model, models inside a persona), then
averaged over that, over the responses to a prompt and over prompts. Where judges are a sample, too,
the personas of each group and the models they speak through (of two models, the personas) add
their variance; see `persona_panel.statistics.core.sampled_mean`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from persona_panel.statistics.breakdown.cells import mean_there, means_by
from persona_panel.statistics.core.arrays import Array, IntArray, Labels, divide, encode_labels
from persona_panel.statistics.core.holm import holm
from persona_panel.statistics.core.options import Random
from persona_panel.statistics.core.sampled_mean import SampledMean, mean_and_levels
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.core.tested import Tested

ALL_SYSTEMS = "all"


@dataclass(frozen=True, slots=True, eq=False)
class PairedResponses:
    """How far group `a` rates each response above group `b`.

    Attributes:
        difference: `(responses,)`, NaN where one of them did not rate it.
        moved: for each factor that judges are sampled by, how far each of its levels moves the
            difference `(responses, levels)`.
    """

    a: str
    b: str
    difference: Array
    moved: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class GroupDifference(Tested):
    """How far group `a` of judges rates above group `b`, over the prompts that both rated.

    Attributes:
        dimension, system: what it is on; `composite` and `all` for the whole.
        difference: a − b in points, the mean of the prompts' differences; of an interaction,
            that on the system less that on the mean of the others in the prompt.
        ci_low, ci_high: its own 95 % interval.
        p, p_adjusted: two-sided; by Holm over the rows of the table.
        reason: why there is no interval; it and the p-values are NaN then.
    """

    a: str
    b: str
    dimension: str
    system: str
    difference: float
    ci_low: float
    ci_high: float
    p: float
    p_adjusted: float
    n_prompts: int
    reason: Reason | None


def axis_pair(values: Array, a: str, b: str, axes: Sequence[str]) -> PairedResponses:
    """Personas of axis `a` against those of `b`.

    Args:
        values: `(responses, personas, columns)`; see `PersonaCells`.
        axes: the axis of each persona.
    """
    sides = [values[:, [axis == name for axis in axes]] for name in (a, b)]
    means = [mean_there(side, 1) for side in sides]
    # Of shape (responses, columns).
    by_column = means[0] - means[1]
    shared = ~np.isnan(by_column)
    n_columns = shared.sum(axis=1, keepdims=True)
    difference = mean_there(by_column, 1)
    moved = []
    for sign, side, mean in ((1, sides[0], means[0]), (-1, sides[1], means[1])):
        there = ~np.isnan(side) & shared[:, None]
        counts = there.sum(axis=1, keepdims=True)
        share = np.where(there, divide(side - mean[:, None], counts), 0.0).sum(axis=2)
        moved.append(sign * np.nan_to_num(divide(share, n_columns)))
    moved.append(_share(by_column, difference))
    return PairedResponses(a, b, difference, tuple(moved))


def model_pair(values: Array, a: str, b: str, models: Sequence[str]) -> PairedResponses:
    """Model `a` against model `b`, persona by persona; args as for `axis_pair`, and the model of
    each column."""
    by_persona = values[:, :, models.index(a)] - values[:, :, models.index(b)]
    difference = mean_there(by_persona, 1)
    return PairedResponses(a, b, difference, (_share(by_persona, difference),))


def group_differences(
    pairs: Sequence[tuple[str, PairedResponses]],
    systems: Sequence[str],
    prompts: Labels,
    *,
    random: Random = "prompts",
    interaction: bool = False,
) -> list[GroupDifference]:
    """The differences of these pairs, over all systems and on each of several.

    Args:
        pairs: each with the dimension that it is on.
        systems, prompts: of each response.
        random: what intervals and p-values take as a sample.
        interaction: instead, for each system, how far the difference on it is from that on the
            mean of the others in the prompt: whether the two see systems differently. The smallest
            adjusted p of a pair and dimension is that of all its systems together.
    """
    n = len(systems)
    names, system = encode_labels(systems, n)
    prompt_names, prompt = encode_labels(prompts, n)
    place = _Places(prompt, system, len(prompt_names), len(names))
    each: list[int | None] = [*range(len(names))] if len(names) > 1 else []
    wanted = each if interaction else [None, *each]
    rows, found = [], []
    for dimension, pair in pairs:
        table = place.table(pair.difference)
        moved = [place.table(one) for one in pair.moved] if random != "prompts" else None
        there = (~np.isnan(table)).astype(np.float64)
        for column in wanted:
            label = ALL_SYSTEMS if column is None else str(names[column])
            rows.append((pair.a, pair.b, dimension, label))
            found.append(_weighted(table, moved, _prompt_weights(there, column, interaction)))
    adjusted = holm([one.p_value for one in found])
    return [
        GroupDifference(
            *row, one.mean, *one.interval(), one.p_value, float(p), one.n_prompts, one.reason
        )
        for row, one, p in zip(rows, found, adjusted, strict=True)
    ]


def _share(parts: Array, mean: Array) -> Array:
    """Return how far each part `(responses, parts)` moves the mean over those there
    `(responses,)`."""
    counts = (~np.isnan(parts)).sum(axis=1, keepdims=True)
    return np.nan_to_num(divide(parts - mean[:, None], counts))


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Where responses stand in a table of prompts and systems."""

    prompt: IntArray
    system: IntArray
    n_prompts: int
    n_systems: int

    def table(self, values: Array) -> Array:
        """Values `(responses, …)` as means `(prompts, systems, …)`."""
        codes = self.prompt * self.n_systems + self.system
        means = means_by(values, codes, self.n_prompts * self.n_systems)
        return means.reshape(self.n_prompts, self.n_systems, *values.shape[1:])


def _prompt_weights(there: Array, system: int | None, interaction: bool) -> Array:
    """Return what each system counts in each prompt, both `(prompts, systems)`; NaN in a prompt
    that has no value. `system` None: all alike."""
    own = there if system is None else there * np.eye(there.shape[1])[system]
    weights = divide(own, own.sum(axis=1, keepdims=True))
    if not interaction:
        return weights
    others = there - own
    return weights - divide(others, others.sum(axis=1, keepdims=True))


def _weighted(table: Array, moved: Sequence[Array] | None, weights: Array) -> SampledMean:
    scores = np.sum(weights * np.nan_to_num(table), axis=1)
    if moved is None:
        return mean_and_levels(scores)
    known = np.nan_to_num(weights)[:, :, None]
    return mean_and_levels(scores, [np.sum(known * np.nan_to_num(one), axis=1) for one in moved])
