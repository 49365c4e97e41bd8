"""The many-facet Rasch and the ordinal mixed model of ratings that neither assumes.

Judges cut what they read of a text, a latent trait, at thresholds. In `heavy` worlds the traits of
texts and what judges read of them have the tails of Student's t of 3 degrees of freedom; in
`unequal`, each judge has thresholds of his own; in `favours`, too, each favours systems (SD 0.5).
The difference that an interval is to hold is that to which the same model comes on many prompts
read by the same judges in the same design; tied systems differ for no panel of judges, who are
pairs with exchanged favours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.independent import Row
from benchmarks.independent.judges import Reads, complete, rotated
from persona_panel.statistics.core.ranking import winner_among
from persona_panel.statistics.core.table import Ratings
from persona_panel.statistics.ordinal import OrdinalMixedModel, ordinal_mixed_model
from persona_panel.statistics.rasch import ManyFacetRasch, RaschError, many_facet_rasch

Model = Callable[[Ratings], ManyFacetRasch | OrdinalMixedModel]
WORLDS = "heavy", "unequal", "favours"
THRESHOLDS = (-2.0, -0.7, 0.5, 1.8)
LEAD, TIED = (0.8, 0.0, 0.0, 0.0), (0.0, 0.0, -3.0, -3.0)
_MANY = 300, 4
"""Prompts of a table, and tables, from which the value is taken that intervals are to hold."""


@dataclass(frozen=True)
class Panel:
    """Judges: their severity `(judges,)`, thresholds `(judges, thresholds)` and favour of each
    system `(systems, judges)`."""

    severity: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    favours: NDArray[np.float64]

    @classmethod
    def drawn(cls, rng: np.random.Generator, world: str, n_systems: int, n: int) -> Panel:
        """Draw an even number of judges, every two of whom exchange their favours of a system and
        the next."""
        n_pairs = n // 2
        severity = rng.normal(size=n_pairs)
        width = np.exp(0.3 * rng.normal(size=(n_pairs, 1)))
        moved = np.sort(THRESHOLDS + 0.4 * rng.normal(size=(n_pairs, 4)), axis=1) * width
        thresholds = np.broadcast_to(THRESHOLDS, moved.shape) if world == "heavy" else moved
        favours = 0.5 * (world == "favours") * rng.normal(size=(n_systems, n_pairs))
        exchanged = favours[np.arange(n_systems) ^ 1]
        own = np.stack([favours, exchanged], axis=2).reshape(n_systems, n)
        return cls(np.repeat(severity, 2), np.repeat(thresholds, 2, axis=0), own)

    def ratings(
        self, rng: np.random.Generator, systems: tuple[float, ...], prompts: int
    ) -> NDArray[np.float64]:
        """Draw ratings 1 to 5 `(prompts, systems, judges)`."""
        shape = prompts, len(systems), len(self.severity)
        texts = np.array(systems) + 0.5 * rng.standard_t(3, size=shape[:2])
        texts += rng.normal(size=(prompts, 1))
        read = texts[:, :, None] - self.severity + self.favours + rng.standard_t(3, size=shape)
        return 1.0 + (read[..., None] > self.thresholds).sum(axis=-1)


def table_of(ratings: NDArray[np.float64]) -> Ratings:
    """Return ratings `(prompts, systems, judges)` as a table."""
    prompts, systems, judges = ratings.shape
    cells = [(p, s) for p in range(prompts) for s in range(systems)]
    names = tuple(f"j{n}" for n in range(judges))
    return Ratings(
        ratings.reshape(-1, judges, 1), tuple(f"{p}/{s}" for p, s in cells), names, ("all",),
        names, tuple(f"p{p}" for p, _ in cells), tuple(f"s{s}" for _, s in cells),
    )  # fmt: skip


def values_of(found: ManyFacetRasch | OrdinalMixedModel) -> dict[str, float]:
    """Return the location of each system and, of the Rasch model, of each judge."""
    if isinstance(found, OrdinalMixedModel):
        return {each.name: each.measure.value for each in found.systems}
    facets = (found.measured, found.facets["judge"])
    return {each.name: each.measure.value for facet in facets for each in facet.elements}


class Counts(NamedTuple):
    """Shares: of intervals that hold the difference of two systems, and the severity of a judge
    (NaN of the ordinal model); of tables in which a system is rightly and falsely the best, and
    rightly by paired t-tests of the means of all ratings, none missing. A table that the model
    refuses has no interval and no claim."""

    systems: float
    judges: float
    named: float
    false: float
    by_t: float


def counted(
    model: Model, world: str, systems: tuple[float, ...], prompts: int, judges: int, reads: Reads,
    tables: int, panels: int = 10,
) -> Counts:  # fmt: skip
    """Return what is counted in so many tables, of so many panels of judges."""
    rng = np.random.default_rng([0, prompts, judges, len(world), len(reads.__name__)])
    of_systems, of_judges, claims = list[bool](), list[bool](), np.zeros(3)

    def drawn(panel: Panel, n: int) -> tuple[NDArray[np.float64], Ratings]:
        ratings = panel.ratings(rng, systems, n)
        return ratings, table_of(np.where(reads(rng, ratings), ratings, np.nan))

    for _ in range(panels):
        panel = Panel.drawn(rng, world, len(systems), judges)
        many = [values_of(model(drawn(panel, _MANY[0])[1])) for _ in range(_MANY[1])]
        truth = {name: float(np.mean([own[name] for own in many])) for name in many[0]}
        if systems[0] == systems[1]:
            truth["s0"] = truth["s1"] = (truth["s0"] + truth["s1"]) / 2
        for _ in range(tables // panels):
            ratings, table = drawn(panel, prompts)
            means = ratings.mean(axis=2)
            gaps = means[:, :1] - means[:, 1:]
            by_t = (stats.ttest_1samp(gaps, 0).pvalue < 0.05) & (gaps.mean(axis=0) > 0)
            claims[2] += by_t.all()
            try:
                found = model(table)
            except RaschError:
                continue
            of_systems += [
                each.low <= truth[each.a] - truth[each.b] <= each.high
                for each in found.differences
                if each.has_interval
            ]
            if isinstance(found, ManyFacetRasch):
                of_judges += [
                    each.measure.low <= truth[each.name] <= each.measure.high
                    for each in found.facets["judge"].elements
                ]
            order = [name for name in values_of(found) if name.startswith("s")]
            if (winner := winner_among(order, found.differences)) is not None:
                right = systems[int(winner.system[1:])] > sorted(systems)[-2]
                claims[:2] += right, not right
    shares = [np.mean(own) if own else np.nan for own in (of_systems, of_judges)]
    return Counts(*map(float, (*shares, *claims / (panels * (tables // panels)))))


SIZES = ((12, 4), (24, 6))
"""Numbers of prompts and judges."""


def rows(tables: int) -> Iterator[Row]:
    """Yield the coverage of intervals, and how often a system is falsely and rightly the best."""
    models: dict[str, Model] = {"Rasch": many_facet_rasch, "ordinal": ordinal_mixed_model}
    cases = [(world, size) for world in WORLDS for size in SIZES]
    for name, model in models.items():
        held, powers = dict[tuple[float, ...], list[Counts]](), list[Row]()
        for reads in (complete, rotated):
            of = {
                systems: [counted(model, world, systems, *size, reads, tables)
                          for world, size in cases]
                for systems in (LEAD, TIED)
            }  # fmt: skip
            false = tuple(own.false for own in of[TIED])
            power = tuple((own.named, own.by_t) for own in of[LEAD])
            powers.append(Row(f"{name}: the best", reads.__name__, false, tables, power))
            for systems, own in of.items():
                held.setdefault(systems, []).extend(own)
        for systems, where in ((LEAD, "traits"), (TIED, "two beyond the thresholds")):
            shares = tuple(own.systems for own in held[systems])
            yield Row(f"{name}: difference of systems", where, shares, tables)
        if model is many_facet_rasch:
            shares = tuple(own.judges for each in held.values() for own in each)
            yield Row(f"{name}: severity of a judge", "traits", shares, tables)
        yield from powers
