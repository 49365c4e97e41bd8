"""How far raters agree with themselves and, where all rate the same texts, with each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from persona_panel.rubrics import Rubric
from persona_panel.statistics import correlation, krippendorff_alpha
from persona_panel.statistics.core.arrays import Statistic
from persona_panel.study.collection import TextRating

RANK = "rank"
_BY_POINTS = ("rank", "integer")
"""Kinds of answers whose neighbours are one point apart."""


@dataclass(frozen=True, slots=True)
class RepeatReliability:
    """First and second answers to the same texts.

    Attributes:
        of: a dimension's id, `rank`, or a rater's name.
        n: how many pairs of answers there are.
        exact: the share of pairs that are equal, from 0 to 1; None without a pair.
        within_one: the share that differs by at most one point or rank; None without a pair, for
            categories and for scales of real numbers.
        correlation: τ_b of first and second answers over raters and texts, or why there is none;
            None of a rater, whose dimensions have different means, and of categories.

    Those of a rater are over ranks and scores on scales of whole numbers.
    """

    of: str
    n: int
    exact: float | None
    within_one: float | None
    correlation: Statistic | None


@dataclass(frozen=True, slots=True)
class CalibrationAgreement:
    """The agreement of raters on the texts that all of them see.

    Attributes:
        of: a dimension's id, or `rank`.
        n_texts, n_raters: who rated what.
        alpha: Krippendorff's α (ordinal; nominal for categories), or why there is none. Ranks are
            compared as they were given, within each prompt.
    """

    of: str
    n_texts: int
    n_raters: int
    alpha: Statistic


def repeat_reliability(
    ratings: Sequence[TextRating], rubric: Rubric
) -> tuple[tuple[RepeatReliability, ...], tuple[RepeatReliability, ...]]:
    """Compute the reliability over sets that were shown twice: by dimension (and for ranks), then
    by rater.

    Returns:
        Two tuples, empty where nothing was shown twice.
    """
    first = {
        (rating.rater, rating.prompt_id, rating.response): rating
        for rating in ratings
        if rating.role != "repeat"
    }
    pairs = [
        (first[rating.rater, rating.prompt_id, rating.response], rating)
        for rating in ratings
        if rating.role == "repeat"
    ]
    by_question = tuple(
        agreement
        for name, kind, value in _questions(rubric)
        if (agreement := _repeated(name, [(value(a), value(b)) for a, b in pairs], kind)).n
    )
    by_rater = []
    for rater in dict.fromkeys(rating.rater for _, rating in pairs):
        own = [
            (value(a), value(b))
            for _, kind, value in _questions(rubric)
            for a, b in pairs
            if b.rater == rater and kind in _BY_POINTS
        ]
        if (agreement := _repeated(rater, own, "rank", correlated=False)).n:
            by_rater.append(agreement)
    return by_question, tuple(by_rater)


def calibration_agreement(
    ratings: Sequence[TextRating], rubric: Rubric
) -> tuple[CalibrationAgreement, ...]:
    """Compute Krippendorff's α of each dimension, and of ranks, over the calibration texts."""
    shown = [rating for rating in ratings if rating.role == "calibration"]
    texts = list(dict.fromkeys((rating.prompt_id, rating.response) for rating in shown))
    raters = list(dict.fromkeys(rating.rater for rating in shown))
    agreements = []
    for name, kind, value in _questions(rubric):
        nominal = kind == "category"
        table = np.full((len(texts), len(raters)), np.nan)
        codes: dict[object, int] = {}
        for rating in shown:
            answer = value(rating)
            if answer is None:
                continue
            number = codes.setdefault(answer, len(codes)) if nominal else float(answer)
            table[texts.index((rating.prompt_id, rating.response)), raters.index(rating.rater)] = (
                number
            )
        rated = ~np.isnan(table)
        if not rated.any():
            continue
        alpha = krippendorff_alpha(table, level="nominal" if nominal else "ordinal")
        agreements.append(
            CalibrationAgreement(
                name, int(rated.any(axis=1).sum()), int(rated.any(axis=0).sum()), alpha
            )
        )
    return tuple(agreements)


_Value = Callable[[TextRating], float | str | None]


def _questions(rubric: Rubric) -> list[tuple[str, str, _Value]]:
    """Return each question on a text: its name, the kind of its answers, and a function that reads
    an answer."""
    questions: list[tuple[str, str, _Value]] = [(RANK, "rank", lambda rating: rating.rank)]
    for dimension in rubric.dimensions:
        questions.append((dimension.id, dimension.scale.kind, _score_on(dimension.id)))
    return questions


def _score_on(dimension: str) -> _Value:
    return lambda rating: rating.scores.get(dimension)


def _repeated(
    of: str,
    answers: Sequence[tuple[float | str | None, float | str | None]],
    kind: str,
    *,
    correlated: bool = True,
) -> RepeatReliability:
    both = [(a, b) for a, b in answers if a is not None and b is not None]
    n = len(both)
    if not n:
        return RepeatReliability(of, 0, None, None, None)
    exact = sum(a == b for a, b in both) / n
    if kind == "category":
        return RepeatReliability(of, n, exact, None, None)
    values = np.array(both, dtype=float)
    near = float(np.mean(np.abs(values[:, 0] - values[:, 1]) <= 1)) if kind in _BY_POINTS else None
    tau = correlation(values[:, 0], values[:, 1], "tau_b") if correlated else None
    return RepeatReliability(of, n, exact, near, tau)
