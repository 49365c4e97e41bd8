"""What the raters of each group are worth as a panel: every figure, as rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from math import nan

import numpy as np

from panel.statistics.arrays import Array
from panel.statistics.components import RESIDUAL, variance_components
from panel.statistics.estimate import Estimate, Reason
from panel.statistics.icc import icc, resampled_icc
from panel.statistics.measures import Measure, rows_of
from panel.statistics.reliability import krippendorff_alpha
from panel.statistics.subset import smallest_subset
from panel.statistics.table import DEFAULTS, Ratings, Row, Settings
from panel.statistics.worth import spearman_brown

_COMPLETE = 0.5
"""Raters who rated less than this share of the items cannot stand for each other."""


def appraise(ratings: Ratings, settings: Settings = DEFAULTS) -> list[Row]:
    """What each group of raters, and all where there are several, are worth as a panel.

    On each dimension: `reliability` of panels of 1, 2, 4, … and twice as many judges as there
    are (Spearman-Brown, from ICC(2,1)); `variance_share` of items, judges (of a run: personas
    and models) and the residual; `alpha_without` each judge, with how much α changes in the
    note; `smallest_subset`, the number of judges whose ranking keeps τ_b ≥ 0.95 to the
    panel's on held-out items, with who they are and the cost saved in the note. What a row
    is about stands in its group, after the raters' group and a slash. Raters who did not
    each rate half of the items are not left out one by one, nor chosen from.
    """
    ratings = ratings.numeric()
    rows: list[Row] = []
    for group, raters in ratings.raters_by_group().items():
        for place, dimension in enumerate(ratings.dimensions):
            scores = ratings.scores[:, raters, place]
            clusters: list[Hashable] = list(ratings.prompts or ratings.items)
            rows += _reliability(scores, group, dimension, clusters, settings)
            names = [ratings.raters[rater] for rater in raters]
            parts = [*_variance(scores, ratings, raters)]
            if (np.mean(~np.isnan(scores), axis=0) < _COMPLETE).any():
                missing = _undefined(Reason.SPARSE, scores)
                parts.append(("", Measure("smallest_subset", missing)))
            else:
                parts += _without(scores, names, settings)
                parts.append(("", _subset(scores, names, ratings, settings)))
            for part, measure in parts:
                rows += rows_of([measure], f"{group}{part}", dimension, clusters, settings)
    return rows


def _reliability(
    scores: Array, group: str, dimension: str, clusters: list[Hashable], settings: Settings
) -> list[Row]:
    """Spearman-Brown rises with ICC(2,1), so the ends of its interval go through it too."""
    one = Measure("reliability", icc(scores, "icc2"), resampled_icc(scores, "icc2"))
    (row,) = rows_of([one], group, dimension, clusters, settings)
    n_judges = scores.shape[1]
    sizes = sorted({*(2**n for n in range(n_judges.bit_length())), n_judges, 2 * n_judges})
    found = []
    for size in sizes:
        value, low, high = (
            nan if np.isnan(end) else float(spearman_brown(min(end, 1.0), size))
            for end in (row.value, row.ci_low, row.ci_high)
        )
        name = f"{group} / {size} judge{'s' if size > 1 else ''}"
        note = row.note
        if np.isnan(value) and not np.isnan(row.value):
            note = f"undefined: {Reason.NOT_POSITIVE}"
        found.append(replace(row, group=name, value=value, ci_low=low, ci_high=high, note=note))
    return found


def _variance(scores: Array, ratings: Ratings, raters: list[int]) -> Iterator[tuple[str, Measure]]:
    shape = scores.shape
    of_rater = {"rater": ratings.raters}
    if ratings.personas is not None:
        of_rater = {"persona": ratings.personas, "model": ratings.groups}
    factors = {"item": np.broadcast_to(np.arange(shape[0])[:, None], shape).ravel()}
    for name, labels in of_rater.items():
        drawn = np.array([labels[rater] for rater in raters], dtype=object)
        factors[name] = np.broadcast_to(drawn, shape).ravel()
    found = variance_components(scores.ravel(), factors)
    counts = _counts(scores)
    for name in (*factors, RESIDUAL):
        share, variance = found.shares[name], found.variances[name]
        if np.isnan(share):
            reason = found.reason or Reason.ONE_LEVEL
            yield f" / {name}", Measure("variance_share", _undefined(reason, scores))
        else:
            note = f"variance {variance:.4g}"
            yield f" / {name}", Measure("variance_share", Estimate(share, *counts), note=note)


def _without(scores: Array, names: list[str], settings: Settings) -> Iterator[tuple[str, Measure]]:
    full = krippendorff_alpha(scores, settings.level)
    for place, name in enumerate(names):
        rest = krippendorff_alpha(np.delete(scores, place, axis=1), settings.level)
        changed = f"{settings.level}, changed by {rest.value - full.value:+.4f}"
        note = settings.level if np.isnan(rest.value - full.value) else changed
        yield f" / without {name}", Measure("alpha_without", rest, note=note)


def _subset(scores: Array, names: list[str], ratings: Ratings, settings: Settings) -> Measure:
    found = smallest_subset(ratings.sign * scores, ratings.prompts, seed=settings.seed)
    if found.reason:
        return Measure("smallest_subset", _undefined(found.reason, scores))
    who = ", ".join(names[judge] for judge in found.judges)
    note = (
        f"held-out tau_b {found.tau:.3f}, {found.cost_saved:.0%} of the cost saved if judges "
        f"cost alike: {who}"
    )
    return Measure(
        "smallest_subset", Estimate(float(len(found.judges)), *_counts(scores)), note=note
    )


def _counts(scores: Array) -> tuple[int, int]:
    """How many items were rated, and how many raters rated any."""
    rated = ~np.isnan(scores)
    return int(rated.any(axis=1).sum()), int(rated.any(axis=0).sum())


def _undefined(reason: Reason, scores: Array) -> Estimate:
    n_items, n_raters = _counts(scores)
    return Estimate.undefined(reason, n_items=n_items, n_raters=n_raters)
