"""Agreement of judges beyond chance, and of a panel with people, beside permutation tests.

Texts have a latent trait, prompts a difficulty; judges and people cut what they read of them, with
the tails of Student's t of 3 degrees of freedom, into 1 to 5. `shared` is the weight of the trait:
with 0 all rate at random within the prompt. Beside stand the variance of the texts' means of the
judges' ranks, and the covariance of the judges' and people's means, both within prompts and by
permutations there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.independent import Row
from benchmarks.independent.rasch import THRESHOLDS, table_of
from persona_panel.analyses.agree_conclusion import agree_conclusion
from persona_panel.analyses.correlate_conclusion import correlate_conclusion
from persona_panel.statistics import AnalysisOptions, agree, correlate

Values = NDArray[np.float64]
SIZES = 5, 12, 30
_JUDGES, _PEOPLE, _DRAWN = 5, 3, 400


def drawn(rng: np.random.Generator, prompts: int, shared: float, raters: int) -> Values:
    """Draw ratings 1 to 5 `(prompts, texts, raters)`."""
    texts = rng.normal(size=(prompts, 1)) + shared * rng.normal(size=(prompts, 4))
    read = texts[..., None] + 0.5 * rng.normal(size=raters)
    read = read + rng.standard_t(3, size=read.shape)
    return 1.0 + (read[..., None] > np.array(THRESHOLDS)).sum(axis=-1)


def shares(prompts: int, shared: float, runs: int) -> Values:
    """Return in which share of runs judges are said to agree, and by the test beside it; a panel
    to go with people, and by the test beside it."""
    rng, total = np.random.default_rng([prompts, round(100 * shared)]), np.zeros(4)
    options = AnalysisOptions(n_permutations=_DRAWN)
    for _ in range(runs):
        ratings = drawn(rng, prompts, shared, _JUDGES + _PEOPLE)
        panel, people = (table_of(part) for part in np.split(ratings, [_JUDGES], axis=2))
        rows = agree(panel, options, only=["kendall_w", "krippendorff_alpha"])
        total[0] += " agree beyond" in agree_conclusion(rows, panel, "dimension")[0].replace(
            "to agree", ""
        )
        rows = correlate(panel, people, options, only=["tau_b", "tau_b_within_prompts"])
        total[2] += any(" correlates " in one for one in correlate_conclusion(rows, panel, people))
        judges = ratings[..., :_JUDGES]
        ranks = stats.rankdata(judges, axis=1)
        means = judges.mean(axis=2)
        theirs = ratings[..., _JUDGES:].mean(axis=2)
        theirs -= theirs.mean(axis=1, keepdims=True)

        def of_ranks(moved: Values) -> float:
            return float((moved.mean(axis=2) ** 2).sum())

        at_random = [
            (
                of_ranks(rng.permuted(ranks, axis=1)),
                abs((rng.permuted(means, axis=1) * theirs).sum()),
            )
            for _ in range(_DRAWN)
        ]
        own = of_ranks(ranks), abs((means * theirs).sum())
        p = (1 + (np.array(at_random) >= np.array(own) - 1e-9).sum(axis=0)) / (_DRAWN + 1)
        total[[1, 3]] += p < 0.05
    return total / runs


def rows(runs: int) -> Iterator[Row]:
    """Yield false claims and power of both."""
    tied, led = (
        [shares(prompts, shared, runs) for prompts in SIZES for shared in of]
        for of in ((0.0,), (0.4, 0.8))
    )
    for place, claim in enumerate(("judges agree beyond chance", "the panel agrees with people")):
        false = tuple(own[2 * place] for own in tied)
        powers = tuple((own[2 * place], own[2 * place + 1]) for own in led)
        yield Row(claim, "traits", false, runs, powers)
