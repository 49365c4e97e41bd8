"""A model on the command line: its spec, or a YAML file with its settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from persona_panel.models.config import ModelConfig


def model_in(text: str) -> str | ModelConfig:
    """A spec as it is; a YAML file as the model that it describes.

    Raises:
        InputError: the file cannot be read, or describes none.
    """
    if not text.endswith((".yaml", ".yml")):
        return text
    from persona_panel.files.definitions import load_definition
    from persona_panel.models.config import ModelConfig

    return load_definition(Path(text), ModelConfig)
