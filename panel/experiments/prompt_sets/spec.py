"""The specification of a set of prompts: the YAML file that `prompts build` reads, and texts with
places in braces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails

from persona_panel.files.definitions import load_definition
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.limits import text_of_file
from persona_panel.files.wording import did_you_mean
from persona_panel.models.config import MODEL_SPEC, ModelConfig

_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]+)\}|[{}]")


def places_in(text: str) -> tuple[str, ...]:
    """Return the names of the places in a text, each once, in order.

    >>> places_in("{a} and {b} and {a}, {{as it is}}")
    ('a', 'b')
    """
    return tuple(dict.fromkeys(place[1] for place in _PLACE.finditer(text) if place[1]))


def stray_brace(text: str) -> str | None:
    """Return a brace that belongs to no place; None where there is none."""
    return next((place[0] for place in _PLACE.finditer(text) if place[0] in "{}"), None)


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return a text with each place filled; doubled braces are braces.

    >>> filled("{a} or {{b}}", {"a": "this"})
    'this or {b}'
    """
    return _PLACE.sub(lambda place: values[place[1]] if place[1] else place[0][0], text)


def list_of(slot: str) -> str:
    """Return the list of values that a slot takes its value from: `concept` of `concept.other`."""
    return slot.partition(".")[0]


_ID = r"^[a-z0-9][a-z0-9_-]*$"

DIFFERENT = (
    "a strong answer to one of them would not also be a strong answer to another. They may differ "
    "in the discipline that they draw on, in the level that they look at (persons, institutions, a "
    "whole society), in the kind of reasoning that they take (explaining causes, weighing values, "
    "finding hidden assumptions, tracing consequences) or in the field of life that they are about."
)
"""The rule for questions of one item to differ, where a SPEC says nothing else: functional
diversity (scrub.txt, section 15.3)."""


def _known_models(value: tuple[str | ModelConfig, ...]) -> tuple[str | ModelConfig, ...]:
    for model in value:
        if isinstance(model, str) and not re.match(MODEL_SPEC, model):
            raise ValueError(f"{model!r}; provider:name, for instance openai:gpt-4o-mini")
    return value


StepModels = Annotated[tuple[str | ModelConfig, ...], AfterValidator(_known_models)]


class _SpecPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SlotFile(_SpecPart):
    """The values of a slot, in a text file of their own, one a line; `#` begins a remark."""

    file: str = Field(min_length=1)


class RewriteSpec(_SpecPart):
    """The rules for turning items into open questions: how many each model (without `models` those
    of the SPEC) writes of an item in one answer, in which sense they are to differ, and what else
    to heed."""

    prompts: int = Field(default=5, ge=1, le=20)
    different: str = Field(default=DIFFERENT, min_length=1)
    task: str | None = Field(default=None, min_length=1)
    models: StepModels = ()


class PromptTemplate(_SpecPart):
    """A text with slots in braces: `{concept}`, and `{concept.other}` for another of its values.
    `draw` is how many fillings are drawn, each value of a slot about as often; without it all are
    taken. `stratum`, which may have slots, is the template's id unless given."""

    id: str = Field(pattern=_ID, max_length=64)
    text: str = Field(min_length=1)
    draw: int | None = Field(default=None, ge=1)
    stratum: str | None = Field(default=None, min_length=1)
    rewrite: RewriteSpec | None = None


class KeepRule(_SpecPart):
    """A rule that keeps items: those whose `field` is one of `values`, `contains` one of these
    texts or `lacks` all of these patterns (regular expressions); or the first of those with the
    same `unique` fields. Case makes no difference. `reason` is told of the others."""

    field: str | None = Field(default=None, min_length=1)
    values: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()
    reason: str | None = Field(default=None, min_length=1)

    @field_validator("lacks")
    @classmethod
    def _are_patterns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in value:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} ({error}); a regular expression") from None
        return value

    @model_validator(mode="after")
    def _has_one_kind(self) -> Self:
        kinds = [kind for kind in ("values", "contains", "lacks", "unique") if getattr(self, kind)]
        if len(kinds) != 1:
            named = " and ".join(kinds) or "none of them"
            raise ValueError(f"{named}; one of values, contains, lacks and unique")
        if (self.field is None) != (kinds == ["unique"]):
            actual = f"{kinds[0]} with{'out' if self.field is None else ''} a field"
            expected = "a field with values, contains or lacks, and none with unique"
            raise ValueError(f"{actual}; {expected}")
        return self


class ItemSource(_SpecPart):
    """Items of an existing set, in a file beside the SPEC; `text` says how their fields, named in
    braces, make up an item. With `rewrite` open questions are made of them; without it they are the
    prompts."""

    id: str = Field(pattern=_ID, max_length=64)
    file: str = Field(min_length=1)
    item_id: str | None = Field(default=None, min_length=1)
    text: str = Field(min_length=1)
    stratum: str | None = Field(default=None, min_length=1)
    keep: tuple[KeepRule, ...] = ()
    rewrite: RewriteSpec | None = None


class TextLimits(_SpecPart):
    """The limits of a prompt: its length in words, and what it must not have (regular
    expressions)."""

    min_words: int = Field(default=4, ge=1)
    max_words: int = Field(default=120, ge=1)

    @model_validator(mode="after")
    def _are_in_order(self) -> Self:
        if self.max_words < self.min_words:
            raise ValueError(
                f"max_words {self.max_words} is below min_words; {self.min_words} or above"
            )
        return self


class QualityFilter(_SpecPart):
    """A filter that keeps prompts: those that `needed` of the models pass; with 0 all, with the
    votes. A model passes a prompt that meets every criterion of the rubric: that is rated with the
    first of its categories, or on a scale of numbers with `at_least`. `own`: whether models judge
    what they wrote themselves, too."""

    rubric: str = "prompt-quality"
    needed: int = Field(default=1, ge=0)
    at_least: float | None = None
    own: bool = True
    models: StepModels = ()


class DuplicateRule(_SpecPart):
    """The measure of near-duplicates: by the cosine of sentence embeddings, or by chrF."""

    by: Literal["sentence", "chrf"] = "sentence"
    threshold: float = Field(default=0.9, gt=0, le=1)


class DiversitySpec(_SpecPart):
    """The measurement of functional diversity: by models that say of two prompts whether a strong
    answer to one would do for the other; `all` or `any` of them. `pairs` is how many pairs of a
    bundle are compared at most, drawn by the seed."""

    equivalent: Literal["all", "any"] = "all"
    pairs: int | None = Field(default=None, ge=1)
    models: StepModels = ()


class StratifiedDraw(_SpecPart):
    """The number of prompts drawn in all, as evenly over the strata as they have them."""

    prompts: int = Field(ge=1)


class PromptSetSpec(_SpecPart):
    """A set of prompts, as its SPEC has it. Each step is left out where its key is."""

    id: str = Field(pattern=_ID, max_length=64)
    label: str | None = Field(default=None, min_length=1)
    seed: int = 0
    models: StepModels = ()
    slots: dict[str, tuple[str, ...] | SlotFile] = Field(default_factory=dict)
    templates: tuple[PromptTemplate, ...] = ()
    sources: tuple[ItemSource, ...] = ()
    limits: TextLimits = TextLimits()
    quality: QualityFilter | None = None
    duplicates: DuplicateRule | None = None
    diversity: DiversitySpec | None = None
    draw: StratifiedDraw | None = None

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Validate as pydantic does, and also what the parts say of each other, each at its
        place."""
        spec = super().model_validate(obj, **options)
        faults = [
            InitErrorDetails(
                type="value_error", loc=place, input=actual, ctx={"error": ValueError(reason)}
            )
            for place, actual, reason in _faults(spec)
        ]
        if faults:
            raise ValidationError.from_exception_data(cls.__name__, faults)
        return spec


_Wrong = tuple[tuple[str | int, ...], Any, str]
"""A contradiction: where, what is there, and what is wrong with it."""


def _faults(spec: PromptSetSpec) -> Iterator[_Wrong]:
    if not spec.templates and not spec.sources:
        yield (), spec.id, "neither templates nor sources; at least one of them"
    for name, values in spec.slots.items():
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            yield ("slots", name), name, f"the name {name!r}; small letters, digits and _"
        if isinstance(values, tuple):
            yield from _value_faults(name, values)
    ids: set[str] = set()
    for kind in ("templates", "sources"):
        for place, part in enumerate(getattr(spec, kind)):
            if part.id in ids:
                again = f"the id {part.id!r} again; an id of its own for each template and source"
                yield (kind, place, "id"), part.id, again
            ids.add(part.id)
            for key in ("text", "stratum"):
                if (text := getattr(part, key)) is not None and (brace := stray_brace(text)):
                    reason = (
                        f"a single {brace}; a slot such as {{name}}, or the brace written twice"
                    )
                    yield (kind, place, key), text, reason
    for place, template in enumerate(spec.templates):
        yield from _slot_faults(place, template, spec.slots)


def _value_faults(name: str, values: tuple[str, ...]) -> Iterator[_Wrong]:
    if not values:
        yield ("slots", name), values, "no values; at least one"
    for place, value in enumerate(values):
        if not value.strip():
            yield ("slots", name, place), value, "an empty value; text"
        elif values.index(value) < place:
            yield ("slots", name, place), value, f"{value!r} again; each value once"


def _slot_faults(
    place: int, template: PromptTemplate, slots: Mapping[str, Any]
) -> Iterator[_Wrong]:
    own = {list_of(slot) for slot in places_in(template.text)}
    for slot in sorted(own - set(slots)):
        known = ", ".join(sorted(slots)) or "the names of slots, and there are none"
        reason = f"the slot {{{slot}}}; one of {known}{did_you_mean(slot, slots)}"
        yield ("templates", place, "text"), template.text, reason
    for slot in sorted(set(places_in(template.stratum or "")) - set(places_in(template.text))):
        reason = f"the slot {{{slot}}}, which the text does not have; a slot of the text"
        yield ("templates", place, "stratum"), template.stratum, reason


def load_prompt_set_spec(path: str | Path) -> PromptSetSpec:
    """Read a SPEC, and the values of slots that are in files of their own; raises InputError with
    every fault."""
    file = Path(path)
    spec = load_definition(file, PromptSetSpec)
    slots: dict[str, tuple[str, ...]] = {}
    faults: list[Fault] = []
    for name, values in spec.slots.items():
        if isinstance(values, tuple):
            slots[name] = values
            continue
        own = file.parent / values.file
        try:
            slots[name] = tuple(_values_in(own))
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    return spec.model_copy(update={"slots": slots})


def _values_in(path: Path) -> Iterator[str]:
    seen: dict[str, int] = {}
    faults = []
    for number, line in enumerate(text_of_file(path).splitlines(), start=1):
        value = line.partition("#")[0].strip()
        if not value:
            continue
        if (first := seen.setdefault(value, number)) != number:
            actual = f"{value!r} again, first on line {first}"
            faults.append(Fault(str(path), actual, "each value once", number))
    if not seen:
        faults.append(Fault(str(path), "no values", "at least one, one a line"))
    if faults:
        raise InputError(faults)
    yield from seen
