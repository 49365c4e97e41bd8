"""An event loop whose clock jumps to the next timer: minutes of waiting in a second of a test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
_WORK_S = 1e-6
"""What a turn of the loop takes."""


class SimulatedLoop(asyncio.SelectorEventLoop):
    """Sleeps take no time; `now` is in seconds."""

    now = 1000.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        # asyncio has no public place for this.
        inner: Any = self
        if not inner._ready and inner._scheduled:
            self.now = max(self.now, inner._scheduled[0]._when)
        self.now += _WORK_S
        super()._run_once()  # type: ignore[misc]


def in_simulated_time(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns whose sleeps, and the monotonic clock, are simulated."""
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=SimulatedLoop) as loop:
        patch.setattr(time, "monotonic", loop.get_loop().time)
        return loop.run(work)
