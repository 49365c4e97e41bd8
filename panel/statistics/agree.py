"""How far the raters of each group agree: every statistic, as rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from panel.statistics.agreement import perfect_agreement, ranking_agreement
from panel.statistics.arrays import Array, members
from panel.statistics.bootstrap import resampled_mean
from panel.statistics.concordance import kendall_w
from panel.statistics.icc import Form, icc, resampled_icc
from panel.statistics.kappa import fleiss_kappa, resampled_fleiss_kappa
from panel.statistics.measures import Measure, hold_over_dimensions, over, rows_of, subset_of
from panel.statistics.pairwise import (
    PairStatistic,
    pairwise,
    pairwise_by_prompt,
    resampled_pairwise,
)
from panel.statistics.prompts import OverPrompts
from panel.statistics.reliability import krippendorff_alpha, resampled_alpha
from panel.statistics.table import ALL, DEFAULTS, Ratings, Row, Settings
from panel.statistics.worth import effective_judges, resampled_effective_judges

By = Literal["dimension", "group", "source", "prompt"]

_PAIRS: dict[str, PairStatistic] = {
    "mean_tau_b": "tau_b",
    "mean_spearman": "spearman",
    "cohen_kappa_none": "cohen_kappa_none",
    "cohen_kappa_linear": "cohen_kappa_linear",
    "cohen_kappa_quadratic": "cohen_kappa_quadratic",
}


@dataclass(frozen=True, slots=True)
class _Block:
    """Ratings `(items, raters)`; times `sign`, higher is better. `prompts` separate what is
    ranked apart, None if nothing is, and `kind` says what they are. `clusters` are resampled."""

    scores: Array
    sign: int
    prompts: list[Hashable] | None
    clusters: list[Hashable]
    kind: str = "prompts"
    categories: bool = False


def agree(ratings: Ratings, settings: Settings = DEFAULTS, by: By = "dimension") -> list[Row]:
    """Every agreement statistic of each group of raters, and of all where there are several.

    By `dimension` there are rows for each dimension, over all items. By `group` dimensions
    are put together, each item's rating on each as an item of its own (rankings stay within
    a dimension). By `source` or `prompt` there are rows for each dimension and each of
    those, which the group then names: `human / GPT-2`.

    Where ratings are categories there are only the statistics that take them as such, α at the
    nominal level; by `group` they are left out.

    Intervals resample prompts, or items where there are none. p-values are those of
    permutation tests, corrected by Holm over dimensions.

    Raises:
        ValueError: ratings without the sources or prompts to go by, or as the statistics do.
    """
    rows = []
    for group, raters in ratings.raters_by_group().items():
        for part, dimension, block in _blocks(ratings, raters, by):
            name = f"{group} / {part}" if part is not None else group
            rows += rows_of(_measures(block, settings), name, dimension, block.clusters, settings)
    return hold_over_dimensions(rows)


def _blocks(ratings: Ratings, raters: list[int], by: By) -> Iterator[tuple[Hashable, str, _Block]]:
    """Each part (a source, a prompt, or None), dimension and block to measure."""
    if by == "group":
        ratings = ratings.numeric()
    scores = ratings.scores[:, raters]
    n_items, _, n_dimensions = scores.shape
    clusters: list[Hashable] = list(ratings.prompts or ratings.items)
    prompts = list(ratings.prompts) if ratings.prompts else None
    if by == "group":
        stacked = scores.transpose(2, 0, 1).reshape(n_items * n_dimensions, len(raters))
        apart: list[Hashable] = [
            (dimension, prompts[item] if prompts else None)
            for dimension in ratings.dimensions
            for item in range(n_items)
        ]
        kind = "prompts on a dimension" if prompts else "dimensions"
        yield None, ALL, _Block(stacked, ratings.sign, apart, clusters * n_dimensions, kind)
        return
    if by not in get_args(By):
        raise ValueError(f"by is one of {', '.join(get_args(By))}, found {by!r}")
    labels = {"source": ratings.sources, "prompt": ratings.prompts}.get(by)
    if by != "dimension" and labels is None:
        raise ValueError(f"these ratings name no {by}")
    for part, items in members(labels, n_items):
        within = None if by == "prompt" else subset_of(prompts, items)
        # Inside one prompt its items are all there is to resample.
        names = ratings.items if by == "prompt" else clusters
        drawn = subset_of(names, items) or []
        for place, dimension in enumerate(ratings.dimensions):
            coded = dimension in ratings.categories
            block = _Block(scores[items, :, place], ratings.sign, within, drawn, categories=coded)
            yield part, dimension, block


def _measures(block: _Block, settings: Settings) -> Iterator[Measure]:
    scores, prompts = block.scores, block.prompts
    level = "nominal" if block.categories else settings.level
    alpha = krippendorff_alpha(scores, level)
    yield Measure("krippendorff_alpha", alpha, resampled_alpha(scores, level), level)
    if block.categories:
        yield _pairs("cohen_kappa_none", scores)
        yield Measure("fleiss_kappa", fleiss_kappa(scores), resampled_fleiss_kappa(scores))
        yield _perfect(scores)
        return
    for name, ties in (("kendall_w", False), ("kendall_w_ties", True)):
        concordance = kendall_w(
            scores,
            prompts,
            correct_ties=ties,
            n_permutations=settings.n_permutations,
            seed=settings.seed,
        )
        yield _over_prompts(name, concordance, block)
    for name in _PAIRS:
        yield _pairs(name, scores)
    if prompts is not None:
        for name in ("mean_tau_b", "mean_spearman"):
            inside = pairwise_by_prompt(scores, prompts, _PAIRS[name])
            yield _over_prompts(f"{name}_within_prompts", inside, block)
    yield Measure("fleiss_kappa", fleiss_kappa(scores), resampled_fleiss_kappa(scores))
    forms: tuple[Form, ...] = ("icc1", "icc2", "icc2k")
    for form in forms:
        yield Measure(form, icc(scores, form), resampled_icc(scores, form))
    rankings = ranking_agreement(block.sign * scores, prompts)
    yield _over_prompts("full_ranking_agreement", rankings.full, block)
    yield _over_prompts("top_ranking_agreement", rankings.top, block)
    yield _perfect(scores)
    yield Measure("effective_judges", effective_judges(scores), resampled_effective_judges(scores))


def _pairs(name: str, scores: Array) -> Measure:
    """The mean over pairs of raters."""
    statistic = _PAIRS[name]
    pairs = pairwise(scores, statistic)
    note = f"{len(pairs.pairs)} pairs"
    if pairs.n_undefined:
        note += f", {pairs.n_undefined} with a constant rater left out"
    return Measure(name, pairs.mean, resampled_pairwise(scores, statistic), note)


def _perfect(scores: Array) -> Measure:
    """The share of items on which all raters agree."""
    perfect = perfect_agreement(scores)
    rated_twice = np.sum(~np.isnan(scores), axis=1) >= 2
    agreed = np.where(rated_twice, perfect.subset.astype(np.float64), np.nan)
    note = f"{int(perfect.subset.sum())} items"
    return Measure("perfect_agreement", perfect.share, resampled_mean(agreed), note)


def _over_prompts(name: str, result: OverPrompts, block: _Block) -> Measure:
    """A mean over prompts, with an interval where prompts are what is resampled."""
    if block.prompts is None:
        return Measure(name, result.mean)
    return over(name, result, block.prompts, block.kind, whole=_whole(block))


def _whole(block: _Block) -> bool:
    """Whether each prompt lies in one cluster, so that it is drawn whole or not at all."""
    of: dict[Hashable, Hashable] = {}
    return all(
        of.setdefault(prompt, cluster) == cluster
        for prompt, cluster in zip(block.prompts or (), block.clusters, strict=True)
    )
