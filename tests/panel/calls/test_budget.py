"""What a run may spend: `persona_panel.calls.budget`."""

from __future__ import annotations

import asyncio

import pytest

from persona_panel.calls.budget import Budget, CapReached, Caps, Spending
from persona_panel.files.errors import ConfigurationError
from persona_panel.models.client import sound
from persona_panel.models.config import Price
from persona_panel.rubrics import Usage

PRICE = Price(input=1.0, cached_input=0.1, output=10.0)


def budget(**caps: float) -> Budget:
    return Budget(Caps(**caps), {"m": PRICE})  # type: ignore[arg-type]


async def test_the_call_that_would_pass_the_cap_is_refused() -> None:
    """With a cap of two calls, two are let through and the third is not."""
    two = budget(calls=2)
    await two.reserve("m", Usage())
    await two.reserve("m", Usage())
    with pytest.raises(CapReached, match="the cap of 2 calls"):
        await two.reserve("m", Usage())


async def test_calls_in_flight_count_as_what_they_may_come_to() -> None:
    """A call that fits only if one in flight comes to less waits for it, then goes."""
    # 1,000 tokens; the first call may come to 600, so a second of 600 has to wait; the
    # first comes to 300, which leaves 700.
    capped = budget(tokens=1000)
    first = await capped.reserve("m", Usage(input=100, output=500))
    waiting = asyncio.create_task(capped.reserve("m", Usage(input=100, output=500)))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    capped.settle("m", first, Usage(input=100, output=200))
    await asyncio.wait_for(waiting, 1)


async def test_dollars_are_counted_from_the_provider_s_usage() -> None:
    """What was spent is fresh input, cached input and output, each at its price."""
    # 1e6 fresh at $1 + 1e6 cached at $0.10 + 1e5 output at $10 = 1 + 0.1 + 1 = $2.10.
    capped = budget(usd=2.2)
    reserved = await capped.reserve("m", Usage())
    capped.settle("m", reserved, Usage(input=2_000_000, cached=1_000_000, output=100_000))
    # $0.10 are left: 100,000 tokens of input fit exactly, a token of output more does not.
    await capped.reserve("m", Usage(input=99_999))
    with pytest.raises(CapReached, match=r"the cap of \$2.20"):
        capped_again = budget(usd=2.2)
        spent = await capped_again.reserve("m", Usage())
        capped_again.settle("m", spent, Usage(input=2_100_000, output=10_000))
        await capped_again.reserve("m", Usage(input=100_001))


async def test_a_call_in_flight_may_write_all_its_input_to_a_cache() -> None:
    """What is set aside for a call counts its input at the price of writing it to a cache."""
    # 100,000 tokens at $1.25 a million = $0.125: eight calls in flight fill a dollar.
    capped = Budget(
        Caps(usd=1.0), {"m": Price(input=1.0, cached_input=0.1, cache_write=1.25, output=10.0)}
    )
    most = Usage(input=100_000, written=100_000)
    for _ in range(8):
        await capped.reserve("m", most)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(capped.reserve("m", most), 0.05)


async def test_once_reached_a_cap_stays_reached() -> None:
    """After the first refusal even a call that would fit is refused, and all who wait learn it."""
    capped = budget(tokens=100)
    first = await capped.reserve("m", Usage(input=90))
    waiting = [asyncio.create_task(capped.reserve("m", Usage(input=50))) for _ in range(3)]
    await asyncio.sleep(0.01)
    capped.settle("m", first, Usage(input=90))
    results = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 1)
    assert all(isinstance(result, CapReached) for result in results)
    with pytest.raises(CapReached):
        await capped.reserve("m", Usage(input=1))


async def test_who_waits_for_room_learns_at_once_that_a_cap_is_reached() -> None:
    """A call waits for 90 tokens in flight to come to less; the last call allowed is made, and the
    next finds the cap of calls reached: that the waiting one learns, though nothing has settled."""
    capped = budget(calls=2, tokens=100)
    await capped.reserve("m", Usage(input=90))
    waiting = asyncio.create_task(capped.reserve("m", Usage(input=50)))
    await asyncio.sleep(0.01)
    await capped.reserve("m", Usage(input=5))
    assert not waiting.done()
    with pytest.raises(CapReached, match="2 calls"):
        await capped.reserve("m", Usage(input=1))
    with pytest.raises(CapReached, match="2 calls"):
        await asyncio.wait_for(waiting, 1)


async def test_without_caps_nothing_is_refused() -> None:
    """No cap, no refusal."""
    free = budget()
    for _ in range(100):
        await free.reserve("m", Usage(input=10**9))


async def test_without_caps_calls_are_counted_once_they_are_answered() -> None:
    """Two calls for which nothing was set aside are two calls, and what they took is summed."""
    free = budget()
    free.settle("m", None, Usage(input=10, output=5))
    free.settle("m", None, Usage(input=20, output=1))
    assert free.spending == Spending(2, {"m": Usage(input=30, output=6)})


@pytest.mark.parametrize("cap", [float("nan"), float("inf"), -float("inf"), -1, 0, True, "5"])
@pytest.mark.parametrize("of", ["usd", "calls", "tokens"])
def test_a_cap_that_is_none_is_refused(of: str, cap: object) -> None:
    """No number, no finite one, or none above 0: said with what is expected, not run without."""
    with pytest.raises(ConfigurationError, match="found"):
        Caps(**{of: cap})  # type: ignore[arg-type]


def test_a_fraction_of_a_call_is_refused() -> None:
    """Calls and tokens are counted in whole numbers."""
    with pytest.raises(ConfigurationError, match=r"a whole number of 1 or more.*found 1\.5"):
        Caps(calls=1.5)  # type: ignore[arg-type]


async def test_a_reported_usage_that_cannot_be_gives_nothing_back() -> None:
    """Below 0, or more cached than was read, it neither lowers what was spent nor breaks a sum."""
    capped = budget(tokens=1000)
    for odd in (Usage(-(10**6), 0, -5), Usage(500, 10**30), Usage(10, -(10**9)), Usage(1, 0, 489)):
        capped.settle("m", await capped.reserve("m", Usage()), sound(odd))
    # 500, 10 and 490: the cap is full to the last token.
    capped.settle("m", await capped.reserve("m", Usage()), Usage())
    with pytest.raises(CapReached):
        await capped.reserve("m", Usage(input=1))


async def test_what_was_spent_before_counts_and_all_is_written_down() -> None:
    """40 of 50 calls, 900 of 1,000 tokens were used before: what is left is less by that, and what
    is written down is the sum, a call in flight as what was set aside for it."""
    written: list[Spending] = []
    before = Spending(40, {"m": Usage(800, 0, 100)})
    capped = budget(calls=50, tokens=1000)
    capped.go_on_from(before)
    capped.record = lambda at_once: written.append(
        Spending(capped.spending.calls, {**capped.spending.usage})
    )
    assert capped.spending == before
    reserved = await capped.reserve("m", Usage(input=50, output=40))
    assert written.pop() == Spending(41, {"m": Usage(850, 0, 140)})
    capped.settle("m", reserved, Usage(input=50, output=10))
    assert written.pop() == Spending(41, {"m": Usage(850, 0, 110)})
    with pytest.raises(CapReached, match="1,000 tokens is reached, 900 of it by earlier runs"):
        await capped.reserve("m", Usage(input=41))


async def test_more_calls_than_the_cap_before_leave_none() -> None:
    """A lower cap than what was spent already is reached at once."""
    capped = budget(calls=3)
    capped.go_on_from(Spending(5, {"m": Usage(1, 0, 1)}))
    with pytest.raises(CapReached, match="3 calls is reached, 5 of it by earlier runs"):
        await capped.reserve("m", Usage())


def test_a_cap_in_dollars_wants_the_price_of_what_was_spent_before() -> None:
    """Spent on a model without a known price, it cannot be counted, and is not nothing."""
    with pytest.raises(ConfigurationError, match="other, whose price is unknown"):
        budget(usd=1.0).go_on_from(Spending(1, {"other": Usage(1, 0, 1)}))


async def test_a_call_that_was_not_sent_leaves_its_place_to_another() -> None:
    """Under a cap of one call, one that failed before it was sent does not count."""
    one = budget(calls=1)
    reserved = await one.reserve("m", Usage(input=10))
    one.settle("m", reserved, Usage(), calls=0)
    assert (one.spending.calls, one.spending.tokens) == (0, 0)
    await one.reserve("m", Usage())
    with pytest.raises(CapReached, match="the cap of 1 call"):
        await one.reserve("m", Usage())
