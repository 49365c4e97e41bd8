"""How long the rest of a run may take: from the pace of late, and from the waits now held.

Pure: times and counts in, seconds out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from persona_panel.calls.rate_limiter import EndpointState

_WINDOW_S, _LEAST = 30.0, 20
"""The pace is that of the last 30 s; where fewer judgments came in them, of the last 20."""
_SOONEST_S = 3.0
"""From less than this nothing is concluded."""
_LONG_PAUSE_S = 10.0
"""A longer pause that a provider has asked for is no part of the pace: it is added to the rest.
Short ones recur, and are."""
_REPLAYED = 20
"""From how many judgments at once, none of which took a call, a run goes through its cache."""


class Pace:
    """How fast a model's judgments have come of late.

    Its clock stands still while the model is down or its provider has asked for a long pause, so
    that such a time does not change what is expected afterwards.
    """

    def __init__(self, now: float) -> None:
        self._now = now
        self._clock = 0.0
        self._fresh = 0
        self._seen = deque([(0.0, 0)])

    def take(self, now: float, done: int, fresh: int, *, still: bool) -> None:
        """Take note of how many judgments there are, and how many of them took a call; `still`:
        none could come since the last time."""
        if not still:
            self._clock += now - self._now
        self._now = now
        if done - self._seen[-1][1] >= _REPLAYED and fresh == self._fresh:
            # What comes from the cache tells nothing of the calls that follow.
            self._seen.clear()
        self._fresh = fresh
        if not self._seen or done != self._seen[-1][1]:
            self._seen.append((self._clock, done))
        while len(self._seen) > 1 and self._is_enough(*self._seen[1]):
            self._seen.popleft()

    def _is_enough(self, since: float, before: int) -> bool:
        # Before the first judgments there was nothing but the first calls to wait for.
        window_s = _WINDOW_S if self._seen[0][1] else _SOONEST_S
        # Up to the last judgments: a silence after them makes the window longer, not poorer.
        until, done = self._seen[-1]
        return until - since >= window_s and done - before >= _LEAST

    @property
    def per_s(self) -> float | None:
        """Judgments per second; None where none has come yet, or too little time has
        gone."""
        since, before = self._seen[0]
        done = self._seen[-1][1] - before
        if not done or self._clock - since < _SOONEST_S:
            return None
        return done / (self._clock - since)


def stands_still(state: EndpointState) -> bool:
    """Whether no judgment can come of this model for a while."""
    return state.down_s is not None or state.limits.paused_s > _LONG_PAUSE_S


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left of one model: how many judgments, their pace, and how it is doing."""

    judgments: int
    per_s: float | None
    state: EndpointState = EndpointState()


def seconds_left(models: Iterable[Remaining]) -> float | None:
    """How long the slowest model may take; None where one of them has brought nothing yet.

    What a model has left at its pace, after the wait that it now holds: until its next probe
    while it is down, else until the end of a long pause. And no less than until its last retry
    that is already due.
    """
    longest = 0.0
    for model in models:
        if not model.judgments or model.state.dead is not None:
            continue
        if model.per_s is None:
            return None
        state = model.state
        held = 0.0
        if stands_still(state):
            held = max(state.probe_in_s, state.limits.paused_s)
        last_retry = max(state.retry_in_s, default=0.0)
        longest = max(longest, held + model.judgments / model.per_s, last_retry)
    return longest
