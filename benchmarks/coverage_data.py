"""Ratings and labels that are drawn for `benchmarks.coverage`, and what is found in them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from persona_panel.statistics import Ratings, Row
from persona_panel.statistics.core.arrays import Random

Found = dict[str, tuple[float, float, float]]
"""Of each figure its value and the ends of its interval, NaN where there is none."""


CROSSED = 5, 3
"""Personas and models."""
MOST_RESPONSES, FEW_RESPONSES, SHARED_RESPONSES = 40, 3, 10
"""Where data are `uneven` or `once`: to the first prompt, and to each of the others; `once`, so
many of the first prompt's have more than one rating."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What is simulated: which part, of how many prompts, judges and data."""

    part: str
    prompts: int
    judges: str
    data: str
    simulations: int
    systems: int

    @property
    def random(self) -> Random:
        return "prompts" if self.judges == "fixed" else "prompts-and-judges"


@dataclass(frozen=True, slots=True)
class Judges:
    """Judges' severity, steepness and noise `(judges,)`, and what each system gets more of them
    `(systems, judges)`: severity sd 0.5, system × judge sd 0.3. `factors` have a label a judge."""

    severity: np.ndarray
    steepness: np.ndarray
    noise: np.ndarray
    favour: np.ndarray
    factors: Mapping[str, list[str]] = field(default_factory=dict)

    @classmethod
    def drawn(cls, rng: np.random.Generator, n: int, systems: int) -> Judges:
        return cls(
            rng.normal(0, 0.5, n),
            rng.normal(1, 0.15, n),
            np.exp(rng.normal(0, 0.2, n)),
            rng.normal(0, 0.3, (systems, n)),
            {"rater": [f"j{j}" for j in range(n)]},
        )

    @classmethod
    def crossed(cls, rng: np.random.Generator, systems: int) -> Judges:
        """Personas through models: of each effect's variance the persona has two fifths, the model
        one fifth, and the two together the rest."""
        n_personas, n_models = CROSSED

        def effect(sd: float, rows: int = 1) -> np.ndarray:
            parts = (
                (0.4, rng.normal(size=(rows, n_personas, 1))),
                (0.2, rng.normal(size=(rows, 1, n_models))),
                (0.4, rng.normal(size=(rows, n_personas, n_models))),
            )
            return sd * sum(np.sqrt(share) * part for share, part in parts).reshape(rows, -1)

        judges = [(f"p{p}", f"m{m}") for p in range(n_personas) for m in range(n_models)]
        personas, models = map(list, zip(*judges, strict=True))
        return cls(
            effect(0.5)[0],
            1 + effect(0.15)[0],
            np.exp(effect(0.2)[0]),
            effect(0.3, systems),
            {"persona": personas, "model": models},
        )


def rated(rng: np.random.Generator, prompts: int, judges: Judges, data: str) -> Ratings:
    """Ratings of one response of each system to each prompt, none of the systems better; where
    `data` are uneven, of as many as `responses_of` says, from 1 to 3; where they are `once`, so,
    too, but most of the first prompt's are rated by the first judge alone."""
    systems, n_judges = judges.favour.shape
    sizes = responses_of(prompts, systems, data)
    n = sizes.sum()
    truth = rng.normal(0, 0.5, prompts).repeat(sizes) + rng.normal(0, 1, n)
    by_prompt = rng.normal(0, 0.3, (prompts, n_judges)).repeat(sizes, axis=0)
    scores = truth[:, None] * judges.steepness + judges.severity + by_prompt
    scores += np.concatenate([judges.favour[np.arange(size) % systems] for size in sizes])
    scores += rng.normal(0, 1, scores.shape) * judges.noise
    if data == "plain":
        scores = np.clip(np.round(5.5 + scores), 1, 10)
    elif data in ("uneven", "once"):
        scores = np.clip(np.round(2 + 0.6 * scores), 1, 3)
        if data == "once":
            scores[SHARED_RESPONSES:MOST_RESPONSES, 1:] = np.nan
    else:
        scores = np.clip(np.round(3 + 0.7 * scores), 1, 5)
        scores[rng.random(scores.shape) < 0.1] = np.nan
    return _named(scores, sizes, systems)


def responses_of(prompts: int, systems: int, data: str) -> np.ndarray:
    """How many responses each prompt has: one of each system or, uneven, most of all to the
    first."""
    if data not in ("uneven", "once"):
        return np.full(prompts, systems)
    return np.array([MOST_RESPONSES] + [FEW_RESPONSES] * (prompts - 1))


CATEGORIES = ("agrees", "differs", "neither")
_COMMON = {"plain": (0.4, 0.35, 0.25), "gaps": (0.7, 0.2, 0.1), "uneven": (0.4, 0.35, 0.25)}
"""How common each label is: one of three is rare where there are gaps."""


def labelled(rng: np.random.Generator, prompts: int, judges: Judges, data: str) -> Ratings:
    """Labels of one response of each system to each prompt: each judge gives the true one or, the
    more noise it has and the harder a prompt is, one at random. Prompts differ in which labels are
    common."""
    systems, n_judges = judges.favour.shape
    sizes = responses_of(prompts, systems, data)
    n = sizes.sum()
    common = np.asarray(_COMMON[data])
    by_prompt = rng.dirichlet(4 * common, prompts).repeat(sizes, axis=0)
    truth = _one_of(rng, by_prompt)
    hard = rng.normal(0, 0.5, prompts).repeat(sizes)
    knows = 1 / (1 + np.exp(-(1.5 - judges.noise - 0.5 * judges.severity + hard[:, None])))
    guessed = _one_of(rng, np.broadcast_to(common, (n, n_judges, len(common))))
    labels = np.where(rng.random((n, n_judges)) < knows, truth[:, None], guessed).astype(float)
    if data == "gaps":
        labels[rng.random(labels.shape) < 0.1] = np.nan
    return _named(labels, sizes, systems, {"quality": CATEGORIES})


def _one_of(rng: np.random.Generator, shares: np.ndarray) -> np.ndarray:
    """A code for each row of shares, which add up to 1."""
    drawn = rng.random((*shares.shape[:-1], 1))
    return (drawn > shares.cumsum(axis=-1)[..., :-1]).sum(axis=-1)


def _named(
    scores: np.ndarray,
    sizes: np.ndarray,
    systems: int,
    categories: Mapping[str, tuple[str, ...]] | None = None,
) -> Ratings:
    n, n_judges = scores.shape
    return Ratings(
        scores[:, :, None],
        tuple(f"i{i}" for i in range(n)),
        tuple(f"j{j}" for j in range(n_judges)),
        ("quality",),
        ("judges",) * n_judges,
        prompts=tuple(f"p{prompt}" for prompt in np.arange(len(sizes)).repeat(sizes)),
        sources=tuple(f"s{i % systems}" for size in sizes for i in range(size)),
        categories=categories or {},
    )


def split_sides(everyone: Ratings, n_panel: int) -> tuple[Ratings, Ratings]:
    """The first raters as a panel, the others as humans."""
    panel, humans = everyone.by(everyone.raters[:n_panel]), everyone.by(everyone.raters[n_panel:])
    return (
        replace(panel, groups=("panel",) * n_panel),
        replace(humans, groups=("human",) * len(humans.raters)),
    )


def of_rows(rows: Sequence[Row]) -> Found:
    """Each row's value and interval, by its statistic and what it is broken down by."""
    named: Found = {}
    for row in rows:
        name = row.statistic if row.by_value is None else f"{row.statistic} {row.by_value}"
        if not math.isnan(row.value):
            named[name] = (row.value, row.ci_low, row.ci_high)
    return named
