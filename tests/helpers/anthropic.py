"""Whether LangChain's package for Anthropic is there."""

from __future__ import annotations

ANTHROPIC = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "stub",
    "content": [{"type": "text", "text": "7"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 20, "output_tokens": 1, "cache_read_input_tokens": 100},
}
