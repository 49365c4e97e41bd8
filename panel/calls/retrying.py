"""How often, and when, a call that met a fault is tried again."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from persona_panel.calls.budget import CapReached
from persona_panel.calls.endpoint import Endpoint
from persona_panel.calls.in_flight import waiting_for_a_server
from persona_panel.graphs.context import Unanswered
from persona_panel.models.client import CallError

ATTEMPTS = 6
"""How often one call is tried."""
TOTAL_S = 600.0
"""How long one call may take with all its attempts and waits, in seconds."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0
_MINUTE_S = 60.0
"""What most quotas are counted by: a call refused for one must outlast it."""

T = TypeVar("T")


async def retried(
    first: CallError,
    try_again: Callable[[], Awaitable[T]],
    endpoint: Endpoint,
    random_: random.Random,
) -> T:
    """What becomes of a call whose first attempt met `first`.

    Args:
        try_again: makes another attempt.
        random_: jitters the waits.

    Raises:
        Unanswered: `failed`, with the last fault and, if one forbade another attempt, the cap.
    """
    started = time.monotonic()
    last, tries, charged = first, 0, 0

    async def attempt() -> T:
        nonlocal last, tries, charged, started
        tries += 1
        try:
            if tries == 1:
                raise first
            endpoint.retries += 1
            return await try_again()
        except CallError as error:
            last = error
            if endpoint.down:
                # How long a server that is down is tried, its endpoint says.
                started = time.monotonic()
            elif not error.no_descriptor:
                charged += 1
            raise

    def is_worth_another(error: BaseException) -> bool:
        return isinstance(error, CallError) and error.kind == "transient"

    def wait(state: RetryCallState) -> float:
        if endpoint.down:
            return 0.0  # each waits for its turn to probe
        if last.retry_after is not None:
            return last.retry_after + random_.uniform(0, 0.25)
        n = max(1, charged)
        if last.status == 429:
            # 1 s at most at first; all waits together, at the least, 70 s.
            longest = min(_MINUTE_S, _FIRST_WAIT_S / 2 * 4**n)
        else:
            longest = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2**n)
        return random_.uniform(longest / 2, longest)

    def is_lost(state: RetryCallState) -> bool:
        late = time.monotonic() - started + state.upcoming_sleep > TOTAL_S
        return not endpoint.down and (charged >= ATTEMPTS or late)

    async def sleep(seconds: float) -> None:
        due = time.monotonic() + seconds
        with endpoint.retry_at(due):
            await sleep_until(endpoint.unavailable, seconds)
            if endpoint.down and last.retry_after is not None:
                with waiting_for_a_server():
                    await sleep_until(endpoint.died, due - time.monotonic())

    retrying = AsyncRetrying(
        sleep=sleep,
        retry=retry_if_exception(is_worth_another),
        wait=wait,
        stop=is_lost,
        reraise=True,
    )
    try:
        result: T = await retrying(attempt)
    except CallError as error:
        endpoint.lost(error)
        often = f" (tried {tries} times)" if tries > 1 else ""
        raise Unanswered("failed", f"{error}{often}") from None
    except CapReached as cap:
        # The attempt that the cap stopped was none.
        often = "once" if tries == 2 else f"{tries - 1} times"
        why = f"{last} (tried {often}, not repeated: {cap})"
        raise Unanswered("failed", why) from None
    return result


async def sleep_until(event: asyncio.Event, seconds: float) -> None:
    """So long, or until the event is set."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
