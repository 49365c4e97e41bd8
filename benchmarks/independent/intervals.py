"""Populations whose means, or Krippendorff's α, are known, to measure how often intervals cover.

No code is shared with `persona_panel.statistics` or with the simulators of the tests. Drawn: item
response with crossed effects of prompts and judges, cut into a scale's values, up to nearly all
ratings at its end. Real: public ratings of people, each prompt's mean over its raters; prompts are
resampled from one half, `tuning` or `checking`, dealt by a hash of the item's name. The rules were
chosen on the first.

Of α, the latent values are logistic, a prompt's level is skewed, and noise is Laplace's; α is 0.63
to 0.68, near the 0.667 that is asked for.
"""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from collections.abc import Iterator
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from benchmarks.independent import Row
from benchmarks.independent.winner import (
    Case,
    families,
    heavy_tails,
    normal,
    one_large,
    skewed,
    spread_out,
)
from persona_panel.statistics import AnalysisOptions
from persona_panel.statistics.core.means import few_off_an_end, unusual_coverage
from persona_panel.statistics.core.registry import interval_of
from persona_panel.statistics.core.sampled_mean import sampled_mean
from persona_panel.statistics.reliability import krippendorff_alpha

Floats = NDArray[np.float64]
N_POPULATION = 200_000


class Population(NamedTuple):
    """Prompts' means, and the ends of their scale."""

    name: str
    values: Floats
    low: float
    high: float


def drawn_populations(seed: int = 1) -> Iterator[Population]:
    """Yield populations of prompts, rated by a fixed panel, by scale, judges and share at the
    top."""
    for n_values in (2, 5, 10):
        for n_judges in (1, 3, 10):
            for top in (0.2, 0.5, 0.8, 0.9, 0.95, 0.98):
                for by_prompt in (0.5, 1.0):
                    rng = np.random.default_rng([seed, n_values, n_judges, int(100 * top)])
                    severity = 0.4 * rng.normal(size=n_judges)
                    # Of latent values, this share is above the highest cut.
                    spread = math.sqrt(by_prompt**2 + 0.4**2 + 0.7**2)
                    cuts = np.arange(1 - n_values, 0) * 0.45 + 0.45
                    centre = -spread * _quantile(1 - top)
                    prompts = by_prompt * rng.normal(size=(N_POPULATION, 1))
                    noise = 0.7 * rng.normal(size=(N_POPULATION, n_judges))
                    latent = centre + prompts + severity + noise
                    ratings = 1.0 + np.searchsorted(cuts, latent)
                    name = f"{n_values} values, {n_judges} judges, {top:.0%} top, {by_prompt}"
                    yield Population(name, ratings.mean(axis=1), 1.0, float(n_values))


def fallen_populations(seed: int = 2) -> Iterator[Population]:
    """Yield populations in which a share of the prompts falls far below the others."""
    for share in (0.02, 0.05, 0.1, 0.2):
        for depth in (3.0, 6.0):
            rng = np.random.default_rng([seed, int(100 * share), int(depth)])
            high = 9.0 + np.clip(0.5 * rng.normal(size=N_POPULATION), -1, 1)
            falls = rng.random(N_POPULATION) < share
            values = np.clip(high - depth * falls, 1, 10)
            yield Population(f"{share:.0%} fall by {depth:g}", values, 1.0, 10.0)


def _quantile(share: float) -> float:
    low, high = -9.0, 9.0
    for _ in range(60):
        middle = (low + high) / 2
        below = math.erf(middle / math.sqrt(2)) / 2 + 0.5 < share
        low, high = (middle, high) if below else (low, middle)
    return low


def half_of(name: str) -> str:
    """The half that an item of real ratings belongs to."""
    return ("tuning", "checking")[sha256(name.encode()).digest()[0] % 2]


def real_populations(data: Path, half: str) -> Iterator[Population]:
    """Yield the populations of one half of each public data set."""
    for name, (low, high), by_item in rated_items(data):
        own = [np.mean(ratings) for item, ratings in by_item.items() if half_of(item) == half]
        values = np.array(own, dtype=np.float64)
        if len(values) > 30 and np.ptp(values) > 0:
            yield Population(f"{name}, {half}", values, low, high)


def rated_items(data: Path) -> Iterator[tuple[str, tuple[float, float], dict[str, list[float]]]]:
    sources = [
        ("offensiveness/ratings.csv", "offensiveness", (1.0, 5.0)),
        ("media_bias/ratings.csv", "biased", (0.0, 1.0)),
        ("media_bias/ratings.csv", "opinion", (0.0, 2.0)),
    ]
    for file, column, limits in sources:
        by_item: dict[str, list[float]] = defaultdict(list)
        with (data / file).open(encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                if row[column]:
                    by_item[row["item"]].append(float(row[column]))
        yield column, limits, by_item
        # The texts that people find harmless: most means lie at the end.
        calm = {item: own for item, own in by_item.items() if np.mean(own) < np.mean(limits)}
        yield f"{column}, calm", limits, calm
    with (data / "argument_quality/novice_ratings_with_text.json").open(encoding="utf-8") as file_:
        arguments = json.load(file_)
    for dimension in sorted(arguments[0]["ratings"]):
        by_item = {}
        for argument in arguments:
            own = argument["ratings"].get(dimension, {}).values()
            numbers = [float(rating) for rating in own if rating in ("1", "2", "3")]
            if numbers:
                by_item[argument["arg"]] = numbers
        yield dimension, (1.0, 3.0), by_item
    speeches: dict[str, list[float]] = {}
    with (data / "debate_speeches/data.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            speeches[row["id"]] = json.loads(row["goodopeningspeech"])
    yield "speeches", (1.0, 5.0), speeches


class Measured(NamedTuple):
    """The share of intervals that cover, of samples without one, and the width over Student's."""

    covered: float
    refused: float
    width: float


def measured(population: Population, n: int, samples: int) -> Measured:
    """Draw samples of n prompts that are not all alike, and look at the intervals of their mean."""
    rng = np.random.default_rng(n)
    truth = float(population.values.mean())
    quantile = float(special.stdtrit(n - 1, 0.975))
    covered = refused = there = 0
    width = student = 0.0
    for drawn in population.values[rng.integers(len(population.values), size=(samples, n))]:
        if np.ptp(drawn) < 1e-9:
            continue
        found = sampled_mean(drawn, limits=(population.low, population.high))
        there += 1
        if found.reason is not None:
            refused += 1
            continue
        low, high = found.interval()
        covered += low - 1e-9 <= truth <= high + 1e-9
        width += high - low
        student += 2 * quantile * float(drawn.std(ddof=1)) / math.sqrt(n)
    given = there - refused
    if given < samples / 4:
        return Measured(math.nan, math.nan, math.nan)
    return Measured(covered / given, refused / there, width / student)


def covered_by_case(
    population: Population, n: int, samples: int
) -> dict[str | None, tuple[float, int]]:
    """Return how often intervals of means of n prompts cover, and of how many, by what
    `unusual_coverage` says of their values."""
    covered: dict[str | None, list[bool]] = defaultdict(list)
    truth, limits = float(population.values.mean()), (population.low, population.high)
    rng = np.random.default_rng(n)
    for drawn in population.values[rng.integers(len(population.values), size=(samples, n))]:
        mean = sampled_mean(drawn, limits=limits)
        if mean.values is not None:
            low, high = mean.interval()
            covered[unusual_coverage(drawn, limits)].append(low - 1e-9 <= truth <= high + 1e-9)
    return {case: (sum(own) / len(own), len(own)) for case, own in covered.items()}


def rows(samples: int, data: Path | None) -> Iterator[Row]:
    """Yield the coverage of means by number of prompts, and of systems' differences."""
    kinds = {
        "item response, ceilings": drawn_populations(),
        "some prompts fall": fallen_populations(),
    }
    if data is not None:
        kinds["real ratings"] = real_populations(data, "checking")
    by_case: dict[str, list[float]] = defaultdict(list)
    for kind, populations in kinds.items():
        own = list(populations)
        for few, sizes in (("3 to 8", (3, 5, 8)), ("12 to 100", (12, 30, 100))):
            found = [measured(each, n, samples).covered for each in own for n in sizes]
            there = tuple(share for share in found if not math.isnan(share))
            yield Row("mean of prompts", f"{kind}, {few} prompts", there, samples)
        for each, n in product(own, (3, 5, 8, 12, 30)):
            for case, (share, drawn) in covered_by_case(each, n, samples).items():
                if drawn >= samples // 5:
                    by_case[case or f"none of these three, {kind}"].append(share)
    for case, shares in by_case.items():
        below = sum(share < 0.93 for share in shares)
        where = f"{case} ({below} of {len(shares)} below 0.93)"
        yield Row("mean of prompts", where, tuple(shares), samples // 5)
    kinds_ = (normal, heavy_tails, skewed, spread_out, families, one_large)
    cases = [Case((0.5, 0), n, kind) for kind in kinds_ for n in (3, 5, 12, 30)]
    covered = tuple(_differences(case, samples) for case in cases)
    yield Row("difference of systems", "boards", covered, samples)


def _differences(case: Case, samples: int) -> float:
    """Return the share of intervals of the difference of two systems that cover."""
    rng, covered = np.random.default_rng(case.prompts), 0
    for _ in range(samples):
        scores = case.board(rng)
        low, high = sampled_mean(scores[:, 0] - scores[:, 1]).interval()
        covered += low <= case.means[0] - case.means[1] <= high
    return covered / samples


AT_AN_END = {0.59: (2.08, 1.34), 0.69: (2.72, 1.47), 0.82: (4.0, 1.72), 0.91: (5.6, 1.99),
             0.95: (7.2, 2.19)}  # fmt: skip
"""By the share of ratings at the highest of five values: how far up the texts lie, and how far
apart."""
ITEMS = 4


def ceiling_board(rng: np.random.Generator, prompts: int, judges: int, share: float) -> Floats:
    """Return ratings 0 to 4 `(prompts, texts, judges)` of which this share is the highest."""
    above, apart = AT_AN_END[share]
    texts = 0.66 * rng.logistic(size=(prompts, ITEMS, 1))
    level = 0.245 * rng.gamma(3, size=(prompts, 1, 1)) * rng.choice([-1, 1], (prompts, 1, 1))
    noise = 0.63 * rng.laplace(size=(prompts, ITEMS, judges))
    latent = above + apart * (texts + level) + np.linspace(-0.6, 0.6, judges) + noise
    return np.searchsorted(np.linspace(-1.6, 1.6, 4), latent).astype(float)


def ordinal_alpha(ratings: Floats) -> float:
    """Return α of complete ordinal ratings `(texts, judges)`: from the mean squared differences of
    mid-ranks inside texts and between any two ratings."""
    _, places, counts = np.unique(ratings, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2)[places.reshape(ratings.shape)]
    return float(1 - ranks.var(axis=1, ddof=1).mean() / ranks.var(ddof=1))


def alpha_covers(
    share: float, prompts: int, judges: int, samples: int
) -> tuple[list[bool], list[bool]]:
    """Return of boards with enough ratings off the end, and of those with too few, as of
    `few_off_an_end`, whether the interval covers."""
    rng = np.random.default_rng([prompts, judges, int(100 * share)])
    truth = ordinal_alpha(ceiling_board(rng, 40_000, judges, share).reshape(-1, judges))
    labels = np.repeat(np.arange(prompts), ITEMS).tolist()
    covers = list[bool](), list[bool]()
    for _ in range(samples):
        ratings = ceiling_board(rng, prompts, judges, share).reshape(-1, judges)
        interval = interval_of(krippendorff_alpha(ratings), labels, AnalysisOptions())
        if interval is not None and interval.reason is None:
            few = few_off_an_end(ratings, labels)
            covers[few].append(interval.low <= truth <= interval.high)
    return covers


def alpha_rows(samples: int) -> Iterator[Row]:
    """Yield the coverage of α where most ratings are the highest, of 3, 5 and 9 judges; of kinds of
    boards that are at least a fifth."""
    for prompts, share in product((5, 12, 30), AT_AN_END):
        boards = [alpha_covers(share, prompts, judges, samples) for judges in (3, 5, 9)]
        for kind, own in zip(("enough others", "too few"), zip(*boards, strict=True), strict=True):
            if (least := min(map(len, own))) >= samples // 5:
                where = f"{share:.0%} of ratings the highest, {kind}, {prompts} prompts"
                covered = tuple(float(np.mean(each)) for each in own)
                yield Row("Krippendorff's α", where, covered, least)
