"""How good the raters of each group are as a panel: every registered figure, as rows."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np

from persona_panel.statistics.core.arrays import Array, Labels
from persona_panel.statistics.core.options import DEFAULT_OPTIONS, AnalysisOptions, MeasurementLevel
from persona_panel.statistics.core.registry import BlockOf, OnStep, Registry, StatisticTable
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.core.table import Ratings, Row

MIN_SHARE_RATED = 0.5
"""Judges who rated less than this share of the items cannot stand for each other."""

FURTHER_QUALITY = StatisticTable("Further figures of panel quality", all_raters_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class PanelBlock:
    """One group's ratings of one dimension.

    Attributes:
        ratings: `(items, judges)`, NaN where there is none; ranks where `sign` is −1.
        sign: what ratings are to be multiplied by so that higher is better.
        judges: their names.
        judge_factors: what judges consist of, a label a judge: `rater`, or of a run `persona`
            and `model`.
        sampled: of these factors those by which judges are sampled, where they are.
        prompts: one an item, None where there are none.
        clusters: what intervals are over, a label an item: its prompt, or itself.
    """

    ratings: Array
    sign: int
    judges: tuple[str, ...]
    judge_factors: Mapping[str, Labels]
    prompts: list[Hashable] | None
    clusters: list[Hashable]
    options: AnalysisOptions
    sampled: Mapping[str, Labels] = field(default_factory=dict)
    side: str = "panel"
    of: BlockOf = "dimension"

    def without_judges(self) -> list[list[PanelBlock]]:
        """None: the figures that have an interval see to the judges themselves."""
        return []

    @property
    def level(self) -> MeasurementLevel:
        return self.options.level

    @property
    def has(self) -> Collection[str]:
        return () if self.prompts is None else ("prompts",)

    @property
    def interchangeable(self) -> bool:
        """Return whether any further judge is one more of the same kind: judges differ by one
        factor, and none is a replicate of another."""
        several = [set(labels) for labels in self.judge_factors.values() if len(set(labels)) > 1]
        return len(several) == 1 and len(several[0]) == len(self.judges)

    @property
    def sparse(self) -> bool:
        """Return whether a judge rated too few of the items to stand for the others."""
        rated = np.mean(~np.isnan(self.ratings), axis=0)
        return bool((rated < MIN_SHARE_RATED).any())

    def counted(self, value: float) -> Statistic:
        """A value, with how many items were rated and how many judges rated any."""
        return Statistic(value, *self._counts())

    def undefined(self, reason: Reason) -> Statistic:
        n_items, n_raters = self._counts()
        return Statistic.undefined(reason, n_items=n_items, n_raters=n_raters)

    def _counts(self) -> tuple[int, int]:
        rated = ~np.isnan(self.ratings)
        return int(rated.any(axis=1).sum()), int(rated.any(axis=0).sum())


panel_quality_statistics: Registry[PanelBlock] = Registry(
    "persona_panel.statistics.registered", FURTHER_QUALITY
)
"""What `panel_quality` shows, and `agree` below its own."""


def panel_quality(
    ratings: Ratings,
    options: AnalysisOptions = DEFAULT_OPTIONS,
    on_step: OnStep | None = None,
    only: Collection[str] | None = None,
) -> list[Row]:
    """Return how good each group of raters, and all where there are several, are as a panel.

    On each dimension that is rated by numbers: `reliability` of the mean of 1, 2, 4, … and
    twice as many judges as there are (Spearman-Brown, from ICC(2,1)), or, where judges are
    personas through several models or replicates, `reliability_by_design`, of more and fewer of
    each; `variance_share` of items, judges (of a run: personas and models), their interactions and
    the residual; `alpha_without` each judge;
    `smallest_subset`, the number of judges whose ranking keeps τ_b ≥ 0.95 to the panel's on
    held-out items, and who they are. The rows' `by` and `by_value` say which number of
    judges, design, component or judge a row is of. Judges who did not each rate half of the items
    are not left out one by one, nor chosen from. `on_step` is called with the share that is done.
    `only` names the statistics to compute; by default all are.
    """
    ratings = ratings.numeric()
    blocks: list[tuple[PanelBlock, str, str]] = []
    for group, raters in ratings.raters_by_group().items():
        for place, dimension in enumerate(ratings.dimensions):
            block = PanelBlock(
                ratings.scores[:, raters, place],
                ratings.sign,
                tuple(ratings.raters[rater] for rater in raters),
                ratings.judge_facets(raters),
                list(ratings.prompts) if ratings.prompts else None,
                list(ratings.prompts or ratings.items),
                options,
                ratings.judge_factors(raters),
            )
            blocks.append((block, group, dimension))
    found = panel_quality_statistics.rows_of_all(blocks, on_step, only)
    return [row for rows in found for row in rows]
