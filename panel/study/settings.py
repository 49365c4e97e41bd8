"""What a study is asked to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Task = Literal["rank", "rate"]
TASKS: tuple[Task, ...] = ("rank", "rate")

MOST_TOGETHER = 6
"""How many texts a rater compares at a time, at most: as many as in SCRuB's study."""


@dataclass(frozen=True, slots=True)
class StudySettings:
    """What a study is asked to be.

    Attributes:
        raters: how many people rate, 1 or more.
        per_rater: how many texts each of them sees, besides calibration and repeated sets.
        tasks: what they do with each set, in this order.
        calibration: how many prompts all raters see, first of all.
        repeats: how many sets each rater sees a second time, at the end.
        attention: how many sets each rater sees that check attention.
        seed: of all that is drawn.
    """

    raters: int
    per_rater: int
    tasks: tuple[Task, ...] = TASKS
    calibration: int = 0
    repeats: int = 0
    attention: int = 0
    seed: int = 0
