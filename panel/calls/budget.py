"""What a run may spend, and the stop before the call that would pass it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from panel.models.catalogue import Price
from rubrics import Usage


class CapReached(Exception):
    """The next call would pass a cap; the message names it."""


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that one run may spend on calls: US dollars, calls, tokens; None, no cap."""

    usd: float | None = None
    calls: int | None = None
    tokens: int | None = None


NO_CAPS = Caps()


@dataclass(frozen=True, slots=True)
class Amount:
    """What calls come to."""

    usd: float = 0.0
    tokens: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.usd + other.usd, self.tokens + other.tokens)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.usd - other.usd, self.tokens - other.tokens)


class Budget:
    """Counts what was spent and what the calls in flight may still come to.

    `prices` are by model, None where unknown; what cannot be priced is never counted
    as free: a cap in dollars wants every price known, which the panel checks.
    """

    def __init__(self, caps: Caps, prices: Mapping[str, Price | None]) -> None:
        self._caps = caps
        self._prices = prices
        self._calls = self._calls_in_flight = 0
        self._spent = self._in_flight = Amount()
        self._settled = asyncio.Condition()
        self.reached: str | None = None

    @property
    def limited(self) -> bool:
        """Whether there is any cap; without one nothing need be reserved or settled."""
        return self._caps != NO_CAPS

    async def reserve(self, model: str, most: Usage) -> Amount:
        """Set aside what a call may come to at most; what is returned goes to `settle`.

        Where the cap leaves room only if the calls in flight come to less than they
        may, it waits for them.

        Raises:
            CapReached: with this call the run would pass a cap.
        """
        need = self._amount(model, most)
        async with self._settled:
            while self.reached is None:
                if self._calls == self._caps.calls:
                    self.reached = f"the cap of {self._calls:,} calls is reached"
                elif (passed := self._passed(self._in_flight + need)) is None:
                    break
                elif self._calls_in_flight:
                    await self._settled.wait()
                else:
                    self.reached = passed
            if self.reached is not None:
                self._settled.notify_all()
                raise CapReached(self.reached)
            self._calls += 1
            self._calls_in_flight += 1
            self._in_flight += need
        return need

    async def settle(self, model: str, reserved: Amount, used: Usage) -> None:
        """Count what a call really came to; with no usage reported it was still a call."""
        async with self._settled:
            self._calls_in_flight -= 1
            self._in_flight -= reserved
            self._spent += self._amount(model, used)
            self._settled.notify_all()

    def _amount(self, model: str, usage: Usage) -> Amount:
        price = self._prices.get(model)
        usd = price.cost(usage) if price is not None else 0.0
        return Amount(usd, usage.input + usage.output)

    def _passed(self, more: Amount) -> str | None:
        total, caps = self._spent + more, self._caps
        if caps.tokens is not None and total.tokens > caps.tokens:
            return f"the cap of {caps.tokens:,} tokens is reached"
        if caps.usd is not None and total.usd > caps.usd:
            return f"the cap of ${caps.usd:,.2f} is reached"
        return None
