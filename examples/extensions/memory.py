"""Replies in memory, for as long as the process lives."""

from persona_panel.calls.cache import ReplyStore
from persona_panel.testing import MemoryReplyStore


def open_store(location: str) -> ReplyStore:
    return MemoryReplyStore()
