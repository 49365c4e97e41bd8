"""Personas, rubrics and models by the names, paths and specs that a user gives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import persona_panel.personas as persona_library
import persona_panel.rubrics as rubric_library
from persona_panel.files.definitions import load_definition, resolve
from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.files.wording import explain
from persona_panel.models.config import MODEL_SPEC, ModelConfig
from persona_panel.personas import NO_PERSONA, Persona, PersonaSet
from persona_panel.rubrics import Rubric

DEFAULT_MODEL = "local:smollm2-135m"


def resolve_personas(given: str | Path | PersonaSet | Sequence[Persona]) -> tuple[Persona, ...]:
    if isinstance(given, str | Path):
        path = resolve(str(given), persona_library.shipped(), "persona set")
        return tuple(load_definition(path, PersonaSet).personas)
    if isinstance(given, PersonaSet):
        return tuple(given.personas)
    try:
        return tuple(PersonaSet(id="given", label="given", personas=given).personas)
    except ValidationError as error:
        wrong = "; ".join(", expected ".join(explain(fault)) for fault in error.errors())
        raise ConfigurationError(f"the personas cannot be combined: {wrong}") from None


def with_plain_judge(personas: tuple[Persona, ...]) -> tuple[Persona, ...]:
    """These personas and a judge without one.

    Raises:
        ConfigurationError: none of them is a persona.
    """
    if personas == (NO_PERSONA,):
        raise ConfigurationError(
            "a plain judge is compared with personas, and this panel has none; name a persona "
            "set, or leave the plain judge out (--no-plain-judge) and set replicates"
        )
    return personas if NO_PERSONA in personas else (*personas, NO_PERSONA)


def resolve_rubric(given: str | Path | Rubric) -> Rubric:
    if isinstance(given, Rubric):
        return given.in_variant(None)
    name, variant = split_variant(str(given))
    rubric = load_definition(resolve(name, rubric_library.shipped(), "rubric"), Rubric)
    try:
        return rubric.in_variant(variant)
    except KeyError:
        there = ", ".join(rubric.variants)
        raise InputError(
            [
                Fault(
                    name,
                    f"no variant {variant!r}",
                    f"one of {there}, or none" if there else "the rubric's name alone: it has none",
                    field="rubric",
                )
            ]
        ) from None


def split_variant(name: str) -> tuple[str, str | None]:
    """A rubric's name or path, and the variant that is named behind a colon.

    >>> split_variant("argument-quality:novice")
    ('argument-quality', 'novice')
    """
    before, colon, behind = name.rpartition(":")
    if not colon or "/" in behind or Path(name).is_file():
        return name, None
    return before, behind


def configured(
    model: str | ModelConfig,
    options: Mapping[str, Any] | None = None,
    *,
    patience: int | None = None,
) -> ModelConfig:
    """A model with these options in place of its own of the same names. `temperature`, which is a
    field of its own in a panel file, may be among them.

    Args:
        patience: in seconds, in place of the model's own.

    Raises:
        ConfigurationError: it is no `provider:name`, or one is no option; shows no value.
    """
    config = config_of(model) if isinstance(model, str) else model
    given = dict(options or {})
    fields = {name: given.pop(name) for name in ("temperature",) if name in given}
    if patience is not None:
        fields["patience"] = patience
    try:
        return config.changed(options={**config.options, **given}, **fields)
    except ValidationError as error:
        wrong = "; ".join(", expected ".join(explain(fault)) for fault in error.errors())
        raise ConfigurationError(f"{config.id}: {wrong}") from None


def config_of(spec: str) -> ModelConfig:
    """The model that a spec names, without settings of its own.

    Raises:
        ConfigurationError: it is no `provider:name`.
    """
    if not re.match(MODEL_SPEC, spec):
        raise ConfigurationError(
            f"{spec!r} is not a model; write provider:name, for instance {DEFAULT_MODEL}"
        )
    return ModelConfig(model=spec)


def shipped_or_relative(file: Path, name: str, shipped: dict[str, Path]) -> str | Path:
    return name if split_variant(name)[0] in shipped else file.parent / name
