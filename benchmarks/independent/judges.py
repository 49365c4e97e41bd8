"""Judges who did not read all: how often severity alone, or what is missing, makes a claim.

Four systems are read by judges whose severities differ by as much as prompts do (SD 1). Counted are
the runs with a false claim: a system is named that is not the best, a pair is said to differ that
does not. `unpaired` is the same tests of each response's mean over whoever read it.

    python -m benchmarks.independent.judges [--runs 1000]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.independent.winner import board_of, claims_of, lead, tied
from persona_panel.statistics.core.ranking import JudgeSample

Ratings = NDArray[np.float64]
"""`(prompts, systems, judges)`, NaN where a judge gave none."""
Reads = Callable[[np.random.Generator, Ratings], NDArray[np.bool_]]
"""Which of the ratings there are."""


def complete(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    return np.ones(ratings.shape, dtype=bool)


def some_systems(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """Each judge reads half of the systems, drawn once; each system has a judge."""
    _, systems, judges = ratings.shape
    reads = np.argsort(rng.random((systems, judges)), axis=0) < systems // 2
    reads[np.arange(systems), rng.integers(judges, size=systems)] = True
    return np.broadcast_to(reads, ratings.shape)


def some_anew(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """Each judge reads half of the systems, drawn anew for each prompt."""
    return np.argsort(rng.random(ratings.shape), axis=1) < ratings.shape[1] // 2


def rotated(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """Each judge reads half of the systems, those after the ones of the judge before."""
    prompts, systems, judges = (np.arange(n) for n in ratings.shape)
    place = systems[None, :, None] - judges[None, None, :] - prompts[:, None, None]
    return place % ratings.shape[1] < ratings.shape[1] // 2


def one_lacks(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """The first judge rates nothing of the last system."""
    reads = np.ones(ratings.shape, dtype=bool)
    reads[:, -1, 0] = False
    return reads


def two_lack(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """A judge rates nothing of the first system, another nothing of the second."""
    reads = np.ones(ratings.shape, dtype=bool)
    reads[:, 0, 0] = reads[:, 1, 1] = False
    return reads


def at_random(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """A fifth of the ratings is missing."""
    return rng.random(ratings.shape) > 0.2


def one_side(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """Of the first system the lower ratings are missing: half of those below the average."""
    below = ratings < ratings.mean(axis=(0, 1))
    below[:, 1:] = False
    return ~below | (rng.random(ratings.shape) > 0.5)


def weak_texts(rng: np.random.Generator, ratings: Ratings) -> NDArray[np.bool_]:
    """Judges abstain the more often the weaker they find a text, whosever it is."""
    away = ratings - ratings.mean(axis=(0, 1))
    return rng.random(ratings.shape) > 1 / (1 + np.exp(1.5 + 1.5 * away))


PLANNED = (complete, some_systems, some_anew, rotated, one_lacks, two_lack, at_random)
FOR_WHAT_IT_WAS = (one_side, weak_texts)


@dataclass(frozen=True)
class Panel:
    """Systems with these means, read by judges; `ordinal`: cut into whole numbers 1 to 10."""

    means: tuple[float, ...]
    prompts: int
    judges: int
    reads: Reads
    ordinal: bool = False

    def drawn(self, rng: np.random.Generator) -> Ratings:
        """Draw ratings; NaN where there is none."""
        shape = self.prompts, len(self.means), self.judges
        texts = np.array(self.means) + 0.6 * rng.normal(size=shape[:2])
        texts += rng.normal(size=(self.prompts, 1))
        ratings = texts[:, :, None] + rng.normal(size=self.judges) + 0.7 * rng.normal(size=shape)
        if self.ordinal:
            ratings = np.clip(np.round(1.5 * ratings + 5.5), 1, 10)
        return np.where(self.reads(rng, ratings), ratings, np.nan)


def shares(panel: Panel, runs: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """The share of runs in which each claim is made as it is true, and falsely."""
    rng = np.random.default_rng([seed, panel.prompts, panel.judges, len(panel.reads.__name__)])
    means, total = np.array(panel.means), dict[str, np.ndarray]()
    for _ in range(runs):
        ratings = panel.drawn(rng)
        with np.errstate(all="ignore"):
            scores = np.nanmean(ratings, axis=2)
        terms = ratings.reshape(-1, panel.judges)[:, :, None]
        sides = {"": JudgeSample(terms, {}), "unpaired ": None}
        for name, judges in sides.items():
            claims = claims_of(board_of(scores, judges), means)
            for claim in ("named", "pairs"):
                own = total.setdefault(name + claim, np.zeros(2))
                own += claims[claim]
    return {name: tuple(sums / runs) for name, sums in total.items()}


def main() -> None:
    """A line for each design."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    options = parser.parse_args()
    names = ("named", "pairs", "unpaired named", "unpaired pairs")
    print("false claims; true ones where one is better by 0.8".ljust(50), *names)
    for reads in (*PLANNED, *FOR_WHAT_IT_WAS):
        for prompts in (5, 12, 30):
            for judges in (3, 6):
                false = shares(Panel(tied(4), prompts, judges, reads), options.runs)
                true = shares(Panel(lead(4, 0.8), prompts, judges, reads), options.runs // 2)
                line = "  ".join(f"{false[name][1]:.3f} {true[name][0]:.3f}" for name in names)
                what = f"{reads.__name__}, {prompts} prompts, {judges} judges"
                print(what.ljust(50), line, flush=True)


if __name__ == "__main__":
    main()
