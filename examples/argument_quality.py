"""Novices on the quality of arguments: Tables 2 and 3 of the paper.

    python examples/argument_quality.py PATH

PATH is a folder with novice_ratings_with_text.json: arguments, each with the `ratings` by
dimension and rater, 1 to 3, or "?" where a rater could not tell. Beside Krippendorff's α of all
ratings stands that of three of each argument, chosen so that it is highest, what such a choice
makes of ratings that are dealt out at random, and the paper's. Model raters join the people by
`persona-panel people correlate RUN --human RATINGS --full`.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from shared import beside, figures, ratings_of

from persona_panel.statistics import jackknife, krippendorff_alpha, perfect_agreement

PAPER, MIN_RATERS, OVERALL = "argument-quality", 3, "all dimensions"
SAME = 1e-12


def most_agreeing(ratings: np.ndarray, n: int) -> np.ndarray:
    """Return `n` ratings of each argument (all, if fewer), so that ordinal α of all arguments is as
    high as it gets by another choice for one of them at a time."""
    values = np.unique(ratings[~np.isnan(ratings)])
    subsets = []
    for row in ratings:
        places = np.searchsorted(values, row[~np.isnan(row)]).tolist()
        own = {tuple(sorted(each)) for each in combinations(places, min(n, len(places)))}
        # First those that lie nearest together: α begins with them.
        subsets.append(sorted(own, key=lambda each: (np.ptp(each) if each else 0, each)))
    pairs = [[paired(each, len(values)) for each in own] for own in subsets]
    chosen, before = [0] * len(pairs), np.nan
    total = sum((own[0] for own in pairs), np.zeros((len(values),) * 2))
    while not (now := alpha_of(total)) <= before + SAME:
        before = now
        for place, several in enumerate(pairs):
            rest = total - several[chosen[place]]
            if len(several) > 1:
                chosen[place] = int(np.argmax([alpha_of(rest + each) for each in several]))
            total = rest + several[chosen[place]]
    kept = np.full((len(ratings), n), np.nan)
    for row, sets, place in zip(kept, subsets, chosen, strict=True):
        row[: len(sets[place])] = values[list(sets[place])]
    return kept


def paired(places: tuple[int, ...], n_values: int) -> np.ndarray:
    """Return how often two values meet in an argument: its part of the coincidence matrix."""
    counts = np.bincount(places, minlength=n_values).astype(float)
    return (np.outer(counts, counts) - np.diag(counts)) / max(len(places) - 1, 1)


def alpha_of(pairs: np.ndarray) -> float:
    """Return ordinal α of a coincidence matrix; below any other where it is undefined."""
    counts = pairs.sum(axis=1)
    ranks = np.cumsum(counts) - counts / 2
    apart = (ranks[:, None] - ranks) ** 2
    expected = counts @ apart @ counts / (counts.sum() - 1)
    return float(1 - (pairs * apart).sum() / expected) if expected > 0 else -np.inf


def dealt(ratings: np.ndarray) -> np.ndarray:
    """Return the same ratings, dealt to the arguments at random, as many to each as it had."""
    there, anew = ~np.isnan(ratings), ratings.copy()
    anew[there] = np.random.default_rng(0).permutation(ratings[there])
    return anew


novices = ratings_of(PAPER, __doc__)["ratings"]
# Who gave which argument which score, by dimension: (arguments, people), "?" as a gap.
in_order = np.argsort(novices.raters)
humans = {
    name.replace("_", " "): novices.scores[:, in_order, novices.dimensions.index(name)]
    for name in sorted(novices.dimensions)
}
alphas, counts = figures(PAPER, "4.1, Table 2"), figures(PAPER, "Table 3")
table = Table(
    "dimension", "α, 95 % interval", f"of {MIN_RATERS}\nchosen", "so, by\nchance", "paper",
    "all\nagree", f"all {MIN_RATERS}\nchosen", "paper", box=SIMPLE_HEAD,
    title=f"Novices: α, and arguments of which all ratings ({MIN_RATERS} or more) agree",
)  # fmt: skip
for dimension, scores in {**humans, OVERALL: np.vstack(list(humans.values()))}.items():
    alpha = krippendorff_alpha(scores)
    # The ratings of an argument on all dimensions are drawn together.
    of_argument = np.tile(range(len(novices.items)), len(scores) // len(novices.items))
    interval = jackknife(alpha.resampled, len(scores), of_argument, limits=(-1.0, 1.0))
    perfect = perfect_agreement(scores, min_raters=MIN_RATERS)
    # Of each argument the three ratings that make α highest; what that gives without agreement.
    chosen = most_agreeing(scores, MIN_RATERS)
    table.add_row(
        dimension,
        f"{alpha.value:.2f}"
        + ("" if interval.reason else f" [{interval.low:.2f}, {interval.high:.2f}]"),
        f"{krippendorff_alpha(chosen).value:.2f}",
        f"{krippendorff_alpha(most_agreeing(dealt(scores), MIN_RATERS)).value:.2f}",
        str(alphas.get(dimension, "")),
        str(perfect.subset.sum()),
        str(perfect_agreement(chosen, min_raters=MIN_RATERS).subset.sum()),
        str(counts.get(dimension, "")),
    )
Console().print(table)
beside(PAPER)
