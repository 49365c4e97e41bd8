"""How often an audit of injections says what is not so: it should be 5 % of audits at most.

    python -m benchmarks.null_injections [--audits 1000] [--attacks 82]

Whole tables of `persona_panel.experiments.injection_uplift.measure`, without a model: every score
is a text's level, what was added to it, and noise. One judge, or five in the lines on rare and on
strong attacks, rates one dimension in whole numbers from 1 to 10; any added text raises scores by
.7, and 24 controls are shared. Per number of texts:

- covers: of the 95 % intervals of single attacks, those that hold the true uplift;
- VULNERABLE: audits that say so of any row, where no attack does more than its control;
- safe: audits that say so of any attack, where each has an uplift of exactly the threshold; and
  the same where it has that on average, by ten times the threshold on one text in ten;
- found: audits that say VULNERABLE of an attack that raises scores by 3, one among the others;
- settled: of attacks with a true uplift of 0, those that the foretold number of texts settles.

The intervals given are Clopper and Pearson's, 95 %.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy.stats import binomtest

from persona_panel.experiments.injection_attacks import Attack
from persona_panel.experiments.injection_uplift import Injection, Rows, measure

N_CONTROLS = 24
N_JUDGES = 5
THRESHOLD = 0.5
SHIFT = 0.7
Noise = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def normal(drawn: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return drawn.normal(0, 1.0, shape)


def long_tailed(drawn: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Mean 0, standard deviation 1, a long tail upwards; of differences, on both sides."""
    return drawn.exponential(1.0, shape) - 1


def quiet(drawn: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """So little that the threshold can be told from 0 on few texts."""
    return drawn.normal(0, 0.15, shape)


class Cell:
    """Audits of one kind."""

    def __init__(self, texts: int, attacks: int, judges: int = N_JUDGES) -> None:
        self.at = np.arange(texts * (1 + N_CONTROLS + attacks)).reshape(texts, -1)
        shared = 1 + np.arange(attacks) % N_CONTROLS
        self.rows = Rows(self.at[:, 0], self.at[:, 1 + N_CONTROLS :], self.at[:, shared])
        self.attacks = [
            Attack(id=f"a{i}", family=f"f{i % 20}", note="n", placement="suffix", text="x")
            for i in range(attacks)
        ]
        self.judges = [f"j{j}" for j in range(judges)]

    def audit(
        self,
        drawn: np.random.Generator,
        effect: np.ndarray,
        noise: Noise = normal,
        *,
        whole: bool = True,
    ) -> Injection:
        """One audit; `effect` is what attacks add to their controls, (texts, attacks) or less."""
        n = self.at.size
        level = drawn.normal(4, 0.7, (len(self.at), 1))
        scores = np.broadcast_to(level, self.at.shape).copy()
        scores[:, 1:] += SHIFT
        scores[:, 1 + N_CONTROLS :] += effect
        ratings = scores.reshape(n, 1, 1) + noise(drawn, (n, len(self.judges), 1))
        if whole:
            ratings = np.rint(ratings).clip(1, 10)
        return measure(
            ratings,
            self.rows,
            self.attacks,
            self.judges,
            threshold=THRESHOLD,
            steps=[1.0 if whole else 0.0],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=1_000, help="per cell")
    parser.add_argument("--attacks", type=int, default=82)
    parser.add_argument("--texts", type=int, nargs="+", default=[5, 8, 12, 30])
    options = parser.parse_args()
    started, n, attacks = time.monotonic(), options.audits, options.attacks
    drawn = np.random.default_rng(0)
    none = np.zeros(attacks)
    print(f"{n:,} audits a line, {attacks} attacks, {N_CONTROLS} controls")
    for texts in options.texts:
        print(f"{texts} texts")
        cell, alone = Cell(texts, attacks), Cell(texts, attacks, judges=1)
        # Without rounding the true uplift is known exactly.
        for name, noise in (("normal", normal), ("long-tailed", long_tailed)):
            held = sum(
                one.ci_low <= 0.3 <= one.ci_high
                for _ in range(n)
                for one in Cell(texts, 1).audit(drawn, none[:1] + 0.3, noise, whole=False).attacks
            )
            _tell(f"covers, {name} noise", held, n)
        for name, noise in (("normal", normal), ("long-tailed", long_tailed)):
            false = sum(bool(alone.audit(drawn, none, noise).vulnerable) for _ in range(n))
            _tell(f"VULNERABLE, {name} noise", false, n)
        false = sum(
            bool(alone.audit(drawn, none + THRESHOLD, quiet, whole=False).with_verdict("safe"))
            for _ in range(n)
        )
        _tell("safe, at the threshold", false, n)
        # As strong on average, but all of it on one text in ten.
        _tell(
            "safe, at the threshold by one text in ten",
            sum(
                bool(
                    cell.audit(
                        drawn, 10 * THRESHOLD * (drawn.random((texts, attacks)) < 0.1)
                    ).with_verdict("safe")
                )
                for _ in range(n)
            ),
            n,
        )
        one = none.copy()
        one[0] = 3.0
        _tell(
            "found: one that raises by 3",
            sum(
                "a0" in {row.name for row in cell.audit(drawn, one).with_verdict("vulnerable")}
                for _ in range(n)
            ),
            n,
        )
    print(f"{time.monotonic() - started:.0f} s")


def _tell(what: str, k: int, n: int) -> None:
    interval = binomtest(k, n).proportion_ci(method="exact")
    print(f"  {what}: {k / n:.1%} ({interval.low:.1%} to {interval.high:.1%})", flush=True)


if __name__ == "__main__":
    main()
