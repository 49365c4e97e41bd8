"""How statistics are computed: levels of measurement, resampling, seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

MeasurementLevel = Literal["nominal", "ordinal", "interval", "ratio"]
"""What differences between ratings mean: nothing but the same or not; an order; a distance; a
distance with a true zero."""

Random = Literal["prompts", "prompts-and-judges"]
"""What an interval takes as a sample: the prompts, with these judges as they are; or the judges,
too, as a sample of such judges (their personas and their models, where these are crossed)."""

Target = Literal["score", "rank"]


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """How every statistic of an analysis is computed.

    Attributes:
        level: the level of measurement that ratings are taken to have. Statistics that suit
            another level only are left out.
        random: what intervals take as a sample.
        intervals: whether there are any.
        confidence: of the intervals.
        n_permutations: of the permutation tests.
        seed: of all that is drawn.
        min_shared: for substitution: pairs of people who share fewer items are left out.
        target: what a panel is compared with: the mean human score, or the mean rank in its
            prompt that people give an item.
        epsilon: for the alternative annotator test: by how much a person may be ahead of a judge,
            in [0, 1). None: the test is left out.

    Raises:
        ValueError: an unknown level, sample or target, a confidence outside (0, 1), a negative
            number of permutations, or an epsilon outside [0, 1).
    """

    level: MeasurementLevel = "ordinal"
    random: Random = "prompts"
    intervals: bool = True
    confidence: float = 0.95
    n_permutations: int = 1999
    seed: int = 0
    min_shared: int = 50
    target: Target = "score"
    epsilon: float | None = None

    def __post_init__(self) -> None:
        check_choice("level", self.level, MeasurementLevel)
        check_choice("target", self.target, Target)
        check_choice("random", self.random, Random)
        check_confidence(self.confidence)
        if self.n_permutations < 0:
            raise ValueError(f"permutations are 0 or more, found {self.n_permutations}")
        if self.epsilon is not None and not 0 <= self.epsilon < 1:
            raise ValueError(f"epsilon lies in [0, 1), found {self.epsilon}")


def check_choice(name: str, found: str, choices: object) -> None:
    """Raises ValueError, naming what there is, where `found` is not one of a Literal's values."""
    if found not in get_args(choices):
        raise ValueError(f"{name} is one of {', '.join(get_args(choices))}, found {found!r}")


def check_confidence(confidence: float) -> None:
    """Raises ValueError where it is not between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, found {confidence}")


DEFAULT_OPTIONS = AnalysisOptions()
