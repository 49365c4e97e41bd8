"""Whether a model reasons, from what a user says of it: `persona_panel.models.config`."""

from __future__ import annotations

from typing import Any

import pytest

from persona_panel.models.config import REASONING_TOKENS, ModelConfig, reasoning_room


@pytest.mark.parametrize(
    ("model", "options", "room"),
    [
        ("openai:gpt-5", {}, REASONING_TOKENS),
        ("openai:gpt-5", {"reasoning_effort": "none"}, 0),
        ("openai:gpt-4o-mini", {}, None),
        ("openai:o3-mini", {}, REASONING_TOKENS),
        ("openai:o1-2024-12-17", {}, REASONING_TOKENS),
        ("openai:gpt-5-mini-2025-08-07", {}, REASONING_TOKENS),
        ("openai:gpt-4o-2024-08-06", {}, None),
        ("openai:of-ones-own", {}, None),
        ("openai:of-ones-own", {"reasoning_effort": "low"}, REASONING_TOKENS),
        ("openai:of-ones-own", {"reasoning": {"max_tokens": 20_000}}, 20_000),
        ("openai:of-ones-own", {"reasoning": {"enabled": False}}, 0),
        ("openai:q", {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}, 0),
        ("anthropic:claude-sonnet-4-5", {}, None),
        ("anthropic:m", {"thinking": {"type": "enabled", "budget_tokens": 16_000}}, 16_000),
        ("anthropic:m", {"thinking": {"type": "enabled", "budget_tokens": 64}}, REASONING_TOKENS),
        ("anthropic:claude-sonnet-4-5", {"thinking": {"type": "disabled"}}, 0),
        ("google_genai:gemini-2.5-flash", {"thinking_budget": 0}, 0),
        ("google_genai:gemini-2.5-flash", {"thinking_budget": -1}, REASONING_TOKENS),
        ("ollama:m", {"reasoning": True}, REASONING_TOKENS),
    ],
)
def test_room_by_options_and_catalogue(
    model: str, options: dict[str, Any], room: int | None
) -> None:
    """Options that turn thinking on or off decide, a budget in them is kept, and without them the
    catalogue does; of an unknown model nothing is known."""
    assert reasoning_room(ModelConfig(model=model, options=options)) == room


def test_a_user_s_own_word_comes_first() -> None:
    """`reasoning_tokens` holds whatever catalogue and options say."""
    for tokens in (0, 300):
        config = ModelConfig(
            model="openai:gpt-5", reasoning_tokens=tokens, options={"reasoning_effort": "high"}
        )
        assert reasoning_room(config) == tokens
