"""Agreement of judges beyond chance, and of a panel with people, beside permutation tests.

Drawn: texts have a latent trait, prompts a difficulty; judges and people cut what they read of
them, with the tails of Student's t of 3 degrees of freedom, into 1 to 5. `shared` is the weight of
the trait: with 0 all rate at random within the prompt. Real: public ratings of texts by people, of
prompts resampled from the half `checking`; some of the raters stand for judges, and with nothing
shared people's ratings change places within the prompt. Beside stand the variance of the texts'
means of the judges' ranks, and the covariance of the judges' and people's means, both within
prompts and by permutations there.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.independent import Row
from benchmarks.independent.intervals import half_of
from benchmarks.independent.rasch import THRESHOLDS, table_of
from persona_panel.analyses.agree_conclusion import agree_conclusion
from persona_panel.analyses.correlate_conclusion import correlate_conclusion
from persona_panel.statistics import AnalysisOptions, agree, correlate

Values = NDArray[np.float64]
Board = Callable[[np.random.Generator, int], tuple[Values, Values]]
"""Draws ratings of so many prompts by judges and by people `(prompts, texts, raters)`."""
SIZES = 5, 12, 24
_JUDGES, _PEOPLE, _DRAWN = 5, 3, 400
OPTIONS = AnalysisOptions(n_permutations=_DRAWN)
_MANY = 4000
BOARDS = (3, 5), (5, 5), (12, 2), (12, 5), (12, 10), (24, 5), (48, 5)
"""Numbers of prompts and of judges who are to agree."""


def drawn(shared: float, n_judges: int = _JUDGES) -> Board:
    """Return boards of traits of this weight."""

    def board(rng: np.random.Generator, prompts: int) -> tuple[Values, Values]:
        texts = rng.normal(size=(prompts, 1)) + shared * rng.normal(size=(prompts, 4))
        read = texts[..., None] + 0.5 * rng.normal(size=n_judges + _PEOPLE)
        read = read + rng.standard_t(3, size=read.shape)
        ratings = 1.0 + (read[..., None] > np.array(THRESHOLDS)).sum(axis=-1)
        return ratings[..., :n_judges], ratings[..., n_judges:]

    return board


def rated_texts(data: Path) -> Iterator[tuple[str, list[list[list[float]]]]]:
    """Yield real ratings of each text, by prompt, of the half `checking`."""
    speeches: dict[str, list[list[float]]] = defaultdict(list)
    with (data / "debate_speeches/data.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            speeches[row["topic_id"]].append(json.loads(row["goodopeningspeech"]))
    arguments: dict[str, list[list[float]]] = defaultdict(list)
    with (data / "argument_quality/novice_ratings_with_text.json").open(encoding="utf-8") as file:
        for each in json.load(file):
            own = [*each["ratings"].get("clarity", {}).values()]
            arguments[each["debate"]].append([float(one) for one in own if one in ("1", "2", "3")])
    for name, topics in (("speeches", speeches), ("arguments", arguments)):
        yield name, [texts for topic, texts in topics.items() if half_of(topic) == "checking"]


def real(topics: list[list[list[float]]], raters: int, shared: bool) -> Board:
    """Return boards of so many judges and people who rated the same text."""

    def board(rng: np.random.Generator, prompts: int) -> tuple[Values, Values]:
        ratings = np.full((prompts, max(map(len, topics)), 2 * raters), np.nan)
        for place, topic in enumerate(rng.integers(len(topics), size=prompts)):
            texts = [own for own in topics[topic] if len(own) >= 2 * raters]
            for text, own in enumerate(texts):
                ratings[place, text] = rng.choice(own, 2 * raters, replace=False)
            if not shared:
                moved = rng.permutation(len(texts))
                ratings[place, : len(texts), raters:] = ratings[place, moved, raters:]
        return ratings[..., :raters], ratings[..., raters:]

    return board


def goes_with_people(judges: Values, people: Values) -> tuple[bool, float, float]:
    """Return whether the panel is said to go with people, and the interval of r within prompts."""
    panel, others = table_of(judges), table_of(people)
    rows = correlate(panel, others, OPTIONS, only=["pearson", "pearson_within_prompts"])
    said = any(
        one.startswith("The panel's mean") for one in correlate_conclusion(rows, panel, others)
    )
    *_, row = (row for row in rows if row.statistic == "pearson_within_prompts")
    return said, row.ci_low, row.ci_high


def covariance_p(rng: np.random.Generator, judges: Values, people: Values) -> float:
    """Return the p-value of the means' covariance within prompts, by permutations there."""
    own, at_random = 0.0, np.zeros(_DRAWN)
    for ours, theirs in zip(judges.mean(axis=2), people.mean(axis=2), strict=True):
        there = ~np.isnan(ours)
        if there.sum() > 1:
            apart = ours[there] - ours[there].mean()
            moved = rng.permuted(np.tile(theirs[there], (_DRAWN, 1)), axis=1)
            own, at_random = own + apart @ theirs[there], at_random + moved @ apart
    return float((1 + (np.abs(at_random) >= abs(own) - 1e-9).sum()) / (_DRAWN + 1))


def compared(board: Board, prompts: int, runs: int, truth: float | None) -> Values:
    """Return in which share of runs the panel is said to go with people, and by the test beside it;
    and in which the interval holds the truth."""
    rng, total = np.random.default_rng([prompts, 7]), np.zeros(3)
    for _ in range(runs):
        judges, people = board(rng, prompts)
        said, low, high = goes_with_people(judges, people)
        held = truth is not None and low - 1e-9 <= truth <= high + 1e-9
        total += said, covariance_p(rng, judges, people) < 0.05, held
    return total / runs


def within(board: Board) -> float:
    """Return r within prompts on many prompts."""
    sides = [side.mean(axis=2) for side in board(np.random.default_rng(0), _MANY)]
    ours, theirs = ((side - np.nanmean(side, axis=1, keepdims=True)) for side in sides)
    product, first, second = (np.nansum(of) for of in (ours * theirs, ours**2, theirs**2))
    return float(product / np.sqrt(first * second))


def agreed(shared: float, prompts: int, runs: int, n_judges: int = _JUDGES) -> Values:
    """Return in which share of runs judges are said to agree, and by the test beside it."""
    rng, total, board = np.random.default_rng(prompts), np.zeros(2), drawn(shared, n_judges)
    for _ in range(runs):
        judges, _ = board(rng, prompts)
        panel = table_of(judges)
        rows = agree(panel, OPTIONS, only=["kendall_w", "krippendorff_alpha"])
        said = agree_conclusion(rows, panel, "dimension")[0].replace("to agree", "")
        ranks = stats.rankdata(judges, axis=1)

        def of_ranks(moved: Values) -> float:
            return float((moved.mean(axis=2) ** 2).sum())

        at_random = np.array([of_ranks(rng.permuted(ranks, axis=1)) for _ in range(_DRAWN)])
        p = (1 + (at_random >= of_ranks(ranks) - 1e-9).sum()) / (_DRAWN + 1)
        total += " agree beyond" in said, p < 0.05
    return total / runs


def rows(runs: int, data: Path | None) -> Iterator[Row]:
    """Yield false claims and power of both, and the coverage of r."""
    tied, led = (
        [agreed(shared, prompts, runs, judges) for prompts, judges in BOARDS for shared in of]
        for of in ((0.0,), (0.4, 0.8))
    )
    powers = tuple((own, best) for own, best in led)
    yield Row("judges agree beyond chance", "traits", tuple(own for own, _ in tied), runs, powers)
    boards = {"latent traits": (drawn(0.0), [drawn(0.4), drawn(0.8)])}
    for name, topics in rated_texts(data) if data else ():
        of = [real(topics, raters, shared=True) for raters in (1, 2)]
        boards[f"real ratings, {name}"] = real(topics, 2, shared=False), of
    covered = list[float]()
    for where, (null, others) in boards.items():
        false = [compared(null, prompts, runs, 0.0) for prompts in SIZES]
        found = [
            compared(board, prompts, runs, within(board)) for board in others for prompts in SIZES
        ]
        covered += [float(held) for *_, held in (*false, *found)]
        powers = tuple((own, best) for own, best, _ in found)
        errors = tuple(float(own) for own, *_ in false)
        yield Row("the panel agrees with people", where, errors, runs, powers)
    yield Row("r with people within prompts", "the same", tuple(covered), runs)
