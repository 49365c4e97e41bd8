"""Definitions by name and path, models with options, and a panel file with what overrides it."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import persona_panel.personas as persona_library
import persona_panel.rubrics as rubric_library
from persona_panel.files.definitions import load_definition, resolve
from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.files.wording import explain
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.models.config import MODEL_SPEC, ModelConfig
from persona_panel.models.providers import provider_names
from persona_panel.personas import NO_PERSONA, Persona, PersonaSet
from persona_panel.planning.settings import (
    DEFAULT_MODEL,
    PanelFile,
    PanelOverrides,
    split_variant,
)
from persona_panel.rubrics import Rubric


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


def configured(
    model: str | ModelConfig,
    options: Mapping[str, Any] | None = None,
    *,
    patience: float | None = None,
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


logger = logging.getLogger(__name__)


def overriding(path: Path, file: PanelFile, overrides: PanelOverrides) -> dict[str, Any]:
    """The arguments of `PanelPlan.of` that take the place of what a file says; logs what the file
    says and no longer holds.

    Raises:
        ConfigurationError: a model or an option is none.
    """
    given: dict[str, Any] = {
        name: value for name, value in overrides.items() if value not in (None, (), [], {}, "")
    }
    models, options = given.pop("models", None), given.pop("options", None)
    chosen: Sequence[ModelConfig] = file.models
    if models is not None:
        chosen = [_model(spec, path, file) for spec in models]
    replaced = _replaced(file, given, chosen, options or {})
    if options is not None:
        chosen = [configured(config, options) for config in chosen]
    if "elicitation" in given:
        chosen = [config.model_copy(update={"elicitation": None}) for config in chosen]
    if replaced:
        logger.warning(
            "%s: replaced by options of the command or arguments: %s",
            path,
            ", ".join(f"{name} ({told})" for name, told in sorted(replaced.items())),
        )
    return {**given, "models": tuple(chosen)}


def _model(spec: str, path: Path, file: PanelFile) -> ModelConfig:
    """The file's model of this name, or the model that a spec names.

    Raises:
        ConfigurationError: it is neither.
    """
    own = {config.id: config for config in file.models}
    if spec in own:
        return own[spec]
    provider, _, name = spec.partition(":")
    if re.match(MODEL_SPEC, spec) and provider in provider_names():
        return configured(spec)
    others = [f"{other}:{name}" for other in provider_names()] if name else []
    near = get_close_matches(spec, own, n=1) or get_close_matches(spec, others, n=1, cutoff=0.8)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise ConfigurationError(
        f"{path} has no model called {spec!r}{hint}: its models are "
        f"{', '.join(map(repr, own))}; give one of them, or provider:name for another model, such "
        f"as {DEFAULT_MODEL}"
    )


def _replaced(
    file: PanelFile,
    given: Mapping[str, Any],
    chosen: Sequence[ModelConfig],
    options: Mapping[str, Any],
) -> dict[str, str]:
    """What the file itself says and is replaced by another value, with that value in words."""
    told = {
        name: _told(value)
        for name, value in given.items()
        if name in file.model_fields_set and value != getattr(file, name)
    }
    if "elicitation" in given and any(
        config.elicitation not in (None, given["elicitation"]) for config in chosen
    ):
        told["elicitation"] = given["elicitation"]
    if [config.id for config in chosen] != [config.id for config in file.models]:
        told["models"] = ", ".join(config.id for config in chosen)
    # The values may be long, and are in run.json.
    said = [
        name
        for name, value in options.items()
        if any(name in own and own[name] != value for own in map(_settings, chosen))
    ]
    if said:
        told["options"] = ", ".join(said)
    return told


def _settings(config: ModelConfig) -> dict[str, Any]:
    """What an option may replace: options, and the temperature."""
    own = {} if config.temperature is None else {"temperature": config.temperature}
    return {**config.options, **own}


def _told(value: Any) -> str:
    match value:
        case Deliberation():
            return f"{value.rounds} rounds"
        case bool():
            return str(value).lower()
    return str(value)
