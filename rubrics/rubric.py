"""Rubrics as shapes alone: dimensions, their scales, and the composite that they make up."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from persona_panel.rubrics.instructions import ENGLISH, ENGLISH_CODE, Language

MOST_SCORE = 1e12
"""The largest absolute value of a score: sums of squares of larger ones lose all precision, and of
far larger ones overflow."""


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
        _require_precise(self.min, self.max)
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
        _require_precise(self.min, self.max)
        return self


def _require_precise(*ends: float) -> None:
    for name, end in zip(("min", "max"), ends, strict=True):
        if abs(end) > MOST_SCORE:
            raise ValueError(f"{name} is {end}; from {-MOST_SCORE:g} to {MOST_SCORE:g}")


_QUOTES = "'\"`*“”„‘’‚«»‹›「」『』"
_LONGEST_NAME = 64


def folded(name: str) -> str:
    """Return a category's name without what a writer may vary: case, quotes, spaces, a full stop.

    >>> folded(' "Not_Critical." ')
    'not critical'
    """
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    spaced = re.sub(r"[\s_-]+", " ", plain)
    return spaced.strip(_QUOTES + " .。")


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
    def _are_distinct(cls, values: Mapping[str, str]) -> Mapping[str, str]:
        seen: dict[str, str] = {}
        for name in values:
            if (
                not folded(name)[:1].isalpha()
                or name != name.strip(_QUOTES + " .。")
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

    def find(self, text: str) -> str | None:
        """Return the category that `said` names, whatever its case and quotes; None if it names
        none."""
        wanted = folded(text)
        return next((name for name in self.values if folded(name) == wanted), None)


def _integer_by_default(value: Any) -> Any:
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
    BeforeValidator(_integer_by_default),
]
"""A scale in a file: `kind` says which, whole numbers where it is left out."""


class Share(BaseModel):
    """One category of a dimension."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dimension: str
    value: str


class Reliable(BaseModel):
    """The ratings of a judge count where its rating of `dimension` is `at_least` this."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dimension: str
    at_least: float = Field(allow_inf_nan=False)


class Composite(BaseModel):
    """One number for a response, by exactly one of three rules.

    Attributes:
        mean_of: the mean of these dimensions' means over judges.
        product_of: the mean over judges of the product of their ratings of these; a judge
            that left one of them out has no product.
        share_of: of the judges that chose a category, the share that chose this one.
        reliable_where: whose ratings enter the composite. A judge below it is counted and
            left out; one that did not rate the dimension stays in.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mean_of: tuple[str, ...] | None = Field(default=None, min_length=1)
    product_of: tuple[str, ...] | None = Field(default=None, min_length=2)
    share_of: Share | None = None
    reliable_where: Reliable | None = None

    @model_validator(mode="after")
    def _has_one_rule(self) -> Composite:
        rules = ("mean_of", "product_of", "share_of")
        set_rules = [rule for rule in rules if getattr(self, rule) is not None]
        if len(set_rules) != 1:
            raise ValueError(
                f"{' and '.join(set_rules) or 'no rule'}; exactly one of {', '.join(rules)}"
            )
        return self

    @property
    def numeric(self) -> tuple[str, ...]:
        """The dimensions that it reads as numbers."""
        own = self.mean_of or self.product_of or ()
        return (*own, self.reliable_where.dimension) if self.reliable_where else own


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
    """The question to a judge whether a response declines to engage."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    definition: str = Field(min_length=1)
    guiding_question: str = Field(min_length=1, description="answered by yes or no")


_PART = r"^\p{L}[\p{L}\p{M} ]*[\p{L}\p{M}]$"


class ItemForm(BaseModel):
    """The way in which an item is presented to a judge.

    `prompt`, `context` and `response` are what its parts are called. `prompt_from` names a further
    field of the responses, whose text is shown in place of the prompt where a response has it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: str = Field(default="prompt", max_length=40, pattern=_PART)
    context: str = Field(default="context", max_length=40, pattern=_PART)
    response: str = Field(default="response", max_length=40, pattern=_PART)
    prompt_from: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _parts_are_distinct(self) -> ItemForm:
        if len({self.prompt, self.context, self.response}) < 3:
            raise ValueError("two parts of an item have one name; a name of its own for each")
        return self


PROMPT_FIELDS = ("text", "question", "dimensions", "persona", "context")
"""The fields of a prompt template: the response, the prompt that it answers, the rubric's
dimensions, the persona's description, and the context; the last two are empty where there is
none."""
_FIELD = re.compile(r"\{\{([^\W\d]\w*)\}\}|\{([^\W\d]\w*)\}")


class ReadingRule(BaseModel):
    """A rule by which a rating is read from a reply; exactly one of three.

    `{dimension}` in the first two stands for the id of each dimension in turn.

    Attributes:
        json_path: in a file `json`: the place in a JSON object of the reply, such as `$.scores[0]`.
        regex: an expression with one group, which holds the rating.
        labels: what the reply, or its last line, is, each with the rating that it stands for.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    json_path: str | None = Field(default=None, alias="json", pattern=r"^\$(\.[\w{}-]+|\[\d+\])+$")
    regex: str | None = None
    labels: Mapping[str, float | str] | None = Field(default=None, min_length=2)

    @field_validator("regex")
    @classmethod
    def _has_one_group(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                with warnings.catch_warnings():
                    # Of [[ that means no set: Python's rules for it may change.
                    warnings.simplefilter("error", FutureWarning)
                    n_groups = re.compile(value).groups
            except (re.error, FutureWarning) as error:
                raise ValueError(f"{value!r} ({error}); a regular expression") from None
            if n_groups != 1:
                raise ValueError(f"{n_groups} groups in {value!r}; one group, which has the rating")
        return value

    @field_validator("labels")
    @classmethod
    def _are_distinct(
        cls, value: Mapping[str, float | str] | None
    ) -> Mapping[str, float | str] | None:
        if value is not None and len({*map(folded, value)}) < len(value):
            raise ValueError("labels that differ in case, quotes or spaces; others")
        return value

    @model_validator(mode="after")
    def _has_one_way(self) -> ReadingRule:
        rules = {"json": self.json_path, "regex": self.regex, "labels": self.labels}
        there = [name for name, rule in rules.items() if rule is not None]
        if len(there) != 1:
            raise ValueError(
                f"{' and '.join(there) or 'no rule'}; exactly one of {', '.join(rules)}"
            )
        return self

    @property
    def is_by_dimension(self) -> bool:
        """Return whether each dimension has a rating of its own."""
        return "{dimension}" in (self.json_path or self.regex or "")


class JudgePrompt(BaseModel):
    """The words of a published judge, and the rule by which its answer is read.

    `{text}`, `{question}`, `{dimensions}`, `{persona}` and `{context}` are filled in; `{{text}}` is
    the word in braces, and any other brace is itself. With a `scale` the judge rates the response
    as a whole, and else the dimensions of the rubric. `example` is an answer that the rule reads.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: str
    system: str | None = None
    read: ReadingRule
    scale: AnyScale | None = None
    example: str = Field(pattern=r"\S")

    @field_validator("prompt", "system")
    @classmethod
    def _has_known_fields(cls, value: str | None) -> str | None:
        known = ", ".join(f"{{{name}}}" for name in PROMPT_FIELDS)
        for name in _fields_of(value or ""):
            if name not in PROMPT_FIELDS:
                raise ValueError(
                    f"the field {{{name}}}; one of {known}, or {{{{{name}}}}} for these characters"
                )
        return value

    @field_validator("prompt")
    @classmethod
    def _has_the_text(cls, value: str) -> str:
        if "text" not in _fields_of(value):
            raise ValueError("no field {text}; {text} where the response stands")
        return value

    @property
    def shows_persona(self) -> bool:
        """Return whether a judge's persona is in its words."""
        return "persona" in {*_fields_of(self.prompt), *_fields_of(self.system or "")}

    @property
    def blocks(self) -> tuple[str, str]:
        """The prompt up to the persona, which all judges of a response share, and the rest."""
        places = (match.start() for match in _FIELD.finditer(self.prompt) if match[2] == "persona")
        place = next(places, len(self.prompt))
        return self.prompt[:place], self.prompt[place:]

    @staticmethod
    def filled(template: str, values: Mapping[str, str]) -> str:
        """Return words with their fields filled in, once: what stands in a value is no field."""
        return _FIELD.sub(
            lambda match: f"{{{match[1]}}}" if match[1] else values[match[2]], template
        )


def _fields_of(template: str) -> list[str]:
    return [match[2] for match in _FIELD.finditer(template) if match[2]]


class VariantDimension(BaseModel):
    """A variant's other words for a dimension; None where it has the rubric's."""

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
    `in_variant` has made says in `variant` which one it is. `template` is the prompt in which the
    elicitation `verbatim` asks. `language` is that of its words, in which judges are instructed as
    `translation` says.
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
    template: JudgePrompt | None = None
    language: str = ENGLISH_CODE
    translation: Language | None = None

    @model_serializer(mode="wrap")
    def _as_before(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = dump(self)
        # As in the runs that were written before there were any.
        if self.template is None:
            document.pop("template", None)
        if self.language == ENGLISH_CODE:
            document.pop("language", None)
        if self.translation is None:
            document.pop("translation", None)
        return document

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

    @property
    def asked_in(self) -> Language:
        """Return the language in which judges are asked."""
        return self.translation or ENGLISH

    def in_variant(self, name: str | None) -> Rubric:
        """Return the rubric in the words of one of its variants, or in its own; without variants.

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
        """The dimensions whose mean the composite is, if they are on different scales, each with
        the lowest value and the width of its scale: each rating then counts as its share of the
        width, from 0 to 1. Empty where all have the same scale, or the composite follows another
        rule."""
        names = self.composite.mean_of if self.composite else tuple(d.id for d in self.numeric)
        scales = self.numeric_scales
        ends = {name: (float(scales[name].min), float(scales[name].max)) for name in names or ()}
        if len(set(ends.values())) < 2:
            return {}
        return {name: (low, high - low) for name, (low, high) in ends.items()}

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The names of the categories, by the id of each dimension that has them."""
        return {d.id: d.scale.names for d in self.dimensions if isinstance(d.scale, CategoryScale)}


def once_a_rubric(words: Callable[[Rubric], T]) -> Callable[[Rubric], T]:
    """Compute a function of a rubric once while the rubric stays the same, not for each judge
    again.

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
