"""What takes the place of parts of a panel file."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypedDict

from persona_panel.files.errors import ConfigurationError
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.models.config import MODEL_SPEC, ModelConfig
from persona_panel.models.providers import provider_names
from persona_panel.plan.definitions import DEFAULT_MODEL, configured
from persona_panel.plan.panel_file import PanelFile
from persona_panel.rubrics import Layout

logger = logging.getLogger(__name__)


class PanelOverrides(TypedDict, total=False):
    """Parts of a panel file that are replaced; None and what is left out replace nothing.

    personas, rubric: from the library by name, or the path of a YAML file.
    models: specs, or names of the file's own models, which keep their settings.
    options: of every model, in place of its own of the same names.
    elicitation: of every model, also of one that has its own in the file.
    layout, replicates, deliberation, plain_judge, one_dimension_per_call: as in the file; False
        replaces True.
    """

    personas: str | None
    rubric: str | None
    models: Sequence[str] | None
    options: Mapping[str, Any] | None
    elicitation: str | None
    layout: Layout | None
    replicates: int | None
    deliberation: Deliberation | None
    plain_judge: bool | None
    one_dimension_per_call: bool | None


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
