"""How statistics are computed: levels of measurement, resampling, seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

MeasurementLevel = Literal["nominal", "ordinal", "interval", "ratio"]
"""What differences between ratings mean: nothing but the same or not; an order; a distance; a
distance with a true zero."""

IntervalMethod = Literal["bca", "percentile"]

Target = Literal["score", "rank"]


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """How every statistic of an analysis is computed.

    Attributes:
        level: the level of measurement that ratings are taken to have. Statistics that suit
            another level only are left out.
        method, confidence, n_resamples: of the bootstrap intervals.
        n_permutations: of the permutation tests.
        seed: of both.
        min_shared: for substitution: pairs of humans who share fewer items are left out.
        target: what a panel is compared with: the mean human score, or the mean rank in its
            prompt that humans give an item.

    Raises:
        ValueError: an unknown level, method or target, a confidence outside (0, 1), fewer than
            one resample, or a negative number of permutations.
    """

    level: MeasurementLevel = "ordinal"
    method: IntervalMethod = "bca"
    confidence: float = 0.95
    n_resamples: int = 2000
    n_permutations: int = 1999
    seed: int = 0
    min_shared: int = 50
    target: Target = "score"

    def __post_init__(self) -> None:
        check_choice("level", self.level, MeasurementLevel)
        check_choice("target", self.target, Target)
        check_resampling(self.method, self.confidence, self.n_resamples)
        if self.n_permutations < 0:
            raise ValueError(f"permutations are 0 or more, found {self.n_permutations}")


def check_choice(name: str, found: str, choices: object) -> None:
    """Raises ValueError, naming what there is, where `found` is not one of a Literal's values."""
    if found not in get_args(choices):
        raise ValueError(f"{name} is one of {', '.join(get_args(choices))}, found {found!r}")


def check_resampling(method: str, confidence: float, n_resamples: int) -> None:
    """Raises ValueError where no bootstrap could be run so."""
    check_choice("method", method, IntervalMethod)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, found {confidence}")
    if n_resamples < 1:
        raise ValueError(f"at least one resample is needed, found {n_resamples}")


DEFAULT_OPTIONS = AnalysisOptions()
