"""How many calls a model may have in flight where nobody has said: found out by trying.

A pure rule over times and outcomes; it waits for nothing and calls nothing. The limiter
that keeps it is the neighbouring module.
"""

from __future__ import annotations

import math

INITIAL_CONCURRENCY = 8
"""Calls in flight to begin with."""
MAX_CONCURRENCY = 256
"""Calls in flight that are never passed; who wants more says so."""
_CUT = 0.7
_SLOWER = 3.0
_AGAIN_S = 30.0


class AdaptiveConcurrency:
    """A number of calls in flight that rises until the provider pushes back.

    It doubles with each round of calls until the first push back (a 429, an overload, a
    time-out), which cuts it to 70 %. From there it rises by one a round up to 90 % of
    what was too much, and only after 30 quiet seconds beyond. It does not rise while calls
    take three times as long as the quickest ones: then they queue at the provider.

    `most` is never passed; to begin with it allows `first`.
    """

    def __init__(self, first: int = INITIAL_CONCURRENCY, most: int = MAX_CONCURRENCY) -> None:
        self.calls = min(first, most)
        self._most = most
        self._ceiling = math.inf
        self._pushed_back_at = -math.inf
        self._quickest = math.inf
        self._usual = math.nan
        self._well = 0

    def succeeded(self, now: float, latency_s: float, *, all_in_use: bool) -> None:
        """A call came back well; `all_in_use`: more would have been made, had there been room."""
        self._quickest = min(self._quickest, latency_s)
        known = not math.isnan(self._usual)
        self._usual = 0.9 * self._usual + 0.1 * latency_s if known else latency_s
        if not all_in_use or self._usual > _SLOWER * self._quickest:
            return
        if now - self._pushed_back_at > _AGAIN_S:
            highest = float(self._most)
        else:
            highest = min(self._most, 0.9 * self._ceiling)
        self._well += 1
        # One more for each call doubles a round; one for each round of calls is one a round.
        if self._well >= (1 if math.isinf(self._ceiling) else self.calls):
            self._well = 0
            if self.calls + 1 <= highest:
                self.calls += 1

    def pushed_back(self, now: float, began: float) -> None:
        """A call that began at `began` met a 429, an overload or a time-out.

        Calls that were in flight together count as one push back.
        """
        if began < self._pushed_back_at:
            return
        self._ceiling = self.calls
        self._pushed_back_at = now
        self.calls = max(1, int(self.calls * _CUT))
        self._well = 0
