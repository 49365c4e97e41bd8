"""Definitions by name and path, models with options, and a panel file with what overrides it."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

import persona_panel.personas as persona_library
import persona_panel.rubrics as rubric_library
from persona_panel.files.definitions import load_definition, resolve
from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.files.secrets import MASK
from persona_panel.files.wording import did_you_mean, explain, nearest
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.models.config import MODEL_SPEC, ModelConfig
from persona_panel.models.providers import provider_names
from persona_panel.personas import NO_PERSONA, Persona, PersonaSet
from persona_panel.planning.languages import (
    code_of,
    is_own_file,
    load_translation,
    translated_personas,
    translated_rubric,
)
from persona_panel.planning.settings import (
    DEFAULT_MODEL,
    PanelFile,
    PanelOverrides,
    split_variant,
)
from persona_panel.rubrics import JudgePrompt, Rubric, load_elicitation
from persona_panel.rubrics.instructions import ENGLISH_CODE

VERBATIM = "verbatim"
"""The elicitation that asks in the words of a prompt of one's own."""


def resolve_personas(
    personas: str | Path | PersonaSet | Sequence[Persona], language: str | None = None
) -> tuple[Persona, ...]:
    """Return the personas that are named or given, those of the library in a language. Raises
    ConfigurationError: a set is in another language; InputError: it cannot be read."""
    if isinstance(personas, str | Path):
        shipped, name = persona_library.shipped(), str(personas)
        loaded = load_definition(resolve(name, shipped, "persona set"), PersonaSet)
        return tuple(_in_language(loaded, name, shipped, language).personas)
    if isinstance(personas, PersonaSet):
        return tuple(_in_language(personas, "the persona set", (), language).personas)
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


D = TypeVar("D", PersonaSet, Rubric)


def _in_language(definition: D, name: str, shipped: Collection[str], language: str | None) -> D:
    """Return a definition in a language: translated if it is of the library, else as it is. Raises
    ConfigurationError: its own words are in another language, or it is not translated."""
    if language is None or definition.language == (code := code_of(language)):
        return definition
    if name in shipped:
        translate = translated_rubric if isinstance(definition, Rubric) else translated_personas
        return translate(definition, language)
    raise ConfigurationError(
        f"{name} is in the language {definition.language!r}, and judges are to be asked in "
        f"{code!r}; choose language {definition.language!r}, or a file in {code!r} that says "
        f"language: {code}"
    )


def resolve_rubric(spec: str | Path | Rubric, language: str | None = None) -> Rubric:
    """Return the rubric that is named or given, one of the library in a language. Raises
    ConfigurationError: it is in another language, or there is no translation of the instructions
    into its own; InputError: it cannot be read, or has no such variant."""
    if isinstance(spec, Rubric):
        own = _in_language(spec, "the rubric", (), language)
        return _instructed(own, language).in_variant(None)
    name, variant = split_variant(str(spec))
    shipped = rubric_library.shipped()
    loaded = load_definition(resolve(name, shipped, "rubric"), Rubric)
    rubric = _instructed(_in_language(loaded, name, shipped, language), language)
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


def _instructed(rubric: Rubric, language: str | None) -> Rubric:
    """Return a rubric with the translation of the instructions into its language, if it has none
    yet. Raises ConfigurationError: there is none."""
    if rubric.language == ENGLISH_CODE or (rubric.translation and language is None):
        return rubric
    translation = load_translation(language or rubric.language)
    return rubric.model_copy(update={"translation": translation.language})


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
        raise _refused(config.id, error) from None


def _refused(model: str, error: ValidationError) -> ConfigurationError:
    wrong = "; ".join(", expected ".join(explain(fault)) for fault in error.errors())
    return ConfigurationError(f"{model}: {wrong}")


def config_of(spec: str) -> ModelConfig:
    """Return the model that a spec names, with default settings. Raises ConfigurationError: it is
    no `provider:name`, or the address after it lacks http:// or https://."""
    if not re.match(MODEL_SPEC, spec):
        raise ConfigurationError(
            f"{spec!r} is not a model; write provider:name, for instance {DEFAULT_MODEL}"
        )
    try:
        return ModelConfig(model=spec)
    except ValidationError as error:
        # Without http:// an address is not known as such where passwords are masked.
        raise _refused(re.sub("@.*@", f"@{MASK}@", spec, flags=re.DOTALL), error) from None


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
    if file.language is not None and is_own_file(file.language):
        fields["language"] = str(path.parent / file.language)
    # Of the file of responses, not of the panel.
    del fields["columns"]
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
