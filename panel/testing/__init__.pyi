"""The public names of `persona_panel.testing`, each once: imported from here when first used."""

from persona_panel.testing.conformance import (
    check_batch_client,
    check_elicitation,
    check_framings,
    check_persona_set,
    check_provider,
    check_stopping_rule,
)
from persona_panel.testing.result_checks import (
    assert_requirements,
    check_engine,
    check_executor,
    check_renderer,
    check_statistic,
)
from persona_panel.testing.scripted_model import (
    MODEL,
    Answer,
    Call,
    Script,
    ScriptedModel,
    always,
    default_text,
    in_turn,
    ok,
    raw,
    reset,
    stall,
    status,
    thinking,
    truncated,
)
from persona_panel.testing.server import ScriptedServer, serving
from persona_panel.testing.store import MemoryReplyStore, check_reply_store

__all__ = [
    "MODEL",
    "Answer",
    "Call",
    "MemoryReplyStore",
    "Script",
    "ScriptedModel",
    "ScriptedServer",
    "always",
    "assert_requirements",
    "check_batch_client",
    "check_elicitation",
    "check_engine",
    "check_executor",
    "check_framings",
    "check_persona_set",
    "check_provider",
    "check_renderer",
    "check_reply_store",
    "check_statistic",
    "check_stopping_rule",
    "default_text",
    "in_turn",
    "ok",
    "raw",
    "reset",
    "serving",
    "stall",
    "status",
    "thinking",
    "truncated",
]
