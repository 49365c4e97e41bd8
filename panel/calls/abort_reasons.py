"""What ends a run because going on would cost money for nothing, in sentences."""

from __future__ import annotations

from pathlib import Path

from persona_panel.calls.cache import CacheUnreachable, ReplyStore
from persona_panel.graphs.context import Abort


def unwritable(cache: ReplyStore, error: Exception) -> Abort:
    """Going on without the cache would mean to pay for what a rerun must pay for again."""
    if isinstance(error, CacheUnreachable):
        return error
    said = error.strerror if isinstance(error, OSError) and error.strerror else error
    return Abort(
        f"the cache {cache.location} cannot be written ({said}); check free space and "
        "permissions, then run the same command again"
    )


def no_room(folder: Path, error: OSError) -> Abort:
    """Requests of a batch wait in a file until they are sent."""
    return Abort(
        f"the requests of the next batch cannot be stored in {folder} ({error.strerror}), and it "
        "was not submitted; make room there, then run the same command again"
    )


def unrecorded(error: OSError) -> Abort:
    """Going on would mean that a cap cannot count what was spent."""
    return Abort(
        f"calls and tokens used cannot be recorded ({error.strerror or error}); check free space "
        "and permissions, then run the same command again"
    )
