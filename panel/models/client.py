"""The interface of a model, and the record of what a call sent and used.

A model answers a `ModelRequest`, or says precisely why it cannot. Providers are the neighbouring
modules; retries, limits and the cache are in `persona_panel.calls`.

The record has the parameters with which requests are really sent, whatever a provider's package
adds to them. The project's own clients note the bodies that they send; for those of providers'
packages `persona_panel.models.langchain_errors` does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol, runtime_checkable

import orjson

from persona_panel.files.secrets import SECRETS, scrub
from persona_panel.rubrics import ModelRequest, ModelResponse, Usage
from persona_panel.rubrics.replies import well_formed

NOTHING = Usage()

FaultKind = Literal["transient", "rejected", "permanent"]
"""`transient`: the same call may succeed later (429, 5xx, a timeout, a broken body).
`rejected`: this call never will, others may (a text too long, say).
`permanent`: no call to this model will (a bad key, an unknown model)."""

MOST_CHARACTERS = 200_000
"""The most characters of an answer's text: several times what any question leaves room for. A
longer one would hold up all others while it is read, and be kept with each judgment."""


class CallError(Exception):
    """A call brought no reply.

    `retry_after` is the provider's own word, in seconds, on when to ask again.
    `status` is the HTTP status where there was one. `used` is what the call took all the same,
    as far as was reported; None where nobody knows, as of an answer that broke off.
    `unsent`: it did not get as far as the server, which knows nothing of it. `no_descriptor`: that
    is because this process could not open a connection. `nobody_there`: nothing listens at that
    address of this machine.
    The message never holds a key that the process knows (`persona_panel.files.secrets`).
    """

    def __init__(
        self,
        message: str,
        *,
        kind: FaultKind,
        status: int | None = None,
        retry_after: float | None = None,
        used: Usage | None = NOTHING,
        unsent: bool = False,
        no_descriptor: bool = False,
        nobody_there: bool = False,
    ) -> None:
        super().__init__(SECRETS.scrub(message))
        self.kind: FaultKind = kind
        self.status = status
        self.retry_after = retry_after
        self.used = used
        self.unsent = unsent or no_descriptor
        self.no_descriptor = no_descriptor
        self.nobody_there = nobody_there

    def __reduce__(self) -> tuple[Any, ...]:
        # `kind` has no default; what else there is, the attributes bring.
        return partial(type(self), kind=self.kind), self.args, vars(self)


def not_too_long(reply: ModelResponse) -> ModelResponse:
    """Return the same reply. Raises CallError: its text is longer than is read; `rejected`, since
    the same words would bring as long an answer and be paid for again."""
    if (length := len(reply.text)) > MOST_CHARACTERS:
        reason = f"the answer is {length:,} characters long; up to {MOST_CHARACTERS:,} are read"
        raise CallError(reason, kind="rejected", used=reply.usage or None)
    return reply


@dataclass(frozen=True, slots=True)
class Capabilities:
    """A model's abilities and the way it is asked, as its client knows them before any call.

    The defaults are those of a served model of which nothing is known.

    Attributes:
        logprobs: whether it returns log-probabilities; None where only a call can tell.
        deterministic_text: whether the same request brings the same text every time.
        deterministic_logprobs: whether it brings the same log-probabilities every time.
        one_judge_at_a_time: whether the judges of one response must follow each other, because
            the model keeps one text in memory.
        concurrency: a fixed number of calls at once, from 1 on; None where a user or the provider
            sets it.
        one_call_per_dimension: whether it is asked for each dimension in a call of its own, where
            the elicitation can do both.
        default_elicitation: the elicitation where a user names none and it serves the rubric.
        context_window: how many tokens it reads at once; None where the client does not know.
        tiktoken_model: the name under which tiktoken may know the model's tokenizer.
        free: whether a call costs nothing, as of a model in this process.
        traces_calls: whether its client traces its calls by itself, as LangChain's do.
        adjustable_limit: whether an answer ends where a request's `max_tokens` says, so that one
            that was cut off can be asked for again with a higher limit.
    """

    logprobs: bool | None = None
    deterministic_text: bool = False
    deterministic_logprobs: bool = False
    one_judge_at_a_time: bool = False
    concurrency: int | None = None
    one_call_per_dimension: bool = False
    default_elicitation: str = "dimensions"
    context_window: int | None = None
    tiktoken_model: str | None = None
    free: bool = False
    traces_calls: bool = False
    adjustable_limit: bool = True


@runtime_checkable
class ModelClient(Protocol):
    """A model as the panel calls it.

    One that is handed to a `Panel` as an object is named by its class and by its attribute
    `model`, if it has one.
    """

    @property
    def capabilities(self) -> Capabilities:
        """The model's capabilities; the same for as long as the client lives."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Everything about this model that changes an answer, JSON-serialisable; no secrets."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer one request. Raises CallError: no usable reply came; its kind says what that
        means; TimeoutError: none came in time, which each client keeps itself."""

    async def aclose(self) -> None:
        """Give back connections and memory. Calling it twice does no harm."""


_VERSION = re.compile(r"[-:@](\d{4}-\d\d-\d\d|\d{3,8}|latest)$")
_FILE = re.compile(r"([-.](i?q\d[_\da-z]*|b?f16|f32))?\.gguf$")
_LONGEST_NAME, _NAMED = 200, 3


def name_of_answering(name: Any, asked: str) -> str:
    """Return what a server calls the model that answered; empty where it says nothing, or the name
    that was asked for."""
    if name == asked or not isinstance(name, str):
        return ""
    return well_formed(name[:_LONGEST_NAME])


def is_another_model(answered: str, asked: str) -> bool:
    """Return whether two names are of different models. A date or number of a release or the form
    of a file at the end, and a path in front, make no difference."""
    first, other = (
        _VERSION.sub("", _FILE.sub("", re.split(r"[/\\]", name.casefold().rstrip("/"))[-1]))
        for name in (answered, asked)
    )
    return first != other


def answered_by_another(model: str, names: Mapping[str, str]) -> str:
    """Return the sentence that another model than was asked for may have answered; empty where
    none has. `names`: by which the model answered, each with the name that was asked for."""
    others = [name for name, asked in names.items() if is_another_model(name, asked)]
    if not others:
        return ""
    named = " and ".join(others[:_NAMED])
    return (
        f"{model} was asked for {names[others[0]]}, and its server named {named} as what answered: "
        "if that is another model, the ratings are that model's."
    )


_TEXTS = frozenset(
    {"messages", "system", "contents", "systemInstruction", "system_instruction", "prompt", "input"}
)
"""Providers' names for the texts that a model reads."""
_SCHEMA = "the schema of an answer"
_LONGEST = 200
"""Characters of a parameter that is a text."""
_noting: ContextVar[list[dict[str, Any]] | None] = ContextVar("noting", default=None)


@contextmanager
def noted_parameters() -> Iterator[list[dict[str, Any]]]:
    """Collect the parameters of the requests that are sent within the block."""
    sent: list[dict[str, Any]] = []
    token = _noting.set(sent)
    try:
        yield sent
    finally:
        _noting.reset(token)


def note_sent(body: Any) -> None:
    """Note a request's body, an object or its JSON, if `noted_parameters` collects parameters."""
    if (sent := _noting.get()) is None:
        return
    if isinstance(body, str | bytes | bytearray):
        try:
            body = orjson.loads(body)
        except ValueError:
            return
    if isinstance(body, Mapping):
        sent.append(parameters_of(body))


def parameters_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request's body without the texts that a model reads, schemas and keys.

    >>> parameters_of({"messages": [{"role": "user", "content": "Rate this."}], "temperature": 0})
    {'temperature': 0}
    """
    return {str(name): _without_texts(value) for name, value in body.items() if name not in _TEXTS}


def _without_texts(value: Any) -> Any:
    match value:
        case {"type": "object", "properties": _}:
            return _SCHEMA
        case Mapping():
            return {str(name): _without_texts(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_without_texts(inner) for inner in value]
        case None | bool() | int() | float():
            return value
    return scrub(str(value))[:_LONGEST]


def distinct(
    known: Sequence[dict[str, Any]], more: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return those that are known, followed by those of `more` that differ from all before them."""
    kept = list(known)
    for parameters in more:
        if parameters not in kept:
            kept.append(parameters)
    return kept


MOST_TOKENS = 100_000_000
"""The most tokens of a call: a larger count is a mistake or worse, and would break every sum."""
_MAPPING = (dict, Mapping)  # what a body holds is found by its type, without asking the ABC


def usage_from(
    input_: Any, cached: Any, output: Any, written: Any = 0, reasoning: Any = 0
) -> Usage:
    """Return a usage from token counts of any type that a provider reported, with 0 ≤ cached +
    written ≤ input and 0 ≤ reasoning ≤ output.

    None is a count that was not reported, and 0. A count that cannot be (negative, not finite,
    above `MOST_TOKENS`, no number) is 0 as well, and more tokens read from a cache or written to it
    than there were in the input, or used for thinking than there were in the output, are cut down
    to it; `odd` then says what was reported.
    """
    # What a provider reports is nearly always so: these are looked at once.
    if _are_sound(input_, cached, output, written, reasoning):
        return Usage(input_, cached, output, written, reasoning=reasoning)
    odd: list[str] = []

    def count(name: str, reported: Any) -> int:
        number = _number(reported)
        if number is None:
            odd.append(f"{name} tokens are {_shown(reported)}")
        return number or 0

    def part(name: str, reported: Any, whole: str, total: int, left: int) -> int:
        number = count(name, reported)
        if number > left:
            odd.append(f"{name} tokens are {number}, and {whole} tokens {total}")
        return min(number, left)

    read, answered = count("input", input_), count("output", output)
    kept = part("cached", cached, "input", read, read)
    put = part("written", written, "input", read, read - kept)
    thought = part("reasoning", reasoning, "output", answered, answered)
    return Usage(read, kept, answered, put, "; ".join(odd) or None, thought)


def odd_usage(reported: Any) -> Usage:
    """Return a usage without counts, for a report that has no places for them."""
    return Usage(odd=f"usage is {_shown(reported)}")


def sound(usage: Usage) -> Usage:
    """Return a usage that is possible; `odd` describes what was reported otherwise."""
    if _are_sound(usage.input, usage.cached, usage.output, usage.written, usage.reasoning):
        return usage
    corrected = usage_from(usage.input, usage.cached, usage.output, usage.written, usage.reasoning)
    return replace(corrected, odd=usage.odd or corrected.odd)


def usage_in(content: Any) -> Usage | None:
    """Return the usage that an answer's body reports, also one of an error; None where it reports
    none."""
    usage = content.get("usage") if isinstance(content, Mapping) else None
    return completion_usage(usage) or None


def completion_usage(reported: Any) -> Usage:
    """Read the `usage` of a chat completion's body."""
    if reported is None:
        return Usage()
    if not isinstance(reported, _MAPPING):
        return odd_usage(reported)
    # Most servers send no details, and to ask an ABC of None takes long.
    details = reported.get("prompt_tokens_details")
    cached = details
    if details and isinstance(details, _MAPPING):
        cached = details.get("cached_tokens")
    details = reported.get("completion_tokens_details")
    reasoning = None
    if details and isinstance(details, _MAPPING):
        reasoning = details.get("reasoning_tokens")
    output = reported.get("completion_tokens")
    unlisted = _left_out(reported.get("total_tokens"), reported.get("prompt_tokens"), output)
    if unlisted and (not reasoning or reasoning == unlisted):
        # xAI's and Gemini's servers leave thinking out of the completion's tokens and bill for it.
        output, reasoning = (output or 0) + unlisted, unlisted
    return usage_from(
        reported.get("prompt_tokens"),
        cached or reported.get("prompt_cache_hit_tokens") or 0,
        output,
        reasoning=reasoning or 0,
    )


def _left_out(total: Any, read: Any, answered: Any) -> int:
    """Return the tokens of the total that are neither the prompt's nor the completion's: those of
    thinking."""
    if not type(total) is type(read) is type(answered) is int:
        return 0
    if read < 0 or answered < 0 or not read + answered < total <= MOST_TOKENS:
        return 0
    return int(total - read - answered)


def _are_sound(input_: Any, cached: Any, output: Any, written: Any, reasoning: Any) -> bool:
    """Return whether these are plain whole numbers that a call can have taken."""
    return (
        type(input_) is type(cached) is type(output) is type(written) is type(reasoning) is int
        and 0 <= cached <= cached + written <= input_ <= MOST_TOKENS
        and 0 <= reasoning <= output <= MOST_TOKENS
        and written >= 0
    )


def _number(reported: Any) -> int | None:
    """Return a count, also one as text or as a float; None where it cannot be one."""
    if reported is None:
        return 0
    if isinstance(reported, bool) or not isinstance(reported, int | float | str):
        return None
    try:
        number = float(reported)
    except (ValueError, OverflowError):
        return None
    return int(number) if math.isfinite(number) and 0 <= number <= MOST_TOKENS else None


def _shown(reported: Any) -> str:
    """Return a short description of a value: the value itself may be megabytes of foreign text."""
    if isinstance(reported, float):
        return f"{reported:g}"
    if isinstance(reported, int):
        readable = abs(reported) <= 10 * MOST_TOKENS
        return str(reported) if readable else "a number of 10 digits or more"
    if isinstance(reported, str):
        return "a text"
    return "a list" if isinstance(reported, list) else "an object"
