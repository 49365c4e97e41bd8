"""Whether one panel's mean correlates more with a reference than another's: the difference.

Both correlations are over the same items and are resampled together, so that what both owe to the
items drawn cancels: a paired interval.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    Labels,
    Resampled,
    as_scores,
    difference_of,
    items_by_label,
)
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.humans.correlation import (
    CorrelationKind,
    correlation,
    resampled_correlation,
)


def correlation_gain(
    panel: ArrayLike, control: ArrayLike, reference: ArrayLike, kind: CorrelationKind
) -> Statistic:
    """The panel's correlation with the reference less the control's, over the items of all three.

    How to read it: above 0, the panel's scores go more with the reference than the control's do.
    The mean of more judges correlates higher for their number alone: compare as many with as many.

    Args:
        panel, control, reference: `(items,)`, NaN where missing.

    Returns:
        A value in [−2, 2]. Undefined where one of the two correlations is.

    Raises:
        ValueError: the shapes differ, a value is infinite, or an unknown kind.

    >>> correlation_gain([1, 2, 3], [1, 3, 2], [1, 2, 3], "spearman").value
    0.5
    """
    ours, theirs, target = _on_shared_items(panel, control, reference)
    found = [correlation(side, target, kind) for side in (ours, theirs)]
    n_items = int(np.sum(~np.isnan(target)))
    reason = next((one.reason for one in found if one.reason is not None), None)
    if reason is not None:
        return Statistic.undefined(reason, n_items=n_items)
    return Statistic(found[0].value - found[1].value, n_items, n_raters=3)


def resampled_correlation_gain(
    panel: ArrayLike, control: ArrayLike, reference: ArrayLike, kind: CorrelationKind
) -> Resampled:
    """The gain as a function of resampling weights; args and errors as for `correlation_gain`."""
    ours, theirs, target = _on_shared_items(panel, control, reference)
    first, second = (resampled_correlation(side, target, kind) for side in (ours, theirs))
    return difference_of(first, second)


def gain_within_prompts(
    panel: ArrayLike,
    control: ArrayLike,
    reference: ArrayLike,
    prompts: Labels,
    kind: CorrelationKind,
) -> tuple[tuple[object, Statistic], ...]:
    """The gain inside each prompt, in order of appearance; their mean is taken by
    `prompts.over_prompts`. Args and errors as for `correlation_gain`, and one label an item.

    >>> panel, control, humans = [1, 2, 3, 2, 1, 3], [2, 1, 3, 3, 1, 2], [1, 2, 3, 1, 2, 3]
    >>> prompts = ["p", "p", "p", "q", "q", "q"]
    >>> [(prompt, gain.value) for prompt, gain in
    ...  gain_within_prompts(panel, control, humans, prompts, "spearman")]
    [('p', 0.5), ('q', 1.0)]
    """
    ours, theirs, target = _on_shared_items(panel, control, reference)
    return tuple(
        (name, correlation_gain(ours[items], theirs[items], target[items], kind))
        for name, items in items_by_label(prompts, len(ours))
    )


def all_alike(ratings: Array) -> bool:
    """Return whether several raters gave the same ratings to whatever two of them rated.

    Replicates that do are one judgment, counted several times.

    Args:
        ratings: `(items, raters)`, NaN where missing.
    """
    rated = ~np.isnan(ratings)
    several = rated.sum(axis=1) > 1
    spans = np.nanmax(ratings[several], axis=1) - np.nanmin(ratings[several], axis=1)
    return bool(several.any() and not spans.any())


def why_no_gain(controls: Array) -> Reason | None:
    """Why nothing can be compared with these replicates `(items, replicates)`."""
    return Reason.IDENTICAL_REPLICATES if all_alike(controls) else None


def _on_shared_items(*sides: ArrayLike) -> tuple[Array, ...]:
    scores = [as_scores(side) for side in sides]
    if len({len(side) for side in scores}) > 1:
        raise ValueError(f"{[len(side) for side in scores]} scores cannot be compared")
    missing = np.any([np.isnan(side) for side in scores], axis=0)
    return tuple(np.where(missing, np.nan, side) for side in scores)
