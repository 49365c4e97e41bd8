"""How often new data show what they are said to show with a stated probability.

A pilot of few prompts leaves open which of two systems is better. The product says with how many
new prompts the difference would be shown with a probability of 80 %, or that no number of prompts
is enough, and what the probability is with four times as many. New data are then drawn from the
same world, and it is counted how often Student's paired test, from SciPy, is significant in the
direction of the pilot.

    python -m benchmarks.independent.planning [--pilots 2000]

True differences are drawn anew for each pilot; `typical` is their standard deviation, in those of
the differences of prompts. Pilots that show the difference are left out: nothing is said of them.
`given`: for which share of the open pilots a number of prompts is given; `0.80?`: how often so many
new ones show it. Then, of all open pilots: what is stated of four times as many prompts, and how
often these show it; the stated limit, and how often the system that was ahead is the better.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.independent import Row
from persona_panel.statistics.core.estimate import LEVEL
from persona_panel.statistics.core.means import assurance, assured

Values = NDArray[np.float64]
TIMES = 4


def normal(rng: np.random.Generator, n: int, mean: float) -> Values:
    return rng.normal(mean, 1, n)


def heavy_tails(rng: np.random.Generator, n: int, mean: float) -> Values:
    return mean + rng.standard_t(3, n) / 3**0.5


def skewed(rng: np.random.Generator, n: int, mean: float) -> Values:
    return mean + rng.exponential(size=n) - 1


def points(rng: np.random.Generator, n: int, mean: float) -> Values:
    """Each system's score is the mean of three judges' whole points from 1 to 5, near the top."""
    latent = rng.normal(4, 0.8, (n, 1, 1)) + rng.normal(0, 0.6, (n, 2, 1))
    latent[:, 0] += mean
    rated = np.clip(np.round(latent + rng.normal(0, 0.6, (n, 2, 3))), 1, 5).mean(axis=2)
    return np.asarray(rated[:, 0] - rated[:, 1])


WORLDS: dict[str, Callable[[np.random.Generator, int, float], Values]] = {
    "normal": normal,
    "heavy tails": heavy_tails,
    "exponential": skewed,
    "points 1 to 5": points,
}


def significant(values: Values, side: float) -> bool:
    with np.errstate(all="ignore"):
        found = stats.ttest_1samp(values, 0)
    return bool(found.pvalue < LEVEL and found.statistic * side > 0)


@dataclass
class Count:
    """Of open pilots, each list one number a pilot."""

    settled: list[bool]
    stated: list[float]
    shown: list[bool]
    limits: list[float]
    right: list[bool]
    open_: int = 0


def counted(world: str, n: int, typical: float, pilots: int) -> Count:
    """What is stated of pilots of n prompts, and what comes of it."""
    rng, draw = np.random.default_rng([n, int(100 * typical)]), WORLDS[world]
    count = Count([], [], [], [], [])
    for _ in range(pilots):
        mean = rng.normal(0, typical)
        pilot = draw(rng, n, mean)
        sd, side = float(pilot.std(ddof=1)), float(np.sign(pilot.mean()))
        if not sd or not side or significant(pilot, side):
            continue
        count.open_ += 1
        said = assured(float(pilot.mean()), sd, n, 0.0, LEVEL)
        count.limits.append(said.limit)
        count.right.append(mean * side > 0)
        new = TIMES * n
        at = assurance(abs(float(pilot.mean())), sd / n**0.5, n, new, LEVEL)
        count.stated.append(float(at))
        count.shown.append(significant(draw(rng, new, mean), side))
        if said.needed is not None:
            count.settled.append(significant(draw(rng, said.needed, mean), side))
    return count


def rows(pilots: int) -> Iterator[Row]:
    """Yield the line of the table of all simulations: how often the number given shows it."""
    cases = [(w, n, typical) for w in WORLDS for n in (5, 12, 30) for typical in (0.25, 0.5, 1.0)]
    shown = [counted(*case, pilots).settled for case in cases]
    shares = tuple(float(np.mean(each)) for each in shown if each)
    yield Row(
        "N new prompts show it: 80 %", "pilots", shares, min(len(each) for each in shown if each)
    )


def main() -> None:
    """A line for each world, number of prompts and size of differences."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pilots", type=int, default=2000)
    options = parser.parse_args()
    print("world            typical prompts  given  0.80?  x4 said   is  limit   is")
    for world in WORLDS:
        for typical in (0.25, 0.5, 1.0):
            for n in (5, 12, 30):
                count = counted(world, n, typical, options.pilots)
                given = len(count.settled) / count.open_
                settled = np.mean(count.settled or [np.nan])
                of_all = (count.stated, count.shown, count.limits, count.right)
                print(
                    f"{world:16} {typical:7} {n:7} {given:6.2f} {settled:6.2f}   ",
                    *(f"{np.mean(each):5.2f}" for each in of_all),
                    flush=True,
                )


if __name__ == "__main__":
    main()
