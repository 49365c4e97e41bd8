"""What answers of a batch took, by what they say and by what they may take at most."""

from __future__ import annotations

from persona_panel.models.client import CallError
from persona_panel.models.usage import sound
from persona_panel.rubrics import ModelResponse, Usage


def answer_usage(answer: ModelResponse | CallError, share: Usage) -> Usage:
    """What an answer took; where it does not say so, its share of the most that the batch may."""
    said = answer.used if isinstance(answer, CallError) else answer.usage or None
    if said is None:
        return share
    used = sound(said)
    return used if used.input or not said else share


def beyond(usage: Usage, other: Usage) -> Usage:
    """What a usage has more than another."""
    return Usage(
        max(0, usage.input - other.input),
        max(0, usage.cached - other.cached),
        max(0, usage.output - other.output),
        max(0, usage.written - other.written),
        reasoning=max(0, usage.reasoning - other.reasoning),
    )


def share_of(most: Usage, n: int) -> Usage:
    """The part of one of `n` rows in what they may take at most, rounded up."""
    return Usage(-(-most.input // max(n, 1)), output=-(-most.output // max(n, 1)))
