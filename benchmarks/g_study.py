"""Whether variance components and what follows from them for other designs are what they should be.

    nice -n 15 python -m benchmarks.g_study                  everything (half an hour)
    python -m benchmarks.g_study reliability --scale 0.1     a tenth of the simulations

Scores are drawn from known variances, of 10 personas through 3 models; `true` is the figure that
follows from these, `found` the mean over simulations with its Monte Carlo standard error.

`components`: with an item variance of 1 and item:model of 1, judges as one factor and as personas
through models; with a fifth of the ratings missing, too. `reliability`: of the mean of all judges
and of twice as many personas on the same models. `width`: the standard error and the width of the
leaderboard's interval that the D-study expects, the spread that means have, and the mean width of
the leaderboard's; how often a difference is detected which the D-study says is in 80 %.
`intervals`: how often the jackknife's 95 % intervals of components hold the true ones: the reason
why none is printed.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from benchmarks.harness import add_parts, simulation_parser
from persona_panel.statistics import Ratings, icc, spearman_brown, variance_components
from persona_panel.statistics.core.arrays import Array, Labels
from persona_panel.statistics.core.jackknife import jackknife
from persona_panel.statistics.core.sampled_mean import influence_of, sampled_mean
from persona_panel.statistics.core.table import kept_without
from persona_panel.statistics.designs import design_studies
from persona_panel.statistics.generalizability import (
    VarianceComponents,
    d_study,
)

PERSONAS, MODELS, ITEMS, SYSTEMS = 10, 3, 40, 4
SIMULATIONS = 1_000
NAMES = ("item", "persona", "model")
SYSTEM_NAMES = ("system", "prompt", "persona", "model")
INTERACTION = {"item": 1.0, "item:model": 1.0, "residual": 1.0}
RELIABILITY = {"item": 1.0, "item:model": 0.3, "item:persona": 0.05, "residual": 0.8}
SYSTEM_VARIANCES = {
    "system": 0.3, "prompt": 0.3, "persona": 0.1, "model": 0.1, "system:prompt": 0.3,
    "system:persona": 0.05, "system:model": 0.1, "prompt:persona": 0.05, "prompt:model": 0.05,
    "system:prompt:model": 0.05, "residual": 0.8,
}  # fmt: skip
EVERY = {
    "item": 1.0, "persona": 0.2, "model": 0.2, "item:persona": 0.2, "item:model": 0.3,
    "persona:model": 0.1, "residual": 0.8,
}  # fmt: skip

GROUPED = {"item": 1.0, "group": 0.3, "item:group": 0.3, "rater": 0.2, "residual": 0.8}
GROUP_SIZE = 4

Line = tuple[str, float, float, float]
"""A figure's name, its true value, the mean of what was found and its Monte Carlo error."""


def drawn(
    rng: np.random.Generator, sizes: Mapping[str, int], variances: Mapping[str, float]
) -> Array:
    """Scores of a complete design `(levels of each factor …)` with these variances."""
    names = list(sizes)
    scores = rng.normal(0, math.sqrt(variances["residual"]), tuple(sizes.values()))
    for effect, variance in variances.items():
        if effect != "residual":
            shape = [sizes[name] if name in effect.split(":") else 1 for name in names]
            scores = scores + rng.normal(0, math.sqrt(variance), shape)
    return scores


def studied(scores: Array, names: tuple[str, ...]) -> VarianceComponents:
    factors: dict[str, Labels] = {
        name: grid.ravel() for name, grid in zip(names, np.indices(scores.shape), strict=True)
    }
    return variance_components(scores.ravel(), factors)


def _items(rng: np.random.Generator, variances: Mapping[str, float], n: int = ITEMS) -> Array:
    return drawn(rng, dict(zip(NAMES, (n, PERSONAS, MODELS), strict=True)), variances)


def _judges_as_one(scores: Array) -> VarianceComponents:
    return studied(scores.reshape(len(scores), -1), ("item", "rater"))


def components(rng: np.random.Generator, n: int) -> Iterator[Line]:
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(n):
        scores = _items(rng, INTERACTION)
        found["item, judges as one factor"].append(_judges_as_one(scores).variances["item"])
        for label in ("complete", "a fifth missing"):
            variances = studied(scores, NAMES).variances
            for name in ("item", "item:persona", "item:model", "model", "residual"):
                found[f"{name}, {label}"].append(variances[name])
            scores = np.where(rng.random(scores.shape) < 0.2, np.nan, scores)
    for label, values in found.items():
        yield _line(label, INTERACTION.get(label.split(",")[0], 0.0), values)


def reliability(rng: np.random.Generator, n: int) -> Iterator[Line]:
    found: dict[str, list[float]] = defaultdict(list)
    designs = {
        "10 personas x 3 models": (10, 3), "20 personas x 3 models": (20, 3),
        "10 personas x 6 models": (10, 6),
    }  # fmt: skip
    for _ in range(n):
        scores = _items(rng, RELIABILITY)
        of_mean = icc(scores.reshape(ITEMS, -1), "icc2k").value
        found["10 personas x 3 models: ICC(2,k)"].append(of_mean)
        twice = float(spearman_brown(of_mean, 2))
        found["20 personas x 3 models: Spearman-Brown"].append(twice)
        parts = studied(scores, NAMES)
        for label, (personas, models) in designs.items():
            figures = d_study(parts, "item", {"persona": personas, "model": models})
            found[f"{label}: D-study"].append(figures.dependability)
    for label, values in found.items():
        yield _line(label, _true_reliability(*designs[label.split(":")[0]]), values)


def _true_reliability(personas: int, models: int) -> float:
    v = RELIABILITY
    error = v["item:model"] / models + v["item:persona"] / personas
    return v["item"] / (v["item"] + error + v["residual"] / personas / models)


def width(rng: np.random.Generator, n: int) -> Iterator[Line]:
    """Systems of equal quality: their true error variances are those of their means about 0 and
    about each other."""
    for prompts, personas, models in ((8, 10, 3), (30, 10, 3), (30, 5, 6), (12, 5, 1)):
        sizes = dict(zip(SYSTEM_NAMES, (SYSTEMS, prompts, personas, models), strict=True))
        levels = {name: sizes[name] for name in SYSTEM_NAMES[1:]}
        found: dict[str, list[float]] = defaultdict(list)
        factors = {
            name: grid.ravel()
            for name, grid in zip(("persona", "model"), np.indices((personas, models)), strict=True)
            if sizes[name] > 1
        }
        # Of one model as it is nothing of it varies.
        variances = {
            name: 0.0 if name == "system" or (models == 1 and "model" in name) else variance
            for name, variance in SYSTEM_VARIANCES.items()
        }
        known = {
            name: variance
            for name, variance in variances.items()
            if models > 1 or "model" not in name
        }
        true = VarianceComponents(known, {}, sizes)
        detected = d_study(true, "system", levels).detectable
        means, differences = [], []
        for _ in range(n):
            scores = drawn(rng, sizes, variances)
            parts = studied(scores, SYSTEM_NAMES)
            figures = d_study(parts, "system", levels)
            found["absolute"].append(figures.absolute_error**2)
            found["relative"].append(figures.relative_error**2)
            found["width"].append(figures.width)
            table = scores.reshape(SYSTEMS, prompts, -1)
            of_systems = table.mean(axis=(1, 2))
            means.append(float(np.mean(of_systems**2)))
            differences.append(float(of_systems.var(ddof=1)))
            moved = influence_of(table.reshape(SYSTEMS * prompts, -1, 1)).reshape(table.shape)
            composites = table.mean(axis=2)
            low, high = sampled_mean(composites[0], moved[0], factors).interval()
            found["leaderboard width"].append(high - low)
            apart = sampled_mean(composites[0] - composites[1], moved[0] - moved[1], factors)
            # One system better by so much than the other moves the interval by so much.
            found["power"].append(float(apart.interval()[0] + detected > 0))
        design = f"{prompts} x {personas} x {models}"
        for kind, squares in (("absolute", means), ("relative", differences)):
            yield _line(f"{design}: {kind} error variance", float(np.mean(squares)), found[kind])
        printed = float(np.mean(found["leaderboard width"]))
        yield _line(f"{design}: width", printed, found["width"])
        yield _line(f"{design}: power at {detected:.2f} points", 0.8, found["power"])


def intervals(rng: np.random.Generator, n: int) -> Iterator[Line]:
    """Over items, and over items, personas and models; the share that hold the true value."""
    for items in (24, 48):
        hits: dict[str, list[float]] = defaultdict(list)
        for _ in range(n):
            scores = _items(rng, EVERY, items)
            every = studied(scores, NAMES).variances
            kept = [
                [studied(np.compress(mask, scores, axis=axis), NAMES).variances for mask in masks]
                for axis, masks in enumerate(
                    kept_without({name: range(k)})[0]
                    for name, k in zip(NAMES, scores.shape, strict=True)
                )
            ]
            for name, truth in EVERY.items():
                without = np.array([one[name] for one in kept[0]])
                judges = [[_same(one[name]) for one in each] for each in kept[1:]]
                for over, left_out in (("items", []), ("items and judges", judges)):
                    interval = jackknife(_known(every[name], without), items, None, judges=left_out)
                    if interval.reason is None:
                        holds = interval.low <= truth <= interval.high
                        hits[f"{items} items: {name}, over {over}"].append(float(holds))
        for label, values in hits.items():
            yield _line(label, 0.95, values)


def _same(value: float) -> Callable[[Array], Array]:
    """A statistic that is this value whatever the weights are."""
    return lambda weights: np.full(len(weights), value)


def _known(value: float, without: Array) -> Callable[[Array], Array]:
    """A statistic whose values are known: of all items, and without each."""

    def statistic(weights: Array) -> Array:
        left_out = weights.argmin(axis=1)
        return np.where(weights.all(axis=1), value, without[left_out])

    return statistic


def _line(label: str, truth: float, values: list[float]) -> Line:
    there = np.array(values)[~np.isnan(values)]
    if len(there) < 2:
        return label, truth, math.nan, math.nan
    return label, truth, float(there.mean()), float(there.std(ddof=1) / math.sqrt(len(there)))


def groups(rng: np.random.Generator, n: int) -> Iterator[Line]:
    """Raters in groups of four: the variance of a response's mean about that of all such groups,
    and what is found where each group's mean counts as one rater, and where raters are taken as
    independent."""
    for n_groups in (3, 6, 12):
        within = n_groups * GROUP_SIZE
        v = GROUPED
        of_groups = (v["group"] + v["item:group"]) / n_groups
        truth = of_groups + (v["rater"] + v["residual"]) / within
        found: dict[str, list[float]] = defaultdict(list)
        for _ in range(n):
            shape = ITEMS, n_groups, GROUP_SIZE
            scores = rng.normal(0, math.sqrt(v["item"]), (ITEMS, 1, 1))
            for effect, axes in (
                ("group", (1, n_groups, 1)), ("item:group", (ITEMS, n_groups, 1)),
                ("rater", (1, *shape[1:])), ("residual", shape),
            ):  # fmt: skip
                scores = scores + rng.normal(0, math.sqrt(v[effect]), axes)
            names = [f"r{rater}" for rater in range(within)]
            ratings = Ratings(
                scores.reshape(ITEMS, within, 1), tuple(f"i{i}" for i in range(ITEMS)),
                tuple(names), ("quality",), tuple(f"g{r // GROUP_SIZE}" for r in range(within)),
            )  # fmt: skip
            for label, of in (
                ("by groups", ratings), ("as independent", replace(ratings, groups=("g",) * within))
            ):  # fmt: skip
                (study,) = design_studies(of)
                found[label].append(study.designs[0].absolute_error ** 2)
        for label, values in found.items():
            yield _line(
                f"{n_groups} groups of {GROUP_SIZE}: error variance, {label}", truth, values
            )


PARTS: dict[str, Callable[[np.random.Generator, int], Iterator[Line]]] = {
    "components": components,
    "reliability": reliability,
    "width": width,
    "intervals": intervals,
    "groups": groups,
}


def main() -> int:
    parser = simulation_parser(__doc__, SIMULATIONS)
    add_parts(parser, PARTS)
    options = parser.parse_args()
    n = options.simulations
    for part in options.parts:
        print(f"== {part}, {n:,} simulations", flush=True)
        for label, truth, found, error in PARTS[part](np.random.default_rng(1), n):
            print(f"{label:52} true {truth:6.3f}  found {found:6.3f} +- {error:.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
