"""Names of models, as answers have them and as they were asked."""

from __future__ import annotations

import pytest

from persona_panel.models.client import is_another_model


@pytest.mark.parametrize(
    ("said", "asked", "another"),
    [
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini", False),
        ("openai/GPT-4o", "gpt-4o", False),
        ("/models/Llama-3-8B/", "meta-llama/Llama-3-8B", False),
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet-latest", False),
        ("gpt-4-0613", "gpt-4", False),
        ("mistral-7b.Q4_K_M.gguf", "mistral-7b", False),
        ("C:\\\\models\\\\phi-4-iq2_xs.gguf", "phi-4", False),
        ("mistral-13b.gguf", "mistral-7b", True),
        ("gpt-4o", "gpt-4o-mini", True),
        ("gpt-5", "gpt-4", True),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4", True),
    ],
)
def test_names_of_models(said: str, asked: str, another: bool) -> None:
    """A release of a model and a path before its name make no other model; a size or a generation
    does."""
    assert is_another_model(said, asked) is another
