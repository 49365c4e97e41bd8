"""What a fault says of a batch: whether it may be at its provider, and how long to wait; pure."""

from __future__ import annotations

from persona_panel.models.client import CallError


def may_have_arrived(fault: CallError | TimeoutError) -> bool:
    """Whether a batch may be at the provider all the same: not where it was told to wait, or no
    connection was made."""
    if isinstance(fault, TimeoutError):
        return True
    return fault.status != 429 and (fault.status is not None or fault.used is None)


def wait_after(fault: CallError | TimeoutError, otherwise: float) -> float:
    """How long to wait, in seconds: what the fault asks for, else as long as otherwise."""
    said = fault.retry_after if isinstance(fault, CallError) else None
    return otherwise if said is None else said
