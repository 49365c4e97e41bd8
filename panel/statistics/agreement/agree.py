"""How far the raters of each group agree: every registered statistic, as rows."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Literal

from panel.statistics.agreement.incomplete_rankings import leaves_out_raters
from panel.statistics.core.arrays import Array, Labels, items_by_label
from panel.statistics.core.options import (
    DEFAULT_OPTIONS,
    AnalysisOptions,
    MeasurementLevel,
    check_choice,
)
from panel.statistics.core.prompts import OverPrompts
from panel.statistics.core.registry import OnStep, Registry, Table
from panel.statistics.core.results import (
    Result,
    adjust_over_dimensions,
    labels_of,
    mean_over_prompts,
)
from panel.statistics.core.table import ALL, Ratings, Row, kept_without
from panel.statistics.resampling.jackknife import EstimateKind

Breakdown = Literal["dimension", "group", "source", "prompt"]

AGREEMENT = Table("Agreement")
FURTHER_AGREEMENT = Table("Further agreement statistics", all_raters_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class AgreementBlock:
    """One group's ratings of one dimension, or of all together.

    Attributes:
        ratings: `(items, raters)`, NaN where there is none; ranks where `sign` is −1.
        sign: what ratings are to be multiplied by so that higher is better.
        prompts: an item's prompt; rankings are compared inside it. None: all items are one.
        clusters: what intervals are over, a label an item: its prompt, or itself.
        level: of measurement.
        controls: `(items, replicates)`, ratings by judges without a persona; none, `(items, 0)`,
            where there are no such judges, or the raters are of several groups.
        raters: their names.
        groups: the group of each, where the block is of several groups; else none.
        categories: the names of the categories whose codes the ratings are, 0, 1, …; none of
            numbers.
        prompt_kind: what `prompts` are called.
        judge_factors: what raters are sampled by, a label a rater: `rater`, or of a run
            `persona` and `model`.
    """

    ratings: Array
    sign: int
    prompts: list[Hashable] | None
    clusters: list[Hashable]
    level: MeasurementLevel
    options: AnalysisOptions
    controls: Array
    raters: tuple[str, ...]
    categories: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    prompt_kind: str = "prompts"
    judge_factors: Mapping[str, Labels] = field(default_factory=dict)
    side: str = "panel"
    over_dimensions: bool = False

    def without_judges(self) -> list[list[AgreementBlock]]:
        """For each factor that raters are sampled by, the block without each of its levels."""
        if self.options.random == "prompts":
            return []
        # Their values alone are of use.
        options = replace(self.options, random="prompts", intervals=False, n_permutations=0)
        return [
            [
                replace(
                    self,
                    ratings=self.ratings[:, kept],
                    raters=tuple(compress(self.raters, kept)),
                    groups=tuple(compress(self.groups, kept)),
                    options=options,
                )
                for kept in levels
            ]
            for levels in kept_without(self.judge_factors)
        ]

    @property
    def has(self) -> Collection[str]:
        there = {
            "prompts": self.prompts is not None,
            "controls": bool(self.controls.size),
            "categories": bool(self.categories),
            "groups": bool(self.groups),
            "incomplete_rankings": leaves_out_raters(self.ratings, self.prompts),
        }
        return [name for name, found in there.items() if found]

    def over_prompts(
        self,
        found: OverPrompts,
        kind: EstimateKind = "mean_correlation",
        limits: tuple[float, float] = (-1.0, 1.0),
    ) -> Result:
        """A mean over prompts, with an interval where each prompt lies in one cluster, so that
        it is drawn whole or not at all. `kind` and `limits` as for `Result`."""
        if self.prompts is None:
            return Result(found.mean)
        cluster_of: dict[Hashable, Hashable] = {}
        whole = all(
            cluster_of.setdefault(prompt, cluster) == cluster
            for prompt, cluster in zip(self.prompts, self.clusters, strict=True)
        )
        return mean_over_prompts(
            found, self.prompts, self.prompt_kind, kind=kind, limits=limits, whole=whole
        )


agreement_statistics: Registry[AgreementBlock] = Registry(
    "panel.statistics.registered.agreement", FURTHER_AGREEMENT
)
"""What `agree` shows."""


def agree(
    ratings: Ratings,
    options: AnalysisOptions = DEFAULT_OPTIONS,
    by: Breakdown = "dimension",
    on_step: OnStep | None = None,
    only: Collection[str] | None = None,
) -> list[Row]:
    """Every agreement statistic of each group of raters, and of all where there are several.

    By `dimension` there are rows for each dimension, over all items. By `group` dimensions
    are put together, each item's rating on each as an item of its own (rankings stay within
    a dimension). By `source` or `prompt` there are rows for each dimension and each of
    those, which the rows' `by` and `by_value` then name; statistics that have rows of several
    kinds are then shown by their main row alone.

    A statistic is computed where it suits the level of measurement; of categories that is
    nominal, whatever the options say, and by `group` they are left out.

    Intervals are over prompts, or items where there are none, and over raters where
    `options.random` says so. p-values are those of permutation tests, adjusted by Holm over
    dimensions.

    `on_step` is called with the share that is done. `only` names the statistics to compute; by
    default all are.

    Raises:
        ValueError: ratings without the sources or prompts to go by, or as the statistics do.
    """
    parts = [
        (part, (block, group, dimension))
        for group, raters in ratings.raters_by_group().items()
        for part, dimension, block in _blocks(ratings, group, raters, options, by)
    ]
    rows: list[Row] = []
    every = agreement_statistics.rows_of_all([block for _, block in parts], on_step, only)
    for (part, _), found in zip(parts, every, strict=True):
        if part is not None:
            found = [replace(row, by=by, by_value=part) for row in found if row.by is None]
        rows += found
    return adjust_over_dimensions(rows)


def _blocks(
    ratings: Ratings, group: str, raters: list[int], options: AnalysisOptions, by: Breakdown
) -> Iterator[tuple[str | None, str, AgreementBlock]]:
    """Each source or prompt (or None), dimension and block to measure."""
    check_choice("by", by, Breakdown)
    if by == "group":
        ratings = ratings.numeric()
    scores = ratings.scores[:, raters]
    # Raters of several models differ by their models, too.
    controls = ratings.controls_of(group) if group in ratings.groups else []
    others = ratings.scores[:, controls]
    names = tuple(ratings.raters[rater] for rater in raters)
    factors = ratings.judge_factors(raters)
    own_groups = tuple(ratings.groups[rater] for rater in raters)
    groups = own_groups if len(set(own_groups)) > 1 else ()
    n_items, _, n_dimensions = scores.shape
    clusters: list[Hashable] = list(ratings.prompts or ratings.items)
    prompts = list(ratings.prompts) if ratings.prompts else None
    if by == "group":
        stacked, beside = (
            side.transpose(2, 0, 1).reshape(n_items * n_dimensions, side.shape[1])
            for side in (scores, others)
        )
        within: list[Hashable] = [
            (dimension, prompts[item] if prompts else None)
            for dimension in ratings.dimensions
            for item in range(n_items)
        ]
        kind = "prompts on a dimension" if prompts else "dimensions"
        repeated = clusters * n_dimensions
        yield (
            None,
            ALL,
            AgreementBlock(
                stacked,
                ratings.sign,
                within,
                repeated,
                options.level,
                options,
                beside,
                names,
                groups=groups,
                prompt_kind=kind,
                judge_factors=factors,
            ),
        )
        return
    labels = {"source": ratings.sources, "prompt": ratings.prompts}.get(by)
    if by != "dimension" and labels is None:
        raise ValueError(f"these ratings name no {by}")
    for part, items in items_by_label(labels, n_items):
        own_prompts = None if by == "prompt" else labels_of(prompts, items)
        # Inside one prompt its items are all there is to resample.
        drawn = labels_of(ratings.items if by == "prompt" else clusters, items) or []
        for place, dimension in enumerate(ratings.dimensions):
            level = "nominal" if dimension in ratings.categories else options.level
            block = AgreementBlock(
                scores[items, :, place],
                ratings.sign,
                own_prompts,
                drawn,
                level,
                options,
                others[items, :, place],
                names,
                ratings.categories.get(dimension, ()),
                groups,
                judge_factors=factors,
            )
            yield None if part is None else str(part), dimension, block
