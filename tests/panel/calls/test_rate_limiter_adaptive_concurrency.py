"""How many calls a model may have in flight: `persona_panel.calls.rate_limiter`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from persona_panel.calls.rate_limiter import (
    INITIAL_CONCURRENCY,
    MAX_CONCURRENCY,
    AdaptiveConcurrency,
    RateLimiter,
)
from persona_panel.testing import Answer, ok, status
from tests.helpers.callers import ask, caller_at


def rounds(
    allowance: AdaptiveConcurrency, count: int, *, start: float = 0.0, latency_s: float = 1.0
) -> None:
    """So many rounds of calls, all of a round in flight together, that come back well."""
    for number in range(count):
        for _ in range(allowance.calls):
            allowance.succeeded(start + number, latency_s, all_in_use=True)


def test_it_doubles_until_the_provider_pushes_back() -> None:
    """Three rounds of successes make 8 into 64: each call that comes back makes room for one."""
    allowance = AdaptiveConcurrency()
    rounds(allowance, 3)
    assert allowance.calls == INITIAL_CONCURRENCY * 8


def test_it_never_passes_its_end() -> None:
    """However long all goes well, it stops at 256."""
    allowance = AdaptiveConcurrency()
    rounds(allowance, 20)
    assert allowance.calls == MAX_CONCURRENCY


def test_a_push_back_cuts_it_and_it_settles_below() -> None:
    """From 64, a push back leaves 44 (70 %); quiet rounds raise it by one each, to 57, which is
    90 % of 64, and no further."""
    allowance = AdaptiveConcurrency()
    rounds(allowance, 3)
    allowance.pushed_back(3.0, began=2.5)
    assert allowance.calls == 44
    rounds(allowance, 1, start=3.0)
    assert allowance.calls == 45
    # 45 to 57 are 12 rounds.
    rounds(allowance, 20, start=4.0)
    assert allowance.calls == 57


def test_it_tries_again_after_quiet() -> None:
    """Thirty seconds after the last push back it rises beyond what was too much then."""
    allowance = AdaptiveConcurrency()
    rounds(allowance, 3)
    allowance.pushed_back(3.0, began=2.5)
    rounds(allowance, 40, start=40.0)
    assert allowance.calls > 64


def test_calls_in_flight_together_push_back_once() -> None:
    """Of ten calls that began before the first of them met a 429, only that one counts; one
    that began afterwards counts again."""
    allowance = AdaptiveConcurrency()
    rounds(allowance, 3)
    for _ in range(10):
        allowance.pushed_back(5.0, began=4.0)
    assert allowance.calls == 44
    allowance.pushed_back(6.0, began=5.5)
    assert allowance.calls == 30


def test_it_keeps_one_call() -> None:
    """However often it is pushed back, one call remains."""
    allowance = AdaptiveConcurrency()
    for second in range(20):
        allowance.pushed_back(float(second), began=second - 0.5)
    assert allowance.calls == 1


def test_errors_that_come_whatever_is_in_flight_do_not_sink_it_to_one() -> None:
    """Every twentieth call meets an error, in rounds of a second. Between two errors it rises by
    20 / n, which 30 % of n takes away again: about 8."""
    allowance, n_calls, at = AdaptiveConcurrency(), 0, list[int]()
    for second in range(200):
        for _ in range(allowance.calls):
            n_calls += 1
            if n_calls % 20:
                allowance.succeeded(float(second), 1.0, all_in_use=True)
            else:
                allowance.pushed_back(float(second), began=second - 0.5)
        at.append(allowance.calls)
    assert 5 <= sum(at[100:]) / 100 <= 9


def test_it_does_not_rise_when_not_all_is_used() -> None:
    """Calls that found free room say nothing about more of them."""
    allowance = AdaptiveConcurrency()
    for _ in range(100):
        allowance.succeeded(1.0, 1.0, all_in_use=False)
    assert allowance.calls == INITIAL_CONCURRENCY


def test_it_does_not_rise_while_calls_queue_at_the_provider() -> None:
    """Once calls take four times as long as the quickest, more of them would only wait."""
    allowance = AdaptiveConcurrency()
    rounds(allowance, 1)
    before = allowance.calls
    # The usual latency is smoothed, a tenth new each call: after 60 it is 4 but for 0.2 %.
    for _ in range(60):
        allowance.succeeded(2.0, 4.0, all_in_use=False)
    rounds(allowance, 5, start=3.0, latency_s=4.0)
    assert allowance.calls == before


# Through the gate


async def test_what_a_server_takes_is_found_out(tmp_path: Path) -> None:
    """A server that answers 429 to more than twelve calls at once refuses few of them, and
    the gate ends near its limit, not above it."""
    limiter, refused, most = RateLimiter(), 0, 12

    def script(number: int, payload: object) -> Answer:
        nonlocal refused
        if at.server._in_flight <= most:
            return ok()
        refused += 1
        return status(429)

    async with caller_at(script, tmp_path, limiter=limiter, latency_s=0.1) as at:
        replies = await asyncio.gather(*(at.ask(ask(number)) for number in range(500)))
    assert {reply.text for reply in replies} == {"7"}
    assert refused < 50
    assert limiter._adaptive is not None
    assert most / 2 <= limiter._adaptive.calls <= most


async def test_a_limit_that_is_given_is_kept(tmp_path: Path) -> None:
    """With a concurrency of 5 no sixth call is ever in flight, however well all goes."""
    async with caller_at(lambda *_: ok(), tmp_path, limiter=RateLimiter(5), latency_s=0.005) as at:
        await asyncio.gather(*(at.ask(ask(number)) for number in range(200)))
    assert at.server.in_flight_max == 5
