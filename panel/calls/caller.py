"""The way from a request to a reply: the cache first, then the limits, the model, the retries.

Everything that a judge can be told in place of a reply is decided here; what an
answer means is not.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple
from weakref import WeakMethod, WeakValueDictionary

from persona_panel.calls.budget import Budget, CallCounts, CapReached, unrecorded, unwritable
from persona_panel.calls.cache import (
    CannotBeKept,
    ReplyKey,
    ReplyStore,
    SharedReplyStore,
    key_of,
    page_of,
)
from persona_panel.calls.endpoint import (
    TOTAL_S,
    Endpoint,
    counted_usage,
    estimated_tokens,
    is_spent_on_thinking,
    most_usage,
    retried,
    sleep_until,
)
from persona_panel.calls.in_flight import call_under_way, waiting_for_a_server
from persona_panel.calls.rate_limiter import CallsState
from persona_panel.files.limits import is_lack_of_descriptors
from persona_panel.files.secrets import SECRETS
from persona_panel.graphs import Judge, Response
from persona_panel.graphs.context import Abort, Answered, Unanswered
from persona_panel.models.client import (
    NOTHING,
    CallError,
    answered_by_another,
    noted_parameters,
)
from persona_panel.models.completions import BROKEN
from persona_panel.models.stray_answers import TakenAnswer, look_for_strays, taking
from persona_panel.rubrics import ModelRequest, ModelResponse, Position, Usage

logger = logging.getLogger(__name__)


def without_keys(reply: ModelResponse, model: str) -> ModelResponse:
    """Return the reply of `model`, the model's id in the panel, with `[secret]` for every key in
    it."""
    text = SECRETS.scrub(reply.text)
    refusal = reply.refusal and SECRETS.scrub(reply.refusal)
    reason = SECRETS.scrub(reply.finish_reason)
    logprobs = _masked(reply.logprobs) if reply.logprobs else reply.logprobs
    # As dataclasses.replace, in a third of its time: each reply comes through here.
    return ModelResponse(
        text, reason, refusal, logprobs, reply.usage, reply.latency_s, reply.cached, model,
        reply.answered_by and SECRETS.scrub(reply.answered_by),
    )  # fmt: skip


def _masked(positions: tuple[Position, ...]) -> tuple[Position, ...]:
    """Return the tokens of an answer, with those that make up a key replaced by a single one
    without probabilities."""
    spans = SECRETS.spans("".join(map(_text, positions)))
    if not spans:
        return positions
    kept: list[Position] = []
    at = 0
    inside = False
    for position in positions:
        start, at = at, at + len(_text(position))
        if any(start < end and begin < at for begin, end in spans):
            if not inside:
                kept.append(Position("[secret]", ()))
            inside = True
        else:
            kept.append(position)
            inside = False
    return tuple(kept)


def _text(position: Position) -> str:
    # Some servers have a token's place in the vocabulary: what that means is for others to say.
    return str(position.token)


_PUSHING_BACK = frozenset({408, 429, 503, 504, 529})
"""The statuses with which a provider declines too many calls at once."""
_NO_DESCRIPTOR_S = 60.0
"""The most seconds for which a reply waits to be kept while this process has too many files
open.
"""
_AGAIN_S = 0.5
_PAGES_IN_MEMORY = 64
_NO_TURN = nullcontext()
_MOST_DOUBTS = 2
"""The number of doubtful answers to a request after which it is asked no more."""


class AnswersTakenBack(Abort):
    """Answers that were used turned out to be other requests'; what was made of them is void."""


class _Call(NamedTuple):
    """A request on its way to a model, and where the reply is to be kept.

    `before` is the answer that a lower limit cut off; what it took counts with this one's.
    """

    model: str
    endpoint: Endpoint
    request: ModelRequest
    entry: ReplyKey
    before: ModelResponse | None = None


class Caller:
    """The way of one run's requests to their replies, from the cache or from models.

    `read_ahead` has the cache read a page where it can wait for it: what is on it is then at hand.
    """

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        cache: ReplyStore,
        budget: Budget,
        *,
        seed: int = 0,
        read_ahead: Callable[[str, bytes], Awaitable[object]] | None = None,
    ) -> None:
        self.endpoints = self._endpoints = endpoints
        self.store = self._cache = cache
        self._read_ahead = read_ahead
        self._shared = cache if isinstance(cache, SharedReplyStore) else None
        self.budget = budget
        # Jitter needs no secrecy, and a seed keeps a run's schedule repeatable.
        self._random = random.Random(seed)
        self.counts = CallCounts()
        self._noted: set[object] = set()
        self._in_flight = 0
        self._stopped: Abort | None = None
        self._none_in_flight = asyncio.Event()
        self._under_way: dict[ReplyKey, asyncio.Event | None] = {}
        self._parameters: dict[str, Mapping[str, Any]] = {}
        # Judges of one response follow each other: its page is worked out for the first.
        self.page = lru_cache(_PAGES_IN_MEMORY)(self._page)
        self._turns: WeakValueDictionary[object, asyncio.Lock] = WeakValueDictionary()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tell: WeakMethod[Callable[[Any, str], None]] = WeakMethod(self._taken_back)
        self._doubts: dict[ReplyKey, list[str]] = {}
        self._n_accepted = 0

    async def complete(
        self,
        model: str,
        request: ModelRequest,
        page: str,
        replicate: int = 1,
        *,
        cut_is_usable: bool = False,
    ) -> ModelResponse:
        """Return a reply to a request, from the cache or from the model.

        Replies of one `page` (see `page`) are looked up together. One that is cut off at its token
        limit is asked for once more with a higher one, where caps and the model's context allow;
        not where `cut_is_usable`, unless thinking took all of it. Raises Unanswered: `failed` with
        the last fault, and with the cap that forbade another try, or `skipped` where the model has
        been given up or a cap is reached; Abort: another reply could not be kept, see `stop`."""
        key = key_of(request, replicate)
        if self._read_ahead is not None:
            await self._read_ahead(page, key)
        while True:
            if (kept := self._cache.get(page, key)) is not None:
                self.counts.cached += 1
                self._note_name(model, kept)
                return kept
            entry = ReplyKey(page, key)
            if entry not in self._under_way:
                break
            # The same words are on their way already: two equal texts are paid for once.
            if (under_way := self._under_way[entry]) is None:
                under_way = self._under_way[entry] = asyncio.Event()
            await under_way.wait()
        doubts = self._doubts.get(entry, [])
        if len(doubts) >= _MOST_DOUBTS:
            raise Unanswered("failed", f"{doubts[-1]} (taken back {len(doubts)} times)")
        # Made by whoever waits for it: hardly any call has one.
        self._under_way[entry] = None
        try:
            with call_under_way():
                if self._shared is None:
                    return await self._asked(model, request, entry, cut_is_usable)
                async with self._shared.claimed(*entry) as kept:
                    if kept is not None:
                        self.counts.cached += 1
                        self._note_name(model, kept)
                        return kept
                    return await self._asked(model, request, entry, cut_is_usable)
        finally:
            if done := self._under_way.pop(entry):
                done.set()

    def kept_reply(
        self, model: str, request: ModelRequest, page: str, replicate: int = 1
    ) -> ModelResponse | None:
        """Return what `complete` would return at once, from the cache, without counting it; None
        where it would wait, or call a model."""
        if self._read_ahead is not None:
            return None
        if (kept := self._cache.get(page, key_of(request, replicate))) is not None:
            self._note_name(model, kept)
        return kept

    async def _asked(
        self, model: str, request: ModelRequest, entry: ReplyKey, cut_is_usable: bool
    ) -> ModelResponse:
        """Return the model's own reply; where it was cut off, that of the second try; see
        `complete`."""
        endpoint = self._endpoints[model]
        asked = endpoint.answer_limit.applied_to(request)
        reply = await self._answered(_Call(model, endpoint, asked, entry), request)
        if reply.finish_reason == "length" and (not cut_is_usable or is_spent_on_thinking(reply)):
            cut_off = _Call(model, endpoint, asked, entry, reply)
            reply = await self._asked_with_more(cut_off, request)
        endpoint.lost_in_a_row = 0
        return reply

    async def _answered(self, call: _Call, plain: ModelRequest) -> ModelResponse:
        """Return the reply to a call; `plain` is the same request without room for thinking."""
        endpoint = call.endpoint
        try:
            try:
                reply = await self._attempt(call)
            except CallError as error:
                has_room = call.request.max_tokens > plain.max_tokens
                was_paid = error.used != NOTHING
                if error.kind != "rejected" or was_paid or error.unsent:
                    raise
                if not has_room or endpoint.answer_limit.fixed:
                    raise
                # The server's context may be too small for so high a limit.
                call = call._replace(request=plain)
                reply = await self._attempt(call)
                endpoint.answer_limit.withdraw_room()
        except CallError as error:
            reply = await retried(error, partial(self._attempt, call), endpoint, self._random)
        except CapReached as cap:
            raise Unanswered("skipped", str(cap)) from None
        endpoint.answer_limit.learn(reply)
        return reply

    async def _asked_with_more(self, cut_off: _Call, request: ModelRequest) -> ModelResponse:
        """Return the reply to a request whose answer was cut off, asked once more with a higher
        limit; the reply that was cut off where no other can be had."""
        model, limit, first = cut_off.model, cut_off.endpoint.answer_limit, cut_off.before
        assert first is not None  # noqa: S101
        higher = limit.raised(request, cut_off.request)
        if higher is None or not self.budget.has_room_for(
            model, most_usage(higher, estimated_tokens(higher))
        ):
            return first
        try:
            reply = await self._answered(cut_off._replace(request=higher), higher)
        except Unanswered:
            return first
        if is_spent_on_thinking(first) and reply.finish_reason != "length":
            limit.learn_room(request, higher)
        return reply

    def _page(self, model: str, *subject: str | None) -> str:
        """Return the page of the replies of a model about a subject."""
        if model not in self._parameters:
            # Once a run: an object's own state may change with each call that it makes.
            self._parameters[model] = self._endpoints[model].client.parameters
        return page_of(self._parameters[model], *subject)

    def traces_calls(self, model: str) -> bool:
        """Return whether the model's client traces its calls by itself."""
        return self._endpoints[model].client.capabilities.traces_calls

    def state(self) -> CallsState:
        """Return the state of the calls; for a display, which asks a few times a second at most."""
        now, spent = time.monotonic(), dict(self.counts.spent)
        endpoints = {name: endpoint.state(now) for name, endpoint in self._endpoints.items()}
        usd = {model: self.budget.cost(model, used) for model, used in spent.items()}
        return CallsState(endpoints, spent, usd)

    def stop(self, reason: Abort) -> None:
        """Make no further call, since its answer would be paid for and lost. Calls in flight are
        waited for and kept as far as possible; whoever wants another then has `reason` raised."""
        if self._stopped is None:
            self._stopped = reason

    def require_not_stopped(self) -> None:
        """Raise what has stopped the calls, if anything has; called once a run has come to its end.
        Raises Abort: something has."""
        if self._stopped is not None:
            raise self._stopped

    def exclusive(self, judge: Judge, response: Response) -> AbstractAsyncContextManager[object]:
        """Return a lock that is held while a judge is asked; only a model with one text in memory
        lets others wait."""
        if not self._endpoints[judge.model].one_judge_at_a_time:
            return _NO_TURN
        key = (judge.model, response.prompt_id, response.id)
        return self._turns.setdefault(key, asyncio.Lock())

    def forget(self, answered: Iterable[Answered], page: str, replicate: int = 1) -> None:
        """Do not serve these replies to these requests again: they led to no result."""
        try:
            for request, reply in answered:
                self._cache.forget(page, key_of(request, replicate), reply)
        except Exception as error:
            self.stop(unwritable(self._cache, error))

    async def look_at_connections(self) -> None:
        """Look for answers that nobody asked for on all connections, before what was made of the
        last answers is final."""
        if self._loop is not None:
            await look_for_strays()

    def require_own_answers(self) -> None:
        """Raise if answers were taken back since this was asked last. Raises AnswersTakenBack: some
        were."""
        n, self._n_accepted = self.counts.taken_back - self._n_accepted, self.counts.taken_back
        if n:
            raise AnswersTakenBack(
                f"a server sent answers that no request asked for, so that {n:,} other answers may "
                "be other requests'. They are not used and not kept: what this run wrote is "
                "void, and the same command asks for them again"
            )

    def has_taken_back(self) -> bool:
        """Return whether answers were taken back that `require_own_answers` has not told of."""
        return self.counts.taken_back > self._n_accepted

    def _taken_back(self, entry: ReplyKey, doubt: str) -> None:
        """Forget a reply that may be another request's; from any thread."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        try:
            is_here = asyncio.get_running_loop() is loop
        except RuntimeError:
            is_here = False
        if not is_here:
            loop.call_soon_threadsafe(self._taken_back, entry, doubt)
            return
        self.counts.taken_back += 1
        self._doubts.setdefault(entry, []).append(doubt)
        try:
            if (kept := self._cache.get(*entry)) is not None:
                self._cache.forget(*entry, kept)
        except Exception as error:
            self.stop(unwritable(self._cache, error))

    async def _attempt(self, call: _Call) -> ModelResponse:
        """Make an attempt; while the server is down, once it is this call's turn to try it."""
        model, endpoint = call.model, call.endpoint
        while True:
            # Before the limits: there is nothing to wait for, and a slow one has a long queue.
            if not endpoint.unavailable.is_set():
                reply = await self._call_within_limits(call)
                if reply is not None:
                    return reply
                continue
            _require_alive(model, endpoint)
            with waiting_for_a_server():
                async with endpoint.probing:
                    if not endpoint.down:
                        continue
                    seconds = endpoint.until_next_probe_s(time.monotonic())
                    await sleep_until(endpoint.died, seconds)
                    _require_alive(model, endpoint)
                    reply = await self._call_within_limits(call, probing=True)
                    if reply is not None:
                        return reply

    async def _call_within_limits(
        self, call: _Call, *, probing: bool = False
    ) -> ModelResponse | None:
        """Wait for the limits and call the model; returns None where the server went down in the
        meantime."""
        model, endpoint, request = call.model, call.endpoint, call.request
        tokens, limiter = estimated_tokens(request), endpoint.limiter
        await limiter.enter(tokens, call.entry.page)
        try:
            if endpoint.unavailable.is_set():
                _require_alive(model, endpoint)
                if not probing:
                    return None
            if self._stopped is not None:
                if self._in_flight:
                    await self._none_in_flight.wait()
                raise self._stopped
            reserved = await self._reserved(model, most_usage(request, tokens))
            self._in_flight += 1
            try:
                with taking() as taken:
                    reply = await self._send(model, endpoint, request, tokens, reserved, taken)
                if call.before is not None:
                    reply = replace(
                        reply,
                        usage=call.before.usage + reply.usage,
                        latency_s=call.before.latency_s + reply.latency_s,
                    )
                # On disk before the slot is free: a crash loses no more calls than may be in
                # flight.
                try:
                    self._cache.put(*call.entry, reply)
                except CannotBeKept as odd:
                    raise Unanswered("failed", f"the reply cannot be stored: {odd}") from None
                except Exception as error:
                    await self._put_later(endpoint, call.entry, reply, error)
                taken.keep(self._tell, call.entry)
                return reply
            finally:
                self._in_flight -= 1
                if self._stopped is not None and not self._in_flight:
                    self._none_in_flight.set()
        finally:
            limiter.leave(call.entry.page)

    async def _put_later(
        self, endpoint: Endpoint, entry: ReplyKey, reply: ModelResponse, error: Exception
    ) -> None:
        """Keep a reply once this process can open files again. Where it cannot be kept, the run
        uses it all the same, and no further call is made."""
        began = time.monotonic()
        while is_lack_of_descriptors(error) and time.monotonic() - began < _NO_DESCRIPTOR_S:
            endpoint.limiter.no_descriptor(time.monotonic())
            await asyncio.sleep(_AGAIN_S)
            try:
                self._cache.put(*entry, reply)
            except Exception as again:
                error = again
            else:
                return
        self.stop(unwritable(self._cache, error))

    async def _reserved(self, model: str, most: Usage) -> Usage:
        try:
            return await self.budget.reserve(model, most)
        except OSError as error:
            self.stop(unrecorded(error))
            if self._in_flight:
                await self._none_in_flight.wait()
            raise unrecorded(error) from None

    async def _send(
        self,
        model: str,
        endpoint: Endpoint,
        request: ModelRequest,
        tokens: int,
        reserved: Usage,
        taken: TakenAnswer,
    ) -> ModelResponse:
        """Make an attempt and count it; `tokens` are estimated, `reserved` is what was set aside
        for it, `taken` is its answer."""
        began = time.monotonic()
        endpoint.first_asked = endpoint.first_asked or began
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        is_sent = True
        # What the call took, as far as is said; None where nothing is: it may have been all.
        usage: Usage | None = None
        try:
            reply = without_keys(await self._completed(model, endpoint, request), model)
            if taken.doubt is not None:
                # What the answer to this one took, nobody knows.
                raise CallError(taken.doubt, kind="transient", status=BROKEN, used=None)
            usage = reply.usage or None
        except TimeoutError as late:
            endpoint.limiter.pushed_back(began)
            self.counts.faults["timeout"] += 1
            error = CallError(str(late) or "no answer in time", kind="transient")
            endpoint.faulted(error, began, time.monotonic())
            raise error from None
        except CallError as error:
            usage, is_sent = error.used, not error.unsent
            self.counts.faults[_fault_name(error)] += 1
            if error.no_descriptor:
                endpoint.limiter.no_descriptor(began)
                raise
            endpoint.faulted(error, began, time.monotonic())
            self._hold_back(endpoint, error, began)
            raise
        finally:
            if is_sent:
                self.counts.made += 1
            else:
                self.counts.unsent += 1
            # Also of a call that is cancelled: it may have been answered already.
            used, is_estimate = counted_usage(request, usage, tokens, reserved)
            if used is not NOTHING:
                self._note(model, used, is_estimate=is_estimate)
            try:
                self.budget.settle(model, reserved, used, calls=int(is_sent))
            except OSError as error:
                self.stop(unrecorded(error))
        if not is_estimate:
            endpoint.limiter.settle(tokens, used.input + used.output)
        self._note_name(model, reply)
        endpoint.answered = True
        endpoint.heard()
        endpoint.limiter.succeeded(reply.latency_s)
        return reply

    async def _completed(
        self, model: str, endpoint: Endpoint, request: ModelRequest
    ) -> ModelResponse:
        """Return the model's reply, and note once for each form of a request the parameters with
        which it was really sent."""
        form = form_of(model, request)
        if form in self._noted:
            return await endpoint.client.complete(request)
        with noted_parameters() as sent:
            try:
                return await endpoint.client.complete(request)
            finally:
                if sent:
                    self._noted.add(form)
                    self.counts.add_sent(model, sent)

    def _note_name(self, model: str, reply: ModelResponse) -> None:
        """Note by which name a model answered, where it is not the one that was asked for."""
        if reply.answered_by and reply.answered_by not in self.counts.answered_by.get(model, ()):
            asked = str(self._endpoints[model].client.parameters.get("model", model))
            other = answered_by_another(model, {reply.answered_by: asked})
            if self.counts.add_name(model, reply.answered_by, asked) and other:
                logger.warning(other)

    def _note(self, model: str, used: Usage, *, is_estimate: bool) -> None:
        counts = self.counts
        counts.spent[model] = counts.spent.get(model, NOTHING) + used
        if is_estimate:
            estimated = counts.estimated
            estimated.calls += 1
            estimated.usage[model] = estimated.usage.get(model, NOTHING) + used
        if used.odd is not None:
            counts.odd.setdefault(model, used.odd)

    def _hold_back(self, endpoint: Endpoint, error: CallError, began: float) -> None:
        """Hold back calls where the provider asks for it, for as long as it asks."""
        if error.status in _PUSHING_BACK:
            endpoint.limiter.pushed_back(began)
        if error.retry_after is None or error.kind != "transient":
            return
        if error.retry_after > TOTAL_S:
            endpoint.give_up(f"the server asks to wait {error.retry_after:,.0f} s ({error})")
        else:
            endpoint.limiter.pause_for(error.retry_after)


CallerFactory = Callable[..., Caller]
"""A function that makes a caller, with the arguments of `Caller`."""


def form_of(model: str, request: ModelRequest) -> object:
    """Return what the parameters of a request depend on."""
    asked_as_json = request.schema is not None
    limit = request.max_tokens
    return model, asked_as_json, request.top_logprobs, limit, bool(request.prefill)


def _require_alive(model: str, endpoint: Endpoint) -> None:
    if endpoint.dead is not None:
        raise Unanswered("skipped", f"{model} is no longer called: {endpoint.dead}")


def _fault_name(error: CallError) -> str:
    if error.no_descriptor:
        return "too many open files"
    return f"HTTP {error.status}" if error.status is not None else error.kind
