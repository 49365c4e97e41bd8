"""A model as the caller knows it: how to reach it, its limits, and how it is doing.

A rule over faults, answers and the times they came; it waits for nothing and calls nothing.
Times are of the monotonic clock, which nobody sets back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from persona_panel.calls.answer_limit import AnswerLimit
from persona_panel.calls.rate_limiter import RateLimiter
from persona_panel.calls.state import EndpointState
from persona_panel.models.client import CallError, ModelClient

logger = logging.getLogger(__name__)

PATIENCE_S = 120.0
"""How long a server that brings nothing but faults is tried, unless a user says otherwise."""
_SILENCE_S = 3.0
"""How long nothing but faults may come before calls wait for one of them to get through."""
_FIRST_PROBE_S, _LONGEST_PROBE_S = 0.5, 5.0
_NOT_THERE = frozenset({None, 503, 504})
"""What comes of a call to a server that is about to start: no connection, or a proxy's word."""
_GIVE_UP_AFTER = 5
"""Calls in a row, each tried to the end, after which a model counts as dead."""
_FORBIDDEN = 403
_FORBIDDEN_AFTER = 3
"""Calls in a row that a model which has answered forbids, until it counts as dead: not every
firewall or moderation that objects to one text says so in words that are known."""


@dataclass(slots=True)
class Endpoint:
    """A model, its limits and its state.

    `down`: nothing but faults has come for a while. Calls then wait, and one at a time, who
    holds `probing`, tries whether the server is back. It is given up once a call that began
    after `patience_s` of nothing but faults has met one, too. Who has never answered has that
    patience where it cannot be connected to; other faults, in a row, end it sooner.
    """

    client: ModelClient
    limiter: RateLimiter
    one_judge_at_a_time: bool = False
    """Whether the judges of a response must speak one after the other."""
    patience_s: float = PATIENCE_S
    answer_limit: AnswerLimit = field(default_factory=AnswerLimit)
    dead: str | None = None
    died: asyncio.Event = field(default_factory=asyncio.Event)
    unavailable: asyncio.Event = field(default_factory=asyncio.Event)
    """Set for as long as it is `down`, and for good once it is dead."""
    probing: asyncio.Lock = field(default_factory=asyncio.Lock)
    lost_in_a_row: int = 0
    retries: int = 0
    """Attempts beyond the first, of all calls."""
    given_up: int = 0
    """Calls tried to the end in vain."""
    answered: bool = False
    _silent_since: float | None = field(default=None, init=False)
    _asked_to_wait_s: float = field(default=0.0, init=False)
    _probes: int = field(default=0, init=False)
    _probe_at: float = field(default=0.0, init=False)
    _retries_at: list[float] = field(default_factory=list, init=False)

    @property
    def down(self) -> bool:
        """Whether nothing but faults has come for a while, and it is not given up."""
        return self.dead is None and self.unavailable.is_set()

    def give_up(self, why: str) -> None:
        """Ask this model no more; whoever waits to try again learns of it at once."""
        self.dead = self.dead or why
        self.died.set()
        self.unavailable.set()

    def heard(self) -> None:
        """The server is there, whatever it said."""
        if self._silent_since is not None:
            self._silent_since = None
            if self.dead is None:
                self.unavailable.clear()

    def faulted(self, error: CallError, began: float, now: float) -> None:
        """A call that began at `began` met a fault."""
        if error.kind != "transient":
            self.heard()
            return
        if self._silent_since is None:
            if not self.answered and error.status not in _NOT_THERE:
                return
            self._silent_since, self._asked_to_wait_s, self._probes = now, 0.0, 0
        # What the provider has asked for is no silence of its own.
        self._asked_to_wait_s = max(self._asked_to_wait_s, error.retry_after or 0.0)
        silence = now - self._silent_since
        if began > self._patient_until():
            never = "has not answered" if self.answered else "never answered"
            self.give_up(f"it {never} in {silence:.0f} s; last error: {error}")
        elif silence > _SILENCE_S and not self.down:
            self.unavailable.set()
            logger.warning(
                "%s; retrying for up to %.0f s while the other models continue",
                error,
                self._patient_until() - now,
            )

    def lost(self, error: CallError) -> None:
        """A call was tried to the end in vain."""
        self.given_up += 1
        if error.kind == "permanent":
            self.lost_in_a_row += 1
            may_be_the_text = error.status == _FORBIDDEN and self.answered
            if not may_be_the_text or self.lost_in_a_row >= _FORBIDDEN_AFTER:
                self.give_up(str(error))
        elif error.kind == "transient":
            self.lost_in_a_row += 1
            if self.lost_in_a_row >= _GIVE_UP_AFTER:
                self.give_up(f"{self.lost_in_a_row} calls in a row failed, the last with: {error}")

    def until_next_probe_s(self, now: float) -> float:
        """How long who holds `probing` waits before it tries."""
        wait = min(_LONGEST_PROBE_S, _FIRST_PROBE_S * 2**self._probes)
        self._probes += 1
        # The last try comes when the patience ends, and no later.
        left = self._patient_until() - now
        wait = min(wait, left + 0.001) if left > 0 else 0.0
        self._probe_at = now + wait
        return wait

    @contextmanager
    def retry_at(self, due: float) -> Iterator[None]:
        """A call waits for another attempt, which is due then."""
        self._retries_at.append(due)
        try:
            yield
        finally:
            self._retries_at.remove(due)

    def state(self, now: float) -> EndpointState:
        """How it is doing."""
        since = self._silent_since
        return EndpointState(
            limits=self.limiter.state(now),
            retries=self.retries,
            retry_in_s=tuple(sorted(max(0.0, due - now) for due in self._retries_at)),
            given_up=self.given_up,
            down_s=now - since if self.down and since is not None else None,
            probe_in_s=max(0.0, self._probe_at - now) if self.down else 0.0,
            dead=self.dead,
        )

    def _patient_until(self) -> float:
        since = 0.0 if self._silent_since is None else self._silent_since
        return since + self.patience_s + self._asked_to_wait_s
