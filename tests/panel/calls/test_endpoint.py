"""When a model counts as gone away, and how long it is tried: `persona_panel.calls.endpoint`."""

from __future__ import annotations

import pytest

from persona_panel.calls.endpoint import Endpoint
from persona_panel.calls.rate_limiter import RateLimiter
from persona_panel.models.client import CallError
from persona_panel.testing import ScriptedModel


def endpoint(patience_s: float = 120.0, *, answered: bool = False) -> Endpoint:
    made = Endpoint(ScriptedModel("7"), RateLimiter(8), patience_s=patience_s)
    made.answered = answered
    return made


def fault(status: int | None = None, retry_after: float | None = None) -> CallError:
    return CallError("gone", kind="transient", status=status, retry_after=retry_after)


def test_nothing_but_faults_for_three_seconds_is_an_outage() -> None:
    """It is down once faults have come for more than 3 s, and no longer when it is heard of."""
    at = endpoint(answered=True)
    at.faulted(fault(500), began=9.0, now=10.0)
    at.faulted(fault(500), began=12.0, now=13.0)
    assert not at.down
    at.faulted(fault(500), began=12.0, now=13.1)
    assert at.down
    at.heard()
    assert not at.down
    assert not at.one_judge_at_a_time


@pytest.mark.parametrize(
    ("status", "waits"), [(None, True), (503, True), (504, True), (500, False), (429, False)]
)
def test_a_server_that_never_answered_may_be_about_to_start(
    status: int | None, waits: bool
) -> None:
    """No connection, or what a proxy says of a server that is not there, is waited out; another
    fault of a server that never answered is none of a server that is about to start."""
    at = endpoint()
    for now in (1.0, 9.0):
        at.faulted(fault(status), began=now, now=now)
    assert at.down == waits


def test_it_is_given_up_by_a_call_that_began_after_the_patience() -> None:
    """With ten seconds of patience from the first fault at 100, a call begun at 110 that meets one
    is no end, one begun later is."""
    at = endpoint(patience_s=10.0, answered=True)
    at.faulted(fault(), began=99.0, now=100.0)
    at.faulted(fault(), began=110.0, now=115.0)
    assert at.dead is None
    at.faulted(fault(), began=110.5, now=116.0)
    assert at.dead == "it has not answered in 16 s; last error: gone"


def test_a_server_that_is_silent_from_the_first_call_is_tried_a_last_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its silence began with the call, which waited for as long as the patience lasts: the next
    call is the last, no time below nothing is said, and the end has the seconds that passed."""
    at = endpoint()
    at.faulted(fault(), began=0.0, now=120.1)
    assert at.down
    assert caplog.messages == ["gone; trying a last time"]
    assert at.state(121.0).down_s == 121.0
    assert at.until_next_probe_s(120.1) == 0.0
    at.faulted(fault(), began=120.2, now=240.3)
    assert at.dead == "it never answered in 240 s; last error: gone"


def test_what_the_provider_asks_for_is_added_to_the_patience() -> None:
    """Asked at 100 to wait 60 s, a patience of 10 s ends at 170."""
    at = endpoint(patience_s=10.0, answered=True)
    at.faulted(fault(429, retry_after=60.0), began=99.0, now=100.0)
    at.faulted(fault(503), began=170.0, now=171.0)
    assert at.dead is None
    at.faulted(fault(503), began=170.5, now=171.0)
    assert at.dead is not None


def test_probes_come_ever_more_seldom_and_the_last_as_the_patience_ends() -> None:
    """After 0.5, 1, 2 and 4 s each waits 5 s; one that would come too late comes just after the end
    of the patience, so that it is the one that tells, and beyond it there is no wait."""
    at = endpoint(patience_s=100.0, answered=True)
    at.faulted(fault(), began=0.0, now=0.0)
    assert [at.until_next_probe_s(10.0) for _ in range(6)] == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]
    last = at.until_next_probe_s(98.0)
    assert 2.0 < last < 2.1
    assert at.until_next_probe_s(100.0) == at.until_next_probe_s(101.0) == 0.0
    at.faulted(fault(), began=98.0 + last, now=100.5)
    assert at.dead is not None


def test_five_calls_lost_in_a_row_are_enough() -> None:
    """A fifth call tried to the end in vain ends it, and a permanent fault does at once."""
    at = endpoint()
    for _ in range(4):
        at.lost(fault(500))
    assert at.dead is None
    at.lost(fault(500))
    assert at.dead == "5 requests in a row failed, with all their retries, the last with: gone"
    revoked = endpoint()
    revoked.lost(CallError("no such key", kind="permanent"))
    assert revoked.dead == "no such key"
    assert revoked.died.is_set()


def test_it_tells_how_it_is_doing() -> None:
    """Retries by when they are due, calls given up, and an outage with its next probe; then why it
    is dead."""
    at = endpoint(answered=True)
    with at.retry_at(40.0), at.retry_at(20.0):
        assert at.state(15.0).retry_in_s == (5.0, 25.0)
    assert at.state(15.0).retry_in_s == ()
    at.lost(fault(500))
    for now in (10.0, 14.0):
        at.faulted(fault(), began=now, now=now)
    wait = at.until_next_probe_s(14.0)
    state = at.state(14.2)
    assert (state.failed, state.down_s, state.dead) == (1, pytest.approx(4.2), None)
    assert state.last_fault == "gone"
    at.faulted(fault(500), began=14.0, now=14.0)
    assert at.state(14.2).last_fault == "status 500"
    assert state.probe_in_s == pytest.approx(wait - 0.2)
    at.give_up("no key")
    assert at.state(15.0).dead == "no key"
    assert at.state(15.0).down_s is None
