"""How often a conclusion claims what is not so.

    python -m benchmarks.null_conclusions [--runs 1000] [--prompts 5,12,30]

Data in which there is nothing to claim, five dimensions or judges each: independent ratings
(agreement beyond chance, correlation with people, biases), ratings whose α is 0.667 on every
dimension (above or below it), and first and second ratings drawn alike (the spread of judges).
Prints the share of runs in which a conclusion claims anything of the kind, which is to be 5 % or
less.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from panel.audit.bias import ScaleRange, biases
from panel.conclusions.agree import agree_conclusion
from panel.conclusions.bias import bias_conclusion
from panel.conclusions.correlate import correlate_conclusion
from panel.conclusions.deliberation import deliberation_conclusion
from panel.statistics import AnalysisOptions, Ratings, Row, kendall_w, krippendorff_alpha
from panel.statistics.agreement.reliability import resampled_alpha
from panel.statistics.core.arrays import Array
from panel.statistics.core.results import Result, adjust_over_dimensions, rows_of
from panel.statistics.deliberation.revisions import spread_of
from panel.statistics.humans.correlation import resampled_correlation
from panel.statistics.resampling.permutation import correlation_test

_ITEMS, _RATERS, _DIMENSIONS = 4, 5, 5
_DRAWN = 400
_Claims = Callable[[np.random.Generator, int], bool]


def ratings_of(scores: Array, prompts: int) -> Ratings:
    """Scores `(items, raters, dimensions)` with names; items of a prompt stand together."""
    items, raters, dimensions = scores.shape
    return Ratings(
        scores,
        tuple(f"i{n}" for n in range(items)),
        tuple(f"r{n}" for n in range(raters)),
        tuple(f"d{n}" for n in range(dimensions)),
        ("judges",) * raters,
        prompts=tuple(f"p{n // (items // prompts)}" for n in range(items)),
        sources=tuple(f"s{n % _ITEMS}" for n in range(items)),
        personas=tuple(f"persona {n}" for n in range(raters)),
    )


def noise(draw: np.random.Generator, prompts: int, dimensions: int = _DIMENSIONS) -> Ratings:
    """Independent whole ratings from 1 to 10."""
    scores = draw.integers(1, 11, (prompts * _ITEMS, _RATERS, dimensions)).astype(float)
    return ratings_of(scores, prompts)


def chance(draw: np.random.Generator, prompts: int) -> bool:
    """Whether independent ratings are said to agree."""
    ratings = noise(draw, prompts)
    return " agree beyond" in _agree(ratings)[0].replace("to agree", "")


def level(draw: np.random.Generator, prompts: int) -> bool:
    """Whether an α of 2/3 is said to be above or below 0.667."""
    n = prompts * _ITEMS
    quality = draw.normal(0, 2**0.5, (n, 1, _DIMENSIONS))
    found = _agree(ratings_of(quality + draw.normal(0, 1, (n, _RATERS, _DIMENSIONS)), prompts))
    return ": shown to be" in found[1] or "; shown to be" in found[1]


def _agree(ratings: Ratings) -> list[str]:
    """What is said of α and W, which alone are computed."""
    rows: list[Row] = []
    for name, scores in zip(ratings.dimensions, ratings.scores.transpose(2, 0, 1), strict=True):
        alpha = krippendorff_alpha(scores, "interval")
        measured = {
            "krippendorff_alpha": Result(alpha, resampled_alpha(scores, "interval")),
            "kendall_w": Result(kendall_w(scores, ratings.prompts, n_permutations=_DRAWN).mean),
        }
        for statistic, result in measured.items():
            rows += _rows(statistic, result, name, ratings)
    return agree_conclusion(adjust_over_dimensions(rows), ratings, "dimension")


def correlation(draw: np.random.Generator, prompts: int) -> bool:
    """Whether a panel is said to go with people, or contrary to them, who rate at random."""
    panel, humans = noise(draw, prompts), noise(draw, prompts)
    rows: list[Row] = []
    for place, name in enumerate(panel.dimensions):
        ours, theirs = (side.scores[:, :, place].mean(axis=1) for side in (panel, humans))
        found = correlation_test(ours, theirs, "tau_b", panel.prompts, n_permutations=_DRAWN)
        resampled = resampled_correlation(ours, theirs, "tau_b")
        rows += _rows("tau_b", Result(found, resampled, kind="correlation"), name, panel)
    said = correlate_conclusion(adjust_over_dimensions(rows), panel, humans)
    return any(" correlates " in one or " contrary " in one for one in said)


def _rows(statistic: str, result: Result, dimension: str, ratings: Ratings) -> list[Row]:
    clusters = list(ratings.prompts or ())
    return rows_of(statistic, [result], "judges", dimension, clusters, AnalysisOptions())


def bias(draw: np.random.Generator, prompts: int) -> bool:
    """Whether a bias is said to be established, or a judge lenient or severe."""
    ratings = noise(draw, prompts, 1)
    scales = dict.fromkeys(ratings.dimensions, ScaleRange(1, 10, True))
    lengths = draw.lognormal(5, 0.5, len(ratings.items))
    found = bias_conclusion(biases(ratings, scales, lengths), ratings)
    return any(one.startswith(("Established", "Of ")) for one in found)


def spread(draw: np.random.Generator, prompts: int) -> bool:
    """Whether judges are said to differ more or less after a deliberation without any effect."""
    labels = [f"p{n // _ITEMS}" for n in range(prompts * _ITEMS)]
    changes = {}
    for dimension in range(_DIMENSIONS):
        before, after = (noise(draw, prompts, 1).scores for _ in range(2))
        everything = np.ones(len(labels), dtype=bool)
        changes[f"d{dimension}"] = spread_of(before[:, :, 0], after[:, :, 0], everything, labels)
    return deliberation_conclusion(1, 1, changes, None)[0].startswith("After")


CLAIMS: dict[str, _Claims] = {
    "agreement beyond chance": chance,
    "α above or below 0.667": level,
    "correlation with people": correlation,
    "a bias, or a lenient judge": bias,
    "the spread of judges": spread,
}


def main() -> None:
    """A line for each kind of claim."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--prompts", default="5,12,30")
    parser.add_argument("--only", default="", help="one kind, by the beginning of its name")
    options = parser.parse_args()
    for name, claims in CLAIMS.items():
        if not name.startswith(options.only):
            continue
        told = []
        for prompts in map(int, options.prompts.split(",")):
            draw = np.random.default_rng(prompts)
            false = sum(claims(draw, prompts) for _ in range(options.runs))
            told.append(f"{false / options.runs:.3f} with {prompts} prompts")
        print(f"{name}: {', '.join(told)}", flush=True)


if __name__ == "__main__":
    main()
