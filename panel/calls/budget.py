"""The caps of a run, the spending of its calls, and the ends of a run by a cap or a fault."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from persona_panel.calls.cache import CacheUnreachable, ReplyStore
from persona_panel.files.errors import ConfigurationError
from persona_panel.graphs.context import Abort
from persona_panel.models.client import NOTHING, distinct
from persona_panel.models.config import Price, cost
from persona_panel.rubrics import Usage


class CapReached(Exception):
    """The next call would pass a cap; the message names it."""


@dataclass(frozen=True, slots=True)
class Amount:
    """The cost, the tokens and, where they count, the number of calls."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.usd + other.usd, self.tokens + other.tokens, self.calls + other.calls)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.usd - other.usd, self.tokens - other.tokens, self.calls - other.calls)


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that a run may spend on calls: US dollars, calls, tokens; None, no cap.

    Everything that a run's folder has had spent for it counts, also by earlier processes; without
    a folder, what one call of `score`, `sweep` or `astream` spends. A call whose cost is not
    known, such as one that timed out, counts as the most that it may have taken. `elsewhere` is
    what other runs under the same caps have spent.

    Raises:
        ConfigurationError: a cap is not above 0, not finite, or no number.
    """

    usd: float | None = None
    calls: int | None = None
    tokens: int | None = None
    elsewhere: Amount = Amount()

    def __post_init__(self) -> None:
        usd = self.usd
        if usd is not None and not (_is_number(usd) and math.isfinite(usd) and usd > 0):
            raise ConfigurationError(
                f"a cap in dollars must be a finite number above 0, such as 2.5, found {usd!r}"
            )
        for what, cap in (("calls", self.calls), ("tokens", self.tokens)):
            if cap is not None and not (_is_number(cap) and isinstance(cap, int) and cap >= 1):
                raise ConfigurationError(
                    f"a cap on {what} must be a whole number of 1 or more, such as 1000, found "
                    f"{cap!r}"
                )


NO_CAPS = Caps()
CAP = "the cap of"
"""The beginning of the reason why a cap kept a judgment from being made."""


@dataclass(frozen=True, slots=True)
class Spending:
    """The spending of calls: how many there were, and the usage of each model; `batched` is how
    many of them were made by batches."""

    calls: int = 0
    usage: Mapping[str, Usage] = field(default_factory=dict)
    batched: int = 0

    def __add__(self, other: Spending) -> Spending:
        usage = dict(self.usage)
        for model, used in other.usage.items():
            usage[model] = usage.get(model, NOTHING) + used
        return Spending(self.calls + other.calls, usage, self.batched + other.batched)

    @property
    def tokens(self) -> int:
        """All tokens, of input and of output."""
        return sum(usage.input + usage.output for usage in self.usage.values())


NOTHING_SPENT = Spending()


_CALLS_AHEAD = 32


@dataclass(slots=True)
class _Ahead:
    """The part of a model's record that is beyond what was spent: room for calls to come, and the
    calls in flight, `open`. Without a cap, a record that is ahead need not be written at each call.
    """

    calls: int = 0
    input: int = 0
    output: int = 0
    open_calls: int = 0
    open_input: int = 0
    open_output: int = 0

    def open(self, most: Usage, calls: int = 1) -> None:
        """Count that a call begins, or with -1 ends, that may take this at most."""
        self.open_calls += calls
        self.open_input += calls * most.input
        self.open_output += calls * most.output
        self.take(most, calls)

    def take(self, used: Usage, calls: int = 1) -> None:
        """Take this much room, or with -1 give it back."""
        self.calls -= calls
        self.input -= calls * used.input
        self.output -= calls * used.output

    @property
    def is_short(self) -> bool:
        return self.calls < 0 or self.input < 0 or self.output < 0

    def extend(self, most: Usage) -> None:
        """Make room for some calls such as this."""
        self.calls = _CALLS_AHEAD
        self.input = _CALLS_AHEAD * most.input
        self.output = _CALLS_AHEAD * most.output


class Budget:
    """The count of what was spent and of what the calls in flight may still cost.

    `prices` are by model, None where unknown; what cannot be priced is never counted
    as free: a cap in dollars wants every price known, which the panel checks.

    Attributes:
        limited: whether there is any cap; without one no call waits for another.
        reached: which cap forbade a call, None if none did.
        record: called whenever something is spent or set aside; told whether that has to be written
            down before it returns. What it writes, `spending` and `ahead` together, is at least
            what the calls come to until it is called again.
    """

    def __init__(self, caps: Caps, prices: Mapping[str, Price | None]) -> None:
        self._caps = caps
        self.limited = caps != NO_CAPS
        self._prices = prices
        self._before = self._unsure = NOTHING_SPENT
        self._before_amount = Amount()
        self._ahead: dict[str, _Ahead] = {}
        self._calls = self._calls_in_flight = 0
        self._spent = self._in_flight = Amount()
        self._batch_calls, self._in_batches = 0, Amount()
        self._batched = 0
        # What was used by each model, before and now, with what is set aside.
        self._used: dict[str, Usage] = {}
        self._changed = asyncio.Event()
        self.reached: str | None = None
        self.record: Callable[[bool], None] | None = None
        self.kept_in: Path | None = None
        """The record from which this goes on, which has its own spending, too."""

    @property
    def before(self) -> Spending:
        """The spending before this budget began to count."""
        return self._before

    @property
    def spending(self) -> Spending:
        """The spending, before and now; a call in flight counts as the amount that was set aside
        for it."""
        before = self._before
        return Spending(before.calls + self._calls, self._used, before.batched + self._batched)

    @property
    def unsure(self) -> Spending:
        """The spending beyond `before` that killed runs may have had; caps count it."""
        return self._unsure

    def ahead(self, *, with_room: bool = True) -> Spending:
        """Return the possible spending beyond `spending`: `unsure`, the calls in flight without a
        cap and, `with_room`, the room for calls to come."""
        calls, usage = self._unsure.calls, dict(self._unsure.usage)
        for model, recorded in self._ahead.items():
            room = recorded if with_room else _NO_ROOM
            calls += recorded.open_calls + room.calls
            read, output = recorded.open_input + room.input, recorded.open_output + room.output
            if read or output:
                most = Usage(input=read, output=output, written=read)
                usage[model] = usage.get(model, NOTHING) + most
        return Spending(calls, usage)

    def go_on_from(self, before: Spending, unsure: Spending = NOTHING_SPENT) -> None:
        """Replace the spending before this budget by `before`; `unsure` is what killed runs may
        have spent besides. Raises ConfigurationError: there is a cap in dollars, and the price of a
        model that was called before is not known."""
        if self._caps.usd is not None:
            called = {**before.usage, **unsure.usage}
            unknown = [name for name in called if self._prices.get(name) is None]
            if unknown:
                raise ConfigurationError(
                    f"an earlier run in this folder called {', '.join(unknown)}, whose price is "
                    "unknown, so that a cap in dollars cannot be applied; cap calls or tokens, "
                    "or choose another --out"
                )
        for name, usage in before.usage.items():
            earlier = self._before.usage.get(name, NOTHING)
            self._used[name] = _less(self._used.get(name, NOTHING) + usage, earlier)
        self._before, self._unsure = before, unsure
        both = (*before.usage.items(), *unsure.usage.items())
        self._before_amount = sum((self._amount(name, usage) for name, usage in both), Amount())

    async def reserve(self, model: str, most: Usage) -> Usage:
        """Set aside the most that a call may cost; the amount that is returned goes to `settle`.
        Where a cap leaves room only if the calls in flight cost less than they may, it waits for
        them.

        Where the cap leaves room only if the calls in flight come to less than they may, it waits
        for them. Raises CapReached: with this call the run would pass a cap; OSError: what is spent
        cannot be written down."""
        if not self.limited:
            self.open(model, most)
            return most
        need = self._amount(model, most)
        while self.reached is None:
            if (reached := self._calls_reached()) is not None:
                self.reached = reached
            elif (passed := self._passed(self._in_flight + need)) is None:
                break
            elif self._calls_in_flight:
                await self._changed.wait()
            else:
                self.reached = passed
        if self.reached is not None:
            self._look_again()
            raise CapReached(self.reached)
        self._calls += 1
        self._calls_in_flight += 1
        self._in_flight += need
        self._used[model] = self._used.get(model, NOTHING) + most
        # Before the call is sent: should the process be killed, it counts as what was set aside.
        self._recorded(at_once=True)
        return most

    def open(self, model: str, most: Usage) -> None:
        """Count that a call begins, without a cap, that may take this at most. Raises OSError: what
        it may take cannot be written down; it does not begin."""
        if (ahead := self._ahead.get(model)) is None:
            ahead = self._ahead[model] = _Ahead()
        ahead.open(most)
        if ahead.is_short:
            ahead.extend(most)
            try:
                self._recorded(at_once=True)
            except OSError:
                ahead.open(most, -1)
                raise

    def close(self, model: str, most: Usage) -> None:
        """Count that a call has ended, without a cap, that was opened with this."""
        self._ahead[model].open(most, -1)

    def has_room_for(self, model: str, most: Usage) -> bool:
        """Return whether a further call that takes this at most passes no cap, whatever the calls
        in flight take."""
        need = self._amount(model, most)
        return (
            self.reached is None
            and self._calls_reached() is None
            and self._passed(self._in_flight + need) is None
        )

    def settle(self, model: str, reserved: Usage | None, used: Usage, *, calls: int = 1) -> None:
        """Count what a call really took, in counts that are sound (`persona_panel.models.client`);
        `reserved` is None where nothing was set aside. `calls` is 0 for a call that failed before
        it was sent. Raises OSError: what is spent cannot be written down."""
        total = self._used.get(model, NOTHING) + used
        if reserved is None or not self.limited:
            self._used[model] = total
            self._calls += calls
            ahead = self._ahead.setdefault(model, _Ahead())
            if reserved is not None:
                ahead.open(reserved, -1)
            ahead.take(used, calls)
            if ahead.is_short:
                ahead.extend(used)
                return self._recorded(at_once=True)
        else:
            self._used[model] = _less(total, reserved)
            self._calls += calls - 1
            self._spent += self._amount(model, used)
            self._calls_in_flight -= 1
            self._in_flight -= self._amount(model, reserved)
            self._look_again()
        return self._recorded(at_once=self.limited)

    def _look_again(self) -> None:
        """Make the calls that wait for others in flight check again whether there is room."""
        self._changed.set()
        self._changed = asyncio.Event()

    def hold(self, model: str, calls: int, most: Usage) -> str | None:
        """Set aside the most that a batch may cost, until `count_batch`. Where a cap forbids it,
        nothing is set aside and the cap is returned. It is not recorded as spent: the batch's own
        journal outlasts the process.

        It is not recorded as spent: the batch's own journal outlasts the process.
        """
        reached, cap = None, self._caps.calls
        if cap is not None and self._calls_with_batches + calls > cap:
            reached = f"{CAP} {cap:,} calls is reached"
        reached = reached or self._passed(self._in_flight + self._amount(model, most))
        if reached is None:
            self.hold_anyway(model, calls, most)
        return reached

    def hold_anyway(self, model: str, calls: int, most: Usage) -> None:
        """Set aside the cost of a batch that was sent already as `hold` does, whatever the caps
        say."""
        self._batch_calls += calls
        self._in_batches += self._amount(model, most)

    def count_batch(self, model: str, calls: int, most: Usage, used: Usage, *, held: int) -> None:
        """Count what a batch really took, in place of the `held` calls and their usage that were
        set aside for it. Raises OSError: what is spent cannot be written down."""
        self._batch_calls -= held
        self._in_batches -= self._amount(model, most)
        self._calls += calls
        self._batched += calls
        self._spent += self._amount(model, used)
        self._used[model] = self._used.get(model, NOTHING) + used
        # A batch stands for thousands of calls.
        self._recorded(at_once=True)

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return the cost of a model's usage in US dollars; None where its price is not known."""
        return cost(self._prices.get(model), usage)

    def _recorded(self, *, at_once: bool) -> None:
        if self.record is not None:
            self.record(at_once)

    def _amount(self, model: str, usage: Usage) -> Amount:
        price = self._prices.get(model)
        usd = price.cost(usage) if price is not None else 0.0
        return Amount(usd, usage.input + usage.output)

    @property
    def _calls_with_batches(self) -> int:
        before = self._before.calls + self._unsure.calls + self._caps.elsewhere.calls
        return before + self._calls + self._batch_calls

    def _calls_reached(self) -> str | None:
        cap = self._caps.calls
        if cap is None or self._calls_with_batches < cap:
            return None
        before = self._before.calls + self._unsure.calls + self._caps.elsewhere.calls
        return f"{CAP} {cap:,} calls is reached{self._of_which(f'{before:,}')}"

    def _passed(self, more: Amount) -> str | None:
        caps = self._caps
        earlier = self._before_amount + caps.elsewhere
        total = earlier + self._spent + self._in_batches + more
        if caps.tokens is not None and total.tokens > caps.tokens:
            before = self._of_which(f"{earlier.tokens:,}")
            return f"{CAP} {caps.tokens:,} tokens is reached{before}"
        if caps.usd is not None and total.usd > caps.usd:
            before = self._of_which(f"${earlier.usd:,.2f}")
            return f"{CAP} ${caps.usd:,.2f} is reached{before}"
        return None

    def _of_which(self, before: str) -> str:
        if self._caps.elsewhere != Amount():
            return f", {before} of it by this and other runs before"
        earlier = self._before.calls + self._unsure.calls
        return f", {before} of it by earlier runs in this folder" if earlier else ""


_NO_ROOM = _Ahead()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _less(usage: Usage, other: Usage) -> Usage:
    return Usage(
        usage.input - other.input,
        usage.cached - other.cached,
        usage.output - other.output,
        usage.written - other.written,
        reasoning=usage.reasoning - other.reasoning,
    )


_MOST_SENT = 20
"""Sets of parameters of one model: a run has a few, and limits of answers may differ."""


@dataclass(slots=True)
class Estimated:
    """The calls whose usage is not known, such as those that came too late: each counts as the most
    that it may have taken."""

    calls: int = 0
    usage: dict[str, Usage] = field(default_factory=dict)


@dataclass(slots=True)
class CallCounts:
    """The counts of a run's calls.

    `made` are those that were sent, `unsent` those that failed before. `faults` are of both.
    `spent` is what each model used in the calls made, what is `estimated` included. `odd` has,
    by model, the first usage reported that cannot be. `before` is what earlier runs into the same
    folder spent. `sent` has, by model, the different parameters with which its requests went,
    without texts and keys. `answered_by` has, by model, the other names by which it answered, each
    with the name that was asked for. `taken_back` are answers that turned out to be another
    request's, or may be.
    """

    made: int = 0
    unsent: int = 0
    cached: int = 0
    spent: dict[str, Usage] = field(default_factory=dict)
    estimated: Estimated = field(default_factory=Estimated)
    odd: dict[str, str] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    before: Spending = NOTHING_SPENT
    sent: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    answered_by: dict[str, dict[str, str]] = field(default_factory=dict)
    taken_back: int = 0

    def add_name(self, model: str, name: str, asked: str) -> bool:
        """Add a name by which a model answered that was asked by another; return whether it is
        new, and there was room for it."""
        names = self.answered_by.setdefault(model, {})
        is_new = name not in names and len(names) < _MOST_SENT
        if is_new:
            names[name] = asked
        return is_new

    def add_sent(self, model: str, sent: list[dict[str, Any]]) -> None:
        """Add parameters with which requests to a model went."""
        self.sent[model] = distinct(self.sent.get(model, ()), sent)[:_MOST_SENT]


def unwritable(cache: ReplyStore, error: Exception) -> Abort:
    """Return the end of a run whose cache cannot be written: without it, a rerun would pay again
    for the same calls."""
    if isinstance(error, CacheUnreachable):
        return error
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return Abort(
        f"the cache {cache.location} cannot be written ({reason}); check free space and "
        "permissions, then run the same command again"
    )


def no_room(folder: Path, error: OSError) -> Abort:
    """Return the end of a run without space for the file in which a batch's requests wait."""
    return Abort(
        f"the requests of the next batch cannot be stored in {folder} ({error.strerror}), and it "
        "was not submitted; make room there, then run the same command again"
    )


def unrecorded(error: OSError) -> Abort:
    """Return the end of a run whose spending cannot be recorded: a cap could not count it."""
    return Abort(
        f"calls and tokens used cannot be recorded ({error.strerror or error}); check free space "
        "and permissions, then run the same command again"
    )
