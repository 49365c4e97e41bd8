"""The mean over prompts of what is measured inside each, and how it is resampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Resampled,
    divide,
    encode_labels,
)
from persona_panel.statistics.core.statistic import Reason, Statistic


@dataclass(frozen=True, slots=True)
class OverPrompts:
    """Prompts count alike, whatever their number of items. Those whose own value is
    undefined do not enter `mean`; `n_undefined` counts them."""

    mean: Statistic
    prompts: tuple[object, ...]
    values: tuple[Statistic, ...]
    n_undefined: int


def over_prompts(within: Sequence[tuple[object, Statistic]]) -> OverPrompts:
    """The mean of the prompts' values.

    Args:
        within: each prompt with its value. Items of the mean are counted over the prompts
            that have one; raters are the most that any prompt has.

    >>> within = [("p", Statistic(0.5, 4, 3)), ("q", Statistic(1.0, 2, 3))]
    >>> over_prompts(within).mean.value
    0.75
    """
    defined = [estimate for _, estimate in within if estimate.reason is None]
    if defined:
        n_items = sum(estimate.n_items for estimate in defined)
        n_raters = max(estimate.n_raters for estimate in defined)
        value = float(np.mean([estimate.value for estimate in defined]))
        mean = Statistic(value, n_items, n_raters)
    else:
        reasons = {estimate.reason for _, estimate in within}
        # One reason shared by all prompts says more than that no prompt has a value.
        reason = next(iter(reasons)) if len(reasons) == 1 else None
        if reason is Reason.FEW_ITEMS and len(within) > 1:
            # There may be many items, one to a prompt.
            reason = Reason.ONE_ITEM_A_PROMPT
        mean = Statistic.undefined(reason or Reason.FEW_PROMPTS)
    return OverPrompts(
        mean,
        tuple(name for name, _ in within),
        tuple(estimate for _, estimate in within),
        len(within) - len(defined),
    )


def resampled_over_prompts(result: OverPrompts, prompts: Labels) -> Resampled:
    """The mean over prompts as a function of resampling weights.

    A prompt is drawn whole, so its own value stays and only how often it counts changes.

    Args:
        result: the prompts' values.
        prompts: a label an item, those that `result` was made with.

    Raises:
        ValueError: from the returned function, when weights differ inside a prompt.
    """
    names, codes = encode_labels(prompts, len(prompts))
    values = dict(zip(result.prompts, (e.value for e in result.values), strict=True))
    by_prompt = np.array([values[name] for name in names])
    defined = ~np.isnan(by_prompt)

    def statistic(weights: Array) -> Array:
        kept = weights_of_prompts(weights, codes)[:, defined]
        return divide(kept @ by_prompt[defined], kept.sum(axis=1))

    return statistic


def weights_of_prompts(weights: Array, codes: IntArray) -> Array:
    """Return how often each prompt was drawn, `(resamples, prompts)`, from how often its items
    were.

    Args:
        weights: `(resamples, items)`.
        codes: each item's prompt, all of 0, 1, … occurring.

    Raises:
        ValueError: items of a prompt were not drawn equally often.
    """
    _, first = np.unique(codes, return_index=True)
    drawn = weights[:, first]
    if (drawn[:, codes] != weights).any():
        raise ValueError("a statistic within prompts is resampled by whole prompts")
    return drawn
