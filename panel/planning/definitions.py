"""Definitions by name and path, models with options, and a panel file with what overrides it."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import persona_panel.personas as persona_library
import persona_panel.rubrics as rubric_library
from persona_panel.files.definitions import load_definition, resolve
from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.files.wording import did_you_mean, explain, nearest
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
from persona_panel.rubrics import JudgePrompt, Rubric, load_elicitation

VERBATIM = "verbatim"
"""The elicitation that asks in the words of a prompt of one's own."""


def resolve_personas(personas: str | Path | PersonaSet | Sequence[Persona]) -> tuple[Persona, ...]:
    if isinstance(personas, str | Path):
        path = resolve(str(personas), persona_library.shipped(), "persona set")
        return tuple(load_definition(path, PersonaSet).personas)
    if isinstance(personas, PersonaSet):
        return tuple(personas.personas)
    try:
        return tuple(PersonaSet(id="given", label="given", personas=personas).personas)
    except ValidationError as error:
        wrong = "; ".join(", expected ".join(explain(fault)) for fault in error.errors())
        raise ConfigurationError(f"the personas cannot be combined: {wrong}") from None


def with_plain_judge(personas: tuple[Persona, ...]) -> tuple[Persona, ...]:
    """Return these personas and a judge without a persona. Raises ConfigurationError: none of them
    is a persona."""
    if personas == (NO_PERSONA,):
        raise ConfigurationError(
            "a plain judge is compared with personas, and this panel has none; name a persona "
            "set, or leave the plain judge out (--no-plain-judge) and set replicates"
        )
    return personas if NO_PERSONA in personas else (*personas, NO_PERSONA)


def resolve_rubric(spec: str | Path | Rubric) -> Rubric:
    if isinstance(spec, Rubric):
        return spec.in_variant(None)
    name, variant = split_variant(str(spec))
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


def with_template(rubric: Rubric, prompt: str | Path | JudgePrompt | None) -> Rubric:
    """Return a rubric that is asked for in the words of a prompt, if there is one. Raises
    InputError: the file cannot be read, or its rule does not read its own example."""
    if prompt is None:
        return rubric
    if isinstance(prompt, JudgePrompt):
        file, template = "the prompt", prompt
    else:
        file, template = str(prompt), load_definition(Path(prompt), JudgePrompt)
    asked = rubric.model_copy(update={"template": template})
    if (why := load_elicitation(VERBATIM).serves(asked)) is not None:
        expected = "a rule that reads its example as ratings"
        raise InputError([Fault(file, why, expected, field="read")])
    return asked


def configured(
    model: str | ModelConfig,
    options: Mapping[str, Any] | None = None,
    *,
    patience: float | None = None,
) -> ModelConfig:
    """Return a model with these options in place of its own options of the same names.
    `temperature`, which is a field of its own in a panel file, may be among them. `patience`: in
    seconds, in place of the model's own. Raises ConfigurationError: it is no `provider:name`, or
    one is no option; shows no value."""
    config = config_of(model) if isinstance(model, str) else model
    changes = dict(options or {})
    fields = {name: changes.pop(name) for name in ("temperature",) if name in changes}
    if patience is not None:
        fields["patience"] = patience
    try:
        return config.changed(options={**config.options, **changes}, **fields)
    except ValidationError as error:
        wrong = "; ".join(", expected ".join(explain(fault)) for fault in error.errors())
        raise ConfigurationError(f"{config.id}: {wrong}") from None


def config_of(spec: str) -> ModelConfig:
    """Return the model that a spec names, with default settings. Raises ConfigurationError: it is
    no `provider:name`."""
    if not re.match(MODEL_SPEC, spec):
        raise ConfigurationError(
            f"{spec!r} is not a model; write provider:name, for instance {DEFAULT_MODEL}"
        )
    return ModelConfig(model=spec)


def shipped_or_relative(file: Path, name: str, shipped: dict[str, Path]) -> str | Path:
    return name if split_variant(name)[0] in shipped else file.parent / name


logger = logging.getLogger(__name__)


def file_settings(path: Path, overrides: PanelOverrides) -> dict[str, Any]:
    """Return the arguments of `PanelPlan.of` that a panel file has, those that `overrides` replace
    replaced; raises as `load_definition` and `overriding`."""
    file = load_definition(path, PanelFile)
    fields = dict(file) | {
        "personas": shipped_or_relative(path, file.personas, persona_library.shipped()),
        "rubric": shipped_or_relative(path, file.rubric, rubric_library.shipped()),
    }
    if isinstance(file.prompt, str | Path):
        fields["prompt"] = path.parent / file.prompt
    return fields | overriding(path, file, overrides)


def overriding(path: Path, file: PanelFile, overrides: PanelOverrides) -> dict[str, Any]:
    """Return the arguments of `PanelPlan.of` that override a file; log what they replace. Raises
    ConfigurationError: a model or an option is none."""
    replacements: dict[str, Any] = {
        name: value for name, value in overrides.items() if value not in (None, (), [], {}, "")
    }
    models, options = replacements.pop("models", None), replacements.pop("options", None)
    chosen: Sequence[ModelConfig] = file.models
    if models is not None:
        chosen = [_model(spec, path, file) for spec in models]
    replaced = _replaced(file, replacements, chosen, options or {})
    if options is not None:
        chosen = [configured(config, options) for config in chosen]
    if "elicitation" in replacements:
        chosen = [config.model_copy(update={"elicitation": None}) for config in chosen]
    if replaced:
        logger.warning(
            "%s: replaced by options of the command or arguments: %s",
            path,
            ", ".join(f"{name} ({value})" for name, value in sorted(replaced.items())),
        )
    return {**replacements, "models": tuple(chosen)}


def _model(spec: str, path: Path, file: PanelFile) -> ModelConfig:
    """Return the file's model of this name, or the model that a spec names."""
    own = {config.id: config for config in file.models}
    if spec in own:
        return own[spec]
    provider, _, name = spec.partition(":")
    if re.match(MODEL_SPEC, spec) and provider in provider_names():
        return configured(spec)
    near = nearest(provider, provider_names()) if name else None
    hint = did_you_mean(spec, own) or did_you_mean(spec, [f"{near}:{name}"] if near else [])
    raise ConfigurationError(
        f"{path} has no model called {spec!r}{hint}: its models are "
        f"{', '.join(map(repr, own))}; give one of them, or provider:name for another model, such "
        f"as {DEFAULT_MODEL}"
    )


def _replaced(
    file: PanelFile,
    replacements: Mapping[str, Any],
    chosen: Sequence[ModelConfig],
    options: Mapping[str, Any],
) -> dict[str, str]:
    """Return what the file sets and the overrides change, with the new value in words."""
    replaced = {
        name: _in_words(value)
        for name, value in replacements.items()
        if name in file.model_fields_set and value != getattr(file, name)
    }
    if "elicitation" in replacements and any(
        config.elicitation not in (None, replacements["elicitation"]) for config in chosen
    ):
        replaced["elicitation"] = replacements["elicitation"]
    if [config.id for config in chosen] != [config.id for config in file.models]:
        replaced["models"] = ", ".join(config.id for config in chosen)
    # The values may be long, and are in run.json.
    changed = [
        name
        for name, value in options.items()
        if any(name in own and own[name] != value for own in map(_settings, chosen))
    ]
    if changed:
        replaced["options"] = ", ".join(changed)
    return replaced


def _settings(config: ModelConfig) -> dict[str, Any]:
    """Return the settings that an option may replace: options, and the temperature."""
    own = {} if config.temperature is None else {"temperature": config.temperature}
    return {**config.options, **own}


def _in_words(value: Any) -> str:
    match value:
        case Deliberation():
            return f"{value.rounds} rounds"
        case bool():
            return str(value).lower()
    return str(value)
