"""Systems' means and differences by a panel, corrected by people's ratings of a part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import inf, nan
from typing import cast

import numpy as np

from persona_panel.statistics.core.arrays import Array, Mask, row_means, rows_of
from persona_panel.statistics.core.composite import on_composite
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.statistics.core.frames import FrameColumn, FrameMethod, field_columns
from persona_panel.statistics.core.holm import holm_of_two
from persona_panel.statistics.core.names import ALL, COMPOSITE
from persona_panel.statistics.core.table import Ratings
from persona_panel.statistics.humans.prediction_powered import (
    CorrectedMean,
    corrected_difference,
    corrected_mean,
)


@dataclass(frozen=True, slots=True)
class CorrectedSystem:
    """A system's mean on a dimension, or on `composite`; of labels, the share of one of them, and
    the dimension is `dimension:label`."""

    system: str
    dimension: str
    found: CorrectedMean


@dataclass(frozen=True, slots=True)
class CorrectedPair:
    """The mean of system a less that of b on a dimension; its p is adjusted by Holm, of the
    composite over its pairs alone, else over all pairs and dimensions. Where it `is_share`, means
    are shares of a label, of which more is not better."""

    dimension: str
    found: CorrectedMean
    is_share: bool = False

    @property
    def corrected(self) -> Difference:
        """The corrected difference, with the names of its sides."""
        return cast(Difference, self.found.corrected)


def system_columns(found: Calibration) -> list[FrameColumn]:
    """A data frame with one row for each system and dimension.

    Columns: `system`, `dimension`, `panel`, `human_only`, `human_ci_low`, `human_ci_high`,
    `corrected`, `ci_low`, `ci_high`, `lambda`, `n_human`, `n_items`, `notes`.
    """
    means = [one.found for one in found.systems]

    def estimates(name: str, ends: str) -> Iterator[FrameColumn]:
        those: list[Estimate] = [getattr(one, name) for one in means]
        yield FrameColumn(name, "number", [one.value for one in those])
        yield FrameColumn(f"{ends}_low", "number", [one.low for one in those])
        yield FrameColumn(f"{ends}_high", "number", [one.high for one in those])

    return [
        *field_columns(found.systems, "text", "system", "dimension"),
        *field_columns(means, "number", "panel"),
        *estimates("human_only", "human_ci"),
        *estimates("corrected", "ci"),
        FrameColumn("lambda", "number", [one.tuning for one in means]),
        *field_columns(means, "whole", "n_human", "n_items"),
        FrameColumn("notes", "text", ["; ".join(one.notes) for one in means]),
    ]


@dataclass(frozen=True, slots=True)
class Calibration:
    """What `calibrate` found: systems and every pair of them on the composite, where there is one,
    then by dimension.

    Attributes:
        weighted: whether items count by given probabilities of being asked for.
        n_people: how many people rated something that the panel scored.
        leads: the differences that the panel itself has established, the better system first;
            `calibrate` knows none.
        leads_on: the dimension that these are on: of a panel whose composite is the share of a
            label, that share.
        labels: of dimensions, what people read in place of their names, as far as the panel's
            ratings have them.
    """

    systems: tuple[CorrectedSystem, ...]
    pairs: tuple[CorrectedPair, ...]
    weighted: bool = False
    n_people: int = 0
    leads: tuple[tuple[str, str], ...] = ()
    leads_on: str = COMPOSITE
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Return whether people rated everything that the panel scored: there is nothing to
        correct."""
        return all(one.found.n_human == one.found.n_items for one in self.systems)

    to_frame = FrameMethod(system_columns)
    """See `persona_panel.statistics.humans.calibration.system_columns`."""

    def labelled(self, called: Callable[[str], str]) -> Calibration:
        """Return the same with what dimensions are called in place of their names."""
        return replace(
            self,
            systems=tuple(replace(one, dimension=called(one.dimension)) for one in self.systems),
            pairs=tuple(replace(one, dimension=called(one.dimension)) for one in self.pairs),
            leads_on=called(self.leads_on),
            labels={},
        )


def calibrate(
    panel: Ratings,
    humans: Ratings,
    *,
    inclusion: Mapping[str, float] | None = None,
    confidence: float = 0.95,
) -> Calibration:
    """The mean of each system by people, estimated from a panel's scores of everything and people's
    ratings of a part, and the differences between systems.

    Systems are the panel's sources (`all` together, where it names none), and intervals over its
    prompts (items, where it names none). A panel's score of an item is the mean of its judges,
    those without a persona left out, people's the mean of those who rated it. Of categories, each
    one's share is estimated. Where the scale of people's ratings is known, or they are labels,
    nothing lies outside its ends.

    Where the panel's composite is the mean of several dimensions and people rated each of them, it
    comes first, as the dimension `composite`: the primary result, whose p-values are a family
    beside those of the dimensions (`holm_of_two`). There is none where dimensions are known to be
    on different scales, or the rubric has another rule. A rater who left one of its dimensions out
    of an item has no composite of it.

    Args:
        panel, humans: under the same names, as `load_aligned_ratings` gives them; the part that
            people rated is to be a random one, or drawn by `inclusion`.
        inclusion: by item, with which probability people were asked for it; all the same if None.

    Raises:
        ValueError: no dimension or item that both have, or one of them has ranks, whose means say
            nothing of a system.

    >>> names = tuple(f"i{n}" for n in range(12))
    >>> given = np.array([3.0, 5, 4, 6, 2, 5, 4, 3, 5, 6, 2, 4])[:, None, None]
    >>> panel = Ratings(given, names, ("judge",), ("all",), ("all",))
    >>> said = np.array([2.0, 4, 4, 5, 1, 3, 3, 3, 4])[:, None, None]
    >>> people = Ratings(said, names[:9], ("ada",), ("all",), ("all",))
    >>> [one] = calibrate(panel, people).systems
    >>> means = one.found.panel, one.found.human_only.value, one.found.corrected.value
    >>> [round(mean, 2) for mean in means]
    [4.08, 3.22, 3.2]
    """
    if panel.lower_is_better or humans.lower_is_better:
        raise ValueError("means of ranks say nothing of a system; scores or labels are needed")
    if not set(panel.items) & set(humans.items):
        raise ValueError("panel and people share no item")
    dimensions = [name for name in panel.dimensions if name in humans.dimensions]
    if not dimensions:
        raise ValueError("panel and people share no dimension")
    chance = (
        np.ones(len(panel.items))
        if inclusion is None
        else np.array([inclusion.get(name, 1.0) for name in panel.items])
    )
    sources = panel.sources or (ALL,) * len(panel.items)
    prompts = panel.prompts or panel.items
    of_system = {
        name: np.array([source == name for source in sources]) for name in dict.fromkeys(sources)
    }
    systems: list[CorrectedSystem] = []
    pairs: list[CorrectedPair] = []
    for dimension, ours, theirs, limits in _scores(panel, humans, dimensions):
        sides = {name: (ours[of], theirs[of], _kept(prompts, of)) for name, of in of_system.items()}
        systems += [
            CorrectedSystem(
                name,
                dimension,
                corrected_mean(
                    *side,
                    inclusion=chance[of_system[name]],
                    limits=limits,
                    confidence=confidence,
                ),
            )
            for name, side in sides.items()
        ]
        for (a, first), (b, second) in combinations(sides.items(), 2):
            found = corrected_difference(
                first,
                second,
                inclusion=(chance[of_system[a]], chance[of_system[b]]),
                limits=limits,
                confidence=confidence,
            )
            is_share = dimension not in (COMPOSITE, *panel.dimensions)
            corrected = replace(cast(Difference, found.corrected), a=a, b=b)
            pairs.append(CorrectedPair(dimension, replace(found, corrected=corrected), is_share))
    n_primary = sum(one.dimension == COMPOSITE for one in pairs)
    p_values = [one.corrected.p for one in pairs]
    adjusted = np.concatenate(holm_of_two(p_values[:n_primary], p_values[n_primary:])).tolist()
    over = "items" if panel.prompts is None else "prompts"
    return Calibration(
        tuple(replace(one, found=_over(one.found, over)) for one in systems),
        tuple(
            replace(one, found=_over(one.found, over, p))
            for one, p in zip(pairs, adjusted, strict=True)
        ),
        weighted=inclusion is not None,
        n_people=humans.n_raters_of(panel),
        labels=_labels(panel),
    )


def _over(found: CorrectedMean, over: str, p_adjusted: float = nan) -> CorrectedMean:
    """The same with what its intervals take as a sample, and the adjusted p-value."""
    return replace(
        found,
        human_only=replace(found.human_only, over=over),
        corrected=replace(found.corrected, over=over, p_adjusted=p_adjusted),
    )


def _labels(panel: Ratings) -> dict[str, str]:
    """Of dimensions, and of the categories' shares."""
    shares = {
        f"{name}:{one}": f"{label}: {one}"
        for name, label in panel.labels.items()
        for one in panel.categories.get(name, ())
    }
    return {**panel.labels, **shares}


def _scores(
    panel: Ratings, humans: Ratings, dimensions: list[str]
) -> Iterator[tuple[str, Array, Array, tuple[float, float]]]:
    """Of the composite, each dimension, or label, the panel's and people's mean of each of the
    panel's items, and between which values people's lie."""
    if (sides := on_composite(panel, humans)) is not None:
        our_own, their_own = sides
        yield from _scores(our_own, their_own, [COMPOSITE])
    judges = [column for column, name in enumerate(panel.raters) if name not in panel.controls]
    for dimension in dimensions:
        ours = panel.scores[:, judges, panel.dimensions.index(dimension)]
        rated = humans.scores[:, :, humans.dimensions.index(dimension)]
        theirs = rows_of(rated, humans.items, panel.items)
        labels = panel.categories.get(dimension)
        if labels is None:
            limits = _limits(panel, humans, dimension)
            yield dimension, row_means(ours), row_means(theirs), limits
            continue
        for code, label in enumerate(labels):
            shares = [
                row_means(np.where(np.isnan(side), np.nan, side == code)) for side in (ours, theirs)
            ]
            yield f"{dimension}:{label}", shares[0], shares[1], (0.0, 1.0)


def _limits(panel: Ratings, humans: Ratings, dimension: str) -> tuple[float, float]:
    """Between which people's ratings lie: the ends of their scale or, where that is not known, of
    the panel's if all of theirs lie on it."""
    nowhere = (-inf, inf)
    low, high = humans.scales.get(dimension) or panel.scales.get(dimension, nowhere)
    rated = humans.scores[:, :, humans.dimensions.index(dimension)]
    return nowhere if ((rated < low) | (rated > high)).any() else (low, high)


def _kept(labels: tuple[str, ...], of: Mask) -> list[str]:
    return [label for label, one in zip(labels, of, strict=True) if one]
