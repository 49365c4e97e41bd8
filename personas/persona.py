"""A persona, which is one viewpoint, and a named set of personas.

Only the shapes live here. How a file becomes one of them, with errors that name
its lines, is the business of `persona_panel.files`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator


class Persona(BaseModel):
    """A viewpoint from which a response is read.

    `description` has to stand alone: a model that is shown nothing but it and a
    rubric must know how to read. `axis` groups personas (disciplinary,
    ideological, annotator, or a word of your own) and is never shown to a model.
    `NO_PERSONA` alone has no description.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)
    label: str = Field(min_length=1, max_length=200)
    axis: str = Field(min_length=1, max_length=64)
    description: str

    @model_validator(mode="after")
    def _has_a_description(self) -> Persona:
        if self.id == _NONE and self != NO_PERSONA:
            raise ValueError(
                f"the id {_NONE!r} is that of a judge without a persona; another id, or the word "
                f"{_NONE} alone in place of the persona"
            )
        if self.id != _NONE and not self.description:
            raise ValueError("an empty description; a viewpoint, in words")
        return self


_NONE = "none"

NO_PERSONA = Persona.model_construct(
    id=_NONE, label="Judge without a persona", axis=_NONE, description=""
)
"""In the place of a persona: a judge that is shown no viewpoint at all, only the rubric."""


def _no_persona_by_name(value: Any) -> Any:
    return NO_PERSONA if value == _NONE else value


class PersonaSet(BaseModel):
    """Personas that sit on a panel together, in the order in which they are listed.

    In a file, `none` in the place of a persona is `NO_PERSONA`. `language` is that of its words.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)
    label: str = Field(min_length=1)
    personas: Annotated[
        Sequence[Annotated[Persona, BeforeValidator(_no_persona_by_name)]], AfterValidator(tuple)
    ] = Field(min_length=1)
    language: str = "en"

    @model_validator(mode="after")
    def _ids_are_unique(self) -> PersonaSet:
        seen: set[str] = set()
        for persona in self.personas:
            if persona.id in seen:
                raise ValueError(
                    f"two personas have the id {persona.id!r}; an id of its own for each"
                )
            seen.add(persona.id)
        return self
