"""How long the rest of a run may take, estimated for runs whose end is known."""

from __future__ import annotations

import pytest

from persona_panel.calls.rate_limiter import EndpointState, LimiterState
from persona_panel.cli.progress import Pace, Remaining, seconds_left

DOWN = EndpointState(down_s=4.0, probe_in_s=2.0)


def steady(pace: Pace, start: int, end: int, per_s: int, done: int = 0) -> int:
    """Judgments that come every second from `start` to `end`, all of which took a call."""
    for now in range(start + 1, end + 1):
        done += per_s
        pace.take(now, done, done, still=False)
    return done


def test_the_pace_is_that_of_late() -> None:
    """After a minute of two in a second and another of ten it is ten; the first calls' latency,
    before which nothing could come, is forgotten."""
    pace = Pace(0)
    pace.take(5, 0, 0, still=False)
    done = steady(pace, 5, 65, 2)
    assert pace.per_s == pytest.approx(2)
    steady(pace, 65, 125, 10, done)
    assert pace.per_s == pytest.approx(10)


def test_nothing_is_said_too_soon() -> None:
    """A first judgment after a second tells nothing, one after 20 s that they take 20 s."""
    pace = Pace(0)
    pace.take(1, 1, 1, still=False)
    assert pace.per_s is None
    assert seconds_left([Remaining(9, pace.per_s)]) is None
    slow = Pace(0)
    slow.take(20, 1, 1, still=False)
    assert seconds_left([Remaining(9, slow.per_s)]) == pytest.approx(180)


def test_where_nothing_comes_any_more_the_rest_takes_longer() -> None:
    """Without a judgment for 30 s after 30 s of ten a second, the pace is half."""
    pace = Pace(0)
    done = steady(pace, 0, 30, 10)
    before = pace.per_s
    pace.take(60, done, done, still=False)
    assert before == pytest.approx(10)
    assert pace.per_s == pytest.approx(5, rel=0.05)


def test_an_outage_changes_no_pace() -> None:
    """The pace after ten minutes of outage is that of before, and the wait for the next probe is
    added."""
    pace = Pace(0)
    done = steady(pace, 0, 40, 10)
    for now in range(41, 641):
        pace.take(now, done, done, still=True)
    assert pace.per_s == pytest.approx(10)
    assert seconds_left([Remaining(300, pace.per_s, DOWN)]) == pytest.approx(32)


def test_what_comes_from_the_cache_is_no_pace_of_calls() -> None:
    """After 5,000 judgments from the cache the pace is that of the calls that follow."""
    pace = Pace(0)
    for now in range(1, 6):
        pace.take(now, now * 1_000, 0, still=False)
    for now in range(6, 26):
        pace.take(now, 5_000 + 2 * (now - 5), 2 * (now - 5), still=False)
    assert pace.per_s == pytest.approx(2)


def test_the_slowest_model_and_the_longest_wait_decide() -> None:
    """The rest takes as long as the slowest model, the pause that its provider asks for included,
    and no less than the last retry; who is dead, or done, is not waited for."""
    fast, slow = Remaining(100, 10.0), Remaining(100, 2.0)
    assert seconds_left([fast, slow]) == pytest.approx(50)
    paused = EndpointState(LimiterState(paused_s=60.0))
    assert seconds_left([Remaining(100, 10.0, paused), slow]) == pytest.approx(70)
    briefly = EndpointState(LimiterState(paused_s=5.0))
    assert seconds_left([Remaining(100, 10.0, briefly)]) == pytest.approx(10)
    retries = EndpointState(retry_in_s=(1.0, 25.0))
    assert seconds_left([Remaining(2, 10.0, retries)]) == pytest.approx(25)
    dead = Remaining(10_000, None, EndpointState(dead="HTTP 401"))
    assert seconds_left([fast, dead, Remaining(0, None)]) == pytest.approx(10)
