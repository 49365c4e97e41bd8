"""A value that is worked out now and then."""

from __future__ import annotations

import time

import pytest

from persona_panel.runs import collected
from persona_panel.runs.collected import Paced


def test_it_is_worked_out_at_most_every_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice a second: a run of ten seconds has most of its prompts in the last three."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    calls: list[float] = []
    value = Paced(lambda: calls.append(now[0]) or len(calls))
    assert [value.value() for _ in range(5)] == [1] * 5
    now[0] += 0.49
    assert value.value() == 1
    now[0] += 0.02
    assert value.value() == 2


def test_what_takes_long_is_worked_out_rarely_but_not_too_rarely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hundredth of a core, until that would leave it ten seconds old; what is taken once only
    does not count."""
    now, used = [100.0], [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "thread_time", lambda: used[0])

    def work(seconds: float) -> Paced[int]:
        def work_out() -> int:
            used[0] += seconds
            return round(used[0] * 1000)

        return Paced(work_out)

    for seconds, wait_s in ((0.05, 5.0), (60.0, collected.MOST_S), (0.001, collected.LEAST_S)):
        value = work(seconds)
        value.value()
        now[0] += collected.LEAST_S + 0.1
        first = value.value()
        now[0] += wait_s - 0.1
        assert value.value() == first
        now[0] += 0.2
        assert value.value() != first
