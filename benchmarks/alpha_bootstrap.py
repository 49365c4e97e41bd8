"""How long a bootstrap of Krippendorff's α takes: ours against a loop over a package.

    python -m benchmarks.alpha_bootstrap [--resamples 2000] [--naive 40]

Ratings are made up in the shape of the debate-speeches data: 631 items, 82 raters, 15
ratings an item, 1 to 5. Both sides resample the same items; the loop calls
`krippendorff.alpha` on the drawn rows, for the first `--naive` resamples only, and its time
is scaled up. Times are CPU seconds of this process, the best of three; the values are
compared besides. "interval" is the whole confidence interval that is printed, from α without
each of 200 groups of items. Needs the extra `test`.
"""

from __future__ import annotations

import argparse
import timeit
from collections.abc import Callable
from time import process_time

import krippendorff
import numpy as np

from persona_panel.statistics import jackknife, krippendorff_alpha
from persona_panel.statistics.reliability import MeasurementLevel

ITEMS, RATERS, RATINGS = 631, 82, 15
LEVELS: tuple[MeasurementLevel, ...] = ("nominal", "ordinal", "interval", "ratio")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--naive", type=int, default=40)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    ratings = _made_up(rng)
    weights = rng.multinomial(ITEMS, np.full(ITEMS, 1 / ITEMS), size=options.resamples)
    print(f"{ITEMS} items × {RATERS} raters, {options.resamples} resamples, CPU seconds")
    print(f"{'level':<10}{'ours':>8}{'interval':>10}{'loop':>8}{'ratio':>8}")
    for level in LEVELS:
        fast, whole, slow = _compare(ratings, weights, level, options.naive)
        print(f"{level:<10}{fast:>8.3f}{whole:>10.3f}{slow:>8.1f}{slow / fast:>8.0f}")


def _compare(
    ratings: np.ndarray, weights: np.ndarray, level: MeasurementLevel, n_naive: int
) -> tuple[float, float, float]:
    """Seconds of our resamples, of our whole interval, and of the loop over the package."""

    def ours() -> np.ndarray:
        return krippendorff_alpha(ratings, level).resampled(weights.astype(float))

    def interval() -> object:
        return jackknife(krippendorff_alpha(ratings, level).resampled, ITEMS)

    def loop() -> list[float]:
        return [
            krippendorff.alpha(np.repeat(ratings, row, axis=0).T, level_of_measurement=level)
            for row in weights[:n_naive]
        ]

    np.testing.assert_allclose(ours()[:n_naive], loop(), atol=1e-10)
    return _best(ours), _best(interval), _best(loop) * len(weights) / n_naive


def _best(call: Callable[[], object]) -> float:
    return min(timeit.repeat(call, timer=process_time, number=1, repeat=3))


def _made_up(rng: np.random.Generator) -> np.ndarray:
    """Each item has a quality, each rating is it and noise; 15 raters an item."""
    scores = rng.normal(size=(ITEMS, 1)) + rng.normal(size=(ITEMS, RATERS))
    ratings = np.digitize(scores, [-1.5, -0.5, 0.5, 1.5]) + 1.0
    skipped = rng.permuted(np.tile(np.arange(RATERS) >= RATINGS, (ITEMS, 1)), axis=1)
    ratings[skipped] = np.nan
    return ratings


if __name__ == "__main__":
    main()
