"""Results of commands over random inputs of many shapes, the same for a seed: few or many prompts,
systems and raters, missing ratings, ties, with an effect or without."""

from __future__ import annotations

from itertools import product

import numpy as np

from persona_panel.analyses.fidelity import fidelity_result
from persona_panel.analyses.group_contrasts import GroupContrasts
from persona_panel.analyses.select import select_result
from persona_panel.results.result import Result
from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.table import Ratings
from persona_panel.statistics.group_fidelity import (
    difference_by_model,
    fidelity_contrast,
    group_difference,
    split_half,
)
from persona_panel.statistics.selection import select_items

SYSTEMS = ("ash", "birch", "cedar")
PERSONAS = ("ann", "bob", "cid", "dot", "eve", "fay")


def random_ratings(rng: np.random.Generator, scores: Array) -> Ratings:
    """Scores `(items, judges, dimensions)` as a panel's ratings, a text of each of some systems to
    each prompt."""
    n_systems = int(rng.integers(1, 4))
    places = [divmod(place, n_systems) for place in range(len(scores))]
    raters = PERSONAS[: scores.shape[1]]
    return Ratings(
        scores,
        tuple(f"p{prompt}/{SYSTEMS[system]}" for prompt, system in places),
        raters,
        ("clarity", "depth", "breadth")[: scores.shape[2]],
        ("m",) * len(raters),
        prompts=tuple(f"p{prompt}" for prompt, _ in places),
        sources=tuple(SYSTEMS[system] for _, system in places),
        personas=raters,
    )


def random_select(seed: int) -> tuple[Result, dict[str, int]]:
    """Items drawn from ratings of which some are not there, by more or fewer than there are."""
    rng = np.random.default_rng([33, seed])
    n_items = int(rng.choice([3, 12, 30, 45, 120]))
    shape = n_items, int(rng.integers(1, 5)), int(rng.integers(1, 3))
    scores = rng.integers(1, 11, shape).astype(float)
    scores[rng.random(n_items) < rng.choice([0.0, 0.2])] = rng.choice([np.nan, 5.0])
    scores[0] = 4.0
    ratings = random_ratings(rng, scores)
    if rng.random() < 0.3:
        ratings = Ratings(scores, ratings.items, ratings.raters, ratings.dimensions, ratings.groups)
    n = int(rng.choice([1, 8, 25, 31, 60, 200]))
    more = {"asked": n, "n_systems": len(set(ratings.sources or ("",)))}
    return select_result(select_items(ratings, n, seed), ratings, n), more


def random_fidelity(seed: int) -> tuple[Result, dict[str, int]]:
    """Personas who differ like people, more, less or the other way round, on some contrasts that
    are none of people's, on all items or a half, over prompts or items."""
    rng = np.random.default_rng([34, seed])
    n_items = int(rng.choice([8, 30, 60]))
    prompts = (
        None if rng.random() < 0.6 else [f"p{n % int(rng.choice([3, 12]))}" for n in range(n_items)]
    )
    contrasts = list(product(("left-right", "old-young")[: int(rng.integers(1, 3))], (False, True)))
    dimensions = ("clarity", "depth")[: int(rng.integers(1, 3))] if rng.random() < 0.5 else ("all",)
    strata = ("all", "side = near") if rng.random() < 0.4 else ("all",)
    noise = float(rng.choice([0.05, 0.6]))
    rows = []
    for (contrast, control), stratum, dimension in product(contrasts, strata, dimensions):
        signs = np.ones(n_items, dtype=np.intp)
        if stratum != "all":
            signs[n_items // 2 :] = 0
        gap = float(rng.choice([0.0, 1.0])) * (1 if not control else rng.integers(0, 2))
        level = rng.normal(3, 0.3, (n_items, 1))
        own = gap + float(rng.choice([0.0, 1.0])) * rng.normal(0, 1, (n_items, 1))
        left, right = (rng.normal(0, noise, (n_items, 6)) + level + shift for shift in (own, 0))
        people = group_difference(left, right, signs, prompts=prompts)
        times = float(rng.choice([-1.0, 0.1, 1.0, 1.5, 4.0]))
        models = times * own + rng.normal(0, noise, (n_items, int(rng.integers(1, 3))))
        panel = difference_by_model(models, signs, prompts=prompts)
        rows.append(
            fidelity_contrast(
                contrast,
                people,
                None if rng.random() < 0.05 else panel,
                stratum=stratum,
                dimension=dimension,
                control=control,
                split_half=split_half(left[signs != 0], right[signs != 0]),
                n_tests=len(contrasts) * len(strata) * len(dimensions),
            )
        )
    names = {name: name.replace("-", " - ") for name, _ in contrasts}
    return fidelity_result(GroupContrasts(tuple(rows), names, (), None, None)), {}
