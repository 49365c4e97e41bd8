"""What a comparison of runs has found, frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from persona_panel.analyses.comparison.matching import WhatDiffers
from persona_panel.statistics.core.arrays import Random, Reason
from persona_panel.statistics.core.levels import Tested
from persona_panel.statistics.core.table import RatingsOrigin
from persona_panel.statistics.paired import BestOfPrompts, NearerToPeople, PairedFigure


@dataclass(frozen=True, slots=True)
class RunDifference:
    """The difference of run b above run a on a dimension, or for a system.

    Attributes:
        a, b: the runs.
        dimension: `composite` for the whole; the share of a category is `dimension:category`.
        system: of which system alone (of two names, both); None of all that are compared.
        stratum: in which stratum alone; None of all.
        difference: b − a: the mean over prompts.
        ci_low, ci_high: its own 95 % interval, NaN where `reason` says why.
        p, p_adjusted: two-sided; by Holm over all dimensions and runs, composites as a family
            of their own, of a system or stratum over all systems or strata and runs.
        effect_size: the difference over the standard deviation of the prompts' differences.
        n_prompts, n_pairs: how many entered.
        a_mean, b_mean: either side's mean over prompts, by what both have.
        wins, ties, losses: in how many pairs b is above, level with and below a.
    """

    a: str
    b: str
    dimension: str
    difference: float
    ci_low: float
    ci_high: float
    p: float
    p_adjusted: float
    effect_size: float
    n_prompts: int
    n_pairs: int
    a_mean: float
    b_mean: float
    wins: int
    ties: int
    losses: int
    system: str | None
    reason: Reason | None
    stratum: str | None = None


@dataclass(frozen=True, slots=True)
class StratumApart(Tested):
    """The excess of b − a in a stratum over its mean in the others; of two strata, the first's.

    Attributes:
        ci_low, ci_high, p: over prompts, with these judges as they are.
        p_adjusted: by Holm over all strata and runs.
        reason: why it is not compared; it and the p-values are NaN then.
    """

    a: str
    b: str
    by: str
    stratum: str
    difference: float
    ci_low: float
    ci_high: float
    p: float
    p_adjusted: float
    n_prompts: int
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class ChangedResponse:
    """A pair whose composites differ: to which prompt, by which system, the responses' ids in each
    run, either score and b − a."""

    prompt_id: str
    prompt: str
    system: str
    a_ids: tuple[str, ...]
    b_ids: tuple[str, ...]
    a: float
    b: float
    difference: float


@dataclass(frozen=True, slots=True)
class PanelsAlike:
    """The likeness of two panels that rate the same texts on a dimension: Kendall's τ_b within
    prompts and over all responses, Krippendorff's α (interval), and whose response is best."""

    dimension: str
    tau_within: PairedFigure
    tau: PairedFigure
    alpha: PairedFigure
    best: BestOfPrompts


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """A run that is compared with the first.

    Attributes:
        a, b: what they are called.
        compared: what differs: `texts`, rated by the same panel, or `panels`, on the same texts.
        panel: in what the panels differ.
        notes: what does not match, and was left out.
        n_judges: in each run, those that are compared.
        differences: by dimension, the composite first.
        systems: of each system the composite's difference, where there are several.
        risen, fallen: the pairs whose composite is most above and below in b, the largest first.
        alike: of two panels, by dimension, the composite first.
        people: by dimension, which panel is nearer to people; empty without their ratings.
        strata: of each stratum the composite's difference (or the dimension's), where they were
            asked for; `apart`: whether they differ.
    """

    a: str
    b: str
    compared: WhatDiffers
    panel: tuple[str, ...]
    notes: tuple[str, ...]
    n_judges: tuple[int, int]
    differences: tuple[RunDifference, ...]
    systems: tuple[RunDifference, ...]
    risen: tuple[ChangedResponse, ...]
    fallen: tuple[ChangedResponse, ...]
    alike: tuple[PanelsAlike, ...]
    people: tuple[tuple[str, NearerToPeople], ...]
    strata: tuple[RunDifference, ...] = ()
    apart: tuple[StratumApart, ...] = ()


@dataclass(frozen=True, slots=True)
class RunComparison:
    """A comparison of runs with the first of them.

    Attributes:
        runs: what they are called, the first first.
        compared: each of the others with the first.
        random: what intervals take as a sample.
        by: what strata are; None where none were asked for.
        conclusion: what is established, what is not, and what would settle it.
        epsilon: by how much a person may be ahead of a panel that wins; None without winning rates.
        labels: of dimensions, and of the shares of categories, by their ids.
        people: how people's ratings were read, and how many of their items the first two runs have.
    """

    runs: tuple[str, ...]
    compared: tuple[ComparedRuns, ...]
    random: Random
    conclusion: tuple[str, ...]
    by: str | None = None
    epsilon: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    people: RatingsOrigin | None = None

    @property
    def rows(self) -> tuple[RunDifference, ...]:
        """Return the differences of all runs, those of a run together, the composite first."""
        return tuple(row for item in self.compared for row in item.differences)
