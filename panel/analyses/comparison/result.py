"""The records of a comparison of runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from persona_panel.analyses.comparison.matching import WhatDiffers
from persona_panel.results.answer import RunAnswer
from persona_panel.statistics.core.arrays import Random
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.core.table import RatingsOrigin
from persona_panel.statistics.paired import (
    BestOfPrompts,
    NearerToPeople,
    PairedDifference,
    PairedFigure,
)


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
    """A run `b` that is compared with the first, `a`.

    Attributes:
        compared: what differs: `texts`, rated by the same panel, or `panels`, on the same texts.
        differences: b − a by dimension, the composite first; the share of a category is called
            `dimension:category`. p is adjusted by Holm over all dimensions and runs, composites as
            a family of their own.
        panel: in what the panels differ.
        notes: what does not match, and was left out.
        n_judges, n_shared: how many judges of each run are compared, and how many are in both.
        systems: of each of several systems (of two names, both) the composite's difference; p
            adjusted over all systems and runs.
        risen, fallen: the pairs whose composite is most above and below in b, the largest first.
        alike: of two panels, by dimension, the composite first.
        people: by dimension, which panel is closer to people; empty without their ratings.
        strata: of each stratum its dimension, or `composite`, and the difference on it; p adjusted
            over all strata and runs.
        apart: of each stratum, side `a`, the excess of b − a over its mean in the others; of two
            strata, the first's. Over prompts, judges fixed; p adjusted likewise.
        missing: of each run, how many judgments are missing, and of how many.
        one_model: whether all judges of both are of one model.
        repeated: the dimensions that the composite is, whose test is the composite's.
        units: by dimension, what follows a number in the unit of its scores: nothing where these
            are shares, points where it is not said.
        is_ranking: whether ratings are shares of preferences among the responses to a prompt.
    """

    a: str
    b: str
    compared: WhatDiffers
    differences: Mapping[str, PairedDifference]
    panel: Sequence[str] = ()
    notes: Sequence[str] = ()
    n_judges: tuple[int, int] = (0, 0)
    n_shared: int = 0
    systems: Mapping[str, PairedDifference] = field(default_factory=dict)
    risen: Sequence[ChangedResponse] = ()
    fallen: Sequence[ChangedResponse] = ()
    alike: Sequence[PanelsAlike] = ()
    people: Mapping[str, NearerToPeople] = field(default_factory=dict)
    strata: Sequence[tuple[str, str, PairedDifference]] = ()
    apart: Sequence[Difference] = ()
    missing: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    one_model: bool = False
    repeated: Collection[str] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    is_ranking: bool = False

    def unit(self, name: str) -> str:
        """Return the words that follow a number in the unit of a dimension's scores."""
        return self.units.get(name, " points")

    def labelled(self, called: Callable[[str], str]) -> ComparedRuns:
        """Return the same with dimensions by their labels, as the conclusion has them."""
        return replace(
            self,
            differences={called(name): each for name, each in self.differences.items()},
            people={called(name): each for name, each in self.people.items()},
            repeated=frozenset(map(called, self.repeated)),
            units={called(name): unit for name, unit in self.units.items()},
        )


@dataclass(frozen=True, slots=True)
class RunComparison:
    """A comparison of `runs` with the first of them.

    Attributes:
        compared: each of the others with the first.
        random: what intervals take as a sample.
        by: what strata are; None where none were asked for.
        conclusion: what is significant, what is not, and what would settle it.
        epsilon: by how much a person may be ahead of a panel that wins; None without winning rates.
        labels: of dimensions, and of the shares of categories, by their ids.
        people: how people's ratings were read, and how many of their items the first two runs have.
        personas: whether personas add anything, where judges without a persona are compared.
    """

    runs: tuple[str, ...]
    compared: tuple[ComparedRuns, ...]
    random: Random
    conclusion: tuple[str, ...]
    by: str | None = None
    epsilon: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    people: RatingsOrigin | None = None
    personas: RunAnswer | None = None
