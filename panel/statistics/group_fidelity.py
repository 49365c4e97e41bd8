"""Ratios of personas' and people's differences of two groups, and verdicts on them.

Source: E. C. Fieller (1954), "Some problems in interval estimation" (ratios).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isnan, nan
from typing import Literal, get_args

import numpy as np

from persona_panel.statistics.core.display import ALL, ends
from persona_panel.statistics.core.estimate import Difference, Estimate, EstimateT
from persona_panel.statistics.group_differences import (
    LEAST_PROMPTS,
    PairedGroupDifference,
    VariancePart,
    ends_over,
    sampled_part,
)


def _apart(
    panel: PairedGroupDifference, people: PairedGroupDifference, ratio: float, confidence: float
) -> tuple[float, float]:
    """Return the interval of panel − ratio × people, over items (or prompts) and raters."""
    parts = [
        VariancePart(part.variance * ratio**2, part.df, part.shared * ratio**2)
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
    are independent; NaN where either has no interval, or where people's holds 0.

    Raises:
        ValueError: they are of other items.

    >>> people = difference_by_model([[each] for each in (1, 2, 3, 1, 2, 3, 1, 2, 3, 2.0)])
    >>> panel = difference_by_model([[each] for each in (3, 4, 5, 3, 4, 5, 3, 4, 5, 4.0)])
    >>> [round(end, 2) for end in ratio_interval(panel, people)]
    [1.77, 2.41]
    """
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

    Raises:
        ValueError: the two are of other items.

    >>> people = group_difference([[1.0, 2, 1, 2, 1]] * 12, [[4.0, 5, 4, 5, 4]] * 12)
    >>> result = fidelity_contrast("left-right", people, people)
    >>> result.human.value, result.ratio.value, result.verdict
    (-3.0, 1.0, 'as people')
    """
    widened = 1 - (1 - CONFIDENCE) / max(n_tests, 1)
    value, ratio, difference = nan, nan, nan
    own, ends, wide, apart, apart_wide = [(nan, nan)] * 5
    if panel is not None:
        value, own = panel.value, panel.interval(CONFIDENCE)
        ratio, difference = value / people.value if people.value else nan, value - people.value
        ends = ratio_interval(panel, people, CONFIDENCE)
        wide = ends if n_tests == 1 else ratio_interval(panel, people, widened)
        apart, apart_wide = (_apart(panel, people, 1.0, each) for each in (CONFIDENCE, widened))
    verdict, reason = verdict_on(people.interval(widened), wide, of=n_tests)
    if reason is not None and panel is None:
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
            Difference, value, own, f"{over} and {panel_sample}" if panel_sample else over
        ),
        ratio=figure(Estimate, ratio, ends),
        verdict=verdict,
        reason=reason,
        difference=figure(Difference, difference, apart),
        exceeds=control and (apart_wide[0] > 0 or apart_wide[1] < 0),
        split_half=split_half,
        n_items=people.n_items,
        n_prompts=people.n_prompts,
        n_raters=sum(people.n_raters),
        n_raters_a=people.n_raters[0],
        n_raters_b=people.n_raters[1],
        n_tests=n_tests,
    )
