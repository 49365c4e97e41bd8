"""The way from a plan's models to their providers: an endpoint for each, and what the graphs need
to call them.

LangGraph traces a graph and its nodes to LangSmith, or through it to OpenTelemetry, once
`LANGSMITH_TRACING` is set. The calls of a model that is not LangChain's it does not see: they are
told here. A run holds the texts of its call, without keys that this process knows.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

import orjson

from persona_panel.calls.budget import Budget, Caps
from persona_panel.calls.cache import RemoteReplyStore, ReplyStore, open_reply_store
from persona_panel.calls.caller import Caller, CallerFactory
from persona_panel.calls.endpoint import PATIENCE_S, REFUSED_S, Endpoint
from persona_panel.calls.rate_limiter import (
    INITIAL_CONCURRENCY,
    MAX_CONCURRENCY,
    shared_rate_limiter,
)
from persona_panel.files.limits import left_for_calls, shared_out
from persona_panel.files.secrets import SECRETS
from persona_panel.graphs import Judge, Judgment, Response
from persona_panel.graphs.context import Answered, GraphContext, ReplyLookup, ShowPeers
from persona_panel.models.config import with_batches
from persona_panel.planning.bound_models import BoundModel, texts_at_once
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.rubrics import ModelRequest, ModelResponse
from persona_panel.runs.cost_estimate import context_of

_TRACING = tuple(
    f"{name}_TRACING{version}" for name in ("LANGSMITH", "LANGCHAIN") for version in ("", "_V2")
)
"""The environment's variables by which LangSmith traces."""


def is_traced() -> bool:
    """Return whether the current work belongs to a run that is traced."""
    # A graph that is traced has imported it.
    helpers = sys.modules.get("langsmith.run_helpers")
    return helpers is not None and helpers.get_current_run_tree() is not None


def may_be_traced() -> bool:
    """Return whether a graph that begins now may be traced, or is told of to a run of LangChain's
    that it is part of; imports nothing."""
    utils, config = (
        sys.modules.get(name) for name in ("langsmith.utils", "langchain_core.runnables.config")
    )
    if config is not None and config.var_child_runnable_config.get() is not None:
        return True
    if utils is not None:
        return bool(utils.tracing_is_enabled())
    return any(os.environ.get(name) for name in _TRACING)


async def traced(
    name: str,
    model: str,
    request: ModelRequest,
    call: Coroutine[Any, Any, ModelResponse],
    *,
    traces_calls: bool = False,
) -> ModelResponse:
    """Await `call` and return its reply, traced as a run of this name under the current one.
    `model`: `provider:name`; `traces_calls`: the model's client traces its calls, tokens and all:
    the run only holds them."""
    provider, _, model_name = model.partition(":")
    about = {"ls_provider": provider, "ls_model_name": model_name}
    from langsmith.run_helpers import trace

    kind: Literal["chain", "llm"] = "chain" if traces_calls else "llm"
    async with trace(name, kind, inputs={"messages": _messages(request)}, metadata=about) as run:
        reply = await call
        run.metadata["cached"] = reply.cached
        outputs: dict[str, Any] = {"messages": [{"role": "assistant", "content": reply.text}]}
        # What a kept reply took was paid for by another run.
        if not (traces_calls or reply.cached):
            read, written = reply.usage.input, reply.usage.output
            outputs["usage_metadata"] = {
                "input_tokens": read,
                "output_tokens": written,
                "total_tokens": read + written,
            }
        run.end(outputs=outputs)
    return reply


def _messages(request: ModelRequest) -> list[dict[str, str]]:
    messages = [("system", request.system)] if request.system else []
    messages.append(("user", "".join(request.blocks)))
    for answered, asked in request.exchange:
        messages += [("assistant", answered), ("user", asked)]
    if request.prefill:
        messages.append(("assistant", request.prefill))
    return [{"role": role, "content": SECRETS.scrub(content)} for role, content in messages]


logger = logging.getLogger(__name__)

T = TypeVar("T")

_users: Counter[tuple[asyncio.AbstractEventLoop, int]] = Counter()
"""The number of runs of a loop that use a client, by its id: whoever leaves last closes it."""


@asynccontextmanager
async def open_caller(
    models: Mapping[str, BoundModel],
    caps: Caps,
    concurrency: int | None = None,
    patience_s: float | None = None,
    *,
    off_loop: bool = False,
    caller_factory: CallerFactory = Caller,
    opened: Callable[[], ReplyStore] = open_reply_store,
) -> AsyncIterator[Caller]:
    """Open a caller of these models by these names, within the caps.

    `concurrency` and `patience_s` are of models that say nothing of it themselves. `off_loop`: the
    cache is opened, read and closed in a thread, as a server's loop must not wait for a disk; a
    run's own loop is faster without. `opened` opens the cache.
    """
    thread = ThreadPoolExecutor(1, thread_name_prefix="reply-store") if off_loop else None

    async def beside(work: Callable[..., T], *arguments: Any) -> T:
        if thread is None:
            return work(*arguments)
        return await asyncio.get_running_loop().run_in_executor(thread, work, *arguments)

    cache = await beside(opened)
    read_ahead: Callable[[str, bytes], Coroutine[Any, Any, object]] | None = None
    if thread is not None:
        read_ahead = partial(beside, cache.get)
    if isinstance(cache, RemoteReplyStore):
        read_ahead = cache.read_ahead
    loop = asyncio.get_running_loop()
    clients = [(loop, id(model.client)) for model in models.values()]
    _users.update(clients)
    budget = Budget(caps, with_batches({name: model.price for name, model in models.items()}))
    most = _most_in_flight(models, concurrency)
    try:
        caller = caller_factory(
            {
                name: _endpoint(model, concurrency, patience_s, most[name])
                for name, model in models.items()
            },
            cache,
            budget,
            read_ahead=read_ahead,
        )
        yield caller
        await caller.look_at_connections()
        caller.require_own_answers()
    finally:
        for client, model in zip(clients, models.values(), strict=True):
            _users[client] -= 1
            # Another run of this loop may be in the middle of a call.
            if not _users[client]:
                del _users[client]
                await model.client.aclose()
        await beside(cache.close)
        if thread is not None:
            thread.shutdown(wait=False)


def concurrency_of(model: BoundModel, otherwise: int | None) -> int | None:
    """Return how many calls may be in flight; None: as many as the provider takes, which is
    measured."""
    return model.capabilities.concurrency or model.config.concurrency or otherwise


def _most_in_flight(models: Mapping[str, BoundModel], concurrency: int | None) -> dict[str, int]:
    """Return how many calls each model may have in flight, by what this process may open."""
    wanted = [concurrency_of(model, concurrency) or MAX_CONCURRENCY for model in models.values()]
    shares = shared_out(wanted, left_for_calls())
    for model, asked, share in zip(models.values(), wanted, shares, strict=True):
        if share < asked and concurrency_of(model, concurrency) is not None:
            logger.warning(
                "%s: at most %d concurrent calls instead of %d, because this process may open "
                "no more files and connections (ulimit -n)",
                model.id,
                share,
                asked,
            )
    return dict(zip(models, shares, strict=True))


class Window(NamedTuple):
    """The number of responses that are judged at once: `first`, and `each` more for every judgment
    that the slowest model has made, `most` in the end."""

    first: int
    each: float
    most: int

    def after(self, n_judgments: int) -> int:
        """Return the number after so many judgments of the slowest model."""
        return min(self.most, self.first + int(self.each * n_judgments))


def responses_in_flight(plan: PanelPlan) -> Window:
    """Return how many responses are judged at once.

    They are as many as the slowest model may have calls in flight, and twice these calls' worth:
    at first few, since calls in flight rise by one a judgment at most (`AdaptiveConcurrency`), and
    in the end so many that slow calls leave no model idle. A fast model is no further ahead. Of one
    model that has no other beside it they are as many from the beginning: its calls have an order.

    Models that keep one text in memory for each call at once would only reread with more.
    """
    if (few := texts_at_once(plan.models)) is not None:
        return Window(few, 0, few)
    limits = [concurrency_of(model, plan.settings.concurrency) for model in plan.models]
    per_model = len(plan.judges) / len(plan.models)
    first, each = max(limit or INITIAL_CONCURRENCY for limit in limits), 2 / per_model
    # Where judges wait for the first of their model, many responses have one call in flight each.
    calls = (6 if per_model > 1 else 3) * sum(limit or MAX_CONCURRENCY for limit in limits)
    most = math.ceil(calls / len(plan.judges)) + 1
    if len(limits) == 1:
        return Window(most, 0, most)
    return Window(min(most, first + math.ceil(each * first)), each, most)


def graph_context(
    plan: PanelPlan,
    texts: Mapping[str, Response],
    caller: Caller,
    on_judgment: Callable[[Judgment], None],
    peers: ShowPeers | None = None,
) -> GraphContext:
    """Return the context that the graphs need. `texts` may grow while they run."""

    # No coroutine of its own: it would stand in the way of every call.
    def ask(
        judge: Judge, response: Response, request: ModelRequest
    ) -> Coroutine[Any, Any, ModelResponse]:
        call = caller.complete(judge.model, request, page(judge, response), judge.replicate)
        if not is_traced():
            return call
        by_itself = caller.traces_calls(judge.model)
        return traced(judge.id, judge.model, request, call, traces_calls=by_itself)

    def forget(judge: Judge, response: Response, answered: Sequence[Answered]) -> None:
        caller.forget(answered, page(judge, response), judge.replicate)

    def kept(judge: Judge, response: Response, request: ModelRequest) -> ModelResponse | None:
        return caller.kept_reply(judge.model, request, page(judge, response), judge.replicate)

    def used(n_kept: int) -> None:
        caller.counts.cached += n_kept

    def page(judge: Judge, response: Response) -> str:
        return caller.page(judge.model, response.prompt, response.text, response.context)

    looked_at = may_be_traced()
    return context_of(
        plan,
        peers=peers,
        responses=texts,
        ask=ask,
        exclusive=caller.exclusive,
        forget=forget,
        on_judgment=on_judgment,
        # A graph that somebody looks at is shown whole, judge by judge.
        kept=None if looked_at else ReplyLookup(kept, used),
        judge_by_judge=looked_at,
    )


def _endpoint(
    model: BoundModel, concurrency: int | None, patience_s: float | None, most: int
) -> Endpoint:
    config = model.config
    patience = patience_s if config.patience is None else config.patience
    return Endpoint(
        client=model.client,
        limiter=shared_rate_limiter(
            _account(model),
            concurrency_of(model, concurrency),
            config.requests_per_minute,
            config.tokens_per_minute,
            most,
        ),
        one_judge_at_a_time=model.capabilities.one_judge_at_a_time,
        patience_s=PATIENCE_S if patience is None else patience,
        refused_s=REFUSED_S if patience is None else patience,
        timeout_s=config.timeout,
        answer_limit=model.answer_limit,
    )


def _account(model: BoundModel) -> Hashable:
    """Return the account whose limits a model's calls count toward."""
    if model.user_model is not None:
        return orjson.dumps(model.client.parameters, option=orjson.OPT_SORT_KEYS)
    return model.config.model, model.config.base_url, model.config.key_env
