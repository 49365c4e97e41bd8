"""A value that is worked out anew now and then, so that looking costs next to nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

LEAST_S, MOST_S = 2.0, 10.0
_SHARE = 0.01


class Paced(Generic[T]):
    """A value that several threads ask for.

    It is worked out when it is asked for: at most every two seconds, and so rarely that it takes a
    hundredth of a core; but it is never older than ten seconds. What it took once, such as to load
    modules or to read what has gathered, does not count before it takes as long again.
    """

    def __init__(self, work_out: Callable[[], T]) -> None:
        self._work_out = work_out
        self._lock = threading.Lock()
        self._due = self._used = 0.0
        self._value: T | None = None

    def value(self) -> T:
        """Return the value, worked out again where it is time."""
        with self._lock:
            if self._value is None or time.monotonic() >= self._due:
                began = time.thread_time()
                self._value = self._work_out()
                before, self._used = self._used, time.thread_time() - began
                wait_s = min(before, self._used) / _SHARE
                self._due = time.monotonic() + min(max(LEAST_S, wait_s), MOST_S)
            return self._value
