"""What takes the place of parts of a panel file."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from graphs.deliberation import Deliberation
from panel.models.config import ModelConfig
from panel.plan.definitions import configured
from panel.plan.panel_file import PanelFile
from rubrics import Layout

logger = logging.getLogger(__name__)


class PanelOverrides(TypedDict, total=False):
    """Parts of a panel file that are replaced; None and what is left out replace nothing.

    personas, rubric: from the library by name, or the path of a YAML file.
    models: specs, or names of the file's own models, which keep their settings.
    options: of every model, in place of its own of the same names.
    elicitation: of every model, also of one that has its own in the file.
    layout, replicates, deliberation, plain_judge, one_dimension_per_call: as in the file.
    """

    personas: str | None
    rubric: str | None
    models: Sequence[str] | None
    options: Mapping[str, Any] | None
    elicitation: str | None
    layout: Layout | None
    replicates: int | None
    deliberation: Deliberation | None
    plain_judge: bool
    one_dimension_per_call: bool


def overriding(path: Path, file: PanelFile, overrides: PanelOverrides) -> dict[str, Any]:
    """The arguments of `PanelPlan.of` that take the place of what a file says; logs each.

    Raises:
        ConfigurationError: a model or an option is none.
    """
    given: dict[str, Any] = {
        name: value
        for name, value in overrides.items()
        if value or (value == 0 and value is not False)
    }
    if not given:
        return {}
    logger.warning(
        "%s: replaced by options of the command or arguments: %s",
        path,
        ", ".join(f"{name} ({_told(value)})" for name, value in sorted(given.items())),
    )
    models, options = given.pop("models", None), given.pop("options", None)
    chosen: Sequence[ModelConfig] = file.models
    if models is not None:
        own = {config.id: config for config in file.models}
        chosen = [own[spec] if spec in own else configured(spec) for spec in models]
    if options is not None:
        chosen = [configured(config, options) for config in chosen]
    if "elicitation" in given:
        chosen = [config.model_copy(update={"elicitation": None}) for config in chosen]
    return {**given, "models": tuple(chosen)}


def _told(value: Any) -> str:
    match value:
        case Deliberation():
            return f"{value.rounds} rounds"
        case Mapping():
            # The values may be long, and are in run.json.
            return ", ".join(value)
        case str() | int():
            return str(value)
    return ", ".join(map(str, value))
