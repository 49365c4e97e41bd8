"""That a server does not answer, and that it answers again, each told once."""

from __future__ import annotations

import logging
import threading
import time


class OutageReport:
    """Logs the outages of one server, as the threads that ask it notice them.

    Args:
        name: the server in a message; no password, no key.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._since: float | None = None
        self._answered_at = 0.0

    def failed(self, asked_at: float, why: str, patience_s: float) -> None:
        """It did not answer what was asked at a time (`time.monotonic`); it is tried for so many
        seconds in all."""
        with self._lock:
            # A question from before its last answer is of an outage that has ended.
            if self._since is not None or asked_at < self._answered_at:
                return
            self._since = asked_at
        logging.getLogger(__name__).warning(
            "%s does not answer (%s); waiting for it for up to %.0f s.", self._name, why, patience_s
        )

    def answered(self) -> None:
        """It answered."""
        if self._since is None:
            return
        with self._lock:
            since, self._since = self._since, None
            self._answered_at = time.monotonic()
        if since is not None:
            logging.getLogger(__name__).warning(
                "%s answers again, after %.0f s.", self._name, self._answered_at - since
            )
