"""How often a conclusion claims what is not so.

    python -m benchmarks.null_conclusions [--runs 1000] [--prompts 5,12,30] [--only KIND]

Data in which there is nothing to claim, five dimensions or judges each: independent ratings
(agreement beyond chance, biases; correlation with people where each prompt has one response),
ratings that are independent within prompts which all raters find equally hard (correlation with
people), a judge who is drawn as three people are (more or less correlated with them than one of
them is), judges of whom two rated five or three prompts only (lenient or severe), ratings whose α
is 0.667 on every dimension (above or below it), and first and second ratings drawn alike (the
spread of judges).
Prints the share of runs in which a conclusion claims anything of the kind, which is to be 5 % or
less.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.shares import Event, print_shares
from persona_panel.analyses.agree_conclusion import agree_conclusion
from persona_panel.analyses.bias import ScaleRange, biases
from persona_panel.analyses.bias_result import bias_conclusion
from persona_panel.analyses.correlate_conclusion import correlate_conclusion
from persona_panel.analyses.deliberation import deliberation_conclusion
from persona_panel.statistics import (
    AnalysisOptions,
    Ratings,
    Row,
    correlate,
    kendall_w,
    krippendorff_alpha,
)
from persona_panel.statistics.core.arrays import Array, Statistic
from persona_panel.statistics.core.display import COMPOSITE
from persona_panel.statistics.core.registry import adjust_over_dimensions, rows_of
from persona_panel.statistics.revisions import spread_of

_ITEMS, _RATERS, _DIMENSIONS = 4, 5, 5
_PEOPLE = 3
_DRAWN = 400
_BESIDE = tuple(f"The panel's mean correlates {how} with the other" for how in ("more", "less"))


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
    return " shown to be" in found[1].replace("not shown to be", "")


def _agree(ratings: Ratings) -> list[str]:
    """What is said of α and W, of the composite and by dimension, which alone are computed."""
    whole = _of_agreement(replace(ratings.composite(), dimensions=(COMPOSITE,)))
    rows = _of_agreement(ratings)
    return agree_conclusion(adjust_over_dimensions(rows, whole), ratings, "dimension")


def _of_agreement(ratings: Ratings) -> list[Row]:
    rows: list[Row] = []
    for name, scores in zip(ratings.dimensions, ratings.scores.transpose(2, 0, 1), strict=True):
        alpha = krippendorff_alpha(scores, "interval")
        measured = {
            "krippendorff_alpha": alpha,
            "kendall_w": kendall_w(scores, ratings.prompts, n_permutations=_DRAWN).mean,
        }
        for statistic, result in measured.items():
            rows += _rows(statistic, result, name, ratings)
    return rows


def correlation(draw: np.random.Generator, prompts: int) -> bool:
    """Whether a panel is said to go with people, or contrary to them, who rate the responses to a
    prompt at random."""
    level = draw.integers(0, 11, (prompts, 1, _DIMENSIONS)).repeat(_ITEMS, axis=0)
    sides = [noise(draw, prompts) for _ in range(2)]
    return _correlates(*(replace(side, scores=side.scores + level) for side in sides))


def correlation_over_all(draw: np.random.Generator, prompts: int) -> bool:
    """Whether a panel is said to go with people, or contrary to them, where each prompt has one
    response and all rate at random."""
    n = prompts * _ITEMS
    panel, humans = (noise(draw, prompts) for _ in range(2))
    own = tuple(f"p{item}" for item in range(n))
    return _correlates(replace(panel, prompts=own), replace(humans, prompts=own))


def beside_one_human(draw: np.random.Generator, prompts: int) -> bool:
    """Whether a judge who rates as people do is said to go with them more or less than one of them
    does, within prompts."""
    return _differs_from_one(_alike(draw, prompts))


def beside_one_human_over_all(draw: np.random.Generator, prompts: int) -> bool:
    """The same where each prompt has one response."""
    ratings = _alike(draw, prompts)
    own = tuple(f"p{item}" for item in range(len(ratings.items)))
    return _differs_from_one(replace(ratings, prompts=own))


def _alike(draw: np.random.Generator, prompts: int) -> Ratings:
    """Whole ratings from 1 to 5 by a judge and `_PEOPLE` people, who all see the same quality with
    noise of their own that is 1.2 times as large."""
    shape = prompts * _ITEMS, 1 + _PEOPLE, _DIMENSIONS
    quality = draw.normal(0, 1, (shape[0], 1, _DIMENSIONS))
    return ratings_of(np.clip(np.round(3 + quality + draw.normal(0, 1.2, shape)), 1, 5), prompts)


def _differs_from_one(ratings: Ratings) -> bool:
    options = AnalysisOptions(n_permutations=0)
    panel, humans = ratings.by(ratings.raters[:1]), ratings.by(ratings.raters[1:])
    kinds = ("pearson", "human_difference_tau_b")
    named = [f"{kind}{where}" for kind in kinds for where in ("", "_within_prompts")]
    rows = correlate(panel, humans, options, only=named)
    said = correlate_conclusion(rows, panel, humans)
    return any(one.startswith(_BESIDE) for one in said)


def _correlates(panel: Ratings, humans: Ratings) -> bool:
    """Whether any correlation is claimed, of those of all judges, which alone are computed."""
    options = AnalysisOptions(n_permutations=_DRAWN)
    rows = correlate(panel, humans, options, only=["pearson", "pearson_within_prompts"])
    said = correlate_conclusion(rows, panel, humans)
    return any(" correlates " in one or " contrary " in one for one in said)


def _rows(statistic: str, result: Statistic, dimension: str, ratings: Ratings) -> list[Row]:
    clusters = list(ratings.prompts or ())
    return rows_of(statistic, [result], "judges", dimension, clusters, AnalysisOptions())


def bias(draw: np.random.Generator, prompts: int) -> bool:
    """Whether a bias is said to be significant, or a judge lenient or severe."""
    ratings = noise(draw, prompts, 1)
    scales = dict.fromkeys(ratings.dimensions, ScaleRange(1, 10, True))
    lengths = draw.lognormal(5, 0.5, len(ratings.items))
    found = bias_conclusion(biases(ratings, scales, lengths))
    return any(one.startswith(("Significant", "Of ")) for one in found)


def few_rated(draw: np.random.Generator, prompts: int) -> bool:
    """Whether a judge is said to be lenient or severe, where two rated few of the prompts."""
    ratings = noise(draw, prompts, 1)
    for judge, n_prompts in enumerate((3, 5)):
        ratings.scores[n_prompts * _ITEMS :, judge] = np.nan
    scales = dict.fromkeys(ratings.dimensions, ScaleRange(1, 10, True))
    lengths = draw.lognormal(5, 0.5, len(ratings.items))
    return bias_conclusion(biases(ratings, scales, lengths))[-1].startswith("Of ")


def spread(draw: np.random.Generator, prompts: int) -> bool:
    """Whether judges are said to differ more or less after a deliberation without any effect."""
    labels = [f"p{n // _ITEMS}" for n in range(prompts * _ITEMS)]
    changes = {}
    for dimension in range(_DIMENSIONS):
        before, after = (noise(draw, prompts, 1).scores for _ in range(2))
        everything = np.ones(len(labels), dtype=bool)
        changes[f"d{dimension}"] = spread_of(before[:, :, 0], after[:, :, 0], everything, labels)
    return deliberation_conclusion(1, 1, changes, None)[0].startswith("After")


CLAIMS: dict[str, Event] = {
    "agreement beyond chance": chance,
    "α above or below 0.667": level,
    "correlation with people within prompts": correlation,
    "correlation with people over all items": correlation_over_all,
    "the panel beside one human within prompts": beside_one_human,
    "the panel beside one human over all items": beside_one_human_over_all,
    "a bias, or a lenient judge": bias,
    "a judge of few prompts is lenient or severe": few_rated,
    "the spread of judges": spread,
}


if __name__ == "__main__":
    print_shares(__doc__, CLAIMS, "5,12,30")
