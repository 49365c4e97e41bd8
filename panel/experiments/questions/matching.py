"""From similarities to labels, and from labels to what a system's questions are worth: pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.experiments.questions.references import LABELS, Reference
from persona_panel.statistics.core.arrays import Statistic
from persona_panel.statistics.kappa import cohen_kappa


@dataclass(frozen=True, slots=True)
class Match:
    """The reference that a question was matched to.

    Without a reference the question is not evaluable: none is near enough. `error` says why
    nothing could be found out, which is another thing. `similarity` is to the nearest
    reference, NaN where none was measured.
    """

    prompt_id: str
    id: str
    system: str
    reference: Reference | None
    similarity: float = math.nan
    error: str | None = None

    @property
    def label(self) -> str | None:
        """The label that the question takes over."""
        return None if self.reference is None else self.reference.label


@dataclass(frozen=True, slots=True)
class MatchQuality:
    """What one system's questions are worth.

    Attributes:
        system: its name.
        labels: how many questions took each label.
        not_evaluable: how many had no reference near enough.
        missing: how many could not be looked at, for want of a model's answer.
        by_intervention: of each intervention, its useful questions by all of them; NaN where
            one is missing.
        score: the mean of those over interventions without a gap, NaN without any.
    """

    system: str
    labels: dict[str, int]
    not_evaluable: int
    missing: int
    by_intervention: dict[str, float]
    score: float

    @property
    def not_evaluable_share(self) -> float:
        """Of the questions that were looked at; NaN if none was."""
        looked_at = sum(self.labels.values()) + self.not_evaluable
        return self.not_evaluable / looked_at if looked_at else math.nan


def nearest(similarities: ArrayLike, threshold: float) -> list[int | None]:
    """For each row the place of its largest value, None where that is below the threshold.

    The first of equal ones; a row without a value has none. (critical-questions.txt,
    section 5.1)

    >>> nearest([[0.2, 0.9], [0.4, 0.1]], threshold=0.5)
    [1, None]
    """
    rows = np.asarray(similarities, dtype=np.float64)
    if rows.shape[-1] == 0:
        return [None] * len(rows)
    best = rows.argmax(axis=1)
    return [
        int(place) if value >= threshold else None
        for place, value in zip(best, rows.max(axis=1), strict=True)
    ]


def match_quality(matches: Sequence[Match]) -> list[MatchQuality]:
    """What the questions of each system are worth, in order of appearance.

    A question that is not evaluable counts among an intervention's questions and not among
    its useful ones (critical-questions.txt, section 5.2).
    """
    of_system: dict[str, list[Match]] = {}
    for match in matches:
        of_system.setdefault(match.system, []).append(match)
    return [_worth(system, own) for system, own in of_system.items()]


def label_kappa(labels: Sequence[str | None], others: Sequence[str | None]) -> Statistic:
    """Cohen's κ of two labellings of the same questions: nominal, over those that both label.

    Raises:
        ValueError: a label that is none of LABELS, or lengths that differ.
    """
    return cohen_kappa(_codes(labels), _codes(others), weights="none")


def _worth(system: str, matches: Sequence[Match]) -> MatchQuality:
    counts = Counter(match.label for match in matches if match.label is not None)
    missing = sum(match.error is not None for match in matches)
    groups: dict[str, list[Match]] = {}
    for match in matches:
        groups.setdefault(match.prompt_id, []).append(match)
    scores = {
        prompt_id: math.nan
        if any(match.error is not None for match in own)
        else sum(match.label == "useful" for match in own) / len(own)
        for prompt_id, own in groups.items()
    }
    known = [score for score in scores.values() if not math.isnan(score)]
    return MatchQuality(
        system=system,
        labels={label: counts[label] for label in LABELS},
        not_evaluable=len(matches) - missing - sum(counts.values()),
        missing=missing,
        by_intervention=scores,
        score=math.fsum(known) / len(known) if known else math.nan,
    )


def _codes(labels: Sequence[str | None]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([math.nan if label is None else LABELS.index(label) for label in labels])
