"""How often groups of texts have each of several features: shares, and differences between groups.

A text is a judge's rationale, a feature a key point that it makes, a group the system that it is
about, say. Texts about one prompt are alike, so prompts are the clusters: a share's interval is the
jackknife's over prompts in Wilson's form (`persona_panel.statistics.resampling.jackknife`). A
difference of two groups is the mean over the prompts that both have of the prompts' differences,
with Student's interval and test (`persona_panel.statistics.core.sampled_mean`); p-values are
adjusted by Holm over all pairs and features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import Array, Labels, Mask, encode_labels
from persona_panel.statistics.core.holm import holm
from persona_panel.statistics.core.sampled_mean import sampled_mean
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.core.tested import Tested
from persona_panel.statistics.paired.differences import mean_over_prompts_of
from persona_panel.statistics.resampling.jackknife import jackknife
from persona_panel.statistics.resampling.weights import resampled_mean


@dataclass(frozen=True, slots=True)
class GroupShare:
    """The share of a group's texts that have a feature.

    Attributes:
        group: its name.
        feature: its place among the features.
        n, of: how many of the group's texts have it, of how many.
        share: n / of, 0 to 1; NaN of no text.
        ci_low, ci_high: a 95 % interval over prompts; NaN exactly where `reason` says why.
    """

    group: str
    feature: int
    n: int
    of: int
    share: float
    ci_low: float
    ci_high: float
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class ShareDifference(Tested):
    """How far the share of group `a` is above that of group `b`.

    Attributes:
        a, b: the groups.
        feature: its place among the features.
        difference: a − b, −1 to 1, the mean over prompts that both have of the prompts'
            differences; NaN where they share none.
        ci_low, ci_high: its own 95 % interval.
        p, p_adjusted: two-sided, of no difference; by Holm over all pairs and features.
        n_prompts: how many both have.
        reason: why there is no interval and no p-value; they are NaN then.
    """

    a: str
    b: str
    feature: int
    difference: float
    ci_low: float
    ci_high: float
    p: float
    p_adjusted: float
    n_prompts: int
    reason: Reason | None


def group_shares(has: ArrayLike, groups: Sequence[str], prompts: Labels) -> list[GroupShare]:
    """The share of each feature in each group, groups in order of appearance.

    How to read it: of all texts of the group on prompts such as these, so many have the feature.

    Args:
        has: `(texts, features)`, whether a text has a feature.
        groups, prompts: a label a text.

    Raises:
        ValueError: not one label a text, or `has` is not two-dimensional.

    >>> [found] = group_shares([[True], [False], [True], [True]], "aaaa", "pqpq")
    >>> found.n, found.of, found.share, str(found.reason)[:35]
    (3, 4, 0.75, 'an interval needs at least five pro')
    """
    table = _mask(has)
    names, codes = encode_labels(groups, len(table))
    own_prompts = encode_labels(prompts, len(table))[1]
    found = []
    for place, name in enumerate(names):
        rows = codes == place
        for feature, column in enumerate(table[rows].T):
            values = column.astype(np.float64)
            interval = jackknife(
                resampled_mean(values), len(values), own_prompts[rows].tolist(),
                kind="share", limits=(0.0, 1.0),
            )  # fmt: skip
            found.append(
                GroupShare(
                    str(name), feature, int(column.sum()), len(values), float(values.mean()),
                    interval.low, interval.high, interval.reason,
                )
            )  # fmt: skip
    return found


def share_differences(
    has: ArrayLike, groups: Sequence[str], prompts: Labels
) -> list[ShareDifference]:
    """Every two groups on every feature, groups in order of appearance; arguments and errors as of
    `group_shares`.

    A feature that neither group has is compared all the same and has no p-value: nothing then tells
    how unsure a difference of 0 is.

    >>> has = [[True], [False], [True], [False], [True], [True]]
    >>> [found] = share_differences(has, "ababab", "ppqqrr")
    >>> round(found.difference, 3), found.n_prompts, round(found.p, 3)
    (0.667, 3, 0.184)
    """
    table = _mask(has)
    names, codes = encode_labels(groups, len(table))
    if not table.shape[1]:
        return []
    # Of shape (prompts, features), a group's means by prompt, NaN where it has no text.
    means: list[Array] = []
    for place in range(len(names)):
        own = np.where((codes == place)[:, None], table, nan)
        means.append(np.stack([mean_over_prompts_of(column, prompts) for column in own.T], axis=1))
    found = []
    for a, b in combinations(range(len(names)), 2):
        for feature, differences in enumerate((means[a] - means[b]).T):
            mean = sampled_mean(differences)
            low, high = mean.interval(limits=(-1.0, 1.0))
            found.append(
                ShareDifference(
                    str(names[a]), str(names[b]), feature, mean.mean, low, high,
                    mean.p_value, nan, mean.n_prompts, mean.reason,
                )
            )  # fmt: skip
    adjusted = holm([one.p for one in found])
    return [replace(one, p_adjusted=float(p)) for one, p in zip(found, adjusted, strict=True)]


def _mask(has: ArrayLike) -> Mask:
    table: Mask = np.asarray(has, dtype=np.bool_)
    if table.ndim != 2:
        raise ValueError(f"texts by features are needed, found {table.ndim} dimensions")
    return table
