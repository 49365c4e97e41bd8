"""A model as the caller knows it: how to reach it, its limits, how long its answers may be, and
when to try again. Times are of the monotonic clock, which nobody sets back.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from persona_panel.calls.budget import CapReached
from persona_panel.calls.in_flight import waiting_for_a_server
from persona_panel.calls.rate_limiter import EndpointState, RateLimiter
from persona_panel.graphs.context import Unanswered
from persona_panel.models.client import NOTHING, CallError, ModelClient, sound
from persona_panel.models.config import REASONING_TOKENS
from persona_panel.rubrics import ModelRequest, ModelResponse, Usage

if TYPE_CHECKING:
    from tenacity import RetryCallState


def tokens_in(text: str) -> int:
    """Estimate the tokens of a text: a token for four ASCII characters, or for any other
    character.
    """
    if text.isascii():
        return len(text) // 4
    ascii_only = len(text.encode("ascii", "ignore"))
    return ascii_only // 4 + len(text) - ascii_only


def input_tokens(request: ModelRequest) -> int:
    """Estimate the tokens that a request sends."""
    texts = [request.system, *request.blocks, request.prefill]
    texts += [text for turn in request.exchange for text in turn]
    return sum(map(tokens_in, texts))


def estimated_tokens(request: ModelRequest) -> int:
    """Estimate the tokens of a call, with half of its answer's allowance."""
    return input_tokens(request) + request.max_tokens // 2


def most_usage(request: ModelRequest, tokens: int) -> Usage:
    """Return the most usage of a call of about `tokens` tokens: all of its answer's allowance, and
    its input written to a provider's cache."""
    read = tokens - request.max_tokens // 2
    return Usage(input=read, output=request.max_tokens, written=read)


def counted_usage(
    request: ModelRequest, reported: Usage | None, tokens: int, reserved: Usage | None
) -> tuple[Usage, bool]:
    """Return the usage that a call counts as, and whether that is an estimate: a call that does not
    report its usage may have taken all."""
    if reported is None:
        used = NOTHING
    elif reported:
        used = sound(reported)
    else:
        return NOTHING, False
    # No call is without input, and an odd report may have had the output in it.
    if used.input and (used.output or not used.odd):
        return used, False
    most = reserved or most_usage(request, tokens or estimated_tokens(request))
    output = used.output or most.output
    estimate = Usage(
        used.input or most.input,
        output=output,
        written=most.written,
        odd=used.odd,
        reasoning=min(used.reasoning, output),
    )
    return estimate, True


_RAISED = 4
"""The factor by which the room is raised where it was not enough."""


@dataclass(slots=True)
class AnswerLimit:
    """The limit of one model's answers; it learns from them.

    Attributes:
        reasoning: tokens for thinking that a limit has beside the answer; None where it is not
            known whether the model reasons, 0 where it does not.
        fixed: a user's own limit of a whole answer, in place of a request's, and never raised.
        context_window: what the model takes at once; None where that is not known.
        adjustable: whether the client passes on a request's limit.
    """

    reasoning: int | None = None
    fixed: int | None = None
    context_window: int | None = None
    adjustable: bool = True

    def applied_to(self, request: ModelRequest) -> ModelRequest:
        """Return the request with the limit at which the model is asked."""
        # Where probabilities are read, the first tokens of the answer are all that is wanted.
        if request.top_logprobs:
            return request
        if self.fixed is not None:
            return replace(request, max_tokens=self.fixed)
        return self._with_room(request, self.reasoning) if self.reasoning else request

    def raised(self, request: ModelRequest, asked: ModelRequest) -> ModelRequest | None:
        """Return the request with the limit at which it is asked again after `asked` was cut off;
        None where the limit cannot be raised."""
        if request.top_logprobs or self.fixed is not None or not self.adjustable:
            return None
        had = asked.max_tokens - request.max_tokens
        room = _RAISED * had if had > 0 else self.reasoning or REASONING_TOKENS
        again = self._with_room(request, room)
        return again if again.max_tokens > asked.max_tokens else None

    def learn(self, reply: ModelResponse) -> None:
        """Take note of whether the model reasons."""
        if reply.usage.reasoning and self.reasoning is None:
            self.reasoning = REASONING_TOKENS

    def learn_room(self, request: ModelRequest, asked: ModelRequest) -> None:
        """Begin with the room of `asked` from now on: with less, thinking had used it up."""
        self.reasoning = max(self.reasoning or 0, asked.max_tokens - request.max_tokens)

    def withdraw_room(self) -> None:
        """Leave no room for thinking: the server does not take so high a limit."""
        self.reasoning = 0

    def _with_room(self, request: ModelRequest, room: int) -> ModelRequest:
        limit = request.max_tokens + room
        if self.context_window is not None:
            left = self.context_window - input_tokens(request)
            limit = max(request.max_tokens, min(limit, left))
        return replace(request, max_tokens=limit)


def is_spent_on_thinking(reply: ModelResponse) -> bool:
    """Return whether an answer that was cut off has used all its tokens for thinking."""
    return reply.finish_reason == "length" and (
        bool(reply.usage.reasoning) or not reply.text.strip()
    )


logger = logging.getLogger(__name__)

PATIENCE_S, REFUSED_S = 120.0, 5.0
"""The seconds for which a server that brings nothing but faults is tried, unless a user says
otherwise; and one of this machine's that never answered, where nothing listens."""
_SILENCE_S = 3.0
"""The seconds of nothing but faults after which calls wait for one of them to get through."""
_FIRST_PROBE_S, _LONGEST_PROBE_S = 0.5, 5.0
_NOT_THERE = frozenset({None, 503, 504})
"""The statuses of calls to a server that is about to start: no connection, or a proxy's answer."""
_GIVE_UP_AFTER = 5
"""Calls in a row, each tried to the end, after which a model counts as dead."""
_FORBIDDEN = 403
_FORBIDDEN_AFTER = 3
"""The calls in a row forbidden by a model that has answered before, after which it counts as dead:
not every firewall or moderation says in known words that it objects to a text."""


@dataclass(slots=True)
class Endpoint:
    """A model, its limits and its state.

    `down`: nothing but faults has come for a while. Calls then wait, and one at a time, who
    holds `probing`, tries whether the server is back. It is given up once a call that began
    after `patience_s` of nothing but faults has met one, too. Who has never answered has that
    patience where it cannot be connected to; other faults, in a row, end it sooner.
    """

    client: ModelClient
    limiter: RateLimiter
    one_judge_at_a_time: bool = False
    """Set if the judges of a response must be asked one after the other."""
    patience_s: float = PATIENCE_S
    refused_s: float = PATIENCE_S
    """Patience with a server of this machine's that never answered, where nothing listens."""
    timeout_s: float = 0.0
    """Seconds for which a call waits for its answer; 0, not known."""
    answer_limit: AnswerLimit = field(default_factory=AnswerLimit)
    dead: str | None = None
    died: asyncio.Event = field(default_factory=asyncio.Event)
    unavailable: asyncio.Event = field(default_factory=asyncio.Event)
    """Set for as long as it is `down`, and for good once it is dead."""
    probing: asyncio.Lock = field(default_factory=asyncio.Lock)
    lost_in_a_row: int = 0
    retries: int = 0
    """Attempts beyond the first, of all calls."""
    last_fault: str = ""
    """The last fault of a call that may be tried again."""
    failed: int = 0
    """Calls tried to the end in vain."""
    answered: bool = False
    first_asked: float | None = None
    _nobody_there: bool = field(default=False, init=False)
    _silent_since: float | None = field(default=None, init=False)
    _asked_to_wait_s: float = field(default=0.0, init=False)
    _probes: int = field(default=0, init=False)
    _probe_at: float = field(default=0.0, init=False)
    _retries_at: list[float] = field(default_factory=list, init=False)

    @property
    def down(self) -> bool:
        """Return whether nothing but faults has come for a while, and it is not given up."""
        return self.dead is None and self.unavailable.is_set()

    def give_up(self, why: str) -> None:
        """Ask this model no more; whoever waits to try again learns of it at once."""
        self.dead = self.dead or why
        self.died.set()
        self.unavailable.set()

    def heard(self) -> None:
        """Note that the server is there, whatever it answered."""
        if self._silent_since is not None:
            self._silent_since = None
            if self.dead is None:
                self.unavailable.clear()

    def faulted(self, error: CallError, began: float, now: float) -> None:
        """Note that a call that began at `began` met a fault."""
        if error.kind != "transient":
            self.heard()
            return
        self.last_fault = str(error) if error.status is None else f"status {error.status}"
        if self._silent_since is None:
            if not self.answered and error.status not in _NOT_THERE:
                return
            # Of a model that never answered the silence began with the call, which may have waited
            # for all of a long timeout.
            since = now if self.answered else began
            self._silent_since, self._asked_to_wait_s, self._probes = since, 0.0, 0
        # What the provider has asked for is no silence of its own.
        self._asked_to_wait_s = max(self._asked_to_wait_s, error.retry_after or 0.0)
        self._nobody_there = error.nobody_there and not self.answered
        silence = now - self._silent_since
        if began > self._patient_until():
            never = "has not answered" if self.answered else "never answered"
            wait = "; a higher patience waits for a server that is starting"
            remedy = wait if self._nobody_there and self.refused_s < self.patience_s else ""
            self.give_up(f"it {never} in {silence:.0f} s; last error: {error}{remedy}")
        elif silence > _SILENCE_S and not self.down:
            self.unavailable.set()
            left = self._patient_until() - now
            then = f"retrying for up to {left:.0f} s" if left >= 1 else "trying a last time"
            logger.warning("%s; %s", error, then)

    def lost(self, error: CallError) -> None:
        """Note that a call was tried to the end in vain."""
        self.failed += 1
        if error.kind == "permanent":
            self.lost_in_a_row += 1
            may_be_the_text = error.status == _FORBIDDEN and self.answered
            if not may_be_the_text or self.lost_in_a_row >= _FORBIDDEN_AFTER:
                self.give_up(str(error))
        elif error.kind == "transient":
            self.lost_in_a_row += 1
            if self.lost_in_a_row >= _GIVE_UP_AFTER:
                self.give_up(
                    f"{self.lost_in_a_row} requests in a row failed, with all their retries, the "
                    f"last with: {error}"
                )

    def until_next_probe_s(self, now: float) -> float:
        """Return how many seconds the holder of `probing` waits before it tries."""
        wait = min(_LONGEST_PROBE_S, _FIRST_PROBE_S * 2**self._probes)
        self._probes += 1
        # The last try comes when the patience ends, and no later.
        left = self._patient_until() - now
        wait = min(wait, left + 0.001) if left > 0 else 0.0
        self._probe_at = now + wait
        return wait

    @contextmanager
    def retry_at(self, due: float) -> Iterator[None]:
        """Note within the block that a call waits for another attempt, which is due at this
        time.
        """
        self._retries_at.append(due)
        try:
            yield
        finally:
            self._retries_at.remove(due)

    def state(self, now: float) -> EndpointState:
        """Return the endpoint's state."""
        since = self._silent_since
        return EndpointState(
            limits=self.limiter.state(now),
            retries=self.retries,
            last_fault=self.last_fault,
            retry_in_s=tuple(sorted(max(0.0, due - now) for due in self._retries_at)),
            failed=self.failed,
            down_s=now - since if self.down and since is not None else None,
            probe_in_s=max(0.0, self._probe_at - now) if self.down else 0.0,
            dead=self.dead,
            unanswered_s=0.0 if self.answered else now - (self.first_asked or now),
            timeout_s=self.timeout_s,
        )

    def _patient_until(self) -> float:
        since = 0.0 if self._silent_since is None else self._silent_since
        patience_s = self.refused_s if self._nobody_there else self.patience_s
        return since + patience_s + self._asked_to_wait_s


ATTEMPTS = 6
"""The most times that a call is tried."""
TOTAL_S = 600.0
"""The most seconds that a call may take with all its attempts and waits."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0
_MINUTE_S = 60.0
"""The seconds by which most quotas are counted: a call that was refused for one must outlast
them.
"""

T = TypeVar("T")


async def retried(
    first: CallError,
    try_again: Callable[[], Awaitable[T]],
    endpoint: Endpoint,
    random_: random.Random,
) -> T:
    """Try a call again whose first attempt met `first`; returns its result. `try_again`: makes
    another attempt; `random_`: jitters the waits. Raises Unanswered: `failed`, with the last fault
    and, if one forbade another attempt, the cap."""
    # Slow to import, and most runs try nothing again.
    from tenacity import AsyncRetrying, retry_if_exception

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
    """Sleep for so many seconds, or until the event is set."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
