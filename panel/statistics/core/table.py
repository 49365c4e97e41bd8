"""Ratings with their names, and a result as a row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan

import numpy as np

from persona_panel.statistics.core.arrays import Array, Labels, Mask, encode_labels
from persona_panel.statistics.core.coverage import Coverage
from persona_panel.statistics.core.display import Facts, counted, counted_beside
from persona_panel.statistics.core.frames import FrameMethod, rating_columns
from persona_panel.statistics.core.names import ALL
from persona_panel.statistics.core.options import Random
from persona_panel.statistics.core.origin import RatingsOrigin
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.figures.ratings import RatingsPlots

NO_PERSONA_GROUP = ", no persona"
"""What the group of a panel's judges without a persona is called, behind the panel's name."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ratings:
    """Who gave which score to what, on which dimension.

    Attributes:
        scores: `(items, raters, dimensions)`, NaN where there is no rating.
        items, raters, dimensions: their names, each only once.
        groups: one a rater: human, expert, a model.
        prompts, sources: one an item, None where there are none.
        lower_is_better: whether scores are ranks, 1 the best.
        personas: who speaks, one a rater, None where raters are no personas.
        categories: for each dimension whose scores are codes of categories, which say nothing
            but which category it is, the categories' names in the order of their codes 0, 1, …
        scales: for each dimension whose scale is known, its lowest and highest value.
        controls: raters who are compared with the others and are not of the panel: judges without
            a persona.
        composite_of: the dimensions whose mean is the composite: all that are numbers if None, none
            where a rubric has another rule for it.
        coverage: of the run that these are the ratings of, how many judgments it has and lacks;
            None of a file, and of a folder that does not say how many there should be.
        labels: of dimensions, what people read in place of their names; none of a file.
        origin: how the file was read that these are the ratings of; None of a run.
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
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    controls: frozenset[str] = frozenset()
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    composite_of: tuple[str, ...] | None = None
    coverage: Coverage | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    origin: RatingsOrigin | None = None

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

    to_frame = FrameMethod(rating_columns)
    """See `persona_panel.statistics.core.frames.rating_columns`."""

    @property
    def plot(self) -> RatingsPlots:
        """Figures for a paper."""
        return RatingsPlots(self)

    def __repr__(self) -> str:
        return self._facts().text

    def _repr_html_(self) -> str:
        return self._facts().html()

    def _facts(self) -> Facts:
        there = ~np.isnan(self.scores)
        sizes = zip(("item", "rater", "dimension"), self.scores.shape, strict=True)
        ranks = ["ranks, 1 the best"] if self.lower_is_better else []
        return Facts(
            "Ratings",
            [counted(n, name) for name, n in sizes] + [counted(int(there.sum()), "score"), *ranks],
            ("group", "raters", "scores"),
            [
                (group, len(columns), int(there[:, columns].sum()))
                for group in dict.fromkeys(self.groups)
                if (columns := [c for c, own in enumerate(self.groups) if own == group])
            ],
        )

    @property
    def sign(self) -> int:
        """Return what the scores are to be multiplied by so that higher is better."""
        return -1 if self.lower_is_better else 1

    def counted_raters(self, what: str = "rater") -> str:
        """Return how many raters there are, and how many are compared with them, in words."""
        n = len(self.controls)
        return counted_beside(len(self.raters) - n, n, what)

    def numeric(self) -> Ratings:
        """These ratings without the dimensions that are rated by categories."""
        if not self.categories:
            return self
        kept = [d for d, name in enumerate(self.dimensions) if name not in self.categories]
        return replace(
            self,
            scores=self.scores[:, :, kept],
            dimensions=tuple(self.dimensions[d] for d in kept),
            categories={},
        )

    def comparable_dimensions(self) -> Ratings:
        """The dimensions that are numbers, as they may be put together: where they are known to be
        on different scales, each rating as the share of its scale's width at which it lies, from 0
        to 1; as they are on one scale, and where a scale is not known."""
        numeric = self.numeric()
        known = [self.scales.get(name) for name in numeric.dimensions]
        ends = [one for one in known if one is not None]
        if len(ends) < len(known) or len(set(ends)) < 2:
            return numeric
        lows, highs = np.array(ends).T
        return replace(
            numeric,
            scores=(numeric.scores - lows) / (highs - lows),
            scales=dict.fromkeys(numeric.dimensions, (0.0, 1.0)),
        )

    def composite(self) -> Ratings:
        """These ratings on one dimension, `all`: each rater's mean over the dimensions that are
        numbers, NaN where one of them is missing. Where they are known to be on different scales,
        it is the mean of the shares of each scale's width at which ratings lie, from 0 to 1."""
        numeric = self.comparable_dimensions()
        means = numeric.scores.mean(axis=2, keepdims=True)
        known = {numeric.scales.get(name) for name in numeric.dimensions}
        scale = known.pop() if len(known) == 1 else None
        scales = {} if scale is None else {ALL: scale}
        return replace(
            self, scores=means, dimensions=(ALL,), categories={}, scales=scales, composite_of=None
        )

    def called(self, name: str) -> Ratings:
        """These ratings on one dimension that are numbers, under another name of that."""
        [old] = self.dimensions
        scales = {name: self.scales[old]} if old in self.scales else {}
        labels = {name: self.labels[old]} if old in self.labels else {}
        return replace(self, dimensions=(name,), scales=scales, labels=labels)

    def n_raters_of(self, other: Ratings) -> int:
        """Return how many raters rated an item of other ratings, on a dimension of theirs if they
        have one in common."""
        rated = set(other.items)
        rows = [row for row, name in enumerate(self.items) if name in rated]
        kept = [d for d, name in enumerate(self.dimensions) if name in other.dimensions]
        scores = self.scores[rows][:, :, kept or slice(None)]
        return int((~np.isnan(scores)).any(axis=(0, 2)).sum())

    def by(self, raters: Collection[str]) -> Ratings:
        """The ratings by these raters alone."""
        kept = [column for column, name in enumerate(self.raters) if name in raters]
        personas = self.personas
        return replace(
            self,
            scores=self.scores[:, kept],
            raters=tuple(self.raters[column] for column in kept),
            groups=tuple(self.groups[column] for column in kept),
            personas=None if personas is None else tuple(personas[column] for column in kept),
            controls=self.controls.intersection(raters),
        )

    def of_items(self, items: Sequence[int]) -> Ratings:
        """The ratings of the items in these places alone."""
        prompts, sources = (
            None if labels is None else tuple(labels[item] for item in items)
            for labels in (self.prompts, self.sources)
        )
        return replace(
            self,
            scores=self.scores[list(items)],
            items=tuple(self.items[item] for item in items),
            prompts=prompts,
            sources=sources,
        )

    def judge_facets(self, raters: Sequence[int]) -> dict[str, list[str]]:
        """Return what these raters consist of, a label a rater: of a run `persona` and `model`;
        else `rater`."""
        whole = (
            {"rater": self.raters}
            if self.personas is None
            else {"persona": self.personas, "model": self.groups}
        )
        return {name: [labels[rater] for rater in raters] for name, labels in whole.items()}

    def judge_factors(self, raters: Sequence[int]) -> dict[str, list[str]]:
        """Return what these raters are sampled by, a label a rater: those of `judge_facets` of
        which there are several; else `rater`."""
        several = with_several_levels(self.judge_facets(raters))
        return several or {"rater": [self.raters[rater] for rater in raters]}

    def raters_by_group(self) -> dict[str, list[int]]:
        """The columns of each group in order of appearance, and of all where there are several.

        Controls come first, under their group's name with `NO_PERSONA_GROUP` behind it, and are
        not among all.

        Raises:
            ValueError: one of several groups is called `all`.
        """
        columns: dict[str, list[int]] = defaultdict(list)
        for column, (rater, group) in enumerate(zip(self.raters, self.groups, strict=True)):
            if rater not in self.controls:
                columns[group].append(column)
        if len(columns) > 1:
            if ALL in columns:
                raise ValueError(
                    f"one of several groups is called {ALL!r}, the name of all raters together"
                )
            columns[ALL] = [column for group in columns.values() for column in group]
            columns[ALL].sort()
        controls = {
            f"{group}{NO_PERSONA_GROUP}": found
            for group in dict.fromkeys(self.groups)
            if (found := self.controls_of(group))
        }
        return controls | columns

    def controls_of(self, group: str) -> list[int]:
        """The columns of the controls that a group of raters is compared with: those of its own
        group, or of all groups."""
        return [
            column
            for column, (rater, own) in enumerate(zip(self.raters, self.groups, strict=True))
            if rater in self.controls and group in (own, ALL)
        ]


def with_several_levels(factors: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The factors of judges, a label a judge, that have several levels: these can be a sample.

    >>> with_several_levels({"persona": ["p", "q"], "model": ["m", "m"]})
    {'persona': ['p', 'q']}
    """
    return {name: labels for name, labels in factors.items() if len(set(labels)) > 1}


def kept_without(factors: Mapping[str, Labels]) -> list[list[Mask]]:
    """For each factor the raters `(raters,)` that are kept without each of its levels.

    >>> [mask.tolist() for mask in kept_without({"model": ["m", "n", "m"]})[0]]
    [[False, True, False], [True, False, True]]
    """
    kept = []
    for labels in factors.values():
        names, codes = encode_labels(labels, len(labels))
        kept.append([codes != code for code in range(len(names))])
    return kept


@dataclass(frozen=True, slots=True)
class Row:
    """One statistic of one group of raters on one dimension.

    Attributes:
        statistic: its name.
        group: whose it is: a group of raters, `all` of them, or in comparisons `humans`.
        dimension: a dimension, or `all` where it is of no single one.
        by, by_value: what the row is broken down by, and which one it is: `source` and
            `GPT-4`, `judge left out` and a judge's name, `number of judges` and `4`. Both are
            None for what is not broken down.
        value: NaN exactly when `reason` says why.
        ci_low, ci_high: the confidence interval, NaN where there is none; `ci_reason` says why
            one could not be computed.
        ci_over: what the interval takes as a sample: prompts (items, where there are none), or
            these and judges. None without an interval.
        ci_df: degrees of freedom of Student's t, of which the interval is and may be widened: those
            of its standard error, at most one less than its clusters. NaN without an interval.
        n_clusters: how many prompts (items, where there are none) the interval rests on, those
            that the value depends on; None without an interval.
        p_value: adjusted by Holm (of added raters: Bonferroni) for `n_tests` tests, over what
            `adjusted_over` names, or as it is where that is None. NaN where nothing was tested.
        p_raw: the p-value before that.
        n_tests: how many tests were adjusted together, those of the composite and those of the
            dimensions counted both; 1 where one stands alone, 0 where nothing was tested.
        n_items, n_raters: how many entered.
        note: further facts for people to read. Nothing that a program needs is here alone.
    """

    statistic: str
    group: str
    dimension: str
    by: str | None = None
    by_value: str | None = None
    value: float = nan
    ci_low: float = nan
    ci_high: float = nan
    ci_reason: Reason | None = None
    ci_over: Random | None = None
    ci_df: float = nan
    n_clusters: int | None = None
    p_value: float = nan
    p_raw: float = nan
    n_tests: int = 0
    adjusted_over: str | None = None
    n_items: int = 0
    n_raters: int = 0
    reason: Reason | None = None
    note: str = ""
