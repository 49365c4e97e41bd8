"""The statistics on real human ratings, against plain loops over other packages.

The data are no part of the project. They are looked for in $PERSONA_PANEL_DATA, or in
`shared/data` beside the repository; each test skips where its file is absent.
"""

from __future__ import annotations

import ast
import csv
import json
import os
from itertools import combinations
from math import nan
from pathlib import Path
from typing import NamedTuple

import krippendorff
import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from persona_panel.statistics import (
    correlation,
    human_ceiling,
    jackknife,
    krippendorff_alpha,
    pairwise,
    perfect_agreement,
    row_means,
    source_means,
    substitution,
)

DATA = Path(os.environ.get("PERSONA_PANEL_DATA", Path(__file__).parents[4] / "shared" / "data"))


class Speeches(NamedTuple):
    ratings: np.ndarray
    panel: np.ndarray
    sources: list[str]
    topics: list[str]


def needed(*names: str) -> list[Path]:
    paths = [DATA / name for name in names]
    for path in paths:
        if not path.exists():
            pytest.skip(f"{path} is absent: set PERSONA_PANEL_DATA to where the data lie")
    return paths


@pytest.fixture(scope="module")
def speeches() -> Speeches:
    """Debate speeches rated 1–5 by people, and by one model."""
    path, judge = needed("debate_speeches/data.csv", "debate_speeches/judge_qwen3-8b.csv")
    csv.field_size_limit(2**30)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with judge.open(newline="") as file:
        scores = {row["id"]: float(row["score"]) for row in csv.DictReader(file)}
    people = [ast.literal_eval(row["labeler_ids"]) for row in rows]
    column = {name: i for i, name in enumerate(sorted({p for those in people for p in those}))}
    ratings = np.full((len(rows), len(column)), nan)
    for item, (row, those) in enumerate(zip(rows, people, strict=True)):
        for person, score in zip(those, ast.literal_eval(row["goodopeningspeech"]), strict=True):
            ratings[item, column[person]] = score
    panel = np.array([scores.get(row["id"], nan) for row in rows])
    return Speeches(
        ratings, panel, [row["source"] for row in rows], [row["topic_id"] for row in rows]
    )


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_of_speeches(speeches: Speeches, level: str) -> None:
    """α of sparse ratings by many people is the krippendorff package's."""
    expected = krippendorff.alpha(speeches.ratings.T, level_of_measurement=level)
    ours = krippendorff_alpha(speeches.ratings, level)  # type: ignore[arg-type]
    assert ours.value == pytest.approx(expected, abs=1e-12)


def test_substitution_of_speeches(speeches: Speeches) -> None:
    """Human and substituted κ are those of a loop over scikit-learn with the authors' rules."""
    expected: list[list[float]] = [[], []]
    for a, b in combinations(range(speeches.ratings.shape[1]), 2):
        both = ~np.isnan(speeches.ratings[:, a] + speeches.ratings[:, b])
        if both.sum() < 25:
            continue
        x, y, judge = speeches.ratings[both, a], speeches.ratings[both, b], speeches.panel[both]
        for place, one, other in ((0, x, y), (1, x, judge), (1, y, judge)):
            if len(set(one)) == 1 or len(set(other)) == 1:
                expected[place].append(0.0)
                continue
            kappa = cohen_kappa_score(
                one.astype(int),
                other.astype(int),
                labels=[1, 2, 3, 4, 5],
                weights="quadratic",
            )
            expected[place].append(kappa)
    ours = substitution(speeches.ratings, speeches.panel, min_shared=25)
    assert ours.humans.n_pairs == len(expected[0]) > 20
    assert ours.humans.with_zeros.value == pytest.approx(np.mean(expected[0]), abs=1e-12)
    assert ours.panel.with_zeros.value == pytest.approx(np.mean(expected[1]), abs=1e-12)


def test_judge_against_the_mean_human(speeches: Speeches) -> None:
    """τ_c against the mean score is scipy's, and the human ceiling is of its size."""
    mean = np.array([row[~np.isnan(row)].mean() for row in speeches.ratings])
    expected = stats.kendalltau(speeches.panel, mean, variant="c").statistic
    ours = correlation(speeches.panel, row_means(speeches.ratings), "tau_c")
    assert ours.value == pytest.approx(expected, abs=1e-12)
    assert 0.2 < human_ceiling(speeches.ratings, "tau_c").value < 0.6


def test_sources_of_speeches(speeches: Speeches) -> None:
    """People prefer human experts to GPT-2, as the paper says, and so does the judge."""
    ours = source_means(speeches.panel, speeches.ratings, speeches.sources)
    of = dict(zip(ours.sources, zip(ours.panel, ours.humans, strict=True), strict=True))
    expert = next(name for name in of if "uman expert" in str(name))
    weakest = next(name for name in of if "GPT2" in str(name))
    assert of[expert][0] > of[weakest][0]
    assert of[expert][1] > of[weakest][1]
    assert ours.pearson.value > 0.5


def test_pairs_of_people(speeches: Speeches) -> None:
    """Means over thousands of sparse pairs are those of a loop over scipy, with an interval."""
    taus = []
    for a, b in combinations(range(speeches.ratings.shape[1]), 2):
        both = ~np.isnan(speeches.ratings[:, a] + speeches.ratings[:, b])
        x, y = speeches.ratings[both, a], speeches.ratings[both, b]
        if both.sum() >= 2 and np.ptp(x) > 0 and np.ptp(y) > 0:
            taus.append(stats.kendalltau(x, y).statistic)
    ours = pairwise(speeches.ratings, "tau_b")
    assert ours.mean.value == pytest.approx(np.mean(taus), abs=1e-12)
    resampled = pairwise(speeches.ratings, "tau_b").mean.resampled
    interval = jackknife(resampled, len(speeches.ratings), speeches.topics)
    assert interval.low < ours.mean.value < interval.high


def test_novices_agree_little_on_arguments() -> None:
    """α and perfect agreement of novices, by dimension, against the package and a plain count."""
    (path,) = needed("argument_quality/novice_ratings_with_text.json")
    arguments = json.loads(path.read_text())
    for dimension in ("clarity", "global-sufficiency"):
        given = [argument["ratings"].get(dimension, {}) for argument in arguments]
        column = {name: i for i, name in enumerate(sorted({n for one in given for n in one}))}
        ratings = np.full((len(given), len(column)), nan)
        for item, one in enumerate(given):
            for name, score in one.items():
                ratings[item, column[name]] = nan if score == "?" else float(score)
        expected = krippendorff.alpha(ratings.T, level_of_measurement="ordinal")
        assert krippendorff_alpha(ratings).value == pytest.approx(expected, abs=1e-12)
        sets = [{v for v in one.values() if v != "?"} for one in given]
        sizes = [sum(v != "?" for v in one.values()) for one in given]
        plain = sum(n >= 3 and len(s) == 1 for n, s in zip(sizes, sets, strict=True))
        assert perfect_agreement(ratings, min_raters=3).subset.sum() == plain
