"""Which family a name tells."""

from __future__ import annotations

import pytest

from persona_panel.analyses.bias import family_of


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("openai:gpt-4o-mini", "openai"),
        ("GPT 5", "openai"),
        ("openai:o3", "openai"),
        ("openai:meta-llama/Llama-3.3-70B-Instruct", "meta"),
        ("openai:qwen2.5-7b", "qwen"),
        ("anthropic:claude-sonnet-4-5", "anthropic"),
        ("google_genai:gemini-2.5-flash", "google"),
        ("local:smollm2-135m", "huggingface"),
        ("Claude_Sonnet", "anthropic"),
        ("human", "human"),
        ("Human expert", "human"),
        # OpenAI's shape is spoken by every server.
        ("openai:stub", None),
        ("system-a", None),
        ("s1", None),
        # One family's model distilled into another's.
        ("deepseek-r1-distill-llama-70b", None),
        ("photograph", None),
        ("", None),
    ],
)
def test_families(name: str, family: str | None) -> None:
    """A maker's word in a name tells its family; no word, or two, tell none."""
    assert family_of(name) == family
