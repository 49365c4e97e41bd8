"""What a panel needs of a model: answer one `ModelRequest`, or say precisely why not.

Providers are the neighbouring modules. Retrying, limits and the cache are not their
business: those stand above, in `persona_panel.calls`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, runtime_checkable

from persona_panel.files.secrets import SECRETS
from persona_panel.rubrics import ModelRequest, ModelResponse, Usage

NOTHING = Usage()

FaultKind = Literal["transient", "rejected", "permanent"]
"""`transient`: the same call may succeed later (429, 5xx, a timeout, a broken body).
`rejected`: this call never will, others may (a text too long, say).
`permanent`: no call to this model will (a bad key, an unknown model)."""

MOST_CHARACTERS = 200_000
"""How long an answer's text may be: several times what any question leaves room for. A longer one
would hold up all others while it is read, and be kept with each judgment."""


class CallError(Exception):
    """A call brought no reply.

    `retry_after` is the provider's own word, in seconds, on when to ask again.
    `status` is the HTTP status where there was one. `used` is what the call took all the same,
    as far as was reported; None where nobody knows, as of an answer that broke off.
    `unsent`: it did not get as far as the server, which knows nothing of it. `no_descriptor`: that
    is because this process could not open a connection.
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
    ) -> None:
        super().__init__(SECRETS.scrub(message))
        self.kind: FaultKind = kind
        self.status = status
        self.retry_after = retry_after
        self.used = used
        self.unsent = unsent or no_descriptor
        self.no_descriptor = no_descriptor

    def __reduce__(self) -> tuple[Any, ...]:
        # `kind` has no default; what else there is, the attributes bring.
        return partial(type(self), kind=self.kind), self.args, vars(self)


def not_too_long(reply: ModelResponse) -> ModelResponse:
    """The same reply.

    Raises:
        CallError: its text is longer than is read; `rejected`, since the same words would bring
            as long an answer and be paid for again.
    """
    if (length := len(reply.text)) > MOST_CHARACTERS:
        said = f"the answer is {length:,} characters long; up to {MOST_CHARACTERS:,} are read"
        raise CallError(said, kind="rejected", used=reply.usage or None)
    return reply


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model can do and how it is asked, as its client knows it before any call.

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
        """What the model can do; the same for as long as the client lives."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Everything about this model that changes an answer, JSON-serialisable; no secrets."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer one request.

        Raises:
            CallError: no usable reply came; its kind says what that means.
            TimeoutError: none came in time, which each client keeps itself.
        """

    async def aclose(self) -> None:
        """Give back connections and memory. Calling it twice does no harm."""
