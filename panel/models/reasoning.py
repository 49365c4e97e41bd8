"""Whether a model reasons before it answers, as far as is known before any call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from persona_panel.models.catalogue import facts_of
from persona_panel.models.config import ModelConfig

REASONING_TOKENS = 8_192
"""Room for thinking beside an answer, unless a user says otherwise."""

_ASKING = (
    "thinking",
    "thinking_budget",
    "thinking_level",
    "enable_thinking",
    "reasoning",
    "reasoning_effort",
)
"""What providers call the setting of how much a model thinks."""
_WITHIN = ("extra_body", "model_kwargs", "chat_template_kwargs", "generation_config")
_OFF = frozenset({"none", "off", "disabled"})


def reasoning_room(config: ModelConfig) -> int | None:
    """Tokens that the limit of an answer has for thinking: as the user says, else by the options
    that ask for thinking, else by the catalogue. 0, the model does not reason; None, it is not
    known whether it does."""
    if config.reasoning_tokens is not None:
        return config.reasoning_tokens
    asked = _asked(config.options)
    if asked is not None:
        return asked and max(asked, REASONING_TOKENS)
    known = facts_of(config.model)
    return REASONING_TOKENS if known is not None and known.reasoning == "default" else None


def _asked(options: Mapping[str, Any]) -> int | None:
    """How many tokens of thinking options ask for: 1 where they give no number, 0 where they turn
    thinking off; None where they say nothing of it."""
    for name in _ASKING:
        if name in options:
            return _budget(options[name])
    for name in _WITHIN:
        inner = options.get(name)
        if isinstance(inner, Mapping) and (found := _asked(inner)) is not None:
            return found
    return None


def _budget(value: Any) -> int | None:
    match value:
        case None:
            return None
        case bool():
            return int(value)
        case int():
            # Gemini's -1 leaves it to the model.
            return value if value >= 0 else 1
        case str():
            return int(value.lower() not in _OFF)
        case {"type": "disabled"} | {"enabled": False} | {"effort": "none"}:
            return 0
        case {"budget_tokens": int(budget)} | {"max_tokens": int(budget)}:
            return max(budget, 1)
    return 1
