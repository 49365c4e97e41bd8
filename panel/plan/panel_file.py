"""What a panel file may say. Reading the file, with its lines in errors, is in
`persona_panel.files`."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

import persona_panel.personas as persona_library
import persona_panel.rubrics as rubric_library
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.models.config import ModelConfig, known_elicitation
from persona_panel.plan.definitions import split_variant
from persona_panel.rubrics import Layout


def _known(value: str, shipped: Mapping[str, Path]) -> str:
    """A name from a library, or what looks like the path of a YAML file."""
    if value in shipped or value.endswith((".yaml", ".yml")):
        return value
    near = get_close_matches(value, shipped, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise ValueError(f"{value!r}; one of {', '.join(shipped)}{hint}, or the path of a .yaml file")


def _as_mapping(value: Any) -> Any:
    return {"model": value} if isinstance(value, str) else value


class PanelFile(BaseModel):
    """A panel as YAML: personas that judge, by which models, with which rubric.

    `personas` and `rubric` are names from the libraries or paths, relative to the file.
    A model is its spec alone, or a mapping with its limits. `replicates` is how often each
    persona is asked through each model. Without `deliberation` every judge reads alone. With
    `plain_judge` a judge without a persona is asked, too, as often as all personas together.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    personas: str = "perspectives"
    rubric: str = "scrub"
    models: tuple[Annotated[ModelConfig, BeforeValidator(_as_mapping)], ...] = Field(min_length=1)
    elicitation: str | None = None
    layout: Layout = "shared-prefix"
    replicates: int = Field(default=1, ge=1)
    deliberation: Deliberation | None = None
    seed: int = Field(default=0, ge=0)
    plain_judge: bool = False
    one_dimension_per_call: bool = False

    _elicitation = field_validator("elicitation")(known_elicitation)

    @field_validator("personas")
    @classmethod
    def _known_personas(cls, value: str) -> str:
        return _known(value, persona_library.shipped())

    @field_validator("rubric")
    @classmethod
    def _known_rubric(cls, value: str) -> str:
        name, _ = split_variant(value)
        _known(name, rubric_library.shipped())
        return value
