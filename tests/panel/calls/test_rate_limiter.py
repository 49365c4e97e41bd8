"""One model's limits: `panel.calls.rate_limiter`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from panel.calls.rate_limiter import RateLimiter, shared_rate_limiter


@asynccontextmanager
async def slot(limiter: RateLimiter, tokens: int) -> AsyncIterator[None]:
    """A call that the limiter lets through, for as long as the block lasts."""
    await limiter.enter(tokens)
    try:
        yield
    finally:
        limiter.leave()


async def times_of(limiter: RateLimiter, count: int, tokens: int = 0) -> list[float]:
    """When each of so many calls, asked for at once, was let through, in order of asking."""
    started = time.monotonic()

    async def one() -> float:
        async with slot(limiter, tokens):
            return time.monotonic() - started

    return await asyncio.gather(*(one() for _ in range(count)))


async def is_free(limiter: RateLimiter) -> bool:
    """Whether a call gets through at once."""
    try:
        async with asyncio.timeout(0.2), slot(limiter, 0):
            return True
    except TimeoutError:
        return False


# Calls in flight


async def test_no_more_than_concurrency_are_in_flight() -> None:
    """Of 50 calls through a gate of 4, four run at the same time and never five."""
    limiter = RateLimiter(4)
    running = most = 0

    async def one() -> None:
        nonlocal running, most
        async with slot(limiter, 10):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.002)
            running -= 1

    await asyncio.gather(*(one() for _ in range(50)))
    assert most == 4


async def test_an_error_gives_its_slot_back() -> None:
    """After a call that raised, the next gets through."""
    limiter = RateLimiter(1)
    with pytest.raises(RuntimeError):
        async with slot(limiter, 0):
            raise RuntimeError
    assert await is_free(limiter)


async def test_a_cancelled_call_gives_its_slot_back() -> None:
    """After a call cancelled in flight, the next gets through."""
    limiter = RateLimiter(1)
    inside = asyncio.Event()

    async def forever() -> None:
        async with slot(limiter, 0):
            inside.set()
            await asyncio.Event().wait()

    call = asyncio.create_task(forever())
    await inside.wait()
    assert not await is_free(limiter)
    call.cancel()
    await asyncio.wait([call])
    assert await is_free(limiter)


@pytest.mark.parametrize("where", ["slot", "tokens", "requests", "hold"])
async def test_a_call_cancelled_while_it_waits_leaves_nothing_taken(where: str) -> None:
    """A call that is cancelled in the queue, whatever it waits for, blocks no later one."""
    limiter = RateLimiter(
        1,
        requests_per_minute=60 if where == "requests" else None,
        tokens_per_minute=600 if where == "tokens" else None,
    )
    release = asyncio.Event()

    async def first() -> None:
        async with slot(limiter, 102 if where == "tokens" else 0):
            if where == "slot":
                await release.wait()

    if where == "hold":
        limiter.pause_for(0.3)
    holder = asyncio.create_task(first())
    await asyncio.sleep(0.02)
    waiting = asyncio.create_task(first())
    await asyncio.sleep(0.02)
    assert not waiting.done()
    waiting.cancel()
    await asyncio.wait([waiting])
    release.set()
    await holder
    async with asyncio.timeout(2), slot(limiter, 0):
        pass


# Requests per minute


async def test_requests_per_minute_are_kept() -> None:
    """At 600 a minute no second sees more than ten, and 25 calls take two to three seconds."""
    times = await times_of(RateLimiter(100, requests_per_minute=600), 25)
    for start in times:
        assert sum(start <= at < start + 0.99 for at in times) <= 10
    assert 1.9 < times[-1] < 4


async def test_a_slow_limit_spaces_single_calls() -> None:
    """At 150 a minute (a burst of two in 0.8 s) five calls take 1.6 s or a little more."""
    times = await times_of(RateLimiter(100, requests_per_minute=150), 5)
    assert 1.55 < times[-1] < 3


async def test_first_come_first_served() -> None:
    """Calls leave the gate in the order in which they came, also those that came while
    others were waiting."""
    limiter = RateLimiter(3, requests_per_minute=1200)
    order: list[int] = []

    async def one(number: int) -> None:
        async with slot(limiter, 1):
            order.append(number)

    early = [asyncio.create_task(one(number)) for number in range(25)]
    await asyncio.sleep(0.1)
    late = [asyncio.create_task(one(number)) for number in range(25, 30)]
    await asyncio.gather(*early, *late)
    assert order == list(range(30))


# Tokens per minute


async def test_tokens_per_minute_are_kept() -> None:
    """At 6,000 a minute, beyond the first ten seconds' worth, 20 tokens take 0.2 s."""
    limiter = RateLimiter(10, tokens_per_minute=6000)
    await times_of(limiter, 1, tokens=1000)
    times = await times_of(limiter, 4, tokens=20)
    assert times == sorted(times)
    assert 0.7 < times[-1] < 2


async def test_a_call_larger_than_the_bucket_still_goes_and_leaves_a_debt() -> None:
    """A call of more than ten seconds' worth goes at once; the next waits for the excess."""
    limiter = RateLimiter(10, tokens_per_minute=60_000)
    (large,) = await times_of(limiter, 1, tokens=10_400)
    assert large < 0.2
    (small,) = await times_of(limiter, 1, tokens=100)
    assert 0.4 < small < 1.5


async def test_what_was_not_used_is_given_back() -> None:
    """When the provider counted fewer tokens than were estimated, the next need not wait."""
    limiter = RateLimiter(10, tokens_per_minute=6000)
    await times_of(limiter, 1, tokens=1000)
    limiter.settle(1000, 100)
    (at,) = await times_of(limiter, 1, tokens=500)
    assert at < 0.2


async def test_what_was_used_beyond_the_estimate_is_waited_for() -> None:
    """When the provider counted more tokens than were estimated, the next waits for them."""
    limiter = RateLimiter(10, tokens_per_minute=60_000)
    await times_of(limiter, 1, tokens=100)
    limiter.settle(100, 10_300)
    (at,) = await times_of(limiter, 1, tokens=100)
    assert 0.25 < at < 1.5


# Holding back


async def test_hold_delays_everyone() -> None:
    """After a provider's word to wait nobody gets through, and afterwards all do."""
    limiter = RateLimiter(10)
    limiter.pause_for(0.3)
    times = await times_of(limiter, 5)
    assert min(times) >= 0.29
    assert max(times) < 1


async def test_hold_reaches_those_who_wait_already() -> None:
    """A longer hold that comes during a shorter one counts for its waiters too, and a
    shorter one takes nothing back."""
    limiter = RateLimiter(10)
    limiter.pause_for(0.2)
    waiting = asyncio.create_task(times_of(limiter, 2))
    await asyncio.sleep(0.05)
    limiter.pause_for(0.4)
    limiter.pause_for(0.01)
    assert min(await waiting) >= 0.4


# Sharing


async def test_one_gate_for_one_model_and_its_limits() -> None:
    """Whoever asks for the same model and limits in the same loop shares a gate; others do not."""
    one = shared_rate_limiter("model", 4, 60, None)
    assert shared_rate_limiter("model", 4, 60, None) is one
    assert shared_rate_limiter("other", 4, 60, None) is not one
    assert shared_rate_limiter("model", 5, 60, None) is not one


def test_each_loop_has_its_own_gate() -> None:
    """A gate of a loop that has ended is not handed to the next, where it could not work."""

    async def limiter() -> RateLimiter:
        return shared_rate_limiter("model", 4, None, None)

    assert asyncio.run(limiter()) is not asyncio.run(limiter())


# What it says of itself


async def test_it_tells_who_is_in_flight_and_who_waits() -> None:
    """Of five calls at 60 a minute with three slots, one is in flight and two wait for up to a
    second; none is left when all are done."""
    limiter = RateLimiter(3, requests_per_minute=60)
    free = asyncio.Event()

    async def one() -> None:
        async with slot(limiter, 0):
            await free.wait()

    calls = [asyncio.create_task(one()) for _ in range(5)]
    await asyncio.sleep(0.1)
    state = limiter.state(time.monotonic())
    assert (state.in_flight, state.waiting, state.paused_s) == (1, 2, 0)
    assert 0 < state.opens_in_s <= 1
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    state = limiter.state(time.monotonic())
    assert (state.in_flight, state.waiting, state.opens_in_s) == (0, 0, 0)


async def test_it_tells_how_long_a_provider_has_asked_to_wait() -> None:
    """A call that is held back for 30 s waits, and is not in flight."""
    limiter = RateLimiter(2)
    limiter.pause_for(30)
    call = asyncio.create_task(is_free(limiter))
    await asyncio.sleep(0.05)
    state = limiter.state(time.monotonic())
    assert (state.in_flight, state.waiting) == (0, 1)
    assert 29 < state.paused_s == state.opens_in_s <= 30
    assert not await call


async def test_slots_taken_away_are_counted_as_long_as_they_are_used() -> None:
    """Two calls in flight stay two where one alone is to be let through from now on."""
    limiter = RateLimiter(most=2)
    async with slot(limiter, 0), slot(limiter, 0):
        limiter.pushed_back(time.monotonic() - 1)
        assert limiter.state(time.monotonic()).in_flight == 2
    assert limiter.state(time.monotonic()).in_flight == 0
