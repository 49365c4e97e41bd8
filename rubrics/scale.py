"""What a rating may be: a whole number, a real number, or one of several categories.

Only the shapes live here. How a scale is put into words is in `persona_panel.rubrics.wording`, and
how a rating on it is read in `persona_panel.rubrics.replies`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError


class Scale(BaseModel):
    """A Likert scale of consecutive integers, with what its two ends mean."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["integer"] = "integer"
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


class RealScale(BaseModel):
    """Any number from `min` to `max`, both ends included, with what the ends mean."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["real"] = "real"
    min: float = Field(allow_inf_nan=False)
    max: float = Field(allow_inf_nan=False)
    low: str = Field(min_length=1, description="what the lowest value means")
    high: str = Field(min_length=1, description="what the highest value means")

    @model_validator(mode="after")
    def _has_an_extent(self) -> RealScale:
        if self.max <= self.min:
            raise ValueError(f"max is {self.max:g}, not above min; a value above {self.min:g}")
        return self


_QUOTES = "'\"`*“”‘’«»"
_LONGEST_NAME = 64


def folded(name: str) -> str:
    """A category's name without what a writer may vary: case, quotes, spaces, a full stop.

    >>> folded(' "Not_Critical." ')
    'not critical'
    """
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    spaced = re.sub(r"[\s_-]+", " ", plain)
    return spaced.strip(_QUOTES + " .")


class CategoryScale(BaseModel):
    """Categories, each by its name with what it means, in the order in which they are listed.

    A category has no number: its code, where an array needs one, is its place in the list
    and says nothing of how good it is. `ordered` says that the list rises from the lowest
    to the highest; judges are told so, and nothing is averaged for it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["category"] = "category"
    ordered: bool = False
    values: Mapping[str, Annotated[str, Field(min_length=1)]] = Field(min_length=2)

    @field_validator("values", mode="before")
    @classmethod
    def _are_names(cls, values: Any) -> Any:
        for name in values if isinstance(values, Mapping) else ():
            if not isinstance(name, str):
                raise ValueError(
                    f"the category {name!r}; a name, in quotes where YAML takes it for something "
                    "else, as it does yes and no"
                )
        return values

    @field_validator("values")
    @classmethod
    def _are_told_apart(cls, values: Mapping[str, str]) -> Mapping[str, str]:
        seen: dict[str, str] = {}
        for name in values:
            if (
                not folded(name)[:1].isalpha()
                or name != name.strip(_QUOTES + " .")
                or not name.isprintable()
                or len(name) > _LONGEST_NAME
            ):
                raise ValueError(
                    f"the category {name[:_LONGEST_NAME]!r}; a name that begins with a letter, "
                    f"without quotes around it, of at most {_LONGEST_NAME} characters"
                )
            if (other := seen.setdefault(folded(name), name)) != name:
                raise ValueError(
                    f"the category {name!r}, which reads like {other!r}; names that differ in "
                    "more than case, spaces and quotes"
                )
        return values

    @property
    def names(self) -> tuple[str, ...]:
        """The categories' names, in their order."""
        return tuple(self.values)

    def find(self, said: str) -> str | None:
        """The category that `said` names, whatever its case and quotes; None if it names none."""
        wanted = folded(said)
        return next((name for name in self.values if folded(name) == wanted), None)


def _integer_unless_said(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {"kind": "integer", **value}
    if isinstance(value, BaseModel):
        return value
    # No address of pydantic's pages behind it: they say nothing of scales.
    raise PydanticCustomError(
        "scale",
        "{found}, which is not a scale; a Scale, RealScale or CategoryScale, or in a file a "
        "mapping such as {example}",
        {
            "found": repr(value),
            "example": "{min: 1, max: 5, low: what 1 means, high: what 5 means}",
        },
    )


AnyScale = Annotated[
    Annotated[Scale | RealScale | CategoryScale, Field(discriminator="kind")],
    BeforeValidator(_integer_unless_said),
]
"""A scale in a file: `kind` says which, whole numbers where it is left out."""
