"""What is asked: a rubric and its dimensions.

Only the shapes live here: how a question is put to a model and how its answer is
read is in `persona_panel.rubrics.elicitations`, and how a file becomes a rubric in
`persona_panel.files`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from persona_panel.rubrics.composite import Composite
from persona_panel.rubrics.scale import AnyScale, CategoryScale, RealScale, Scale

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


_PART = r"^[a-z][a-z ]{0,38}[a-z]$"


class ItemForm(BaseModel):
    """How an item is put to a judge.

    `prompt`, `context` and `response` are what its parts are called. `prompt_from` names a further
    field of the responses, whose text is shown in place of the prompt where a response has it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: str = Field(default="prompt", pattern=_PART)
    context: str = Field(default="context", pattern=_PART)
    response: str = Field(default="response", pattern=_PART)
    prompt_from: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _parts_are_told_apart(self) -> ItemForm:
        if len({self.prompt, self.context, self.response}) < 3:
            raise ValueError("two parts of an item have one name; a name of its own for each")
        return self


class VariantDimension(BaseModel):
    """What a variant says of a dimension in other words; None, as the rubric does."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    definition: str | None = Field(default=None, min_length=1)
    guiding_question: str | None = Field(default=None, min_length=1)


class RubricVariant(BaseModel):
    """Other guidelines for the same dimensions and scales: for experts or novices, say.

    What it leaves out is as in the rubric.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: str = Field(min_length=1)
    question: str | None = Field(default=None, min_length=1)
    dimensions: Mapping[str, VariantDimension] = Field(default_factory=dict)
    item: ItemForm | None = None


class Rubric(BaseModel):
    """The question put to every judge, dimension by dimension.

    Without `abstention` the judges are not asked about it. `not_assessable` says whether
    a judge may leave a dimension unrated. Without `composite` it is the mean of all
    dimensions that are rated by numbers. `variants` are other guidelines, by name; a rubric that
    `in_variant` has made says in `variant` which one it is.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)
    label: str = Field(min_length=1)
    question: str = Field(min_length=1)
    dimensions: Annotated[Sequence[Dimension], AfterValidator(tuple)] = Field(min_length=1)
    abstention: Abstention | None = None
    not_assessable: bool = False
    composite: Composite | None = None
    item: ItemForm = ItemForm()
    variants: Mapping[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")], RubricVariant] = (
        Field(default_factory=dict)
    )
    variant: str | None = None

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

    @model_validator(mode="after")
    def _variants_are_of_its_dimensions(self) -> Rubric:
        known = [dimension.id for dimension in self.dimensions]
        for name, variant in self.variants.items():
            if unknown := [each for each in variant.dimensions if each not in known]:
                raise ValueError(
                    f"the variant {name!r} has the dimension {unknown[0]!r}; one of "
                    f"{', '.join(known)}"
                )
        return self

    def in_variant(self, name: str | None) -> Rubric:
        """The rubric in the words of one of its variants, or in its own; without variants.

        Raises:
            KeyError: it has no variant of that name.
        """
        if name is None:
            return self.model_copy(update={"variants": {}}) if self.variants else self
        chosen = self.variants[name]
        dimensions = tuple(
            dimension.model_copy(update=own.model_dump(exclude_none=True))
            if (own := chosen.dimensions.get(dimension.id))
            else dimension
            for dimension in self.dimensions
        )
        return self.model_copy(
            update={
                "question": chosen.question or self.question,
                "dimensions": dimensions,
                "item": chosen.item or self.item,
                "variants": {},
                "variant": name,
            }
        )

    @property
    def numeric(self) -> tuple[Dimension, ...]:
        """The dimensions that are rated by numbers."""
        return tuple(d for d in self.dimensions if not isinstance(d.scale, CategoryScale))

    @property
    def numeric_scales(self) -> dict[str, Scale | RealScale]:
        """The scales of these dimensions, by their ids."""
        return {d.id: d.scale for d in self.dimensions if not isinstance(d.scale, CategoryScale)}

    @property
    def rescaled(self) -> dict[str, tuple[float, float]]:
        """The dimensions whose mean the composite is, where they are on different scales, each with
        the lowest value and the width of its scale: what is averaged is then the share of the width
        at which a rating lies, from 0 to 1. Empty where there is one scale, or another rule."""
        names = self.composite.mean_of if self.composite else tuple(d.id for d in self.numeric)
        scales = self.numeric_scales
        found = {name: (float(scales[name].min), float(scales[name].max)) for name in names or ()}
        if len(set(found.values())) < 2:
            return {}
        return {name: (low, high - low) for name, (low, high) in found.items()}

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
