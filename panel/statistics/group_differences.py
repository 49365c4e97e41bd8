"""Differences between two groups of judges or people on the same responses, and their reliability.

Of judges, a difference is taken inside what both share (axes inside a model, models inside a
persona), then averaged over that, over the responses to a prompt and over prompts. Of people, it is
taken item by item and averaged; to its variance over items, or over prompts where there are fewer,
each group's variance over raters is added, without counting twice the noise of single ratings that
both hold.

Sources: A. C. Cameron, J. B. Gelbach & D. L. Miller (2011), "Robust inference with multiway
clustering" (crossed samples); J. W. Tukey (1958) (the jackknife over prompts).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Mask,
    Random,
    as_ratings,
    count_raters,
    divide,
    effective_number,
    encode_labels,
    mean_there,
    means_by,
    row_means,
)
from persona_panel.statistics.core.estimate import OVER, Difference
from persona_panel.statistics.core.jackknife import jackknife_variance, standard_errors
from persona_panel.statistics.core.means import reach_of
from persona_panel.statistics.core.ranking import mean_and_levels
from persona_panel.statistics.core.significance import holm_adjusted

ALL_SYSTEMS = "all"


@dataclass(frozen=True, slots=True, eq=False)
class PairedResponses:
    """The difference of groups `a` and `b` on each response `(responses,)`, NaN where one of them
    did not rate it; `moved` is, for each factor that judges are sampled by, how far each of its
    levels moves it `(responses, levels)`."""

    a: str
    b: str
    difference: Array
    moved: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class GroupDifference(Difference):
    """The difference a − b of two groups of judges, over the prompts that both rated, in points; of
    an interaction, that on the system less that on the mean of the others in the prompt. It is on a
    `dimension` and a `system`; `composite` and `all` for the whole. Of strata of texts or
    dimensions it is `a` less the mean of the others, and `b` and `dimension` are empty."""

    dimension: str = ""
    system: str = ""


def axis_pair(values: Array, a: str, b: str, axes: Sequence[str]) -> PairedResponses:
    """Compare personas of axis `a` with those of `b` on values `(responses, personas, columns)`;
    see `PersonaCells`. `axes` has the axis of each persona."""
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
    """Compare model `a` with model `b`, persona by persona; args as for `axis_pair`, and the model
    of each column."""
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
    """Return the differences of these pairs, each with its dimension, over all systems and on each
    of several.

    Args:
        systems, prompts: of each response.
        random: what intervals and p-values take as a sample.
        interaction: instead, for each system, how far the difference on it is from that on the mean
            of the others in the prompt: whether the two see systems differently.
    """
    n = len(systems)
    names, system = encode_labels(systems, n)
    prompt_names, prompt = encode_labels(prompts, n)

    def table(values: Array) -> Array:
        """Return means of values `(responses, …)` by prompt and system."""
        means = means_by(values, prompt * len(names) + system, len(prompt_names) * len(names))
        return means.reshape(len(prompt_names), len(names), *values.shape[1:])

    each: list[int | None] = [*range(len(names))] if len(names) > 1 else []
    differences = []
    for dimension, pair in pairs:
        whole = table(pair.difference)
        moved = [np.nan_to_num(table(of)) for of in pair.moved] if random != "prompts" else None
        for column in each if interaction else [None, *each]:
            weights = _prompt_weights((~np.isnan(whole)).astype(float), column, interaction)
            scores = np.sum(weights * np.nan_to_num(whole), axis=1)
            known = np.nan_to_num(weights)[:, :, None]
            levels = None if moved is None else [np.sum(known * of, axis=1) for of in moved]
            differences.append(
                mean_and_levels(scores, levels).as_a(
                    GroupDifference, over=OVER[random], a=pair.a, b=pair.b, dimension=dimension,
                    system=ALL_SYSTEMS if column is None else str(names[column]),
                )
            )  # fmt: skip
    return holm_adjusted(differences)


def _share(parts: Array, mean: Array) -> Array:
    """Return how far each part `(responses, parts)` moves the mean over parts with a value."""
    counts = (~np.isnan(parts)).sum(axis=1, keepdims=True)
    return np.nan_to_num(divide(parts - mean[:, None], counts))


def _prompt_weights(there: Array, system: int | None, interaction: bool) -> Array:
    """Return the weight of each system in each prompt, NaN without a value; None: all alike."""
    own = there if system is None else there * np.eye(there.shape[1])[system]
    weights = divide(own, own.sum(axis=1, keepdims=True))
    if not interaction:
        return weights
    others = there - own
    return weights - divide(others, others.sum(axis=1, keepdims=True))


LEAST_RATERS = 5
"""Fewer people of a group are no sample of it: an interval over them does not cover."""
LEAST_ITEMS = 10
"""Fewer items of a stratum are no sample of it."""
LEAST_PROMPTS = 5
"""Fewer prompts of a stratum are no sample of it."""


class VariancePart(NamedTuple):
    """The variance of a mean over one sample (items, prompts, the raters of a group, models), with
    its degrees of freedom, and what of it that of the items or prompts holds, too."""

    variance: float
    df: float
    shared: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class PairedGroupDifference:
    """The difference of two groups, A − B, over items.

    Attributes:
        value: in points; NaN where no item has ratings by both, or a stratum has none.
        by_item: `(items,)`, the difference on each item that counts, NaN on the others.
        signs: `(items,)`, 1 for items of the stratum, −1 for those of the stratum that is
            subtracted (interaction), 0 for items that do not count.
        raters: what the raters of each group add to the variance, or the models; empty where they
            are taken as they are.
        n_raters: how many entered, of A and of B.
        prompts: `(items,)`, the prompt of each; None where they are not known.
    """

    value: float
    by_item: Array
    signs: IntArray
    raters: tuple[VariancePart, ...]
    n_raters: tuple[int, int]
    prompts: IntArray | None = None

    @property
    def n_items(self) -> int:
        """Return how many items entered."""
        return int(np.count_nonzero(self.signs))

    @property
    def n_prompts(self) -> int:
        """Return the number of prompts of these items; 0 where prompts are not known."""
        return 0 if self.prompts is None else len(np.unique(self.prompts[self.signs != 0]))

    @property
    def over_prompts(self) -> bool:
        """Return whether the interval is over prompts: there are fewer than items, and some stratum
        has several. Of one prompt it is over its items, and says nothing of others."""
        return self.n_prompts < self.n_items and max(self.prompts_of_strata(), default=0) > 1

    @property
    def clusters(self) -> IntArray:
        """Return what the interval is over, a code an item: its prompt, or itself."""
        if self.prompts is None or not self.over_prompts:
            return np.arange(len(self.by_item))
        return self.prompts

    def strata(self) -> list[tuple[int, Mask]]:
        """Return the sign and the items of each stratum that has any."""
        return [(sign, of) for sign in (-1, 1) if (of := self.signs == sign).any()]

    def prompts_of_strata(self) -> list[int]:
        """Return how many prompts each stratum has, where they are known."""
        prompts = self.prompts
        return [] if prompts is None else [len(np.unique(prompts[of])) for _, of in self.strata()]

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the interval's ends; NaN where items, prompts or raters are too few for one."""
        return ends_over(self.value, [sampled_part(self.by_item, self), *self.raters], confidence)


def ends_over(
    value: float, parts: Sequence[VariancePart], confidence: float
) -> tuple[float, float]:
    """Return the interval over crossed samples, at least as wide as over the first alone; NaN where
    one has no degrees of freedom."""
    if any(not part.df > 0 for part in parts):
        return nan, nan
    variances, dfs, shared = zip(*parts, strict=True)
    errors = standard_errors(variances, dfs, [(both, inf) for both in shared[1:]])
    reach = reach_of(errors, confidence)
    return value - reach, value + reach


def group_difference(
    a: ArrayLike,
    b: ArrayLike,
    signs: ArrayLike | None = None,
    *,
    sampled: bool = True,
    prompts: Labels | None = None,
) -> PairedGroupDifference:
    """Return the mean over items of group A's mean rating less group B's.

    Args:
        a, b: `(items, raters of the group)`, NaN where missing.
        signs: `(items,)`, see `PairedGroupDifference`; all 1 without it. With −1 it is an
            interaction: the difference on some items less that on others.
        sampled: whether raters are a sample of their group. Otherwise the interval is over items.
        prompts: a label an item; without them items are taken as independent.

    >>> result = group_difference([[1.0, 2.0], [3.0, 4.0]], [[2.0], [2.5]])
    >>> result.value, result.by_item.tolist()
    (0.25, [-0.5, 1.0])
    """
    sides = as_ratings(a), as_ratings(b)
    if len(sides[0]) != len(sides[1]):
        raise ValueError(f"{len(sides[0])} items cannot be paired with {len(sides[1])}")
    by_item = row_means(sides[0]) - row_means(sides[1])
    return _paired(by_item, signs, prompts, sides, sides if sampled else (), LEAST_RATERS)


def difference_by_model(
    differences: ArrayLike, signs: ArrayLike | None = None, *, prompts: Labels | None = None
) -> PairedGroupDifference:
    """Return the mean over items of the `differences` A − B `(items, models)` by models that each
    speak for both groups, NaN where missing. Several models are a sample of models; one is taken as
    it is. `signs` and `prompts` are as in `group_difference`.

    >>> difference_by_model([[1.0, 2.0], [0.0, 1.0]]).value
    1.0
    """
    models = as_ratings(differences)
    difference = _paired(row_means(models), signs, prompts, (models, models), (models,), 2)
    return difference if difference.n_raters[0] > 1 else replace(difference, raters=())


def sampled_part(by_item: Array, of: PairedGroupDifference) -> VariancePart:
    """Return the jackknife's variance of the mean of `by_item` over prompts, or over items; no
    degrees of freedom with too few."""
    strata = of.strata()
    few = any(np.count_nonzero(kept) < LEAST_ITEMS for _, kept in strata)
    if few or (of.over_prompts and min(of.prompts_of_strata()) < LEAST_PROMPTS):
        return VariancePart(nan, 0.0)
    there, places = np.unique(of.clusters, return_inverse=True)
    left_out, counted = np.zeros(len(there)), np.zeros(len(there))
    for sign, kept in strata:
        sums = np.bincount(places[kept], by_item[kept], len(there))
        sizes = np.bincount(places[kept], minlength=len(there))
        left_out += sign * (sums.sum() - sums) / (sizes.sum() - sizes)
        counted += sizes / sizes.sum()
    df = max(float(effective_number(counted)) - 1, 1.0)
    return VariancePart(jackknife_variance(left_out[counted > 0]), df)


def _paired(
    by_item: Array,
    signs: ArrayLike | None,
    prompts: Labels | None,
    sides: tuple[Array, Array],
    sampled: tuple[Array, ...],
    least: int,
) -> PairedGroupDifference:
    """Return the difference; nothing counts if a stratum has no item."""
    wanted = np.ones(len(by_item)) if signs is None else np.asarray(signs, dtype=np.float64)
    if wanted.shape != by_item.shape:
        raise ValueError(f"{len(wanted)} signs for {len(by_item)} items")
    kept = np.where(np.isnan(by_item), 0, wanted).astype(np.intp)
    if len(set(wanted[wanted != 0].tolist())) > len(set(kept[kept != 0].tolist())):
        kept[:] = 0
    by_item = np.where(kept != 0, by_item, nan)
    value = float(np.nansum(_weights(kept) * by_item)) if kept.any() else nan
    n_a, n_b = (count_raters(side[kept != 0]) for side in sides)
    codes = None if prompts is None else encode_labels(prompts, len(by_item))[1]
    difference = PairedGroupDifference(value, by_item, kept, (), (n_a, n_b), codes)
    if not sampled or not kept.any():
        return difference
    every = np.concatenate(sampled, axis=1)
    m = (~np.isnan(every)).sum(axis=1).astype(np.float64)
    factor, mean = np.sqrt(np.nan_to_num(divide(m, m - 1)))[:, None], row_means(every)[:, None]
    parts = (_rater_part((side - mean) * factor, difference, least) for side in sampled)
    return replace(difference, raters=tuple(parts))


def _weights(kept: IntArray) -> Array:
    weights = np.zeros(len(kept))
    for sign in (1, -1):
        if (there := kept == sign).any():
            weights[there] = sign / there.sum()
    return weights


def _rater_part(away: Array, of: PairedGroupDifference, least: int) -> VariancePart:
    kept = of.signs
    there, weights = ~np.isnan(away) & (kept != 0)[:, None], _weights(kept)
    share = np.where(there, divide(weights[:, None] * there, there.sum(axis=1, keepdims=True)), 0.0)
    cells = np.zeros(away.shape)
    for _, rows in of.strata():
        own, distances = share[rows], np.where(there[rows], away[rows], 0.0)
        mean = float((own * distances).sum() / own.sum())
        cells[rows] = own * (distances - mean)
    by_cluster = np.zeros((int(of.clusters.max(initial=-1)) + 1, away.shape[1]))
    np.add.at(by_cluster, of.clusters, cells)
    counted = np.abs(share).sum(axis=0)
    n = float(effective_number(counted))
    if np.count_nonzero(counted) < least or n <= 1:
        return VariancePart(nan, 0.0)
    scale = n / (n - 1)
    whole = float((by_cluster.sum(axis=0) ** 2).sum()) * scale
    return VariancePart(whole, n - 1, float((by_cluster**2).sum()) * scale)


SPLITS = 100
RELIABLE = 0.5
"""From which split-half correlation on a difference is called usable item by item."""
_LEAST_ITEMS = 10


def split_half(a: ArrayLike, b: ArrayLike, *, splits: int = SPLITS, seed: int = 0) -> float:
    """Return the mean Pearson correlation over items of the difference A − B by two halves of the
    raters, dealt `splits` times: with half of the raters, the share of the variance of single
    items' differences that is no noise; with all of them it is 2r / (1 + r).

    Returns:
        From −1 to 1; NaN where fewer than ten items have two ratings by each group that fall into
            different halves, or all differences are the same.

    >>> by_item = [[item % 3.0] * 4 for item in range(12)]
    >>> round(split_half(by_item, [[1.0] * 4] * 12), 3)
    1.0
    """
    ours, theirs = as_ratings(a), as_ratings(b)
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} items cannot be paired with {len(theirs)}")
    rng = np.random.default_rng(seed)
    first_a, second_a = _halves(ours, splits, rng)
    first_b, second_b = _halves(theirs, splits, rng)
    first, second = first_a - first_b, second_a - second_b
    correlations = []
    for x, y in zip(first.T, second.T, strict=True):
        there = ~np.isnan(x) & ~np.isnan(y)
        if there.sum() >= _LEAST_ITEMS and np.ptp(x[there]) > 0 and np.ptp(y[there]) > 0:
            correlations.append(float(np.corrcoef(x[there], y[there])[0, 1]))
    return float(np.mean(correlations)) if correlations else nan


def _halves(ratings: Array, splits: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return each item's mean by either half of the raters `(items, splits)`."""
    n = ratings.shape[1]
    order = rng.random((n, splits)).argsort(axis=0).argsort(axis=0)
    chosen = (order < (n + 1) // 2).astype(np.float64)
    there = (~np.isnan(ratings)).astype(np.float64)
    values = np.nan_to_num(ratings)
    return (
        divide(values @ chosen, there @ chosen),
        divide(values @ (1 - chosen), there @ (1 - chosen)),
    )
