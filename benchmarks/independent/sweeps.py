"""How often a sweep claims a change where framing has no effect, and how often it finds one.

Δs are drawn from latent qualities of responses, with and without framing, that judges rate. The
product's claims (`measure`) stand beside tests that are taken from SciPy: Student's of paired
values and Wilcoxon's signed ranks, each adjusted by Holm over all cells. A claim is false where a
cell's mean Δ is in truth 0, or has the other sign.

    python -m benchmarks.independent.sweeps [error] [power] [--sweeps 1000] [--data PATH]

`error`: nothing has an effect; the share of sweeps with a claim. With `--data`, the folder of the
public ratings, also of real ratings by people: some raters of a text stand for its baseline, others
for each framing. Where Δs are asymmetric although their mean is 0, framing has an effect; what is
counted there is that the mean is said to be other than 0. `power`: the share of the cells with an
effect that are found.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.independent import Row
from benchmarks.independent.intervals import half_of, rated_items
from persona_panel.experiments.sweep.deltas import Names, measure

Table = NDArray[np.float64]
"""Δs `(prompts, conditions, dimensions)`."""
Found = NDArray[np.int_]
"""For each cell 1 where a fall is claimed, −1 for a rise, 0 for neither."""
LEVEL = 0.05
SIZES = (6, 8, 12, 30, 60)
DESIGNS = ((1, 1), (4, 5))


@dataclass(frozen=True)
class World:
    """Standard deviations are 1 among prompts; a response differs by as much, most of it on all
    dimensions at once. Five judges rate in whole points from 1 to 5 where `ordinal`, around 3 or
    `middle`; else Δs are those of the latent values. Framed responses vary `framed` times as
    much; `tails` are Student's degrees of freedom."""

    tails: float = np.inf
    ordinal: bool = False
    middle: float = 3.0
    framed: float = 1.0

    def scores(self, rng: np.random.Generator, shape: tuple[int, int, int], fall: Table) -> Table:
        prompts, conditions, dimensions = shape
        drawn = rng.normal if np.isinf(self.tails) else lambda size: rng.standard_t(3, size)
        whole = 0.8 * drawn(size=(prompts, 1 + conditions, 1))
        latent = whole + 0.6 * drawn(size=(prompts, 1 + conditions, dimensions))
        latent[:, 1:] *= self.framed
        latent[:, 1:] -= fall
        latent += rng.normal(size=(prompts, 1, 1))
        if not self.ordinal:
            return latent
        severity, noise = rng.normal(0, 0.7, 5), rng.normal(0, 0.8, (*latent.shape, 5))
        rated = np.round(latent[..., None] + severity + noise + self.middle)
        return np.clip(rated, 1, 5).mean(axis=-1)

    def deltas(self, rng: np.random.Generator, shape: tuple[int, int, int], fall: Table) -> Table:
        scores = self.scores(rng, shape, fall + level(self))
        return scores[:, :1] - scores[:, 1:]


@cache
def level(world: World) -> float:
    """The latent fall at which the mean rating is as without framing."""
    low, high = -8.0, 8.0
    for _ in range(20 if world.ordinal and world.framed != 1 else 0):
        middle = (low + high) / 2
        scores = world.scores(np.random.default_rng(0), (50_000, 1, 1), np.full((1, 1), middle))
        below = scores[:, 0].mean() < scores[:, 1].mean()
        low, high = (middle, high) if below else (low, middle)
    return (low + high) / 2


WORLDS = {
    "normal": World(),
    "heavy tails": World(tails=3),
    "framed vary three times as much": World(framed=3),
    "points 1 to 5": World(ordinal=True),
    "points 1 to 5, heavy tails": World(tails=3, ordinal=True),
    "near the top": World(ordinal=True, middle=5.2),
    "near the top, framed vary more": World(ordinal=True, middle=5.2, framed=2),
}


def collapses(rng: np.random.Generator, shape: tuple[int, int, int], depth: float = 5.0) -> Table:
    """One Δ in ten is a large fall; the others rise a little; the mean is 0."""
    return 0.5 * rng.normal(size=shape) + depth * ((rng.random(shape) < 0.1) - 0.1)


def together(rng: np.random.Generator, shape: tuple[int, int, int]) -> Table:
    """One prompt in ten falls far in all cells at once; the mean is 0."""
    fell = rng.random((shape[0], 1, 1)) < 0.1
    return 0.5 * rng.normal(size=shape) + 5.0 * (fell - 0.1)


def skewed(rng: np.random.Generator, shape: tuple[int, int, int]) -> Table:
    return rng.exponential(size=shape) - 1


ASYMMETRIC: dict[str, Callable[[np.random.Generator, tuple[int, int, int]], Table]] = {
    "exponential": skewed,
    "one in ten collapses": collapses,
    "one in ten collapses in all cells": together,
}


def product(delta: Table) -> Found:
    """What a sweep of one system with these Δs claims."""
    names = Names(("s",), *(tuple(map(str, range(n))) for n in delta.shape))
    none = np.zeros((1, *delta.shape[:2]), dtype=np.intp)
    cells = measure(delta[None], names, none, none).cells
    claimed = [int(np.sign(cell.delta.value)) if cell.delta.shown else 0 for cell in cells]
    # Cells are in the order of dimensions, then conditions.
    return np.reshape(claimed, delta.shape[:0:-1]).T


def by_holm(delta: Table, test: Callable[[Table], Any]) -> Found:
    flat = delta.reshape(len(delta), -1)
    with np.errstate(all="ignore"):
        p = np.nan_to_num([float(test(column).pvalue) for column in flat.T], nan=1.0)
    order = np.argsort(p)
    rejected = np.cumprod(p[order] * np.arange(len(p), 0, -1) < LEVEL).astype(bool)
    found = np.zeros(len(p), dtype=int)
    found[order[rejected]] = np.sign(flat.mean(axis=0))[order[rejected]]
    return found.reshape(delta.shape[1:])


def student(delta: Table) -> Found:
    return by_holm(delta, lambda column: stats.ttest_1samp(column, 0))


def signed_ranks(delta: Table) -> Found:
    return by_holm(
        delta, lambda c: stats.wilcoxon(c, method="approx") if c.any() else stats.ttest_1samp(c, 0)
    )


TESTS = {"product": product, "Student": student, "signed ranks": signed_ranks}


def false_claims(draw: Callable[[np.random.Generator], Table], sweeps: int) -> dict[str, float]:
    """The share of sweeps in which some cell is claimed, by test; the mean of all is 0."""
    rng, found = np.random.default_rng(1), dict.fromkeys(TESTS, 0)
    for _ in range(sweeps):
        delta = draw(rng)
        for name, test in TESTS.items():
            found[name] += bool(test(delta).any())
    return {name: n / sweeps for name, n in found.items()}


def detected(
    world: World, shape: tuple[int, int, int], fall: Table, sweeps: int
) -> dict[str, float]:
    """The share of the cells with an effect that are claimed to fall, by test."""
    rng, found = np.random.default_rng(2), dict.fromkeys(TESTS, 0.0)
    for _ in range(sweeps):
        delta = world.deltas(rng, shape, fall)
        for name, test in TESTS.items():
            found[name] += float((test(delta)[fall > 0] > 0).mean())
    return {name: n / sweeps for name, n in found.items()}


def effects(conditions: int, dimensions: int, prompts: int) -> dict[str, Table]:
    """Falls in one cell, in one framing, and in all, of a size that so many prompts may show."""
    size, none = 6.0 / prompts**0.5, np.zeros((conditions, dimensions))
    one, framing = none.copy(), none.copy()
    one[0, 0] = framing[0] = size
    if conditions == 1:
        return {"one cell": one}
    return {"one cell": one, "one framing": framing, "all cells": none + size}


def real(data: Path) -> dict[str, Callable[[np.random.Generator, tuple[int, int, int]], Table]]:
    """Draws of texts that people rated, one dimension: half of a text's raters are its baseline."""
    draws = {}
    for name, _, by_item in rated_items(data):
        own = [np.array(r) for item, r in by_item.items() if half_of(item) == "checking"]
        own = [ratings for ratings in own if len(ratings) >= 4]

        def draw(
            rng: np.random.Generator, shape: tuple[int, int, int], own: list[Table] = own
        ) -> Table:
            deltas = np.empty(shape)
            for row, item in enumerate(rng.integers(len(own), size=len(deltas))):
                mixed = rng.permutation(own[item])
                half = len(mixed) // 2
                framed = rng.choice(mixed[half : 2 * half], size=(half, *shape[1:]))
                deltas[row] = mixed[:half].mean() - framed.mean(axis=0)
            return deltas

        if len(own) > 30:
            draws[f"real: {name}"] = draw
    return draws


def rows(sweeps: int) -> Iterator[Row]:
    """Yield the lines of the table of all simulations: where Δs are symmetric, and where not."""
    shapes = [(prompts, *design) for design in DESIGNS for prompts in (6, 12, 30)]
    errors, powers = [], []
    for shape in shapes:
        for world in WORLDS.values():
            none = np.zeros(shape[1:])
            errors.append(false_claims(partial(world.deltas, shape=shape, fall=none), sweeps))
            for fall in effects(*shape[1:], shape[0]).values():
                own, *others = detected(world, shape, fall, sweeps).values()
                powers.append((own, max(others)))
    yield Row(
        "a cell degrades", "sweeps", tuple(e["product"] for e in errors), sweeps, tuple(powers)
    )
    odd = [false_claims(partial(d, shape=s), sweeps) for d in ASYMMETRIC.values() for s in shapes]
    yield Row('"', "sweeps, asymmetric", tuple(each["product"] for each in odd), sweeps)


def main() -> None:
    """A line for each world, number of prompts and design."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=["error", "power"])
    parser.add_argument("--sweeps", type=int, default=1000)
    parser.add_argument("--prompts", type=int, nargs="+", default=SIZES)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    for part in options.parts:
        print(f"{part:34} prompts cells", *(f"{name:>12}" for name in TESTS))
        for conditions, dimensions in DESIGNS:
            for prompts in options.prompts:
                shape = prompts, conditions, dimensions
                lines: dict[str, dict[str, float]] = {}
                if part == "error":
                    none = np.zeros(shape[1:])
                    draws = {
                        name: partial(world.deltas, shape=shape, fall=none)
                        for name, world in WORLDS.items()
                    }
                    asymmetric = ASYMMETRIC | (real(options.data) if options.data else {})
                    draws |= {name: partial(d, shape=shape) for name, d in asymmetric.items()}
                    for name, draw in draws.items():
                        lines[name] = false_claims(draw, options.sweeps)
                else:
                    for name, world in WORLDS.items():
                        for where, fall in effects(conditions, dimensions, prompts).items():
                            lines[f"{name}: {where}"] = detected(world, shape, fall, options.sweeps)
                for name, found in lines.items():
                    shares = (f"{share:12.3f}" for share in found.values())
                    print(f"{name:34} {prompts:7} {conditions * dimensions:5}", *shares, flush=True)


if __name__ == "__main__":
    main()
