"""Who reads: one viewpoint, and a named set of them.

Only the shapes live here. How a file becomes one of them, with errors that name
its lines, is the business of `panel.io`.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Persona(BaseModel):
    """A viewpoint from which a response is read.

    `description` has to stand alone: a model that is shown nothing but it and a
    rubric must know how to read. `axis` groups personas (disciplinary,
    ideological, annotator, or a word of your own) and is never shown to a model.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)
    label: str = Field(min_length=1, max_length=200)
    axis: str = Field(min_length=1, max_length=64)
    description: str = Field(min_length=1)


class PersonaSet(BaseModel):
    """Personas that sit on a panel together, in the order in which they are listed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)
    label: str = Field(min_length=1)
    personas: tuple[Persona, ...] = Field(min_length=1)

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
