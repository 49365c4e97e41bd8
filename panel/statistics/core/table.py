"""Ratings with their names and origin, their composite, and rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, nan
from typing import Any

import numpy as np

from persona_panel.statistics.core.arrays import Array, Labels, Mask, Random, Reason, encode_labels
from persona_panel.statistics.core.display import ALL, COMPOSITE, Facts, counted, counted_beside
from persona_panel.statistics.core.estimate import Estimate


@dataclass(frozen=True, slots=True)
class ItemMatch:
    """The match between the `n_rated` items that people rated and a panel's, called `panel`; the
    panel lacks those `unmatched`."""

    n_rated: int
    unmatched: tuple[str, ...]
    panel: str

    @property
    def n_matched(self) -> int:
        """Return how many the panel has."""
        return self.n_rated - len(self.unmatched)

    @property
    def share(self) -> float:
        """Return the share that the panel has, from 0 to 1."""
        return self.n_matched / self.n_rated if self.n_rated else 0.0


@dataclass(frozen=True, slots=True)
class RatingsOrigin:
    """The origin of ratings that were read from a file.

    Attributes:
        file: its name.
        reading: what was read, and in which form, in one line.
        remarks: sentences on what may be wrong in it.
        lines: on which line each rating is, by item, rater and dimension (`all` without one).
        allow_unmatched: whether fewer than 80 % of its items may be a panel's.
        match: how many of its items a panel has; None where it was compared with none.
        from_stream: it was a stream, which cannot be read a second time.
        has_inclusion: of a stream, whether it has the column `inclusion_probability`.
        options: the words of a command with which people's ratings in it are read the same.
    """

    file: str
    reading: str
    remarks: tuple[str, ...] = ()
    lines: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    allow_unmatched: bool = False
    match: ItemMatch | None = None
    from_stream: bool = False
    has_inclusion: bool = False
    options: tuple[str, ...] = ("--human", "RATINGS")


@dataclass(frozen=True, slots=True)
class Coverage:
    """The numbers of judgments wanted and made.

    `expected` is `scored` + `abstained` + the sum of `missing`, which counts by reason. An
    abstention is an answer, though no rating. `partial` of those that scored rest on fewer
    comparisons than were asked for. `revisions_failed` counts by reason the revisions that failed
    and left the judgment before; `reasons_missing`, judges that changed a rating and could not be
    asked why. `edited`: the file of judgments is another than the run left.
    """

    expected: int
    scored: int
    abstained: int
    missing: dict[str, int]
    partial: int = 0
    revisions_failed: dict[str, int] = field(default_factory=dict)
    reasons_missing: int = 0
    edited: bool = False

    @classmethod
    def of(
        cls,
        statuses: Mapping[str, int],
        *,
        partial: int,
        revisions_failed: Mapping[str, int],
        reasons_missing: int,
        edited: bool,
    ) -> Coverage:
        """Count the judgments of each status; those that were not made are `skipped`."""
        there = ("scored", "abstained")
        missing = {name: n for name, n in sorted(statuses.items()) if n and name not in there}
        scored, abstained = (statuses.get(name, 0) for name in there)
        expected = scored + abstained + sum(missing.values())
        failed = dict(sorted(revisions_failed.items()))
        return cls(expected, scored, abstained, missing, partial, failed, reasons_missing, edited)

    @property
    def complete(self) -> bool:
        """Return whether every judgment is there, whole, and so is every revision."""
        return not (self.missing or self.partial or self.revisions_failed or self.reasons_missing)


HUMANS = "humans"
"""The group of rows that say what people achieve in the panel's place."""
NO_PERSONA_GROUP = ", no persona"
"""The suffix, behind the panel's name, of the group of its judges without a persona."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ratings:
    """Scores of items by raters on dimensions.

    Attributes:
        scores: `(items, raters, dimensions)`, NaN where there is no rating.
        items, raters, dimensions: their names, each only once.
        groups: one a rater: human, expert, a model.
        prompts, sources: one an item, None where there are none.
        lower_is_better: whether scores are ranks, 1 the best.
        personas: who speaks, one a rater, None where raters are no personas.
        categories: by dimension whose scores are codes 0, 1, … of categories, the categories'
            names.
        scales: by dimension whose scale is known, its lowest and highest value.
        controls: judges without a persona, who are compared with the others and are not of the
            panel.
        composite_of: the dimensions whose mean is the composite: all that are numbers if None, none
            where a rubric has another rule for it.
        coverage: how many judgments the run has and lacks; None of a file, and where it is unknown.
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
        axes = {"groups": 1, "personas": 1, "prompts": 0, "sources": 0}
        for kind, axis in axes.items():
            labels = getattr(self, kind)
            if labels is not None and len(labels) != shape[axis]:
                raise ValueError(f"{len(labels)} {kind} for {shape[axis]}")

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
        """Return the factor by which scores are multiplied so that higher is better: 1 or −1."""
        return -1 if self.lower_is_better else 1

    def counted_raters(self, what: str = "rater") -> str:
        """Return the number of raters and of controls beside them, in words."""
        n = len(self.controls)
        return counted_beside(len(self.raters) - n, n, what)

    def numeric(self) -> Ratings:
        """Return these ratings without the dimensions that are rated by categories."""
        if not self.categories:
            return self
        return _on(self, [name for name in self.dimensions if name not in self.categories])

    def comparable_dimensions(self) -> Ratings:
        """Return the numeric dimensions, each rating as its share of its scale's width where scales
        are known to differ."""
        numeric = self.numeric()
        ends = [self.scales[name] for name in numeric.dimensions if name in self.scales]
        if len(ends) < len(numeric.dimensions) or len(set(ends)) < 2:
            return numeric
        lows, highs = np.array(ends).T
        return replace(
            numeric,
            scores=(numeric.scores - lows) / (highs - lows),
            scales=dict.fromkeys(numeric.dimensions, (0.0, 1.0)),
        )

    def composite(self) -> Ratings:
        """Return these ratings on one dimension, `all`: each rater's mean over the numeric
        dimensions (see `comparable_dimensions`), NaN where one of them is missing."""
        numeric = self.comparable_dimensions()
        means = numeric.scores.mean(axis=2, keepdims=True)
        known = {numeric.scales.get(name) for name in numeric.dimensions}
        scale = known.pop() if len(known) == 1 else None
        scales = {} if scale is None else {ALL: scale}
        return replace(
            self, scores=means, dimensions=(ALL,), categories={}, scales=scales, composite_of=None
        )

    def called(self, name: str) -> Ratings:
        """Return these ratings on one dimension that are numbers, with the dimension renamed."""
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

    @property
    def panel_columns(self) -> list[int]:
        """Return the columns of the raters that are no controls."""
        return [column for column, name in enumerate(self.raters) if name not in self.controls]

    def without_controls(self) -> Ratings:
        """Return the ratings by the raters that are no controls."""
        return self.by([self.raters[column] for column in self.panel_columns])

    def by(self, raters: Collection[str]) -> Ratings:
        """Return the ratings by these raters alone."""
        kept = [column for column, name in enumerate(self.raters) if name in raters]
        names = {of: _at(getattr(self, of), kept) for of in ("raters", "groups", "personas")}
        controls = self.controls.intersection(raters)
        return replace(self, scores=self.scores[:, kept], controls=controls, **names)

    def of_items(self, items: Sequence[int]) -> Ratings:
        """Return the ratings of the items in these places alone."""
        names = {of: _at(getattr(self, of), items) for of in ("items", "prompts", "sources")}
        return replace(self, scores=self.scores[list(items)], **names)

    def judge_facets(self, raters: Sequence[int]) -> dict[str, list[str]]:
        """Return the facets of these raters, a label a rater: of a run `persona` and `model`; else
        `rater`."""
        whole = (
            {"rater": self.raters}
            if self.personas is None
            else {"persona": self.personas, "model": self.groups}
        )
        return {name: [labels[rater] for rater in raters] for name, labels in whole.items()}

    def judge_factors(self, raters: Sequence[int]) -> dict[str, list[str]]:
        """Return the factors by which these raters are sampled, a label a rater: those of
        `judge_facets` with several levels; else `rater`."""
        several = with_several_levels(self.judge_facets(raters))
        return several or {"rater": [self.raters[rater] for rater in raters]}

    def raters_by_group(self) -> dict[str, list[int]]:
        """Return the columns of each group in order of appearance, and of all where there are
        several. Controls come first, with `NO_PERSONA_GROUP` behind their group's name.
        """
        columns: dict[str, list[int]] = defaultdict(list)
        for column, rater in enumerate(self.raters):
            if rater not in self.controls:
                columns[self.groups[column]].append(column)
        if len(columns) > 1:
            if ALL in columns:
                raise ValueError(
                    f"one of several groups is called {ALL!r}, the name of all raters together"
                )
            columns[ALL] = sorted(column for group in columns.values() for column in group)
        controls = {
            f"{group}{NO_PERSONA_GROUP}": own
            for group in dict.fromkeys(self.groups)
            if (own := self.controls_of(group))
        }
        return controls | columns

    def controls_of(self, group: str) -> list[int]:
        """Return the columns of the controls that a group of raters is compared with: those of its
        own group, or of all groups."""
        return [
            column
            for column, (rater, own) in enumerate(zip(self.raters, self.groups, strict=True))
            if rater in self.controls and group in (own, ALL)
        ]


def _at(labels: tuple[str, ...] | None, places: Sequence[int]) -> Any:
    return None if labels is None else tuple(labels[place] for place in places)


def with_several_levels(factors: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the factors of judges, a label a judge, that have several levels."""
    return {name: labels for name, labels in factors.items() if len(set(labels)) > 1}


def kept_without(factors: Mapping[str, Labels]) -> list[list[Mask]]:
    """Return, for each factor, which raters are kept without each of its levels `(raters,)`."""
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
        group: a group of raters, `all` of them, or in comparisons `humans`.
        dimension: a dimension, or `all` where it is of no single one.
        by, by_value: what the row is broken down by, and which one it is: `source` and `GPT-4`,
            `number of judges` and `4`; both None for what is not broken down.
        value: NaN exactly when `reason` says why.
        ci_low, ci_high: the confidence interval, NaN where there is none; `ci_reason` says why.
        ci_over: what the interval takes as a sample: prompts (items, where there are none), or
            these and judges. None without an interval.
        ci_df: degrees of freedom of Student's t, of which the interval is: those of its standard
            error, at most one less than its clusters. NaN without an interval.
        n_clusters: how many prompts (items, where there are none) the interval rests on; None
            without.
        p_value: adjusted by Holm (of added raters: Bonferroni) for `n_tests` tests, over what
            `adjusted_over` names, or as it is where that is None. NaN where nothing was tested.
        p_raw: the p-value before that.
        n_tests: how many tests were adjusted together; 1 where one stands alone, 0 without a test.
        n_items, n_raters: how many entered.
        note: further facts for people to read. Nothing that a program needs is here alone.
        limits: between which the statistic lies.
        caution: as of `Estimate`.
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
    caution: str = ""
    limits: tuple[float, float] = field(default=(-inf, inf), compare=False, repr=False)

    def estimate(self, *, sampled: str = "prompts", rater: str = "judge") -> Estimate:
        """Return the value with its interval and p-values.

        Args:
            sampled: what the interval takes as a sample, `prompts` or `items`.
            rater: what those who rated are called.
        """
        over = {None: "", "prompts": sampled}
        adjusted = self.adjusted_over is not None
        is_decided = self.statistic == _DECIDED
        return Estimate(
            self.value, self.ci_low, self.ci_high,
            over=over.get(self.ci_over, f"{sampled} and {rater}s"), n=self.n_clusters,
            p=self.p_raw if adjusted else self.p_value,
            p_adjusted=self.p_value if adjusted else nan, df=self.ci_df, exact=is_decided,
            reason=self.reason or self.ci_reason, detail=self.note if is_decided else "",
            caution=self.caution,
        )  # fmt: skip


_DECIDED = "alt_test_winning_rate"
"""It counts decisions of tests, which allow for chance already: its value decides."""
_MOST_WIDTHS = 8.0
"""The largest ratio of the ranges of two dimensions' ratings, if both are on one scale that is not
known: 0 to 100 beside 1 to 5 is wider."""


def row_in(rows: Iterable[Row], statistic: str, group: str) -> Row:
    """Return the first row of a statistic of a group: that of the composite where there is one."""
    of = [row for row in rows if (row.statistic, row.group, row.by) == (statistic, group, None)]
    return of[0] if of else Row(statistic, group, COMPOSITE)


def on_composite(ratings: Ratings, *others: Ratings) -> tuple[Ratings, ...] | None:
    """Return these ratings, and others of the same dimensions, on the composite alone: the mean
    over its dimensions (see `Ratings.composite`).

    None of one dimension or of ranks, where only some scales are known or, where none is, ranges
    differ more than eightfold; where no rater of a side rated all of the dimensions, or the rubric
    has another rule.
    """
    sides = (ratings, *others)
    names = ratings.numeric().dimensions if ratings.composite_of is None else ratings.composite_of
    if len(names) < 2 or COMPOSITE in ratings.dimensions:
        return None
    if any(
        side.lower_is_better
        or not set(names) <= set(side.numeric().dimensions)
        or len({name in side.scales for name in names}) > 1
        for side in sides
    ):
        return None
    several = any(len({side.scales.get(name) for name in names}) > 1 for side in sides)
    if several and not all(name in side.scales for side in sides for name in names):
        return None
    if ranges_differ(sides, names):
        return None
    whole = tuple(_on(side, names).composite().called(COMPOSITE) for side in sides)
    return None if any(np.isnan(side.scores).all() for side in whole) else whole


def limits_of_people(panel: Ratings, humans: Ratings, dimension: str) -> tuple[float, float]:
    """Return the ends of the scale of people's ratings: theirs or, where that is not known and they
    lie within it, the panel's."""
    scales = {} if humans.lower_is_better else panel.scales
    low, high = humans.scales.get(dimension) or scales.get(dimension, (-inf, inf))
    rated = humans.scores[:, :, humans.dimensions.index(dimension)]
    return (-inf, inf) if ((rated < low) | (rated > high)).any() else (low, high)


def ranges_differ(sides: Sequence[Ratings], names: Sequence[str]) -> bool:
    """Return whether ratings on scales that are not known plainly lie on different ones."""
    widths = []
    for name in names:
        own = [side.scores[:, :, side.dimensions.index(name)] for side in sides]
        if any(name in side.scales for side in sides) or any(
            np.isnan(scores).all() for scores in own
        ):
            return False
        widths.append(max(map(np.nanmax, own)) - min(map(np.nanmin, own)))
    # Where all ratings are the same, the scale may be any.
    there = [width for width in widths if width > 0]
    return bool(there and max(there) > _MOST_WIDTHS * min(there))


def _on(ratings: Ratings, names: Sequence[str]) -> Ratings:
    places = [ratings.dimensions.index(name) for name in names]
    return replace(
        ratings, scores=ratings.scores[:, :, places], dimensions=tuple(names), categories={}
    )
