"""Differences between two groups of people on the same responses, those of the personas that stand
for them, their ratio and the verdict on it.

A difference is taken item by item and averaged; to its variance over items, or over prompts where
there are fewer, each group's variance over raters is added, without counting twice the noise of
single ratings that both hold (`persona_panel.statistics.core.jackknife.standard_errors`).

Source: E. C. Fieller (1954), "Some problems in interval estimation" (ratios).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Mask,
    as_ratings,
    count_raters,
    defined_mean,
    divide,
    effective_number,
    encode_labels,
    group_count,
    row_means,
)
from persona_panel.statistics.core.correlation import correlations
from persona_panel.statistics.core.display import ALL, ends
from persona_panel.statistics.core.estimate import Difference, Estimate, EstimateT
from persona_panel.statistics.core.jackknife import (
    VariancePart,
    left_out_variance,
    level_variance,
    standard_errors,
)
from persona_panel.statistics.core.means import reach_of

LEAST_RATERS = 5
"""Fewer people of a group are no sample of it: an interval over them does not cover."""
LEAST_ITEMS = 10
"""Fewer items of a stratum are no sample of it."""
LEAST_PROMPTS = 5
"""Fewer prompts of a stratum are no sample of it."""


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
    reach = reach_of(standard_errors(parts), confidence)
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
    return VariancePart(left_out_variance(left_out[counted > 0]), df)


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
    return divide(kept, np.bincount(kept + 1)[kept + 1])


def _rater_part(away: Array, of: PairedGroupDifference, least: int) -> VariancePart:
    kept = of.signs
    there, weights = ~np.isnan(away) & (kept != 0)[:, None], _weights(kept)
    share = np.where(there, divide(weights[:, None] * there, there.sum(axis=1, keepdims=True)), 0.0)
    cells = np.zeros(away.shape)
    for _, rows in of.strata():
        own, distances = share[rows], np.where(there[rows], away[rows], 0.0)
        mean = float((own * distances).sum() / own.sum())
        cells[rows] = own * (distances - mean)
    codes = np.unique(of.clusters[kept != 0], return_inverse=True)[1]
    by_cluster = np.zeros((group_count(codes), away.shape[1]))
    np.add.at(by_cluster, codes, cells[kept != 0])
    counted = np.abs(share).sum(axis=0)
    n = float(effective_number(counted))
    if np.count_nonzero(counted) < least or min(n, len(by_cluster)) <= 1:
        return VariancePart(nan, 0.0)
    return level_variance(by_cluster, n)


SPLITS = 100
RELIABLE = 0.5
"""From which split-half correlation on a difference is called usable item by item."""
_LEAST_ITEMS = 10


def split_half(a: ArrayLike, b: ArrayLike) -> float:
    """Return the mean Pearson correlation over items of the difference A − B by two halves of the
    raters, dealt 100 times: with half of the raters, the share of the variance of single
    items' differences that is no noise; with all of them it is 2r / (1 + r).

    Returns:
        From −1 to 1; NaN where fewer than ten items have two ratings by each group that fall into
            different halves, or all differences are the same.
    """
    ours, theirs = as_ratings(a), as_ratings(b)
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} items cannot be paired with {len(theirs)}")
    rng = np.random.default_rng(0)
    halves = []
    for ratings in (ours, theirs):
        n = ratings.shape[1]
        order = rng.random((n, SPLITS)).argsort(axis=0).argsort(axis=0)
        chosen = (order < (n + 1) // 2).astype(np.float64)
        there, values = (~np.isnan(ratings)).astype(np.float64), np.nan_to_num(ratings)
        halves.append([divide(values @ half, there @ half) for half in (chosen, 1 - chosen)])
    # Of shape (items, splits).
    first, second = (a_half - b_half for a_half, b_half in zip(*halves, strict=True))
    enough = np.sum(~np.isnan(first + second), axis=0) >= _LEAST_ITEMS
    return defined_mean(correlations(first[:, enough], second[:, enough], "pearson"))


def _apart(
    panel: PairedGroupDifference, people: PairedGroupDifference, ratio: float, confidence: float
) -> tuple[float, float]:
    """Return the interval of panel − ratio × people, over items (or prompts) and raters."""
    parts = [
        part._replace(variance=part.variance * ratio**2, shared=part.shared * ratio**2)
        for part in people.raters
    ]
    sampled = sampled_part(panel.by_item - ratio * people.by_item, people)
    value = panel.value - ratio * people.value
    return ends_over(value, [sampled, *panel.raters, *parts], confidence)


_FARTHEST = 60
"""The number of times that the width of the search is doubled."""


def ratio_interval(
    panel: PairedGroupDifference, people: PairedGroupDifference, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the interval of panel / people, differences of the same items and strata whose raters
    are independent; NaN where either has no interval, or where people's holds 0."""
    if not np.array_equal(panel.signs, people.signs):
        raise ValueError("the two differences are of other items")
    low, high = people.interval(confidence)
    if np.isnan([low, panel.interval(confidence)[0]]).any() or low <= 0 <= high:
        return nan, nan
    middle = panel.value / people.value

    def beyond(ratio: float) -> float:
        """Return how far from 0 the nearer end of the interval is, above 0 where that is out."""
        low, high = _apart(panel, people, ratio, confidence)
        return max(low, -high)

    return _end(beyond, middle, -1.0), _end(beyond, middle, 1.0)


def _end(beyond: Callable[[float], float], middle: float, side: float) -> float:
    # Imported here, so that other commands need not wait for it.
    from scipy.optimize import brentq

    width = max(abs(middle), 1.0) / 64
    for _ in range(_FARTHEST):
        if beyond(middle + side * width) > 0:
            return float(brentq(beyond, middle, middle + side * width, xtol=1e-7))
        width *= 2
    return nan


FidelityVerdict = Literal[
    "as people", "exaggerated", "caricature", "flattened", "reversed", "not measurable"
]
VERDICTS: tuple[FidelityVerdict, ...] = get_args(FidelityVerdict)
FLATTENED_BELOW, CARICATURE_ABOVE = 0.5, 2.0
"""Personas that differ by less than half, and by more than twice, what people do."""


def verdict_on(
    people: tuple[float, float], ratio: tuple[float, float], *, of: int = 1
) -> tuple[FidelityVerdict, str | None]:
    """Return the verdict that the intervals support: `caricature`, the ratio's lower end is above
    2; `exaggerated`, above 1; `reversed`, its upper end is below 0; `flattened`, below 0.5; `as
    people`, it lies from 0.5 to 2 (the equivalence test of D. J. Schuirmann 1987); else `not
    measurable`, with the reason. All rest on one interval, so that of no true ratio more than 5 %
    of verdicts are false.

    Args:
        people: the ends of the 95 % interval of people's difference; NaN where there is none.
        ratio: those of the 95 % interval of panel / people.
        of: for how many contrasts they are widened.
    """
    widened = f", widened for {of:,} contrasts," if of > 1 else ""
    if isnan(people[0]):
        return "not measurable", "people's difference has no interval"
    if people[0] <= 0 <= people[1]:
        return "not measurable", f"people's interval{widened} holds 0"
    low, high = ratio
    if isnan(low) or isnan(high):
        return "not measurable", "the ratio has no interval"
    shown: dict[FidelityVerdict, bool] = {
        "caricature": low > CARICATURE_ABOVE,
        "exaggerated": low > 1,
        "reversed": high < 0,
        "flattened": high < FLATTENED_BELOW,
        "as people": FLATTENED_BELOW <= low <= high <= CARICATURE_ABOVE,
    }
    if (verdict := next((name for name, is_shown in shown.items() if is_shown), None)) is not None:
        return verdict, None
    why = f"the ratio's interval{widened} is too wide: {ends(low, high)}"
    return "not measurable", why


CONFIDENCE = 0.95
_NO_INTERVAL = "it has no interval"


@dataclass(frozen=True, slots=True)
class FidelityContrast:
    """People's and personas' difference on a contrast, A − B; what is undefined is NaN.

    Attributes:
        contrast: `A-B`.
        stratum: of which items: `all`, a condition, or two with a minus between them (interaction).
        dimension: what was rated; `all` for the whole.
        control: whether people are not expected to differ.
        human: people's difference, paired by item, in points, with its 95 % interval over prompts
            (or items) and raters.
        panel: the personas', over prompts (or items) and models, or raters, where it has these.
        ratio: panel / human, with Fieller's interval; none where people's interval holds 0.
        verdict, reason: by intervals that are widened for all `n_tests` contrasts of the command,
            and why it is `not measurable`.
        difference: panel − human.
        exceeds: of a control, whether the interval of the difference, widened, leaves 0 out.
        split_half: correlation over items of people's difference by two halves of the raters.
        n_items: with ratings by people of both groups and by personas of both.
        n_prompts: of how many prompts these items are; 0 where prompts are not known.
        n_raters, n_raters_a, n_raters_b: people who rated them, of both groups and of each.
    """

    contrast: str
    stratum: str
    dimension: str
    control: bool
    human: Difference
    panel: Difference
    ratio: Estimate
    verdict: FidelityVerdict
    reason: str | None
    difference: Difference
    exceeds: bool
    split_half: float
    n_items: int
    n_prompts: int
    n_raters: int
    n_raters_a: int
    n_raters_b: int
    n_tests: int


def fidelity_contrast(
    contrast: str,
    people: PairedGroupDifference,
    panel: PairedGroupDifference | None,
    *,
    stratum: str = ALL,
    dimension: str = ALL,
    control: bool = False,
    panel_sample: str | None = None,
    split_half: float = nan,
    n_tests: int = 1,
) -> FidelityContrast:
    """Return a contrast from the differences of people and personas on the same items.

    Args:
        contrast, stratum, dimension, control: see `FidelityContrast`.
        panel: None where nobody stands for a group.
        panel_sample: what the panel's interval is over beside items or prompts: `models`, `raters`,
            or None.
        n_tests: how many contrasts are judged together (Bonferroni).

    >>> people = group_difference([[1.0, 2, 1, 2, 1]] * 12, [[4.0, 5, 4, 5, 4]] * 12)
    >>> result = fidelity_contrast("left-right", people, people)
    >>> result.human.value, result.ratio.value, result.verdict
    (-3.0, 1.0, 'as people')
    """
    widened = 1 - (1 - CONFIDENCE) / max(n_tests, 1)
    nobody = panel is None
    panel = panel or replace(people, value=nan, by_item=np.full_like(people.by_item, nan))
    ratio = panel.value / people.value if people.value else nan
    ends = ratio_interval(panel, people, CONFIDENCE)
    wide = ends if n_tests == 1 else ratio_interval(panel, people, widened)
    apart, apart_wide = (_apart(panel, people, 1.0, each) for each in (CONFIDENCE, widened))
    verdict, reason = verdict_on(people.interval(widened), wide, of=n_tests)
    if reason is not None and nobody:
        reason = "no persona stands for one of its groups"
    elif reason is not None and people.over_prompts:
        fewest = min(people.prompts_of_strata())
        if fewest < LEAST_PROMPTS:
            reason = f"fewer than {LEAST_PROMPTS} prompts have no interval: found {fewest}"
    over, n = ("prompts", people.n_prompts) if people.over_prompts else ("items", people.n_items)
    people_over = f"{over} and raters"

    def figure(
        kind: type[EstimateT], value: float, ends: tuple[float, float], over: str = people_over
    ) -> EstimateT:
        why = reason or _NO_INTERVAL if isnan(ends[0]) else None
        return kind(value, *ends, level=CONFIDENCE, over=over, n=n, reason=why)

    return FidelityContrast(
        contrast=contrast,
        stratum=stratum,
        dimension=dimension,
        control=control,
        human=figure(Difference, people.value, people.interval(CONFIDENCE)),
        panel=figure(
            Difference,
            panel.value,
            panel.interval(CONFIDENCE),
            f"{over} and {panel_sample}" if panel_sample else over,
        ),
        ratio=figure(Estimate, ratio, ends),
        verdict=verdict,
        reason=reason,
        difference=figure(Difference, panel.value - people.value, apart),
        exceeds=control and (apart_wide[0] > 0 or apart_wide[1] < 0),
        split_half=split_half,
        n_items=people.n_items,
        n_prompts=people.n_prompts,
        n_raters=sum(people.n_raters),
        n_raters_a=people.n_raters[0],
        n_raters_b=people.n_raters[1],
        n_tests=n_tests,
    )
