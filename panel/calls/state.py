"""How the calls of a run stand at a moment, for whoever shows it.

Read from the endpoints and their limiters when somebody asks; no call counts itself for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from persona_panel.rubrics import Usage


@dataclass(frozen=True, slots=True)
class LimiterState:
    """What a model's limits let through; the limiter may be shared with other runs of a loop.

    Attributes:
        in_flight: calls that are at the provider.
        waiting: calls that have a slot and wait for a quota per minute, or for the end of what the
            provider has asked to wait.
        opens_in_s: seconds until the next of these may go, as far as that is known; 0 where none
            waits.
        paused_s: seconds left of what the provider has asked to wait (Retry-After), else 0.
    """

    in_flight: int = 0
    waiting: int = 0
    opens_in_s: float = 0.0
    paused_s: float = 0.0


@dataclass(frozen=True, slots=True)
class EndpointState:
    """How a model is doing; seconds are counted from the moment of reading.

    Attributes:
        retries: attempts beyond the first so far, of all calls.
        retry_in_s: when each call that waits for another attempt makes it, the soonest first.
        given_up: calls that failed for good, after all their attempts.
        down_s: how long nothing but faults has come; None, the model is not down.
        probe_in_s: while it is down, when it is next tried; 0, that is under way.
        dead: why it is called no more; None, it is.
    """

    limits: LimiterState = LimiterState()
    retries: int = 0
    retry_in_s: tuple[float, ...] = ()
    given_up: int = 0
    down_s: float | None = None
    probe_in_s: float = 0.0
    dead: str | None = None


@dataclass(frozen=True, slots=True)
class CallsState:
    """How the calls of a run stand.

    Attributes:
        endpoints: by model, those of which answers are wanted.
        spent: what each model has used in this run, as `CallCounts.spent`.
        usd: what that cost, None where the price is not known.
    """

    endpoints: Mapping[str, EndpointState]
    spent: Mapping[str, Usage]
    usd: Mapping[str, float | None]
