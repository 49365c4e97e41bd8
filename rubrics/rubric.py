"""What is asked: a rubric and its dimensions.

Only the shapes live here: how a question is put to a model and how its answer is
read is in `rubrics.elicitations`, and how a file becomes a rubric in `panel.io`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rubrics.composite import Composite
from rubrics.scale import AnyScale, CategoryScale

T = TypeVar("T")


class Dimension(BaseModel):
    """One quality that is rated by itself; `family` names the group it belongs to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)
    label: str = Field(min_length=1, max_length=100)
    definition: str = Field(min_length=1)
    guiding_question: str = Field(min_length=1)
    scale: AnyScale
    family: str | None = Field(default=None, min_length=1, max_length=100)


class Abstention(BaseModel):
    """How a judge is asked whether a response declines to engage."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    definition: str = Field(min_length=1)
    guiding_question: str = Field(min_length=1, description="answered by yes or no")


class Rubric(BaseModel):
    """The question put to every judge, dimension by dimension.

    Without `abstention` the judges are not asked about it. `not_assessable` says whether
    a judge may leave a dimension unrated. Without `composite` it is the mean of all
    dimensions that are rated by numbers.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)
    label: str = Field(min_length=1)
    question: str = Field(min_length=1)
    dimensions: tuple[Dimension, ...] = Field(min_length=1)
    abstention: Abstention | None = None
    not_assessable: bool = False
    composite: Composite | None = None

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

    @model_validator(mode="after")
    def _composite_is_of_its_dimensions(self) -> Rubric:
        if self.composite is None:
            return self
        numeric = [dimension.id for dimension in self.numeric]
        for name in self.composite.numeric:
            if name not in numeric:
                raise ValueError(
                    f"a composite of {name!r}; a dimension that is rated by numbers "
                    f"({', '.join(numeric) or 'there is none'})"
                )
        share = self.composite.share_of
        if share is not None and share.value not in self.categories.get(share.dimension, ()):
            known = [f"{name}: {value}" for name, all_ in self.categories.items() for value in all_]
            raise ValueError(
                f"a composite of {share.dimension!r}: {share.value!r}; a dimension and a category "
                f"of it ({', '.join(known) or 'there is none'})"
            )
        return self

    @property
    def numeric(self) -> tuple[Dimension, ...]:
        """The dimensions that are rated by numbers."""
        return tuple(d for d in self.dimensions if not isinstance(d.scale, CategoryScale))

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The names of the categories, by the id of each dimension that has them."""
        return {d.id: d.scale.names for d in self.dimensions if isinstance(d.scale, CategoryScale)}


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
