"""How much is worked on at a time: `persona_panel.calls.in_flight`."""

from __future__ import annotations

import asyncio

from persona_panel.calls.in_flight import InFlightLimit, call_under_way, waiting_for_a_server


async def has_room(limit: InFlightLimit) -> bool:
    """Whether a further slot is to be had, which is given back."""
    try:
        await asyncio.wait_for(limit.enter(), 0.01)
    except TimeoutError:
        return False
    limit.leave()
    return True


async def test_a_slot_is_lent_while_its_calls_only_wait() -> None:
    """Of two calls of the only slot one waits: there is no room. Both wait: there is. One goes
    on: there is none again, and once the slot is given back there is one slot, not two."""
    limit = InFlightLimit(1)
    async with limit.slot():
        with call_under_way():
            with call_under_way(), waiting_for_a_server():
                assert not await has_room(limit)
                with waiting_for_a_server():
                    assert await has_room(limit)
                    await asyncio.wait_for(limit.enter(), 1)
            assert not await has_room(limit)
    # The slot that was lent is still in use.
    assert not await has_room(limit)
    limit.leave()
    await asyncio.wait_for(limit.enter(), 1)
    assert not await has_room(limit)


async def test_no_more_is_lent_than_may_wait() -> None:
    """Of three responses to a server that went away, the first lends its only slot to the second,
    which may lend it no further: the third does not begin, in each of three outages."""
    limit = InFlightLimit(1, most_waiting=1)
    begun = 0

    async def waits(until: asyncio.Event) -> None:
        nonlocal begun
        async with limit.slot():
            begun += 1
            with call_under_way(), waiting_for_a_server():
                await until.wait()

    for _ in range(3):
        begun = 0
        server_is_back = asyncio.Event()
        tasks = [asyncio.create_task(waits(server_is_back)) for _ in range(3)]
        await asyncio.sleep(0.01)
        assert begun == 2
        server_is_back.set()
        await asyncio.gather(*tasks)
        assert begun == 3
    assert await has_room(limit)


async def test_a_call_after_the_slot_is_none_of_its() -> None:
    """Who has given its slot back and then waits for a server has none to lend."""
    limit = InFlightLimit(1)
    async with limit.slot():
        pass
    await asyncio.wait_for(limit.enter(), 1)
    with call_under_way(), waiting_for_a_server():
        assert not await has_room(limit)


async def test_a_call_that_is_over_does_not_count() -> None:
    """After one call was answered, another that is the only one under way and waits lends the
    slot."""
    limit = InFlightLimit(1)
    async with limit.slot():
        with call_under_way():
            pass
        with call_under_way(), waiting_for_a_server():
            assert await has_room(limit)


async def test_a_limit_is_widened_and_never_narrowed() -> None:
    """Of one slot, which is in use, three are made: two are free, and stay so whatever smaller
    number comes later."""
    limit = InFlightLimit(1)
    await limit.enter()
    limit.widen(3)
    limit.widen(2)
    for _ in range(2):
        await asyncio.wait_for(limit.enter(), 1)
    assert not await has_room(limit)
