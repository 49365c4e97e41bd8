"""Ratings with their names, how they are measured, and a result as a row."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from panel.statistics.arrays import Array
from panel.statistics.bootstrap import Method
from panel.statistics.reliability import Level

ALL = "all"
"""The group of all raters, and the dimension of a statistic over all dimensions."""


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Who gave which score to what, on which dimension.

    Attributes:
        scores: `(items, raters, dimensions)`, NaN where there is no rating.
        items, raters, dimensions: their names, each only once.
        groups: one a rater: human, expert, a model.
        prompts, sources: one an item, None where there are none.
        lower_is_better: whether scores are ranks, 1 the best.
        personas: who speaks, one a rater, None where raters are no personas.
        categories: the dimensions whose scores are codes of categories, which say nothing but
            which category it is.
    """

    scores: Array
    items: tuple[str, ...]
    raters: tuple[str, ...]
    dimensions: tuple[str, ...]
    groups: tuple[str, ...]
    prompts: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    lower_is_better: bool = False
    personas: tuple[str, ...] | None = None
    categories: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        shape = (len(self.items), len(self.raters), len(self.dimensions))
        if self.scores.shape != shape:
            raise ValueError(f"scores have the shape {self.scores.shape}, their names {shape}")
        if np.isinf(self.scores).any():
            raise ValueError("a score is infinite")
        for kind in ("items", "raters", "dimensions"):
            names = getattr(self, kind)
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise ValueError(f"{twice!r} is twice among the {kind}")
        lengths = {
            "groups": shape[1],
            "personas": shape[1],
            "prompts": shape[0],
            "sources": shape[0],
        }
        for kind, length in lengths.items():
            labels = getattr(self, kind)
            if labels is not None and len(labels) != length:
                raise ValueError(f"{len(labels)} {kind} for {length}")

    @property
    def sign(self) -> int:
        """What the scores are to be multiplied by so that higher is better."""
        return -1 if self.lower_is_better else 1

    def numeric(self) -> Ratings:
        """These ratings without the dimensions that are rated by categories."""
        if not self.categories:
            return self
        kept = [d for d, name in enumerate(self.dimensions) if name not in self.categories]
        return replace(
            self,
            scores=self.scores[:, :, kept],
            dimensions=tuple(self.dimensions[d] for d in kept),
            categories=frozenset(),
        )

    def composite(self) -> Ratings:
        """These ratings on one dimension, `all`: each rater's mean over the dimensions that are
        numbers, NaN where one of them is missing."""
        means = self.numeric().scores.mean(axis=2, keepdims=True)
        return replace(self, scores=means, dimensions=(ALL,), categories=frozenset())

    def raters_by_group(self) -> dict[str, list[int]]:
        """The columns of each group in order of appearance, and of all where there are several."""
        columns: dict[str, list[int]] = defaultdict(list)
        for column, group in enumerate(self.groups):
            columns[group].append(column)
        if len(columns) > 1:
            columns[ALL] = list(range(len(self.raters)))
        return dict(columns)


@dataclass(frozen=True, slots=True)
class Settings:
    """How everything in a table is computed.

    `min_shared` is for substitution: pairs of humans who share fewer items are left out.
    `target` is what a panel is held against: the mean human score, or the mean rank in its
    prompt that humans give an item.
    """

    level: Level = "ordinal"
    method: Method = "bca"
    confidence: float = 0.95
    n_resamples: int = 2000
    n_permutations: int = 1999
    seed: int = 0
    min_shared: int = 50
    target: Literal["score", "rank"] = "score"


DEFAULTS = Settings()


@dataclass(frozen=True, slots=True)
class Row:
    """One statistic of one group on one dimension; NaN where undefined, and `note` says why."""

    statistic: str
    group: str
    dimension: str
    value: float
    ci_low: float
    ci_high: float
    p_value: float
    n_items: int
    n_raters: int
    note: str
