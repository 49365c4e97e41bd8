"""The cost of a run, estimated before anything is called, as a result; and refusals of models
before the first call.

The cache is followed as far as it goes, by the very dialogues that a run holds. Where it ends, a
run makes its first call; how many follow is counted as if every answer could be read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from persona_panel.calls.budget import Caps
from persona_panel.calls.cache import ReplyStore, key_of, page_of
from persona_panel.calls.caller import Caller
from persona_panel.calls.endpoint import AnswerLimit, tokens_in
from persona_panel.files.errors import ConfigurationError, RunStopped
from persona_panel.graphs import Judge, Response
from persona_panel.graphs.context import GraphContext, Unanswered
from persona_panel.models.config import ModelFacts, cost, prices_as_of
from persona_panel.personas import Persona
from persona_panel.planning.bound_models import BoundModel
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, row_of
from persona_panel.rubrics import Calls, ModelRequest, ModelResponse, Usage, load_elicitation
from persona_panel.rubrics.wording import MARK_DIGITS


def context_of(plan: PanelPlan, **others: Any) -> GraphContext:
    """Return the context of a plan's graphs; `others` are its other fields: the texts, and how
    models are called. A setting that the context has a field for is handed on."""
    return GraphContext(
        rubric=plan.rubric,
        **{
            name: value
            for name, value in dict(plan.settings).items()
            if name in GraphContext.__dataclass_fields__
        },
        one_call_per_dimension=plan.one_call_per_dimension,
        personas=plan.personas_by_id,
        judges=plan.judges,
        graph=None if plan.graph is None else plan.graph.compile(name="judging"),
        **others,
    )


def refuse_unpriced(models: Sequence[BoundModel], caps: Caps) -> None:
    """Refuse a cap in dollars where a model has no price. Raises ConfigurationError: one is not
    known."""
    unknown = [model.id for model in models if model.price is None]
    if caps.usd is not None and unknown:
        raise ConfigurationError(
            f"the price of {', '.join(unknown)} is unknown, so that a cap in dollars cannot be "
            "applied; set it in a panel file, or cap calls or tokens"
        )


def refuse_unpriced_batches(models: Sequence[BoundModel], caps: Caps) -> None:
    """Refuse a cap in dollars where a model that is asked by batches has no batch price. Raises
    ConfigurationError: one is not known."""
    unpriced = [model.id for model in models if model.price is None or model.price.batched is None]
    # A sweep has a model in several parts.
    unknown = dict.fromkeys(unpriced)
    if caps.usd is not None and unknown:
        raise ConfigurationError(
            f"the price of batches of {', '.join(unknown)} is unknown, so that a cap in dollars "
            "cannot be applied; set it in a panel file (batch: 0.5 in its price is half of it), or "
            "cap calls or tokens"
        )


def longest_persona(personas: Iterable[Persona]) -> Persona:
    """Return the persona that takes the most tokens of a request."""
    return max(
        personas, key=lambda persona: tokens_in(persona.label) + tokens_in(persona.description)
    )


PROBE = ModelRequest(
    "", ("Answer with the number 1 and nothing else.",), top_logprobs=20, max_tokens=1
)
"""Asked of a model to find out whether it gives log-probabilities."""
PROBE_PAGE = "probe"


def is_probed(model: BoundModel) -> bool:
    """Return whether a model is asked, before all else, if it gives log-probabilities."""
    unknown = model.logprobs is None
    return unknown and load_elicitation(model.elicitation).NEEDS_LOGPROBS


async def refuse_without_logprobs(models: Sequence[BoundModel], caller: Caller) -> None:
    """Refuse a model that does not give the probabilities it must, which one small call shows.

    The call counts as one of the run. Raises ConfigurationError: one does not; RunStopped: one did
    not answer.
    """
    for n_calls, model in enumerate(filter(is_probed, models), start=1):
        page = caller.page(model.id, PROBE_PAGE)
        try:
            reply = await caller.complete(model.id, PROBE, page)
        except Unanswered as error:
            raise RunStopped(
                f"{model.id}: the elicitation {model.elicitation!r} needs log-probabilities, and "
                f"the test call for them failed: {error}"
            ) from None
        if not reply.logprobs:
            caller.forget([(PROBE, reply)], page)
            raise ConfigurationError(
                f"the elicitation {model.elicitation!r} needs log-probabilities, and {model.id} "
                "returned none; use the elicitation 'dimensions'",
                n_calls=n_calls,
            )


T = TypeVar("T")

BY_CHARACTERS = "characters / 4"


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """The estimated calls, tokens and cost of one model's part of a run.

    `judgments` are those that the cache does not answer, out of `of`. `calls`, the tokens and `usd`
    are what is reckoned with; where nothing fails the calls are `calls_at_least` to
    `calls_at_most`, which differ only where the answers decide how many there are: how a panel
    deliberates, what stands behind a probability. `reasoning_tokens`, part of `output_tokens`, is
    the most that a model which reasons may use for thinking. `tokenizer` says how tokens were
    counted. `usd` is None where the price is not known; `prices_as_of` is the date of the package's
    table where it is by that. `panel` is empty where there is only one.
    """

    model: str
    judgments: int
    of: int
    calls: int
    calls_at_least: int
    calls_at_most: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    tokenizer: str
    usd: float | None
    prices_as_of: str | None = None
    panel: str = ""


_MARK = re.compile(rf"\b[0-9a-f]{{{MARK_DIGITS}}}\b")
_TOKENS_MORE_OF_A_MARK = 10
"""16 tokens or so, where other text of its length has 6."""


@cache
def tokenizer_of(
    tiktoken_model: str | None, *, in_process: bool = False
) -> tuple[str, Callable[[str], int]]:
    """Return the name of the best tokenizer at hand for a model, and the function that counts by
    it.

    OpenAI's own where tiktoken knows the model and has its vocabulary; else characters. The small
    vocabulary of a model `in_process` splits the mark of a fence into more tokens than other text.
    """
    if in_process:
        return BY_CHARACTERS, _tokens_with_marks
    if tiktoken_model is not None:
        try:
            import tiktoken

            encoding = tiktoken.encoding_for_model(tiktoken_model)
        # tiktoken may be missing, not know the model, or fail to fetch a vocabulary.
        except Exception:
            return BY_CHARACTERS, tokens_in
        return f"tiktoken {encoding.name}", lambda text: len(
            encoding.encode(text, disallowed_special=())
        )
    return BY_CHARACTERS, tokens_in


def _tokens_with_marks(text: str) -> int:
    return tokens_in(text) + _TOKENS_MORE_OF_A_MARK * len(_MARK.findall(text))


class PredictedCalls:
    """The replies that a run will find in the cache: what is there, and what it asked before."""

    def __init__(self, cache: ReplyStore) -> None:
        self._cache = cache
        # Digests of pages and keys: those of a large batch must fit into memory.
        self._asked: set[int] = set()

    @property
    def location(self) -> str:
        """Return the place of the cache, for messages."""
        return self._cache.location

    def reply(self, page: str, key: bytes) -> ModelResponse | None:
        """Return the reply that the cache holds to a request."""
        return self._cache.get(page, key)

    def is_new(self, page: str, key: bytes) -> bool:
        """Return whether a request that the cache does not answer comes for the first time."""
        asked = hash((page, key))
        if asked in self._asked:
            return False
        self._asked.add(asked)
        return True


@dataclass(slots=True)
class ModelEstimate:
    """One model's part, as it is counted."""

    bound: BoundModel
    judgments: int = 0
    of: int = 0
    calls: Calls = Calls.just(0, 0)
    usage: Usage = field(default_factory=Usage)
    _counted: dict[str, int] = field(default_factory=dict)
    _tokenizer: tuple[str, Callable[[str], int]] = field(init=False)
    _limit: AnswerLimit = field(init=False)

    def __post_init__(self) -> None:
        known = self.bound.capabilities
        self._limit = self.bound.answer_limit
        self._tokenizer = tokenizer_of(known.tiktoken_model, in_process=known.free)

    def add(self, calls: Calls, usage: Usage) -> None:
        """Take in further calls; `usage` is what all that are reckoned with take together."""
        mine = self.calls
        self.calls = Calls(
            mine.fewest + calls.fewest, mine.most + calls.most, mine.reckoned + calls.reckoned, 0
        )
        self.usage += usage

    def add_requests(self, request: ModelRequest, calls: Calls) -> None:
        """Take in calls whose input is as long as that of `request`."""
        number = calls.reckoned
        thinking = number * self.thinking(request, calls.tokens)
        used = Usage(
            input=number * self.tokens(request),
            output=number * calls.tokens + thinking,
            reasoning=thinking,
        )
        self.add(calls, used)

    def add_new(
        self,
        predicted: PredictedCalls,
        page: str,
        request: ModelRequest,
        tokens: int,
        time: int = 1,
    ) -> None:
        """Take in a call that the cache does not answer, and whose answer has about so many tokens,
        unless it was taken in before; `time` is the replicate."""
        if predicted.is_new(page, key_of(request, time)):
            self.judgments += 1
            self.add_requests(request, Calls.just(1, tokens))

    def add_probe(self, predicted: PredictedCalls) -> None:
        """Take in the call that finds out whether the model gives log-probabilities."""
        page, key = page_of(self.bound.client.parameters, PROBE_PAGE), key_of(PROBE, 1)
        if (
            is_probed(self.bound)
            and predicted.reply(page, key) is None
            and predicted.is_new(page, key)
        ):
            self.add_requests(PROBE, Calls.just(1, 1))

    def next_response(self) -> None:
        """Forget what judges of the last response share, which is counted once."""
        self._counted.clear()

    def thinking(self, request: ModelRequest, answer: int) -> int:
        """Return how many tokens a call may use for thinking beside an answer of so many."""
        limit = self._limit
        if not limit.reasoning or request.top_logprobs:
            return 0
        most = limit.applied_to(request).max_tokens
        return max(0, most - (answer if limit.fixed is not None else request.max_tokens))

    def tokens(self, request: ModelRequest) -> int:
        """Return how many tokens a request sends."""
        return sum(
            self.count(text)
            for text in (
                request.system,
                *request.blocks,
                *(text for turn in request.exchange for text in turn),
            )
        )

    def count(self, text: str) -> int:
        if text not in self._counted:
            self._counted[text] = self._tokenizer[1](text)
        return self._counted[text]

    def estimate(self, name: str = "") -> CostEstimate:
        """Return the estimate of what was counted; `name` goes before the model's."""
        price = self.bound.price
        return CostEstimate(
            model=f"{name} {self.bound.id}".strip(),
            judgments=self.judgments,
            of=self.of,
            calls=self.calls.reckoned,
            calls_at_least=self.calls.fewest,
            calls_at_most=self.calls.most,
            input_tokens=self.usage.input,
            output_tokens=self.usage.output,
            reasoning_tokens=self.usage.reasoning,
            tokenizer=self._tokenizer[0],
            usd=cost(price, self.usage),
            # Only the table's prices have a date.
            prices_as_of=prices_as_of().isoformat() if isinstance(price, ModelFacts) else None,
        )


@dataclass(frozen=True, slots=True)
class MissingReply:
    """The first request of a dialogue that the cache does not answer; how many it does before."""

    request: ModelRequest
    page: str
    key: bytes
    after: int

    def left_of(self, calls: Calls) -> Calls:
        """Return how many of so many calls are still to be made, this request's at least."""
        fewest, most, reckoned = (max(1, n - self.after) for n in calls[:3])
        return Calls(fewest, most, reckoned, calls.tokens)


class CachedReplies:
    """The answers of judges from the cache alone; `missing` is the first request that it could not
    answer in the last dialogue."""

    def __init__(self, models: Sequence[BoundModel], predicted: PredictedCalls) -> None:
        self._parameters = {bound.id: bound.client.parameters for bound in models}
        self._predicted = predicted
        self._pages: dict[tuple[str, str], str] = {}
        self._answered = 0
        self.missing: MissingReply | None = None

    def next_response(self) -> None:
        """Forget the pages of the last response, which are worked out once for all its judges."""
        self._pages.clear()

    async def ask(self, judge: Judge, response: Response, request: ModelRequest) -> ModelResponse:
        """Answer a request from the cache, as `GraphContext.ask` does in a run by a call."""
        place = (judge.model, response.id)
        if place not in self._pages:
            subject = (response.prompt, response.text, response.context)
            self._pages[place] = page_of(self._parameters[judge.model], *subject)
        page, key = self._pages[place], key_of(request, judge.replicate)
        if (reply := self._predicted.reply(page, key)) is not None:
            self._answered += 1
            return reply
        self.missing = MissingReply(request, page, key, self._answered)
        raise Unanswered("skipped", "the cache does not have it")

    def of(self, held: Coroutine[Any, Any, T]) -> tuple[T, MissingReply | None]:
        """Return the result of a dialogue whose requests go to `ask`, and the request at which it
        ended for want of a reply."""
        self._answered, self.missing = 0, None
        try:
            held.send(None)
        except StopIteration as done:
            return done.value, self.missing
        raise RuntimeError("a dialogue that is answered from the cache waits for nothing")


def context_from(cached: CachedReplies, plan: PanelPlan) -> GraphContext:
    """Return the context in which the graphs' functions are followed through the cache."""
    return context_of(
        plan,
        responses={},
        ask=cached.ask,
        exclusive=lambda judge, response: nullcontext(),
        # Nothing is taken from the cache, whatever its replies lead to.
        forget=lambda judge, response, answered: None,
        on_judgment=lambda judgment: None,
    )


def cost_result(estimates: Sequence[CostEstimate]) -> Result:
    """Return the result of the estimates of all models that a command would call."""
    varies = any(estimate.calls_at_least != estimate.calls_at_most for estimate in estimates)
    columns = (
        Column("judgments", "whole", "judgments"),
        Column("of", "whole"),
        Column("calls", "whole", "calls"),
        Column("calls_at_least", "whole", "at least" if varies else ""),
        Column("calls_at_most", "whole", "at most" if varies else ""),
        Column("input_tokens", "whole", "tokens\nin"),
        Column("output_tokens", "whole", "tokens\nout"),
        Column("reasoning_tokens", "whole"),
        Column("usd", "number", "US\ndollars", digits=4),
        Column("prices_as_of", "text"),
        Column("tokenizer", "text"),
    )
    keys = [Key("model", "model")]
    if any(estimate.panel for estimate in estimates):
        keys.insert(0, Key("panel", "panel"))
    models = Table(
        "models",
        tuple(keys),
        columns,
        [
            row_of(estimate, columns, **{key.name: getattr(estimate, key.name) for key in keys})
            for estimate in estimates
        ],
        "Estimated calls and cost",
    )
    unknown = ", ".join(
        dict.fromkeys(estimate.model for estimate in estimates if estimate.usd is None)
    )
    return Result(
        "cost",
        [_total(estimates)],
        [models],
        _remarks(estimates),
        next_step=f"The price of {unknown} is unknown; set it in a panel file: price: {{input: "
        "1.50, output: 6.00}, in US dollars per million tokens."
        if unknown
        else "",
    )


def _total(estimates: Sequence[CostEstimate]) -> str:
    least = sum(estimate.calls_at_least for estimate in estimates)
    most = sum(estimate.calls_at_most for estimate in estimates)
    sentence = f"Total: {least:,} calls"
    if least != most:
        n = sum(estimate.calls for estimate in estimates)
        sentence = (
            f"Total: {least:,} to {most:,} calls, depending on the answers; tokens and dollars are "
            f"for {n:,}"
        )
    known = [estimate.usd for estimate in estimates if estimate.usd is not None]
    if known:
        sentence += f", ${math.fsum(known):,.4f}"
        if dates := {
            estimate.prices_as_of for estimate in estimates if estimate.prices_as_of is not None
        }:
            sentence += f" by prices as of {max(dates)}"
    if len(known) < len(estimates):
        sentence += ", plus the models whose price is unknown" if known else ", cost unknown"
    return f"{sentence}. Retries, and repeated calls after an unparsed answer, are not included."


def _remarks(estimates: Sequence[CostEstimate]) -> list[str]:
    tokenizers: dict[str, list[str]] = {}
    for item in estimates:
        tokenizers.setdefault(item.tokenizer, []).append(item.model)
    counted = "; ".join(
        f"{name} ({', '.join(models)})" if len(tokenizers) > 1 else name
        for name, models in tokenizers.items()
    )
    cached = sum(estimate.of - estimate.judgments for estimate in estimates)
    remarks = [
        f"No model was called. {cached:,} results are in the cache already. Tokens are counted by "
        f"{counted}."
    ]
    if room := sum(estimate.reasoning_tokens for estimate in estimates):
        remarks.append(
            f"{room:,} of the tokens out are the room that models which reason have for thinking: "
            "the most that they may use of it."
        )
    return remarks
