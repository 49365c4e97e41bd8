"""What is asked: a rubric, its dimensions and their scales.

Only the shapes live here: how a question is put to a model and how its answer is
read is in `rubrics.elicitations`, and how a file becomes a rubric in `panel.files`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

T = TypeVar("T")


class Scale(BaseModel):
    """A Likert scale of consecutive integers, with what its two ends mean."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    min: int
    max: int
    low: str = Field(min_length=1, description="what the lowest value means")
    high: str = Field(min_length=1, description="what the highest value means")

    @model_validator(mode="after")
    def _has_two_values(self) -> Scale:
        if self.max <= self.min:
            raise ValueError(f"max is {self.max}, not above min; a value above {self.min}")
        if self.min < 0:
            raise ValueError(f"min is {self.min}; 0 or above")
        if self.max - self.min > 100:
            raise ValueError(f"{self.min} to {self.max} has too many values; at most 101")
        return self

    @property
    def values(self) -> range:
        """Every value a rating may take, in rising order."""
        return range(self.min, self.max + 1)


class Dimension(BaseModel):
    """One quality that is rated by itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)
    label: str = Field(min_length=1, max_length=100)
    definition: str = Field(min_length=1)
    guiding_question: str = Field(min_length=1)
    scale: Scale


class Abstention(BaseModel):
    """How a judge is asked whether a response declines to engage."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    definition: str = Field(min_length=1)
    guiding_question: str = Field(min_length=1, description="answered by yes or no")


class Rubric(BaseModel):
    """The question put to every judge, dimension by dimension.

    Without `abstention` the judges are not asked about it. `not_assessable` says whether
    a judge may leave a dimension unrated.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)
    label: str = Field(min_length=1)
    question: str = Field(min_length=1)
    dimensions: tuple[Dimension, ...] = Field(min_length=1)
    abstention: Abstention | None = None
    not_assessable: bool = False

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Rubric:
        seen = {"abstained"}
        for dimension in self.dimensions:
            if dimension.id in seen:
                raise ValueError(
                    f"the dimension id {dimension.id!r} is taken; an id of its own for each"
                )
            seen.add(dimension.id)
        return self


def once_a_rubric(words: Callable[[Rubric], T]) -> Callable[[Rubric], T]:
    """Work out what follows from a rubric alone when it changes, not for each judge again.

    What is returned is shared: nobody may change it.
    """
    last: tuple[Rubric, T] | None = None

    @wraps(words)
    def kept(rubric: Rubric) -> T:
        nonlocal last
        if last is None or last[0] is not rubric:
            last = (rubric, words(rubric))
        return last[1]

    return kept
