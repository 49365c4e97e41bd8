"""One model's limits: `persona_panel.calls.rate_limiter`."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

import pytest

from persona_panel.calls.in_flight import InFlightLimit
from persona_panel.calls.rate_limiter import RateLimiter, shared_rate_limiter
from tests.helpers.simulated_time import SimulatedLoop, in_simulated_time


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
        async with slot(limiter, 8 if where == "tokens" else 0):
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


@dataclass
class Arrivals:
    """What a server has received: when, in seconds from the first call on, and how many tokens."""

    times: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    def in_a_minute(self, counted: Sequence[int] | None = None) -> int:
        """The most in any 60 s, in calls or as `counted`."""
        came = sorted(zip(self.times, counted or [1] * len(self.times), strict=True))
        most = now = first = 0
        for at, size in came:
            now += size
            while at - came[first][0] > 60:
                now -= came[first][1]
                first += 1
            most = max(most, now)
        return most


async def under_load(
    limiter: RateLimiter,
    seconds: float,
    callers: int = 64,
    spread_s: float = 0.5,
    estimated: int = 0,
    actual: int = 0,
) -> Arrivals:
    """What arrives of callers that make one call after the other: each is on its way for up to
    `spread_s`, and answered within two seconds."""
    random, came, began = Random(7), Arrivals(), time.monotonic()

    async def call_on_and_on() -> None:
        while time.monotonic() - began < seconds:
            async with slot(limiter, estimated):
                await asyncio.sleep(0.01 + random.uniform(0, spread_s))
                if (at := time.monotonic() - began) < seconds:
                    came.times.append(at)
                    came.tokens.append(actual)
                await asyncio.sleep(random.uniform(0, 2))
            limiter.settle(estimated, actual)

    await asyncio.gather(*(call_on_and_on() for _ in range(callers)))
    return came


@pytest.mark.parametrize("per_minute", [1, 2, 20, 150, 1200])
@pytest.mark.parametrize("spread_s", [0.0, 1.4])
def test_no_minute_has_more_requests_than_the_limit(per_minute: int, spread_s: float) -> None:
    """Measured at the server, in any 60 s from the first call on, though calls are on their way for
    a second more or less; the limit is used nearly up all the same."""
    minutes = 4
    callers = min(256, 2 + per_minute // 10)
    limiter = RateLimiter(callers, requests_per_minute=per_minute)
    came = in_simulated_time(under_load(limiter, 60 * minutes, callers, spread_s))
    assert came.in_a_minute() <= per_minute
    used = len(came.times) / (per_minute * minutes)
    assert used > (0.95 if per_minute > 2 else 0.9)


def test_what_a_busy_loop_has_delayed_is_made_up_for_within_the_limit() -> None:
    """A loop that does nothing for a second falls behind, and catches up; even so no minute and a
    half second has more than the limit, which leaves room for the way to the server."""

    async def with_a_stall() -> list[float]:
        limiter = RateLimiter(256, requests_per_minute=1200)
        calls = asyncio.create_task(under_load(limiter, 120, 200, 0.0))
        await asyncio.sleep(1)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        loop.now += 1.0
        return (await calls).times

    times = [at * 60 / 61.4 for at in in_simulated_time(with_a_stall())]
    assert Arrivals(times).in_a_minute() <= 1200


def test_there_is_no_burst_at_first_nor_after_a_rest() -> None:
    """At 600 a minute no second has more than ten calls, also after five minutes without any."""

    async def twice() -> list[float]:
        limiter = RateLimiter(100, requests_per_minute=600)
        times = await times_of(limiter, 25)
        await asyncio.sleep(300)
        return times + [400 + at for at in await times_of(limiter, 25)]

    times = in_simulated_time(twice())
    assert all(sum(start <= at < start + 1 for at in times) <= 10 for start in times)


def test_a_limit_below_one_a_minute_is_kept() -> None:
    """At one call in four minutes, three take eight minutes and a little."""
    times = in_simulated_time(times_of(RateLimiter(3, requests_per_minute=0.25), 3))
    assert 480 <= times[-1] < 495


def test_a_call_that_was_held_back_counts_when_it_goes() -> None:
    """A Retry-After of two minutes that comes while calls wait does not let one more through in the
    minute after it."""

    async def held() -> list[float]:
        limiter = RateLimiter(20, requests_per_minute=4)
        calls = asyncio.create_task(times_of(limiter, 9))
        await asyncio.sleep(50)
        limiter.pause_for(120)
        return await calls

    times = in_simulated_time(held())
    after = [at for at in times if at > 60]
    assert min(after) >= 170
    assert Arrivals(times).in_a_minute() == 4


async def test_a_slow_limit_spaces_single_calls() -> None:
    """By the real clock: at 150 a minute five calls take 1.6 s or a little more."""
    times = await times_of(RateLimiter(100, requests_per_minute=150), 5)
    assert 1.59 < times[-1] < 3


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


@pytest.mark.parametrize("actual", [400, 600])
def test_no_minute_has_more_tokens_than_the_limit(actual: int) -> None:
    """Measured at the server, in any 60 s from the first call on, whether or not calls come to less
    than was estimated; the limit is used nearly up all the same."""
    limiter, limit = RateLimiter(64, tokens_per_minute=120_000), 120_000
    came = in_simulated_time(under_load(limiter, 300, estimated=600, actual=actual))
    assert came.in_a_minute(came.tokens) <= limit
    assert sum(came.tokens) > 0.95 * 5 * limit


def test_what_was_used_beyond_the_estimate_is_waited_for() -> None:
    """Calls that come to twice what was estimated are let through half as often."""
    limiter, limit = RateLimiter(64, tokens_per_minute=60_000), 60_000
    came = in_simulated_time(under_load(limiter, 600, estimated=100, actual=200))
    assert 0.95 * 10 * limit < sum(came.tokens) < 1.02 * 10 * limit


def test_a_call_of_more_than_a_minutes_tokens_goes_alone() -> None:
    """It goes at once, and the next one after as many minutes as it takes."""

    async def both() -> list[float]:
        limiter = RateLimiter(10, tokens_per_minute=6000)
        return await times_of(limiter, 1, 12_000) + await times_of(limiter, 1, 100)

    large, small = in_simulated_time(both())
    assert large < 0.01
    assert 120 <= small < 125


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
    """Of five calls at 60 a minute with three slots, one is in flight and two wait for about a
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
    assert 0 < state.opens_in_s < 1.1
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


# Calls about one text


async def most_texts_open(n_slots: int, n_texts: int, n_calls: int) -> int:
    """How many texts are begun and not done at a time, at most: of each one call is made, and then
    the others together."""
    limiter = RateLimiter(n_slots)
    made: Counter[int] = Counter()
    most = 0

    async def call(text: int) -> None:
        nonlocal most
        await limiter.enter(0, text)
        made[text] += 1
        most = max(most, sum(0 < n < n_calls for n in made.values()))
        await asyncio.sleep(0.001)
        limiter.leave(text)

    async def judged(text: int) -> None:
        await call(text)
        await asyncio.gather(*(call(text) for _ in range(n_calls - 1)))

    await asyncio.gather(*(judged(text) for text in range(n_texts)))
    assert made == dict.fromkeys(range(n_texts), n_calls)
    return most


@pytest.mark.parametrize("n_slots", [1, 2, 5])
async def test_a_slot_that_gets_free_goes_to_the_same_text(n_slots: int) -> None:
    """As many texts are open as there are slots, and not all of those that wait."""
    assert await most_texts_open(n_slots, n_texts=20, n_calls=6) <= n_slots


@pytest.mark.parametrize(("n_slots", "expected"), [(16, [1, 0]), (17, [0, 1])])
async def test_one_of_many_slots_goes_to_no_text(n_slots: int, expected: list[int]) -> None:
    """With more calls in flight than a server with slots has, a later work's second call about its
    text waits for a first work's."""
    limiter, limit, order = RateLimiter(n_slots), InFlightLimit(2), list[int]()

    async def work(number: int, has_slot: bool) -> None:
        with limit.work():
            if not has_slot:
                await limiter.enter(0, number)
            else:
                await asyncio.sleep(0.01)
                limiter.leave(number)
                await limiter.enter(0, number)
            order.append(number)
            limiter.leave(number)

    for text in range(1, n_slots + 1):
        await limiter.enter(0, text)
    await asyncio.gather(work(0, has_slot=False), work(1, has_slot=True))
    assert order == expected


async def test_slots_that_have_become_many_go_to_no_text() -> None:
    """Nine answers make 17 of eight; 70 % of them, after an overload, are few again."""
    limiter = RateLimiter()
    assert limiter._slots.by_text
    for _ in range(9):
        calls = [asyncio.create_task(limiter.enter(0)) for _ in range(100)]
        await asyncio.sleep(0)
        limiter.succeeded(1)
        for call in calls:
            call.cancel()
    assert not limiter._slots.by_text
    limiter.pushed_back(time.monotonic())
    assert limiter._slots.by_text


async def test_a_slot_goes_to_the_work_that_began_first() -> None:
    """However long others have waited: what a first work asks for after a second goes before that,
    and calls of no work come last, in the order in which they came."""
    limiter, limit, order = RateLimiter(1), InFlightLimit(3), list[str]()

    async def call(name: str) -> None:
        await limiter.enter(0, name)
        order.append(name)
        limiter.leave(name)

    async def work(number: int, asks: asyncio.Event) -> None:
        with limit.work():
            await asks.wait()
            await call(f"first call of work {number}")
            await call(f"second call of work {number}")

    await limiter.enter(0, "before all")
    events = [asyncio.Event() for _ in range(3)]
    tasks = [asyncio.create_task(work(number, event)) for number, event in enumerate(events)]
    for other in ("a call of no work", "another"):
        tasks.append(asyncio.create_task(call(other)))
        await asyncio.sleep(0)
    for event in (events[2], events[1], events[0]):
        event.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    limiter.leave("before all")
    await asyncio.wait_for(asyncio.gather(*tasks), 5)
    assert order == [
        *(f"{which} call of work {number}" for number in range(3) for which in ("first", "second")),
        "a call of no work",
        "another",
    ]


async def test_no_slot_waits_for_a_text() -> None:
    """One text's calls have all slots where no other text waits for them."""
    limiter = RateLimiter(4)
    running = most = 0

    async def call() -> None:
        nonlocal running, most
        await limiter.enter(0, "a")
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        limiter.leave("a")

    await asyncio.gather(*(call() for _ in range(12)))
    assert most == 4


@pytest.mark.parametrize("seed", range(20))
async def test_no_slot_is_lost_to_calls_that_are_cancelled(seed: int) -> None:
    """Whenever calls are cancelled, waiting or under way, all slots are free in the end and every
    other call was made."""
    random, limiter = Random(seed), RateLimiter(3)
    done = 0

    async def call(text: int) -> None:
        nonlocal done
        await limiter.enter(0, text)
        try:
            await asyncio.sleep(random.random() / 1000)
            done += 1
        finally:
            limiter.leave(text)

    calls = [asyncio.create_task(call(random.randrange(5))) for _ in range(60)]
    for chosen in random.sample(calls, 30):
        if random.random() < 0.7:
            await asyncio.sleep(0)
        chosen.cancel()
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert done == sum(end is None for end in ended)
    assert limiter.state(time.monotonic()).in_flight == 0
    for _ in range(3):
        await asyncio.wait_for(limiter.enter(0), 0.2)
