"""The rows of `agree` and of panel quality: every registered statistic of each group of raters."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from math import nan
from typing import Literal

import numpy as np

from persona_panel.statistics.concordance import leaves_out_raters
from persona_panel.statistics.core.arrays import (
    DEFAULT_OPTIONS,
    AnalysisOptions,
    Array,
    EstimateKind,
    Labels,
    Reason,
    Statistic,
    check_choice,
    count_raters,
    has_ratings,
)
from persona_panel.statistics.core.display import ALL
from persona_panel.statistics.core.jackknife import Interval
from persona_panel.statistics.core.means import FEW_OFF_AN_END, OverPrompts, few_off_an_end
from persona_panel.statistics.core.registry import (
    ANY_LEVEL,
    OF_SCORES,
    Block,
    OnStep,
    Registry,
    StatisticTable,
    mean_over_prompts,
)
from persona_panel.statistics.core.table import Ratings, Row, kept_without, on_composite
from persona_panel.statistics.reliability import icc, krippendorff_alpha
from persona_panel.statistics.strata import (
    Strata,
    StratumPart,
    all_raters_of,
    difference_rows,
    parts_of,
    stratum_rows,
    without_permutations,
)

Breakdown = Literal["dimension", "group", "source", "prompt", "persona", "model"]
"""The groupings that ratings name themselves; see `agree`."""

AGREEMENT = StatisticTable("Agreement")
FURTHER_AGREEMENT = StatisticTable("Further agreement statistics", all_raters_only=True)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AgreementBlock(Block):
    """One group's ratings of one dimension or of the composite, or of all dimensions together.

    Attributes: as of `Block`, and
        ratings: `(items, raters)`, NaN where there is none; ranks where `sign` is −1.
        sign: the factor by which ratings are multiplied so that higher is better.
        raters: their names.
        groups: the group of each, where the block is of several groups; else none.
        scale: the lowest and highest value that a rating can have (of categories 0 and the last
            code); None where it is unknown or, as of ranks, there is none.
        prompt_kind: what `prompts` are called.
        judge_factors: what raters are sampled by, a label a rater: `rater`, or of a run
            `persona` and `model`; none where statistics sample them themselves.
        judge_facets: what raters consist of, likewise, those with one level, too.
    """

    ratings: Array
    sign: int
    raters: tuple[str, ...]
    scale: tuple[float, float] | None = None
    groups: tuple[str, ...] = ()
    prompt_kind: str = "prompts"
    judge_factors: Mapping[str, Labels] = field(default_factory=dict)
    judge_facets: Mapping[str, list[str]] = field(default_factory=dict)

    def without_judges(self) -> list[list[AgreementBlock]]:
        """Return, for each factor that raters are sampled by, the block without each of its levels;
        nothing where no interval needs them."""
        if self.options.random == "prompts" or not self.options.intervals:
            return []
        # Only their values are used.
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

    def _further(self) -> dict[str, bool]:
        return {
            "groups": bool(self.groups),
            "incomplete_rankings": leaves_out_raters(self.ratings, self.prompts),
        }

    def over_prompts(
        self,
        by_prompt: OverPrompts,
        kind: EstimateKind = "mean_correlation",
        limits: tuple[float, float] = (-1.0, 1.0),
    ) -> Statistic:
        """Return a mean over prompts, with an interval where each prompt lies in one cluster, so
        that it is drawn whole or not at all. `kind` and `limits` as for `jackknife`."""
        result, prompts = by_prompt.mean, self.prompts
        if prompts is not None:
            result = mean_over_prompts(
                by_prompt, prompts, self.prompt_kind, kind=kind, limits=limits
            )
            if len(set(zip(prompts, self.clusters, strict=True))) == len(set(prompts)):
                return result
            # A mean over dimensions, of items without prompts.
            result = result.without_interval()
        if result.reason is not None or not self.options.intervals:
            return result
        return replace(result, ci=Interval(reason=Reason.NO_RANKINGS_BY_PROMPT))

    def counted(self, value: float, otherwise: Reason = Reason.UNDEFINED_ESTIMATE) -> Statistic:
        """Return a value, undefined for this reason where it is NaN, with the numbers of rated
        items and of raters."""
        n_items = int(has_ratings(self.ratings).sum())
        return Statistic.of(value, n_items, count_raters(self.ratings), otherwise)


agreement_statistics: Registry[AgreementBlock] = Registry(
    "persona_panel.statistics.registered", FURTHER_AGREEMENT
)
"""The statistics of `agree`. Those here a run's answers need, too, and so load no others."""


@agreement_statistics.register(
    "krippendorff_alpha", "Krippendorff\nα", table=AGREEMENT, levels=ANY_LEVEL,
    of=OF_SCORES, summary="Krippendorff α", order=10,
)  # fmt: skip
def alpha_of_all(block: AgreementBlock) -> Iterator[Statistic]:
    few = not block.categories and few_off_an_end(block.ratings, block.clusters)
    caution = FEW_OFF_AN_END if few else ""
    alpha = krippendorff_alpha(block.ratings, block.level)
    yield replace(alpha, note="; ".join(filter(None, (block.level, caution))), caution=caution)


@agreement_statistics.register(
    "icc2k", "ICC(2,k),\nof the mean", table=AGREEMENT, of=OF_SCORES,
    summary="ICC(2,k), of the mean", order=50,
)  # fmt: skip
def two_way_of_the_mean(block: AgreementBlock) -> Iterator[Statistic]:
    """Yield Spearman-Brown's figure from ICC(2,1): undefined where that is not above 0, and never
    below 0."""
    statistic = icc(block.ratings, "icc2k")
    if statistic.reason in (None, Reason.NOT_POSITIVE) and not statistic.value > 0:
        statistic = replace(statistic, value=nan, reason=Reason.NOT_RELIABLE)
    yield replace(statistic, limits=(0, 1))


def agree(
    ratings: Ratings,
    options: AnalysisOptions = DEFAULT_OPTIONS,
    by: Breakdown | Strata = "dimension",
    on_step: OnStep | None = None,
    only: Collection[str] | None = None,
    group: str | None = None,
) -> list[Row]:
    """Return every agreement statistic of each group of raters, and of all groups where there are
    several.

    By `dimension` there are rows for each dimension and, before them, for the `composite`. By
    `group` dimensions are put together, an item's rating on each as an item of its own. By anything
    else there are rows for each stratum and dimension, which the rows' `by` and `by_value` name:
    `source` and `prompt` are of items; `persona` and `model` of raters, all of a stratum being one
    group, `all`; any other by `Strata`. Categories are nominal, and left out by `group`.

    Intervals are over prompts, or items where there are none, and over raters where
    `options.random` says so. p-values are those of permutation tests, adjusted by Holm over
    dimensions, and over strata where there are any; those of the composite are a family of their
    own. `on_step` is called with the share that is done; `only` names the statistics to compute,
    `group` the only group of raters.
    """
    strata = _strata(ratings, by)
    parts = _parts(ratings, strata, options, together=by == "group")
    kept = [part for part in parts if group in (None, part[2])]
    return stratum_rows(agreement_statistics, kept, strata, on_step, only)


def agreement_differences(
    ratings: Ratings,
    by: Literal["dimension", "source", "prompt", "persona", "model"] | Strata,
    options: AnalysisOptions = DEFAULT_OPTIONS,
) -> list[Row]:
    """Test whether raters agree more in one stratum, or on one dimension, than on the others:
    rows of all raters together; see `persona_panel.statistics.strata`."""
    strata = _strata(ratings, by)
    parts = _parts(ratings, strata, without_permutations(options))
    return difference_rows(agreement_statistics, parts, ratings, strata)


def _strata(ratings: Ratings, by: Breakdown | Strata) -> Strata | None:
    if isinstance(by, Strata):
        return by
    check_choice("by", by, Breakdown)
    return None if by in ("dimension", "group") else Strata.named(ratings, by)


def _parts(
    ratings: Ratings, strata: Strata | None, options: AnalysisOptions, *, together: bool = False
) -> list[StratumPart[AgreementBlock]]:
    """Return the blocks of the composite, if any, then of each dimension or of all `together`."""

    def blocks(own: Ratings) -> Iterator[tuple[AgreementBlock, str, str]]:
        of_raters = strata is not None and strata.of == "raters"
        groups = {ALL: all_raters_of(own)[1]} if of_raters else own.raters_by_group()
        for group, raters in groups.items():
            yield from _blocks(own, group, raters, options, together=together)

    composite = None if together or options.level == "nominal" else on_composite(ratings)
    of_composite = [
        (stratum, replace(block, of="composite"), group, dimension)
        for own in composite or ()
        for stratum, block, group, dimension in parts_of(own, strata, blocks)
    ]
    return [*of_composite, *parts_of(ratings, strata, blocks)]


def _blocks(
    ratings: Ratings,
    group: str,
    raters: list[int],
    options: AnalysisOptions,
    *,
    together: bool = False,
) -> Iterator[tuple[AgreementBlock, str, str]]:
    """Yield the block to measure of each dimension, or of all `together`."""
    if together:
        ratings = ratings.comparable_dimensions()
    # Raters of several models differ by their models, too.
    controls = ratings.controls_of(group) if group in ratings.groups else []
    scores, others = (ratings.scores[:, columns] for columns in (raters, controls))
    groups = tuple(ratings.groups[rater] for rater in raters)
    nothing = np.empty((0, 0))
    common = AgreementBlock(
        ratings=nothing, sign=ratings.sign, controls=nothing, options=options,
        prompts=list(ratings.prompts) if ratings.prompts else None,
        clusters=list(ratings.prompts or ratings.items),
        raters=tuple(ratings.raters[rater] for rater in raters),
        groups=groups if len(set(groups)) > 1 else (), judge_factors=ratings.judge_factors(raters),
        judge_facets=ratings.judge_facets(raters),
    )  # fmt: skip
    if together:
        scales = {ratings.scales.get(dimension) for dimension in ratings.dimensions}
        common = replace(common, scale=scales.pop() if len(scales) == 1 else None)
        yield _all_dimensions(common, scores, others, ratings.dimensions), group, ALL
        return
    for place, dimension in enumerate(ratings.dimensions):
        categories = ratings.categories.get(dimension, ())
        block = replace(
            common,
            ratings=scores[:, :, place],
            controls=others[:, :, place],
            categories=categories,
            scale=(0.0, len(categories) - 1.0) if categories else ratings.scales.get(dimension),
        )
        yield block, group, dimension


def _all_dimensions(
    common: AgreementBlock, scores: Array, others: Array, dimensions: Sequence[str]
) -> AgreementBlock:
    n_items = len(scores)
    stacked = (
        side.transpose(2, 0, 1).reshape(n_items * len(dimensions), side.shape[1])
        for side in (scores, others)
    )
    within: list[Hashable] = [
        (dimension, common.prompts[item] if common.prompts else None)
        for dimension in dimensions
        for item in range(n_items)
    ]
    ratings, controls = stacked
    return replace(
        common,
        ratings=ratings,
        controls=controls,
        prompts=within,
        clusters=common.clusters * len(dimensions),
        prompt_kind="prompts on a dimension" if common.prompts else "dimensions",
    )


FURTHER_QUALITY = StatisticTable("Further figures of panel quality", all_raters_only=True)

panel_quality_statistics: Registry[AgreementBlock] = Registry(
    "persona_panel.statistics.registered", FURTHER_QUALITY
)
"""The statistics of `panel_quality`, which `agree` shows below its own."""


def panel_quality(
    ratings: Ratings,
    options: AnalysisOptions = DEFAULT_OPTIONS,
    on_step: OnStep | None = None,
    only: Collection[str] | None = None,
) -> list[Row]:
    """Return the quality of each group of raters as a panel, and of all groups.

    On each dimension with numbers: `reliability` of the mean of 1, 2, 4, … judges (Spearman-Brown
    from ICC(2,1)), where personas and models are not crossed; `variance_share` of each component;
    `alpha_without` each judge; `smallest_subset`, the judges whose ranking keeps τ_b ≥ 0.95 to the
    panel's on held-out items. The rows' `by` and `by_value` say of which number, component or judge
    a row is. `on_step` and `only` as for `agree`.
    """
    ratings = ratings.numeric()
    # The figures that have an interval sample the judges themselves.
    blocks = [
        (replace(block, judge_factors={}), group, dimension)
        for group, raters in ratings.raters_by_group().items()
        for block, _, dimension in _blocks(ratings, group, raters, options)
    ]
    rows_of_blocks = panel_quality_statistics.rows_of_all(blocks, on_step, only)
    return [row for rows in rows_of_blocks for row in rows]
