"""A panel's scores of everything with people's ratings of a part, by prompt: the means, and what
they are without each prompt."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    Labels,
    Mask,
    as_scores,
    divide,
    encode_labels,
)

LEAST_OFF = 3
"""How many rated prompts have to lie off the straight line of people's ratings on the panel's that
most of them lie on: see the simulations of labels in docs/explanation/statistics.md."""
SAME = 1e-9
"""Differences up to here are those of floating-point numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class RatedPart:
    """Items by prompt.

    Attributes:
        names: the prompts with a score of the panel's.
        scores: `(prompts,)`, the panel's mean.
        weight, human, panel: `(prompts,)`, of the rated items their weights' sum, and their
            weighted means of people and panel; weight 0 where nobody rated.
        unrated: the share of the panel's prompts and items that people did not rate.
        shares_differ: whether people rated a larger share of some rated prompts than of others,
            without a probability below 1.
    """

    names: tuple[Hashable, ...]
    scores: Array
    weight: Array
    human: Array
    panel: Array
    unrated: float
    shares_differ: bool
    n_items: int
    n_human: int

    @classmethod
    def of(
        cls, panel: ArrayLike, human: ArrayLike, prompts: Labels | None, inclusion: ArrayLike | None
    ) -> RatedPart:
        ours, theirs = as_scores(panel), as_scores(human)
        chance = np.ones(len(ours)) if inclusion is None else as_scores(inclusion)
        if not len(ours) == len(theirs) == len(chance):
            raise ValueError(
                f"{len(ours)} scores of the panel, {len(theirs)} of people, {len(chance)} "
                "probabilities: expected as many of each"
            )
        there = ~np.isnan(ours)
        rated = ~np.isnan(theirs[there])
        chance = np.where(rated, chance[there], 1.0)
        if not ((chance > 0) & (chance <= 1)).all():
            raise ValueError("an inclusion probability lies above 0, and is at most 1")
        labels: Sequence[Hashable] = list(range(len(ours)) if prompts is None else prompts)
        if len(labels) != len(ours):
            raise ValueError(f"{len(labels)} prompts for {len(ours)} items")
        kept = [label for label, one in zip(labels, there, strict=True) if one]
        names, codes = encode_labels(kept, len(kept))
        n = len(names) if kept else 0

        def total(values: Array) -> Array:
            summed: Array = np.bincount(codes, values, n).astype(np.float64) if n else np.zeros(0)
            return summed

        sizes = np.bincount(codes) if n else np.ones(0)
        share = 1 / sizes[codes] if n else np.zeros(0)
        weights = np.where(rated, share / chance, 0.0)
        weight = total(weights)
        safe = np.where(weight > 0, weight, 1.0)
        return cls(
            names[:n],
            total(ours[there] * share),
            weight,
            total(weights * np.nan_to_num(theirs[there])) / safe,
            total(weights * ours[there]) / safe,
            1 - float(share[rated].sum()) / n if n else nan,
            bool((chance == 1).all() and np.ptp(weight[weight > 0]) > SAME if rated.any() else 0),
            len(kept),
            int(rated.sum()),
        )

    @property
    def rated(self) -> Mask:
        return self.weight > 0

    @property
    def few_exceptions(self) -> bool:
        """Return whether fewer than `LEAST_OFF` rated prompts lie off one straight line."""
        y, f = self.human[self.rated], self.panel[self.rated]
        # One of any `LEAST_OFF` prompts lies on such a line: those through each of them are tried.
        # Vertical ones are none: the same score of the panel with other ratings is a residual.
        for y_at, f_at in zip(y[:LEAST_OFF], f[:LEAST_OFF], strict=True):
            up = (y - y_at) / max(float(np.ptp(y)), 1e-300)
            along = (f - f_at) / max(float(np.ptp(f)), 1e-300)
            aside = np.abs(along) > SAME
            same = int(np.sum(~aside & (np.abs(up) <= SAME)))
            _, counts = np.unique(np.round(up[aside] / along[aside], 9), return_counts=True)
            if len(y) - same - max(counts, default=0) < LEAST_OFF:
                return True
        return False

    def estimates(self) -> Estimates:
        """The means, and what they are without each prompt."""
        w, of = self.weight, self.rated
        # About the means: sums of products of large numbers would lose what differs.
        y = np.where(of, self.human - self.human[of].mean(), 0.0)
        f = np.where(of, self.panel - self.panel[of].mean(), 0.0)
        parts = np.array([w, w * y, w * f, w * f * f, w * f * y, w * y * y, of.astype(float)])
        all_scores = self.scores - self.panel[of].mean()
        n = len(all_scores)
        everything = all_scores.sum()
        whole = parts.sum(axis=1, keepdims=True)
        slope = _slope(whole)
        without = _slope(whole - parts)
        means = np.array([everything / n, *((everything - all_scores) / max(n - 1, 1))])
        sums = np.concatenate([whole, whole - parts], axis=1)
        slopes = np.concatenate([slope, without])
        human = divide(sums[1], sums[0])
        moved = human + slopes * (means - divide(sums[2], sums[0]))
        shift = self.human[of].mean()
        return Estimates(human + shift, moved + shift, float(slope[0]))


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """People's mean and the corrected one, each of all prompts, then without each."""

    human: Array
    corrected: Array
    slope: float


def _slope(sums: Array) -> Array:
    """The slope of people's ratings on the panel's by weighted least squares, drawn toward 0; not
    below it, as a panel that runs contrary to people is not to be turned round."""
    w, wy, wf, wff, wfy, wyy, n = sums
    spread = wff - divide(wf**2, w)
    known = (spread > SAME * np.maximum(wff, SAME)) & (n > 2)
    safe = np.where(known, spread, 1.0)
    slope = np.where(known, (wfy - divide(wf * wy, w)) / safe, 0.0)
    left = np.maximum(wyy - divide(wy**2, w) - slope**2 * spread, 0.0) / np.maximum(n - 2, 1)
    # 1 / t², which is 0 where the panel's scores are a straight line of people's.
    chance = np.where(slope > 0, left / np.maximum(slope**2 * safe, 1e-300), 1.0)
    drawn: Array = np.where(slope > 0, slope * np.maximum(0.0, 1 - chance), 0.0)
    return drawn
