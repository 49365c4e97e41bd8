"""What a Redis or Valkey server may lose of the replies that it is given, by its own settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_APPEND = "Set `appendonly yes` in its configuration"


def possible_losses(info: Mapping[str, Any], save: str | None) -> Iterator[str]:
    """What may be lost and what to set against it, in words that follow the server's name.

    Args:
        info: what INFO answers.
        save: when it takes snapshots, as CONFIG GET says; None where it does not say.
    """
    if not info.get("aof_enabled"):
        if save:
            yield f"loses in a crash what came since its last snapshot (appendonly no). {_APPEND}"
        elif save is None:
            yield f"may lose answers when it stops (appendonly no). {_APPEND}"
        else:
            yield f'loses all answers when it stops (appendonly no, save ""). {_APPEND}'
    policy = str(info.get("maxmemory_policy"))
    if info.get("maxmemory") and policy.startswith("allkeys"):
        yield (
            f"drops answers that were paid for when its memory is full (maxmemory-policy "
            f"{policy}). Set `maxmemory-policy noeviction` in its configuration"
        )
